/* SPDX-License-Identifier: MIT */
/* compare.c: see compare.h.
   Thread safety: as compare.h. */
#include "compare.h"

#include <hass/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Times that each is measured; the machine may have other work. */
#define ROUNDS 9

static int
by_value (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double
median (double values[ROUNDS])
{
  qsort (values, ROUNDS, sizeof *values, by_value);
  return values[ROUNDS / 2];
}

static gboolean
differ (GError **error, double loop, double graph)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER,
               "cells change by at most %.17g in the graph, %.17g in a loop",
               graph, loop);
  return FALSE;
}

/* CPU time of all threads, ns. */
static double
cpu_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

gboolean
heat_compare (const HeatJob *job, GError **error)
{
  double graph[ROUNDS], loop[ROUNDS], beside[ROUNDS];
  const HeatPlate *p = job->plate;
  HeatJob all = *job;
  all.tolerance = -1;
  g_autoptr (HeatGraph) recorded = heat_record (&all, error);
  if (!recorded)
    return FALSE;
  for (guint i = 0; i < ROUNDS; i++)
    {
      HeatResult result;
      double tasks = (double)(job->steps * p->n_down * p->n_across);
      heat_plate_reset (job->plate);
      double start = cpu_ns ();
      double change = heat_sweep_all (job->plate, job->steps, job->check);
      loop[i] = (cpu_ns () - start) / tasks;
      heat_plate_reset (job->plate);
      start = cpu_ns ();
      if (!heat_run (recorded, &result, NULL, error))
        return FALSE;
      graph[i] = (cpu_ns () - start) / tasks;
      beside[i] = graph[i] - loop[i];
      if (change != result.change)
        return differ (error, change, result.change);
    }
  printf (
      "CPU time of a block: %.1f ns in a loop, %.1f ns in the graph; a task "
      "costs\n%.1f ns beside its work (medians of %d rounds)\n",
      median (loop), median (graph), median (beside), ROUNDS);
  return TRUE;
}
