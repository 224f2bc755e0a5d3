/* SPDX-License-Identifier: MIT */
/* chain.c: see chain.h.
   Thread safety: see chain.h. */
#include "chain.h"

#include <string.h>

#include "hass/error.h"
#include "svg.h"

gboolean
draw_chain_parse (const char *text, guint64 *task, GError **error)
{
  if (strcmp (text, "last") == 0)
    {
      *task = DRAW_LAST_TASK;
      return TRUE;
    }
  if (g_ascii_string_to_unsigned (text, 10, 0, G_MAXINT64, task, NULL))
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "--task is '%s', must be the number of a task, from 0, or "
               "'last'",
               text);
  return FALSE;
}

/* -- Finding it ---------------------------------------------------------- */

static const DrawBar *
bar_at (const DrawTrace *trace, guint i)
{
  return &g_array_index (trace->bars, DrawBar, i);
}

static gint
by_task_and_end (gconstpointer a, gconstpointer b, gpointer data)
{
  const DrawBar *x = bar_at (data, *(const guint *)a);
  const DrawBar *y = bar_at (data, *(const guint *)b);
  if (x->round != y->round)
    return x->round > y->round ? 1 : -1;
  return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* Returns (transfer full): guint, the indices of all bars by number of the
   task, those of a task by their ends. */
static GArray *
sorted_bars (const DrawTrace *trace)
{
  GArray *order
      = g_array_sized_new (FALSE, FALSE, sizeof (guint), trace->bars->len);
  for (guint i = 0; i < trace->bars->len; i++)
    g_array_append_val (order, i);
  g_array_sort_with_data (order, by_task_and_end, (gpointer)trace);
  return order;
}

/* Returns: the first place in @order of a task with this number, or of a
   higher one. */
static guint
place_of (const DrawTrace *trace, const GArray *order, guint64 task)
{
  guint low = 0, high = order->len;
  while (low < high)
    {
      guint mid = low + (high - low) / 2;
      if (bar_at (trace, g_array_index (order, guint, mid))->round < task)
        low = mid + 1;
      else
        high = mid;
    }
  return low;
}

/* Finds the bar of a task that ended by @until_ns, of several the last one. A
   device's times are rounded, so where none did, the first one is it. Returns:
   FALSE if the task has no bar. */
static gboolean
find_bar (const DrawTrace *trace, const GArray *order, guint64 task,
          gint64 until_ns, guint *bar)
{
  guint first = place_of (trace, order, task);
  for (guint i = first; i < order->len; i++)
    {
      guint at = g_array_index (order, guint, i);
      if (bar_at (trace, at)->round != task
          || (i > first && bar_at (trace, at)->end_ns > until_ns))
        return i > first;
      *bar = at;
    }
  return first < order->len;
}

static guint
last_bar (const DrawTrace *trace)
{
  guint last = 0;
  for (guint i = 1; i < trace->bars->len; i++)
    if (bar_at (trace, i)->end_ns > bar_at (trace, last)->end_ns)
      last = i;
  return last;
}

/* Appends the bar and those before it to the chain, which is reversed then. A
   damaged trace may lead back to a bar that the chain has. */
static void
follow (DrawChain *chain, const GArray *order, guint bar)
{
  const DrawTrace *trace = chain->trace;
  g_autofree guint8 *seen = g_new0 (guint8, trace->bars->len);
  for (gboolean found = TRUE; found;)
    {
      const DrawBar *b = bar_at (trace, bar);
      g_array_append_val (chain->bars, bar);
      seen[bar] = TRUE;
      chain->missing = b->after;
      found = b->after > 0
              && find_bar (trace, order, b->after - 1, b->begin_ns, &bar)
              && !seen[bar];
    }
}

static void
reverse (GArray *bars)
{
  guint *at = (gpointer)bars->data;
  for (guint i = 0; i < bars->len / 2; i++)
    {
      guint other = at[bars->len - 1 - i];
      at[bars->len - 1 - i] = at[i];
      at[i] = other;
    }
}

static gboolean
refuse (const DrawTrace *trace, guint64 task, const GArray *order,
        GError **error)
{
  if (!trace->has_tasks)
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                 "'%s' is no dataflow: it has no tasks that depend on others",
                 trace->farm);
  else if (!trace->has_lasts)
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                 "the trace of '%s' has no last predecessors of tasks: an "
                 "older version of hass has written it",
                 trace->farm);
  else
    g_set_error (
        error, HASS_ERROR, HASS_ERROR_INVALID,
        "task %" G_GUINT64_FORMAT " is not in the trace of '%s', which has "
        "tasks from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
        task, trace->farm,
        bar_at (trace, g_array_index (order, guint, 0))->round,
        bar_at (trace, g_array_index (order, guint, order->len - 1))->round);
  return FALSE;
}

