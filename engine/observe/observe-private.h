/* SPDX-License-Identifier: MIT */
/* observe-private.h: makes the listeners for explanation, trace and record.
   Thread safety: see facts.h. */
#ifndef HASS_OBSERVE_PRIVATE_H
#define HASS_OBSERVE_PRIVATE_H

#include "observe.h"

/* explain.c; hass_explain_new() returns NULL with an error if the file cannot
   be written */
extern const HassListenerOps hass_explain_ops;
gpointer hass_explain_new (const char *path, const char *farm, GError **error);

/* trace_lines.c */
extern const HassListenerOps hass_trace_ops;
gpointer hass_trace_lines_new (const char *path, gboolean append);

/* record.c */
extern const HassListenerOps hass_record_ops;
gpointer hass_recorder_new (const char *path);

#endif
