/* SPDX-License-Identifier: MIT */
/* flow_file.h: what the tests of task graphs in files share.
   Thread safety: one thread. */
#ifndef FLOW_FILE_H
#define FLOW_FILE_H

#include "tools/hass-sim/flow/flow.h"

/* Writes a file whose name ends as said, and reads the graph in it. */
SimFlow *flow_file (const char *ending, const char *text, gsize bytes,
                    GError **error);

/* Likewise, and runs the graph on a machine. Returns: the makespan in ms; -1
   with a failed test if it does not run. */
double flow_file_ms (const char *ending, const char *text, const char *machine);

/* A machine of that many cores, which pull in no time; free with g_free(). */
char *flow_cores (guint n);

/* What is wrong with a file, and what the message has of it. */
typedef struct
{
  const char *text, *message;
} FlowBad;

/* Each is refused, with a message that names the file. */
void flow_refuses (const char *ending, const FlowBad *bad, guint n);

/* Reads @n files that differ from the text in up to three bytes, or are
   shorter, and runs those that are graphs. None may crash. */
void flow_mutates (const char *ending, const char *text, guint n);

#endif
