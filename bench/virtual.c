/* SPDX-License-Identifier: MIT */
/* virtual.c: units that the virtual engine simulates in a second.
   Thread safety: one thread. */
#include "bench.h"

#include <hass/hass.h>
#include <stdio.h>
#include <stdlib.h>

#define N_UNITS 200000

static HassLoad *loads;
static const char *platform;

/* thousand units a second */
static double
measure (gconstpointer strategy)
{
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  HassReport *report = NULL;
  GError *error = NULL;
  farm.loads = loads;
  farm.n_loads = N_UNITS;
  farm.cost = HASS_COST_SIZED;
  farm.run.strategy = strategy;
  farm.run.platform = platform;
  farm.run.dry = TRUE;
  gint64 begin = bench_now_ns ();
  if (!hass_data_farm_combine (&farm, &report, &error)
      || report->units != N_UNITS)
    {
      fprintf (stderr, "hass: %s\n", error ? error->message : "units missing");
      exit (1);
    }
  double seconds = (bench_now_ns () - begin) * 1e-9;
  hass_report_free (report);
  return N_UNITS * 1e-3 / seconds;
}

int
main (int argc, char **argv)
{
  platform = argc > 1 ? argv[1] : "doc/platforms/thesis.platform";
  printf ("\n== Virtual engine\n");
  if (!g_file_test (platform, G_FILE_TEST_EXISTS))
    {
      printf ("  left out: there is no %s\n", platform);
      return 0;
    }
  loads = g_new0 (HassLoad, N_UNITS);
  for (gsize i = 0; i < N_UNITS; i++)
    loads[i] = (HassLoad){ .size = 1000 + i % 1000,
                           .input_bytes = 4000 + 4 * (i % 1000) };
  BenchGroup *group = bench_group_new (BENCH_MORE_IS_BETTER, "k units/s",
                                       "i. %d units in virtual time, %s",
                                       N_UNITS, platform);
  bench_group_add (group, 200, measure, "naive-greedy", "naive-greedy");
  bench_group_add (group, 0, measure, "hass-ce", "hass-ce");
  bench_group_run (group, bench_rounds (7));
  g_free (loads);
  return 0;
}
