/* SPDX-License-Identifier: MIT */
/* test_auto.c: how near auto comes to all rates on modelled machines, and that
   it copes with devices that slow down, fail or are lost, in the mini engine.
   Thread safety: one thread. */
#include "hass_test.h"

#include <hass/hass.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sched/mini_engine.h"
#include "tests/engine/trial.h"

#define H200 HASS_TOP "/doc/platforms/h200.platform"
#define H200X2 HASS_TOP "/doc/platforms/h200x2.platform"
#define MIB ((gsize)1 << 20)

/* As those platform files have it: cores, bytes per ns. */
#define CORE_RATE 5.5
#define LINK_RATE 55.0

static const MiniDevice pair[]
    = { MINI_CPU (16, 16000), MINI_GPU (132, 1500, 15000) };

/* -- Modelled machines -------------------------------------------------- */

/* Bytes per ns of a farm of equal or random loads: one round of a divisible
   load, or 20 rounds. */
static double
rate_of (const char *strategy, HassFarmKind kind, HassCostClass cost,
         const char *platform, gsize n, gsize bytes)
{
  g_autoptr (HassReport) report = NULL;
  gsize rounds = kind == HASS_FARM_PARTITION ? 1 : 20;
  gsize n_loads = kind == HASS_FARM_PARTITION ? rounds : rounds * n;
  g_autofree HassLoad *loads = g_new0 (HassLoad, n_loads);
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  double total = 0;
  for (gsize i = 0; i < n_loads; i++)
    {
      gsize b = bytes;
      if (kind == HASS_FARM_PARTITION)
        b *= n;
      else if (cost != HASS_COST_EQUAL)
        b = bytes * g_rand_double_range (rand, 0.1, 1.9);
      loads[i] = (HassLoad){ .size = b, .cost = b, .input_bytes = b };
      total += b;
    }
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "auto";
  farm.loads = loads;
  farm.n_loads = n_loads;
  farm.cost = cost;
  if (kind == HASS_FARM_PARTITION)
    farm.block_elements = bytes;
  farm.round_loads = n;
  farm.cpu_worker = (HassCpuWorkerFunc)abort; /* a dry run calls none */
  farm.run.platform = platform;
  farm.run.strategy = strategy;
  farm.run.dry = TRUE;
  gboolean ok = kind == HASS_FARM_PARTITION
                    ? hass_data_farm_partition (&farm, &report, NULL)
                : kind == HASS_FARM_COMBINE
                    ? hass_data_farm_combine (&farm, &report, NULL)
                    : hass_data_farm_indivisible (&farm, &report, NULL);
  CU_ASSERT_TRUE (ok);
  return ok ? total / report->makespan_s * 1e-9 : 0;
}

static double
one_load (const char *strategy, const char *platform, gsize blocks, gsize block)
{
  return rate_of (strategy, HASS_FARM_PARTITION, HASS_COST_EQUAL, platform,
                  blocks, block);
}

/* One round, nothing known before: all that cores and links can do. */
static void
one_huge_load_cold (void)
{
  double best = 16 * CORE_RATE + LINK_RATE;
  double coarse = one_load ("auto", H200, 1536, 4 * MIB);
  double fine = one_load ("auto", H200, 6144, MIB);
  double two = one_load ("auto", H200X2, 6144, MIB);
  printf ("\n    %.1f %% in blocks of 4 MiB, %.1f of 1 MiB, two GPUs %.1f ...",
          100 * coarse / best, 100 * fine / best, 50 * two / best);
  CU_ASSERT_TRUE (coarse > 0.98 * best);
  CU_ASSERT_TRUE (fine > 0.99 * best);
  CU_ASSERT_TRUE (two > 0.98 * 2 * best);
}

/* Kernels as fast as the link: copies must overlap them. */
static void
copies_overlap_kernels (void)
{
  static const char text[]
      = "[platform]\n[cpu]\ncores = 16\nwork_per_us = 5500\n[gpu0]\n"
        "multiprocessors = 132\nwidth = 270336\nwork_per_us = 60000\n"
        "launch_us = 8\nlink_us = 6.6\nh2d_gbps = 55\ndepth = %u\n";
  double rates[4];
  for (guint depth = 1; depth <= 3; depth++)
    {
      g_autofree char *t = g_strdup_printf (text, depth);
      g_autofree char *platform = trial_file (t);
      rates[depth] = one_load ("auto", platform, 6144, MIB);
      unlink (platform);
    }
  double best = 16 * CORE_RATE + LINK_RATE;
  double serial = 16 * CORE_RATE + 1 / (1 / LINK_RATE + 1 / 60.0);
  printf ("\n    %.3f, %.3f, %.3f ...", rates[1] / serial, rates[2] / best,
          rates[3] / best);
  CU_ASSERT_TRUE (rates[1] > 0.98 * serial);
  CU_ASSERT_TRUE (rates[2] > 0.965 * best);
  CU_ASSERT_TRUE (rates[3] > 0.97 * best);
}

