/* SPDX-License-Identifier: MIT */
/* costs.c: draws the true costs of a round from the family of the workload.

   DESIGN. Costs are drawn with mean about 1 and scaled so that the mean of the
   round is exactly the workload's work: rounds differ in the distribution of
   costs, not in their total. On a GPU whose threads diverge `warp` neighbours
   take as long as the longest of them, and costs may grow along the range
   (gpu_ramp); they are scaled to the same mean, because the workload defines
   the GPU's speed for its own units. What functions add is not scaled: their
   factors multiply the costs that were drawn.

   Thread safety: any thread. */
#include "sim.h"

#include <math.h>
#include <stdlib.h>

static double
normal (GRand *rand)
{
  double u = 1 - g_rand_double (rand), v = g_rand_double (rand);
  return sqrt (-2 * log (u)) * cos (2 * G_PI * v);
}

static int
ascending (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void
draw (const SimWorkload *w, GRand *rand, double *cost)
{
  guint32 n = w->units;
  double a = w->family_a, b = w->family_b, level = 1;
  guint32 run = (guint32)MAX (n / MAX (a, 1), 1);
  for (guint32 i = 0; i < n; i++)
    switch (w->family)
      {
      case SIM_LOGNORMAL:
      case SIM_SORTED:
        cost[i] = exp (a * normal (rand));
        break;
      case SIM_BIMODAL:
        cost[i] = g_rand_double (rand) < a ? b : 1;
        break;
      case SIM_RAMP_UP:
        cost[i] = 1 + (a - 1) * i / MAX (n - 1, 1);
        break;
      case SIM_RAMP_DOWN:
        cost[i] = a - (a - 1) * i / MAX (n - 1, 1);
        break;
      case SIM_CLUSTERED:
        if (i % run == 0)
          level = g_rand_boolean (rand) ? b : 1;
        cost[i] = level;
        break;
      default:
        cost[i] = 1;
      }
  if (w->family == SIM_SORTED)
    qsort (cost, n, sizeof *cost, ascending);
}

/* Prefix sums of the costs, scaled to the workload's mean and then multiplied
   by the functions' factors. @of: [units] the functions; or NULL. */
static double *
sums (const SimWorkload *w, const double *cost, const guint8 *of, gboolean gpu)
{
  guint32 n = w->units;
  double *sum = g_new (double, n + 1), all = 0, total = 0, mean = w->work;
  for (guint32 i = 0; i < n; i++)
    {
      const SimFunction *f = of ? &w->functions[of[i]] : NULL;
      sum[i] = all;
      all += cost[i] * (!f ? 1 : gpu ? f->gpu_factor : f->cpu_factor);
      total += cost[i];
    }
  sum[n] = all;
  double scale = total > 0 ? mean * n / total : 1;
  for (guint32 i = 0; i <= n; i++)
    sum[i] *= scale;
  return sum;
}

static void
diverge (double *cost, guint32 n, guint32 warp)
{
  for (guint32 i = 0; i < n; i += warp)
    {
      guint32 end = MIN (i + warp, n);
      double most = 0;
      for (guint32 k = i; k < end; k++)
        most = MAX (most, cost[k]);
      for (guint32 k = i; k < end; k++)
        cost[k] = most;
    }
}

SimCosts
sim_costs_new (const SimWorkload *w, guint64 seed)
{
  SimCosts c = { NULL, NULL };
  if (w->family == SIM_EQUAL && w->gpu_ramp <= 1 && w->n_functions == 0)
    return c;
  guint32 seeds[] = { (guint32)seed, (guint32)(seed >> 32), 0x68617373 };
  GRand *rand = g_rand_new_with_seed_array (seeds, G_N_ELEMENTS (seeds));
  g_autofree double *cost = g_new (double, w->units);
  draw (w, rand, cost);
  g_rand_free (rand);
  g_autofree guint8 *of = sim_function_of_units (w);
  c.cpu = c.gpu = sums (w, cost, of, FALSE);
  if (w->warp > 1 || w->gpu_ramp > 1 || of)
    {
      if (w->warp > 1)
        diverge (cost, w->units, w->warp);
      for (guint32 i = 0; w->gpu_ramp > 1 && i < w->units; i++)
        cost[i] *= 1 + (w->gpu_ramp - 1) * i / MAX (w->units - 1, 1);
      c.gpu = sums (w, cost, of, TRUE);
    }
  return c;
}
