/* SPDX-License-Identifier: MIT */
/* trace.c: a run that has been read from a trace; see trace_file.h.
   Thread safety: see trace_file.h. */
#include "trace_file.h"

#include <stdlib.h>
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

static int
by_name (const void *a, const void *b, void *names)
{
  char *const *of = names;
  return strcmp (of[*(const guint *)a], of[*(const guint *)b]);
}

void
draw_trace_sort_names (DrawTrace *trace)
{
  guint n = trace->n_stages;
  g_autofree guint *order = g_new (guint, n), *place = g_new (guint, n);
  char **names = g_new0 (char *, n + 1);
  for (guint s = 0; s < n; s++)
    order[s] = s;
  if (n > 0)
    qsort_r (order, n, sizeof *order, by_name, trace->stages);
  for (guint s = 0; s < n; s++)
    {
      names[s] = trace->stages[order[s]];
      place[order[s]] = s;
    }
  g_free (trace->stages);
  trace->stages = names;
  for (guint i = 0; i < trace->bars->len; i++)
    {
      DrawBar *bar = &g_array_index (trace->bars, DrawBar, i);
      bar->pipe_stage = place[bar->pipe_stage];
      bar->fused = 0; /* a task is of one codelet */
    }
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
