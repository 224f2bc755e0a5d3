/* SPDX-License-Identifier: MIT */
/* search.c: the best static division, by trying.

   Every step of 5 % is tried in a few rounds, the first of which does not
   count; then the best three run as long as the strategies will, and the
   best of these is it. GPUs divide the rest equally among themselves.

   Thread safety: one thread. */
#include "figures.h"

#define TRIAL_ROUNDS 5
#define FINALISTS 3

char *
figures_static_spec (guint index)
{
  return g_strdup_printf ("static:cpu=%.2f",
                          (double)index / FIGURES_STATIC_STEPS);
}

static double
try_part (const FiguresMachine *machine, const FiguresFarm *kind, guint index,
          guint rounds)
{
  g_autofree char *spec = figures_static_spec (index);
  g_autoptr (FiguresOutcome) o = figures_run (machine, kind, spec, rounds);
  return figures_outcome_settled_ms (o, 1);
}

static guint
best_of (const double *values, const gboolean *out)
{
  guint best = G_MAXUINT;
  for (guint i = 0; i <= FIGURES_STATIC_STEPS; i++)
    if (!out[i] && (best == G_MAXUINT || values[i] < values[best]))
      best = i;
  return best;
}

FiguresStatic
figures_search_static (const FiguresMachine *machine, const FiguresFarm *kind)
{
  FiguresStatic s;
  gboolean out[FIGURES_STATIC_STEPS + 1] = { FALSE };
  double least = G_MAXDOUBLE;
  guint rounds = machine->work->rounds;
  for (guint i = 0; i <= FIGURES_STATIC_STEPS; i++)
    s.round_ms[i] = try_part (machine, kind, i,
                              MIN (TRIAL_ROUNDS, machine->work->rounds));
  for (guint k = 0; k < FINALISTS; k++)
    {
      guint i = best_of (s.round_ms, out);
      double ms = try_part (machine, kind, i, rounds);
      out[i] = TRUE;
      if (ms < least)
        {
          least = ms;
          s.best = i;
        }
    }
  return s;
}
