/* SPDX-License-Identifier: MIT */
/* compare.c: ranks the strategies and tests which differences are significant.

   DESIGN. Times of the same round are compared, so that a disturbance of the
   machine affects all strategies: they are ranked by the medians of the rounds'
   ratios, not by their own medians. The best has a ratio of at most 1 to every
   other; if the ratios form a cycle, it is the one whose largest ratio is the
   least. Since the best is selected by the same runs, the intervals allow for
   all pairs of strategies.

   Thread safety: one thread. */
#include "bakeoff.h"

/* The best has ratio 1 and comes first, also in a cycle. */
static gint
by_ratio (gconstpointer a, gconstpointer b, gpointer best)
{
  const BakeoffRank *x = a, *y = b;
  if ((x->entry == best) != (y->entry == best))
    return x->entry == best ? -1 : 1;
  return (x->to_best.median > y->to_best.median)
         - (x->to_best.median < y->to_best.median);
}

/* The largest ratio of strategy @i to the others. */
static double
worst_ratio (const GArray *ranks, guint i, guint rounds)
{
  const BakeoffRank *rank = &g_array_index (ranks, BakeoffRank, i);
  double worst = 0;
  for (guint k = 0; k < ranks->len; k++)
    if (k != i)
      worst = MAX (worst,
                   bakeoff_ratio (rank->times,
                                  g_array_index (ranks, BakeoffRank, k).times,
                                  rounds, 1)
                       .median);
  return worst;
}

static const BakeoffRank *
find_best (const GArray *ranks, guint rounds)
{
  guint best = 0;
  double least = G_MAXDOUBLE;
  for (guint i = 0; i < ranks->len; i++)
    {
      double worst = worst_ratio (ranks, i, rounds);
      if (worst < least)
        {
          least = worst;
          best = i;
        }
    }
  return &g_array_index (ranks, BakeoffRank, best);
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
  guint m = o->ranks->len;
  if (m == 0)
    return;
  o->chance = m > 1 ? 0.05 / (m * (m - 1) / 2.) : 0.05;
  const BakeoffRank *best = find_best (o->ranks, o->rounds);
  for (guint i = 0; i < m; i++)
    {
      BakeoffRank *rank = &g_array_index (o->ranks, BakeoffRank, i);
      if (rank == best)
        continue;
      rank->to_best
          = bakeoff_ratio (rank->times, best->times, o->rounds, o->chance);
      rank->tied = !rank->to_best.known
                   || (rank->to_best.low <= 1 && rank->to_best.high >= 1);
      o->n_tied += rank->tied;
    }
  g_array_sort_with_data (o->ranks, by_ratio, (gpointer)best->entry);
}