/* 20 rounds of 4096 loads of 64 KiB, about 2 ms each. */
static void
rounds_of_small_loads (void)
{
  static const double least[] = { [HASS_COST_EQUAL] = 0.965,
                                  [HASS_COST_SIZED] = 0.965,
                                  [HASS_COST_UNKNOWN] = 0.94 };
  double best = 16 * CORE_RATE + LINK_RATE;
  for (HassCostClass cost = 0; cost <= HASS_COST_UNKNOWN; cost++)
    {
      double rate
          = rate_of ("auto", HASS_FARM_COMBINE, cost, H200, 4096, MIB / 16);
      CU_ASSERT_TRUE (rate > least[cost] * best);
      if (!(rate > least[cost] * best))
        printf ("\n    cost class %d: %.3f ...", cost, rate / best);
    }
}

/* Strategies that serve the same farm, on the machine of the day. */
static void
not_behind_the_others (void)
{
  static const char *const partition[]
      = { "hass-p", "hass-ce", "hass-cd", "modified-greedy" };
  static const char *const indivisible[]
      = { "hass-i", "modified-greedy", "naive-greedy" };
  double own = one_load ("auto", H200, 1536, 4 * MIB);
  for (guint i = 0; i < G_N_ELEMENTS (partition); i++)
    CU_ASSERT_TRUE (own > one_load (partition[i], H200, 1536, 4 * MIB));
  for (HassCostClass cost = 0; cost <= HASS_COST_UNKNOWN; cost++)
    {
      own = rate_of ("auto", HASS_FARM_COMBINE, cost, H200, 4096, MIB / 16);
      for (guint i = 1; i < G_N_ELEMENTS (partition); i++)
        CU_ASSERT_TRUE (own > rate_of (partition[i], HASS_FARM_COMBINE, cost,
                                       H200, 4096, MIB / 16));
      own = rate_of ("auto", HASS_FARM_INDIVISIBLE, cost, H200, 4000, MIB / 16);
      for (guint i = 0; i < G_N_ELEMENTS (indivisible); i++)
        CU_ASSERT_TRUE (own > rate_of (indivisible[i], HASS_FARM_INDIVISIBLE,
                                       cost, H200, 4000, MIB / 16));
    }
}

/* -- Trouble ------------------------------------------------------------ */

static struct
{
  MiniFarm *farm;
  HassStrategyOps ops;
  const HassStrategyOps *wrapped;
  guint device, seen;
  double begin_ns, ideal_ns; /* of the round, once the device has drifted */
} drift;

/* Rate of all devices, units per ns. */
static double
all_rates (const MiniFarm *farm)
{
  return 1 / mini_bound_ns (farm->devices, farm->n, 1);
}

static void
slow_down (gpointer self, HassRound *round, const HassCompletion *done)
{
  MiniFarm *farm = drift.farm;
  drift.wrapped->observe (self, round, done);
  if (drift.seen++ != 2)
    return;
  double past_ns = farm->now_ns - drift.begin_ns;
  double left = hass_round_units (round) - past_ns * all_rates (farm);
  farm->devices[drift.device].ns_per_work *= 3;
  drift.ideal_ns = past_ns + left / all_rates (farm);
}

/* A device slows down threefold in mid-round, when what it holds cannot be
   taken from it. */