DrawChain *
draw_chain_new (const DrawTrace *trace, guint64 task, GError **error)
{
  g_autoptr (GArray) order = sorted_bars (trace);
  guint bar = 0;
  gboolean ok = trace->has_tasks && trace->has_lasts;
  if (ok && task == DRAW_LAST_TASK)
    bar = last_bar (trace);
  else
    ok = ok && find_bar (trace, order, task, G_MAXINT64, &bar);
  if (!ok)
    {
      refuse (trace, task, order, error);
      return NULL;
    }
  DrawChain *chain = g_new0 (DrawChain, 1);
  chain->trace = trace;
  chain->bars = g_array_new (FALSE, FALSE, sizeof (guint));
  follow (chain, order, bar);
  reverse (chain->bars);
  chain->begin_ns = (double)draw_chain_bar (chain, 0)->begin_ns;
  for (guint i = 0; i < chain->bars->len; i++)
    {
      const DrawBar *b = draw_chain_bar (chain, i);
      chain->compute_ns += (double)(b->end_ns - b->begin_ns);
      chain->wait_ns += draw_chain_wait_ns (chain, i);
    }
  return chain;
}

void
draw_chain_free (DrawChain *chain)
{
  if (!chain)
    return;
  g_array_unref (chain->bars);
  g_free (chain);
}

const DrawBar *
draw_chain_bar (const DrawChain *chain, guint i)
{
  return bar_at (chain->trace, g_array_index (chain->bars, guint, i));
}

double
draw_chain_wait_ns (const DrawChain *chain, guint i)
{
  gint64 ns = i > 0 ? draw_chain_bar (chain, i)->begin_ns
                          - draw_chain_bar (chain, i - 1)->end_ns
                    : 0;
  return (double)MAX (ns, 0);
}

/* -- Telling it ---------------------------------------------------------- */

char *
draw_chain_caption (const DrawChain *chain)
{
  const DrawBar *last = draw_chain_bar (chain, chain->bars->len - 1);
  g_autofree char *computing = draw_duration (chain->compute_ns);
  g_autofree char *waiting = draw_duration (chain->wait_ns);
  GString *text = g_string_new (NULL);
  g_string_append_printf (
      text,
      "task %" G_GUINT64_FORMAT " %s: chain of %u task%s, %s computing, %s "
      "waiting",
      last->round, chain->trace->stages[last->pipe_stage], chain->bars->len,
      chain->bars->len == 1 ? "" : "s", computing, waiting);
  if (chain->begin_ns > 0)
    {
      g_autofree char *begin = draw_duration (chain->begin_ns);
      g_string_append_printf (text, ", from %s on", begin);
    }
  if (chain->missing > 0)
    g_string_append_printf (text,
                            "; what is before it, from task %" G_GUINT64_FORMAT
                            " back, is not in the trace",
                            chain->missing - 1);
  return g_string_free (text, FALSE);
}

/* What the chain has of a codelet. */
typedef struct
{
  guint codelet, n;
  double compute_ns, wait_ns;
} Share;

static int
by_time (const void *a, const void *b)
{
  const Share *x = a, *y = b;
  if (x->compute_ns != y->compute_ns)
    return x->compute_ns < y->compute_ns ? 1 : -1;
  return x->codelet > y->codelet ? 1 : -1;
}

static void
add_line (GString *table, int width, const char *name, guint n,
          double compute_ns, double wait_ns)
{
  g_string_append_printf (table, "%-*s %9u %12.3f ms %9.3f ms\n", width, name,
                          n, compute_ns * 1e-6, wait_ns * 1e-6);
}

char *
draw_chain_table (const DrawChain *chain)
{
  const DrawTrace *t = chain->trace;
  g_autofree Share *shares = g_new0 (Share, t->n_stages);
  g_autofree char *caption = draw_chain_caption (chain);
  int width = 8;
  for (guint s = 0; s < t->n_stages; s++)
    shares[s].codelet = s;
  for (guint i = 0; i < chain->bars->len; i++)
    {
      const DrawBar *bar = draw_chain_bar (chain, i);
      Share *share = &shares[bar->pipe_stage];
      share->n++;
      share->compute_ns += (double)(bar->end_ns - bar->begin_ns);
      share->wait_ns += draw_chain_wait_ns (chain, i);
      width = MAX (width, (int)MIN (strlen (t->stages[bar->pipe_stage]), 40));
    }
  qsort (shares, t->n_stages, sizeof *shares, by_time);
  GString *table = g_string_new (caption);
  g_string_append_printf (table, "\n%-*s %9s %15s %12s\n", width, "codelet",
                          "tasks", "computing", "waiting");
  for (guint s = 0; s < t->n_stages; s++)
    if (shares[s].n > 0)
      add_line (table, width, t->stages[shares[s].codelet], shares[s].n,
                shares[s].compute_ns, shares[s].wait_ns);
  add_line (table, width, "all", chain->bars->len, chain->compute_ns,
            chain->wait_ns);
  return g_string_free (table, FALSE);
}
