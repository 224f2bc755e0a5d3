/* SPDX-License-Identifier: MIT */
/* trace.c: a run that has been read from a trace; see trace_file.h.
   Thread safety: see trace_file.h. */
#include "trace_file.h"

#include <string.h>

void
draw_trace_free (DrawTrace *trace)
{
  if (!trace)
    return;
  for (guint d = 0; d < trace->n_devices; d++)
    g_free (trace->devices[d].name);
  g_free (trace->devices);
  g_free (trace->farm);
  g_free (trace->strategy);
  g_free (trace->platform);
  g_strfreev (trace->stages);
  g_array_unref (trace->rounds);
  g_array_unref (trace->bars);
  g_array_unref (trace->failures);
  g_free (trace);
}

guint
draw_trace_name (DrawTrace *trace, const char *codelet)
{
  guint n = trace->n_stages;
  for (guint s = 0; s < n; s++)
    if (!strcmp (trace->stages[s], codelet))
      return s;
  if (n == DRAW_MOST_NAMES)
    return n - 1;
  trace->stages = g_renew (char *, trace->stages, n + 2);
  trace->stages[n] = g_strdup (codelet);
  trace->stages[n + 1] = NULL;
  return trace->n_stages++;
}
