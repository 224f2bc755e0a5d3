/* SPDX-License-Identifier: MIT */
/* virtual.c: units that the virtual engine simulates in a second.
   Thread safety: one thread. */
#include "bench.h"

#include <hass/hass.h>
#include <stdio.h>
#include <stdlib.h>

#define N_UNITS 200000

static HassLoad *loads; /* [N_UNITS] */
static const char *platform;

/* A dry run does not call it. */
static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return FALSE;
}

typedef struct
{
  const char *strategy;
  gsize elements; /* in a load, on average */
} Case;

/* thousand units a second */
static double
measure (gconstpointer arg)
{
  const Case *c = arg;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  HassReport *report = NULL;
  GError *error = NULL;
  for (gsize i = 0; i < N_UNITS; i++)
    {
      gsize size = c->elements / 2 + c->elements * (i % 1000) / 1000;
      loads[i] = (HassLoad){ .size = size, .input_bytes = size };
    }
  farm.loads = loads;
  farm.n_loads = N_UNITS;
  farm.cost = HASS_COST_SIZED;
  farm.cpu_worker = never;
  farm.run.strategy = c->strategy;
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

static const Case cases[] = { { "naive-greedy", 100000 },
                              { "naive-greedy", 1000 },
                              { "hass-ce", 1000 } };

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
  BenchGroup *group
      = bench_group_new (BENCH_MORE_IS_BETTER, "k units/s",
                         "i. %d units in virtual time, %s", N_UNITS, platform);
  /* A core pulls several units shorter than 100 us at once; of the long ones
     each is an event of its own. */
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    bench_group_add (group, i == 0 ? 200 : 0, measure, &cases[i],
                     "%s, units of %" G_GSIZE_FORMAT " kB", cases[i].strategy,
                     cases[i].elements / 1000);
  bench_group_run (group, bench_rounds (7));
  g_free (loads);
  return 0;
}
