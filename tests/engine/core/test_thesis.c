/* SPDX-License-Identifier: MIT */
/* test_thesis.c: figures of Zhang 2011, chapter 4, on the modelled thesis
   machine, string search, dry.
   Thread safety: single-threaded. */
#include "hass_test.h"

#include <hass/hass.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THESIS HASS_TOP "/doc/platforms/thesis.platform"
#define LOADS_PER_ROUND 500
#define LOAD_BYTES 65536

static double
combine (const char *strategy, guint rounds)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  gsize n = (gsize)rounds * LOADS_PER_ROUND;
  g_autofree HassLoad *loads = g_new0 (HassLoad, n);
  for (gsize i = 0; i < n; i++)
    loads[i] = (HassLoad){ .size = LOAD_BYTES, .input_bytes = LOAD_BYTES };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "string_search";
  farm.cpu_worker = (HassCpuWorkerFunc)abort; /* a dry run calls none */
  farm.loads = loads;
  farm.n_loads = n;
  farm.cost = HASS_COST_EQUAL;
  farm.round_loads = LOADS_PER_ROUND;
  farm.run.platform = THESIS;
  farm.run.strategy = strategy;
  farm.run.dry = TRUE;
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, &report, &error));
  if (!report)
    return 0;
  CU_ASSERT_EQUAL (report->rounds, rounds);
  CU_ASSERT_EQUAL (report->units, n);
  return report->makespan_s;
}

/* Figure 29: equal loads, 20 rounds. */
static void
figure_29 (void)
{
  double naive = combine ("naive-greedy", 20);
  double min_min = combine ("min-min", 20);
  double ce = combine ("hass-ce", 20);
  double cd = combine ("hass-cd", 20);
  printf ("\n    naive %.1f ms, min-min %.1f, hass-ce %.1f, hass-cd %.1f ...",
          naive * 1e3, min_min * 1e3, ce * 1e3, cd * 1e3);
  CU_ASSERT_TRUE (ce < naive);
  CU_ASSERT_TRUE (ce < min_min);
  CU_ASSERT_TRUE (cd < naive);
  CU_ASSERT_TRUE (cd < min_min);
}

/* Of HASS_ce the thesis says that it gets better from round to round: the
   second round, mapped by min-min's first measurements, is slower than those
   mapped by what was learned. */
static void
learns (void)
{
  double second = combine ("hass-ce", 2) - combine ("hass-ce", 1);
  double later = (combine ("hass-ce", 20) - combine ("hass-ce", 10)) / 10;
  printf ("\n    second round %.3f ms, later ones %.3f ms ...", second * 1e3,
          later * 1e3);
  CU_ASSERT_TRUE (later < second);
}

#define CORES 4
#define CORE_WORK_PER_NS 0.55
#define GPU_WORK_PER_NS 3.0
#define LAUNCH_NS 20000.0
#define LINK_NS 15000.0
#define H2D_BYTES_PER_NS 3.0
#define SIZE ((gsize)LOADS_PER_ROUND * LOAD_BYTES)

static const char one_gpu[] = "[platform]\nname = one-gpu\n"
                              "[cpu]\ncores = 4\nwork_per_us = 550\n"
                              "pull_us = 0.5\n"
                              "[gpu0]\nmultiprocessors = 30\nwidth = 240\n"
                              "work_per_us = 3000\nlaunch_us = 20\n"
                              "link_us = 15\nh2d_gbps = 3.0\nduplex = no\n"
                              "depth = 1\n";

static double
partition (const char *platform, guint rounds)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  g_autofree HassLoad *loads = g_new0 (HassLoad, rounds);
  for (guint i = 0; i < rounds; i++)
    loads[i] = (HassLoad){ .size = SIZE, .input_bytes = SIZE };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "string_search";
  farm.cpu_worker = (HassCpuWorkerFunc)abort;
  farm.loads = loads;
  farm.n_loads = rounds;
  farm.cost = HASS_COST_EQUAL;
  farm.block_elements = LOAD_BYTES / 16;
  farm.run.platform = platform;
  farm.run.strategy = "hass-p";
  farm.run.dry = TRUE;
  CU_ASSERT_TRUE (hass_data_farm_partition (&farm, &report, &error));
  return report ? report->makespan_s : 0;
}

/* The split x of Qilin's optimum gives both devices the same time:
   x S / CPU rate = launch + link + (1 - x) S (1 / link rate + 1 / GPU rate). */
static double
optimum_ns (void)
{
  double cpu = 1 / (CORES * CORE_WORK_PER_NS);
  double gpu = 1 / H2D_BYTES_PER_NS + 1 / GPU_WORK_PER_NS;
  double fixed = LAUNCH_NS + LINK_NS;
  double x = (fixed + SIZE * gpu) / (SIZE * (cpu + gpu));
  return x * SIZE * cpu;
}

/* Figure 31: from the eighth round on HASS_p is as good as Qilin. */
static void
figure_31 (void)
{
  g_autofree char *path = NULL;
  int fd = g_file_open_tmp ("hass-one-gpu-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  CU_ASSERT_TRUE (g_file_set_contents (path, one_gpu, -1, NULL));
  double round_ns = (partition (path, 20) - partition (path, 8)) / 12 * 1e9;
  double best_ns = optimum_ns ();
  unlink (path);
  printf ("\n    hass-p %.3f ms a round, optimum %.3f ms ...", round_ns * 1e-6,
          best_ns * 1e-6);
  CU_ASSERT_TRUE (round_ns <= 1.02 * best_ns);
  CU_ASSERT_TRUE (round_ns >= 0.98 * best_ns);
}

HASS_TEST_SUITE (
    thesis,
    { "figure 29: HASS_ce and HASS_cd beat naive greedy and min-min",
      figure_29 },
    { "HASS_ce gets better from round to round", learns },
    { "figure 31: HASS_p comes within 2 % of the optimum split", figure_31 })