static void
drifts (guint device)
{
  MiniFarm *farm
      = mini_farm_new ("auto", HASS_FARM_COMBINE, HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  mini_farm_run_equal (farm, 20000, &result);
  drift.farm = farm;
  drift.wrapped = farm->strategy->ops;
  drift.ops = *drift.wrapped;
  drift.ops.observe = slow_down;
  drift.device = device;
  drift.seen = 0;
  drift.begin_ns = farm->now_ns;
  farm->strategy->ops = &drift.ops;
  mini_farm_run_equal (farm, 20000, &result);
  CU_ASSERT_TRUE (drift.seen > 3 && result.once);
  CU_ASSERT_TRUE (result.summary.makespan_ns < 1.03 * drift.ideal_ns);
  printf (" %.3f of the ideal ...",
          result.summary.makespan_ns / drift.ideal_ns);
  mini_farm_free (farm);
}

static void
reacts_to_drift (void)
{
  drifts (0);
  drifts (1);
}

static void
works_on_without_a_lost_gpu (void)
{
  MiniDevice devices[] = { pair[0], pair[1], pair[1] };
  devices[2].lost_after = 5;
  MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  devices, 3, 1);
  MiniRound result;
  for (guint r = 0; r < 4; r++)
    {
      mini_farm_run_equal (farm, 20000, &result);
      CU_ASSERT_TRUE (result.once && !result.hung);
      CU_ASSERT_EQUAL (result.rescued + result.forced, 0);
    }
  CU_ASSERT_EQUAL (result.devices[2].units, 0);
  CU_ASSERT_TRUE (result.summary.makespan_ns
                  < 1.02 * mini_bound_ns (devices, 2, 20000));
  mini_farm_free (farm);
}

/* A GPU that fails for a round gets single units, and all its part again
   once it works. */
static void
takes_back_a_gpu_that_failed (void)
{
  MiniFarm *farm
      = mini_farm_new ("auto", HASS_FARM_COMBINE, HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  mini_farm_run_equal (farm, 20000, &result);
  farm->devices[1].fails = 1;
  mini_farm_run_equal (farm, 20000, &result);
  CU_ASSERT_TRUE (result.once && !result.hung);
  for (guint i = 1; i < farm->grants->len; i++)
    CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, i).units, 1);
  farm->devices[1].fails = 0;
  mini_farm_run_equal (farm, 20000, &result);
  CU_ASSERT_TRUE (result.once);
  CU_ASSERT_TRUE (result.summary.makespan_ns
                  < 1.03 * mini_bound_ns (pair, 2, 20000));
  mini_farm_free (farm);
}

/* Indivisible loads are sorted, so that multiprocessors end together; but not
   where these get as much as some of the largest and they are data, which would
   have to be gathered, unless kernels are seen to take far longer than the
   link, or there is none. */
static void
data_is_not_sorted (void)
{
  static const struct
  {
    guint32 n;
    gsize bytes;
    double link, largest;
    gboolean first, later; /* rounds are sorted */
  } cases[] = { { 2000, 1 << 17, 50, 1000, FALSE, FALSE },
                { 2000, 1 << 10, 50, 1000, TRUE, TRUE },
                { 250, 1 << 17, 50, 1000, TRUE, TRUE },
                { 2000, 1 << 17, 50, 3000, TRUE, TRUE },
                { 2000, 1 << 17, 0, 1000, TRUE, TRUE },
                { 2000, 1 << 17, 200, 1000, FALSE, TRUE } };
  static const guint8 input[1 << 17];
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      MiniDevice devices[] = { MINI_CPU (16, 1000), MINI_GPU (132, 10, 15000) };
      MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_INDIVISIBLE,
                                      HASS_COST_SIZED, devices, 2, 1);
      farm->kernels = 1;
      farm->traits[1].link_bytes_per_ns = cases[i].link;
      HassLoad *loads = mini_random_loads (farm->rand, cases[i].n,
                                           HASS_FARM_INDIVISIBLE, FALSE);
      loads[7].size = loads[7].cost = cases[i].largest;
      for (guint32 u = 0; u < cases[i].n; u++)
        {
          loads[u].input = input;
          loads[u].input_bytes = cases[i].bytes;
        }
      MiniRound result;
      for (guint round = 0; round < 3; round++)
        {
          mini_farm_run (farm, loads, cases[i].n, &result);
          CU_ASSERT_TRUE (result.once && !result.hung);
          gboolean sorted = TRUE;
          for (guint32 u = 1; u < cases[i].n; u++)
            sorted &= hass_round_work (farm->round, u - 1, 1)
                      <= hass_round_work (farm->round, u, 1);
          CU_ASSERT_EQUAL (sorted, round > 0 ? cases[i].later : cases[i].first);
        }
      g_free (loads);
      mini_farm_free (farm);
    }
}

/* Where costs differ, rounds are tried with GPUs at the front; also beside one
   that fails and one that is lost in the middle each unit runs once. */
