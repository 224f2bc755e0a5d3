/* SPDX-License-Identifier: MIT */
/* test_virtual_spoliate.c: first farms on modelled machines, where nothing is
   known: what cores have begun in vain is taken from them if workers ask
   whether they should stop.
   Thread safety: one thread. */
#include <stdio.h>

#include "device/model/model.h"
#include "engine/virtual/virtual.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

enum
{
  CORES = 16,
  CORE_MS = 500 /* of a unit */
};

static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

/* A farm of @n units beside a GPU that is so many times as fast as a core.
   Returns: its report; free with hass_report_free(). */
static HassReport *
run (const char *strategy, double times, guint n, gboolean stoppable)
{
  g_autofree char *text = g_strdup_printf (
      "[platform]\n[cpu]\ncores = %d\nwork_per_us = 1\npull_us = 0\n[gpu0]\n"
      "multiprocessors = 132\nwidth = 100000\nwork_per_us = %g\n"
      "launch_us = 10\nlink_us = 10\nh2d_gbps = 25\ndepth = 4\n",
      CORES, times);
  g_autofree char *path = trial_file (text);
  g_autofree HassLoad *loads = g_new (HassLoad, n);
  g_autoptr (GError) error = NULL;
  HassReport *report = NULL;
  for (guint i = 0; i < n; i++)
    loads[i] = (HassLoad){ .size = 100000, .cost = CORE_MS * 1000 };
  HassVirtualModel model = { .stoppable = stoppable };
  HassRunOptions options = { .dry = TRUE, .trace = "", .record = "" };
  HassFarm farm = { .name = "spoliated",
                    .kind = HASS_FARM_COMBINE,
                    .cost = HASS_COST_EQUAL,
                    .loads = loads,
                    .n_loads = n,
                    .cpu_worker = never,
                    .element_threads = 1,
                    .pool_loads = n,
                    .pool_bytes = G_MAXSIZE,
                    .round_loads = n,
                    .window = n,
                    .strategy = strategy,
                    .run = &options };
  HassPlatform *platform = hass_platform_load (path, NULL, &error);
  CU_ASSERT_TRUE (
      hass_virtual_run_model (&farm, platform, &model, &report, &error));
  if (error)
    printf ("\n    %s", error->message);
  hass_platform_free (platform);
  unlink (path);
  CU_ASSERT_TRUE (report && report->units == n);
  return report;
}

static void
first_farms (void)
{
  static const double times[] = { 10, 50, 300, 1000 };
  static const guint units[] = { 20, 64, 200 };
  printf ("\n");
  for (guint t = 0; t < G_N_ELEMENTS (times); t++)
    for (guint u = 0; u < G_N_ELEMENTS (units); u++)
      {
        double cores = CORE_MS * 1e-3 * ((units[u] + CORES - 1) / CORES);
        double gpu = CORE_MS * 1e-3 * units[u] / times[t];
        g_autoptr (HassReport) r = run ("auto", times[t], units[u], TRUE);
        g_autoptr (HassReport) firm = run ("auto", times[t], units[u], FALSE);
        double of_best = MIN (cores, gpu) / r->makespan_s;
        printf ("    %4g times, %3u units: %3.0f %% of the better device, "
                "%2" G_GUINT64_FORMAT " taken; without %3.0f %%\n",
                times[t], units[u], 100 * of_best, r->devices[0].taken_back,
                100 * MIN (cores, gpu) / firm->makespan_s);
        CU_ASSERT_TRUE (of_best > 0.9);
        CU_ASSERT_EQUAL (firm->devices[0].taken_back, 0);
      }
}

HASS_TEST_SUITE (virtual_spoliate,
                 { "a first farm is as fast as its better device",
                   first_farms })
