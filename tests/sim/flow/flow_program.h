/* SPDX-License-Identifier: MIT */
/* flow_program.h: hass-sim --dataflow as users run it.
   Thread safety: one thread. */
#ifndef FLOW_PROGRAM_H
#define FLOW_PROGRAM_H

#include <json-glib/json-glib.h>

/* Runs hass-sim --dataflow with these words, which succeeds and says nothing on
   stderr. Returns: what it prints; free with g_free(). */
char *flow_prints (const char *words);
/* The object of the only run, with --json in addition; free the root. */
JsonObject *flow_object (const char *words, JsonNode **root);
double flow_number (JsonObject *object, const char *name);
/* Runs it, and asserts that it is refused with status 2, that nothing is
   printed, and that the message has @message. */
void flow_program_refuses (const char *words, const char *message);

#endif
