/* SPDX-License-Identifier: MIT */
/* compare.c: who is best, and how sure that is.

   DESIGN. Times of the same round are compared, so that what slows a machine
   for a while falls on all. The best has the lowest median; since it was
   chosen by the same runs, the intervals allow for all pairs of strategies
   that might have been compared.

   Thread safety: one thread. */
#include "bakeoff.h"

static gint
by_median (gconstpointer a, gconstpointer b)
{
  const BakeoffRank *x = a, *y = b;
  return (x->median_s > y->median_s) - (x->median_s < y->median_s);
}

static gboolean
all_have_farms (const BakeoffOutcome *o)
{
  for (guint i = 0; i < o->entries->len; i++)
    {
      const BakeoffEntry *e = o->entries->pdata[i];
      for (guint k = 0; !e->problem && k < e->farm_s->len; k++)
        if (g_array_index (e->farm_s, double, k) <= 0)
          return FALSE;
    }
  return TRUE;
}

void
bakeoff_compare (BakeoffOutcome *o)
{
  o->by_farm = all_have_farms (o);
  o->n_tied = 0;
  o->ranks = g_array_new (FALSE, FALSE, sizeof (BakeoffRank));
  for (guint i = 0; i < o->entries->len; i++)
    {
      const BakeoffEntry *e = o->entries->pdata[i];
      if (e->problem)
        continue;
      guint n = e->program_s->len;
      const double *whole = (const double *)e->program_s->data;
      const double *times
          = o->by_farm ? (const double *)e->farm_s->data : whole;
      BakeoffRank rank = { .entry = e,
                           .times = times,
                           .median_s = bakeoff_quantile (times, n, 0.5),
                           .low_s = bakeoff_quantile (times, n, 0.25),
                           .high_s = bakeoff_quantile (times, n, 0.75),
                           .program_s = bakeoff_quantile (whole, n, 0.5),
                           .to_best = { 1, 1, 1, TRUE } };
      g_array_append_val (o->ranks, rank);
    }
  g_array_sort (o->ranks, by_median);
  guint m = o->ranks->len;
  o->chance = m > 1 ? 0.05 / (m * (m - 1) / 2.) : 0.05;
  for (guint i = 1; i < m; i++)
    {
      BakeoffRank *rank = &g_array_index (o->ranks, BakeoffRank, i);
      const BakeoffRank *best = &g_array_index (o->ranks, BakeoffRank, 0);
      rank->to_best
          = bakeoff_ratio (rank->times, best->times, o->rounds, o->chance);
      rank->tied = !rank->to_best.known
                   || (rank->to_best.low <= 1 && rank->to_best.high >= 1);
      o->n_tied += rank->tied;
    }
}
