/* SPDX-License-Identifier: MIT */
/* trace-private.h: the file of a trace, which says what happened in a run, with
   one line of JSON for each event.
   Thread safety: any thread. */
#ifndef HASS_TRACE_PRIVATE_H
#define HASS_TRACE_PRIVATE_H

#include <glib.h>

typedef struct HassTrace HassTrace;

HassTrace *hass_trace_open (const char *path, gboolean append, GError **error);
gboolean hass_trace_close (HassTrace *trace, GError **error);
void hass_trace_line (HassTrace *trace, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

#endif