static void
takes_from_both_ends (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  for (guint trial = 0; trial < 60; trial++)
    {
      MiniDevice devices[] = { pair[0], pair[1], pair[1] };
      HassCostClass cost = trial % 2 ? HASS_COST_UNKNOWN : HASS_COST_SIZED;
      HassFarmKind kind = trial % 3 ? HASS_FARM_COMBINE : HASS_FARM_INDIVISIBLE;
      if (trial % 4 == 3)
        devices[1].fails = 0.2;
      MiniFarm *farm = mini_farm_new ("auto", kind, cost, devices, 3, trial);
      guint fronts = 0;
      for (guint r = 0; r < 10; r++)
        {
          guint n = g_rand_int_range (rand, 3000, 6000);
          g_autofree HassLoad *loads = mini_random_loads (rand, n, kind, 0);
          MiniRound result;
          if (r == 4 && trial % 5 == 4)
            farm->devices[2].lost_after = 1;
          mini_farm_run (farm, loads, n, &result);
          CU_ASSERT_TRUE (result.once && !result.hung);
          CU_ASSERT_EQUAL (result.rescued, 0);
          for (guint g = 0; g < farm->grants->len; g++)
            {
              MiniGrant *grant = &g_array_index (farm->grants, MiniGrant, g);
              fronts += grant->device > 0 && grant->source == HASS_FROM_FRONT;
            }
        }
      if (trial % 4 != 3)
        CU_ASSERT_TRUE (fronts > 0);
      mini_farm_free (farm);
    }
}

/* A core needs ns_per_work of the CPU pool for a unit. */
static void
leaves_out_who_costs_cores_more (void)
{
  for (guint costly = 0; costly < 2; costly++)
    {
      MiniDevice devices[] = { pair[0], pair[1] };
      devices[1].host_ns_per_work
          = (costly ? 1.3 : 0.7) * devices[0].ns_per_work;
      MiniFarm *farm = mini_farm_new_equal ("auto", devices, 2);
      MiniRound result;
      for (guint r = 0; r < 4; r++)
        {
          mini_farm_run_equal (farm, 20000, &result);
          CU_ASSERT_TRUE (result.once && !result.hung);
          CU_ASSERT_EQUAL (result.rescued + result.forced, 0);
          guint64 units = result.devices[1].units;
          CU_ASSERT_TRUE (costly ? units < (r == 0 ? 400 : 1) : units > 4000);
        }
      mini_farm_free (farm);
    }
}

/* A search in a file's pages, as traced on 32 cores and two H200s with rates
   from earlier runs: each GPU had two bundles of four units before it was seen
   that cores search faster than they copy. */
static guint64
units_of_known_gpus (gsize input_bytes)
{
  static const HassProfileRate profile[]
      = { { .work_per_ns = 3.2e-5, .runs = 3 },
          { .work_per_ns = 2.5e-6, .runs = 3 },
          { .work_per_ns = 2.5e-6, .runs = 3 } };
  const guint32 n = 1024;
  MiniDevice gpu = MINI_GPU (132, 4e5, 15000);
  gpu.host_ns_per_work = 1.3e6;
  gpu.first_ns = 1e6; /* so that a core has done a unit by then */
  MiniDevice devices[] = { MINI_CPU (32, 1e6), gpu, gpu };
  MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  devices, 3, 1);
  g_autofree HassLoad *loads = mini_equal_loads (n);
  MiniRound result;
  for (guint32 i = 0; i < n; i++)
    loads[i].input_bytes = input_bytes;
  farm->env.profile = profile;
  mini_farm_restart (farm, "auto");
  mini_farm_run (farm, loads, n, &result);
  CU_ASSERT_TRUE (result.once && !result.hung);
  mini_farm_free (farm);
  return result.devices[1].units + result.devices[2].units;
}

static void
little_is_copied_on_trial (void)
{
  CU_ASSERT_TRUE (units_of_known_gpus (4 << 20) <= 4);
  CU_ASSERT_TRUE (units_of_known_gpus (0) > 4);
}

HASS_TEST_SUITE (
    sched_auto,
    { "one huge load, cold, takes within 2 % of all rates",
      one_huge_load_cold },
    { "copies overlap kernels on a GPU that can", copies_overlap_kernels },
    { "rounds of small loads take within 3.5 to 6 % of all rates",
      rounds_of_small_loads },
    { "no strategy of the papers is faster on a modern machine",
      not_behind_the_others },
    { "a device that slows down threefold gets less", reacts_to_drift },
    { "rounds go on without a lost GPU", works_on_without_a_lost_gpu },
    { "a GPU that failed gets work again", takes_back_a_gpu_that_failed },
    { "loads that are data are not sorted", data_is_not_sorted },
    { "GPUs take from either end of a round, and lose nothing by it",
      takes_from_both_ends },
    { "a GPU whose copies cost cores more than its work is excluded",
      leaves_out_who_costs_cores_more },
    { "a GPU known from earlier runs gets little until its copies are known",
      little_is_copied_on_trial })
