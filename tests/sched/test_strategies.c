/* SPDX-License-Identifier: MIT */
/* test_strategies.c: what the strategies of the room claim, in the mini
   engine's virtual time.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>
#include <string.h>

#include "mini_engine.h"
#include "sched/common.h"

/* Like the machine of the thesis, chapter 4: 4 cores, a C1060 with 30
   multiprocessors and an FX1800 with 8. A unit takes a core 40 us, a launch
   30 us, so a bundle matters. */
static const MiniDevice thesis[]
    = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000),
        MINI_GPU (8, 9000, 30000) };

/* -- Lost and failing devices ------------------------------------------ */

/* A GPU that is lost with a share in its buffer: others run it, and later
   rounds do without the GPU. */
static void
works_on_without_lost_gpu (void)
{
  static const char *const names[]
      = { "min-min", "hass", "hass-ce", "hass-cd" };
  MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000),
                           MINI_GPU (8, 9000, 30000) };
  devices[2].lost_after = 2;
  HassLoad *loads = mini_equal_loads (600);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      MiniFarm *farm = mini_farm_new (names[i], HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, devices, 3, 1);
      for (guint r = 0; r < 6; r++)
        {
          MiniRound result;
          mini_farm_run (farm, loads, 600, &result);
          CU_ASSERT (result.once);
          CU_ASSERT_EQUAL (result.rescued, 0);
          if (r > 2)
            CU_ASSERT (result.shares[1] > 0 && result.shares[2] == 0);
        }
      CU_ASSERT (farm->lost[2]);
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* A GPU that fails all it gets is tried with single units only. */
static void
risks_single_units (void)
{
  static const char *const names[]
      = { "hass", "hass-ce", "hass-cd", "modified-greedy" };
  MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000) };
  HassLoad *loads = mini_equal_loads (600);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      MiniFarm *farm = mini_farm_new (names[i], HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, devices, 2, 1);
      MiniRound result;
      for (guint r = 0; r < 4; r++)
        mini_farm_run (farm, loads, 600, &result);
      farm->devices[1].fails = 1;
      mini_farm_run (farm, loads, 600, &result);
      CU_ASSERT (result.once);
      CU_ASSERT (g_array_index (farm->grants, MiniGrant, 0).units > 10);
      CU_ASSERT (farm->grants->len > 2);
      for (guint g = 1; g < farm->grants->len; g++)
        CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, g).asked, 1);
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* A GPU that is lost before it was ever asked. */
static void
waits_for_nobody_in_vain (void)
{
  static const char *const names[]
      = { "min-min", "hass", "hass-ce", "hass-cd" };
  HassLoad *loads = mini_equal_loads (600);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      MiniFarm *farm = mini_farm_new (names[i], HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, thesis, 3, 1);
      MiniRound result;
      farm->lost[2] = TRUE;
      mini_farm_run (farm, loads, 600, &result);
      CU_ASSERT (result.once);
      CU_ASSERT_EQUAL (result.forced, 1);
      CU_ASSERT_EQUAL (result.rescued, 0);
      mini_farm_run (farm, loads, 600, &result);
      CU_ASSERT_EQUAL (result.waits, 0);
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* -- Calibration -------------------------------------------------------- */

static void
measures_one_unit_each (void)
{
  HassLoad *loads = mini_equal_loads (500);
  static const char *const names[]
      = { "min-min", "hass", "hass-ce", "hass-cd" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      MiniRound result;
      MiniFarm *farm = mini_farm_new (names[i], HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, thesis, 3, 1);
      mini_farm_run (farm, loads, 500, &result);
      for (guint g = 0; g < 2; g++)
        {
          MiniGrant *grant = &g_array_index (farm->grants, MiniGrant, g);
          CU_ASSERT_EQUAL (grant->device, g + 1);
          CU_ASSERT_EQUAL (grant->units, 1);
        }
      /* Nobody had a second grant before all three were measured. */
      CU_ASSERT (result.waits >= 2);
      CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, 2).waiting, 0);
      if (i == 0) /* no stealing: the map of the other 497 is what ran */
        {
          guint64 counts[3];
          hass_share_min_min (
              497, (double[]){ 4 / 40000., 1 / 32500., 1 / 39000. }, 3, counts);
          for (guint d = 0; d < 3; d++)
            CU_ASSERT_EQUAL (result.devices[d].units, counts[d] + 1);
        }
      mini_farm_run (farm, loads, 500, &result);
      CU_ASSERT_EQUAL (result.waits, 0); /* measured once and for all */
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* An engine may tell of the CPU's unit late; its progress can be read. */
static void
measures_a_quiet_cpu (void)
{
  HassLoad *loads = mini_equal_loads (500);
  MiniRound result;
  MiniFarm *farm = mini_farm_new ("min-min", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  thesis, 3, 1);
  farm->quiet = TRUE;
  mini_farm_run (farm, loads, 500, &result);
  CU_ASSERT (result.once);
  CU_ASSERT (result.devices[0].units > 250);
  CU_ASSERT (result.devices[1].units > 50);
  mini_farm_free (farm);
  g_free (loads);
}

static void
trusts_known_rates (void)
{
  MiniDevice devices[]
      = { MINI_CPU (4, 400), MINI_GPU (30, 25, 0), MINI_GPU (8, 50, 0) };
  HassLoad *loads = mini_equal_loads (700);
  MiniRound result;
  for (guint d = 0; d < 3; d++)
    devices[d].known_rate = (d ? 1 : 4) / devices[d].ns_per_work;
  MiniFarm *farm = mini_farm_new ("min-min", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  devices, 3, 1);
  mini_farm_run (farm, loads, 700, &result);
  CU_ASSERT_EQUAL (result.waits, 0);
  CU_ASSERT_EQUAL (result.devices[0].units, 100);
  CU_ASSERT_EQUAL (result.devices[1].units, 400);
  CU_ASSERT_EQUAL (result.devices[2].units, 200);
  mini_farm_free (farm);
  g_free (loads);
}

/* -- Makespans on the thesis's machine ---------------------------------- */

static double
total_ns (const char *spec, HassCostClass cost, guint32 units, guint rounds)
{
  MiniFarm *farm = mini_farm_new (spec, HASS_FARM_COMBINE, cost, thesis, 3, 1);
  GRand *rand = g_rand_new_with_seed (5);
  double total = 0;
  for (guint r = 0; r < rounds; r++)
    {
      MiniRound result;
      HassLoad *loads = mini_equal_loads (units);
      for (guint32 i = 0; i < units && cost != HASS_COST_EQUAL; i++)
        loads[i].cost = (float)g_rand_double_range (rand, 0.1, 1.9);
      mini_farm_run (farm, loads, units, &result);
      total += result.summary.makespan_ns;
      g_free (loads);
    }
  g_rand_free (rand);
  mini_farm_free (farm);
  return total;
}

static void
ce_beats_its_peers (void)
{
  double ce = total_ns ("hass-ce", HASS_COST_EQUAL, 2000, 20);
  double bound = 20 * mini_bound_ns (thesis, 3, 2000);
  CU_ASSERT (2 * ce < total_ns ("naive-greedy", HASS_COST_EQUAL, 2000, 20));
  CU_ASSERT (2 * ce < total_ns ("min-min", HASS_COST_EQUAL, 2000, 20));
  /* Its first round, basic HASS, is what it loses. */
  CU_ASSERT (ce < 1.2 * bound);
  CU_ASSERT (ce < total_ns ("hass", HASS_COST_EQUAL, 2000, 20));
}

static void
peers_do_not_bundle (void)
{
  static const char *const names[] = { "naive-greedy", "min-min" };
  HassLoad *loads = mini_equal_loads (500);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      MiniRound result;
      MiniFarm *farm = mini_farm_new (names[i], HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, thesis, 3, 1);
      mini_farm_run (farm, loads, 500, &result);
      for (guint g = 0; g < farm->grants->len; g++)
        CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, g).units, 1);
      mini_farm_free (farm);
    }
  g_free (loads);
}

static void
cd_beats_its_peers (void)
{
  double cd = total_ns ("hass-cd", HASS_COST_SIZED, 2000, 20);
  CU_ASSERT (2 * cd < total_ns ("naive-greedy", HASS_COST_SIZED, 2000, 20));
  CU_ASSERT (2 * cd < total_ns ("min-min", HASS_COST_SIZED, 2000, 20));
  CU_ASSERT (cd < total_ns ("hass", HASS_COST_SIZED, 2000, 20));
  CU_ASSERT (cd > total_ns ("hass-cd:learn=1", HASS_COST_SIZED, 2000, 20));
  /* Figure 29: on equal loads HASS_ce is ahead once it has learned. */
  CU_ASSERT (total_ns ("hass-cd", HASS_COST_EQUAL, 2000, 60)
             > total_ns ("hass-ce", HASS_COST_EQUAL, 2000, 60));
}

static void
modified_greedy_beats_naive (void)
{
  CU_ASSERT (3 * total_ns ("modified-greedy", HASS_COST_UNKNOWN, 2000, 10)
             < total_ns ("naive-greedy", HASS_COST_UNKNOWN, 2000, 10));
  CU_ASSERT (1.5 * total_ns ("modified-greedy", HASS_COST_UNKNOWN, 200, 10)
             < total_ns ("naive-greedy", HASS_COST_UNKNOWN, 200, 10));
}

/* Bundles by speed: the faster GPU's largest is the larger, and none is more
   than the cap. */
static void
modified_greedy_weighs_by_speed (void)
{
  MiniFarm *farm = mini_farm_new ("modified-greedy:cap=1/4", HASS_FARM_COMBINE,
                                  HASS_COST_UNKNOWN, thesis, 3, 1);
  HassLoad *loads = mini_equal_loads (4000);
  guint64 largest[3] = { 0 };
  MiniRound result;
  for (guint r = 0; r < 3; r++)
    mini_farm_run (farm, loads, 4000, &result);
  for (guint i = 0; i < farm->grants->len; i++)
    {
      MiniGrant *grant = &g_array_index (farm->grants, MiniGrant, i);
      largest[grant->device] = MAX (largest[grant->device], grant->units);
    }
  double whole = 4 / 40000. + 1 / 2500. + 1 / 9000.;
  CU_ASSERT_DOUBLE_EQUAL (largest[1], 1000 / 2500. / whole, 60);
  CU_ASSERT_DOUBLE_EQUAL (largest[2], 1000 / 9000. / whole, 30);
  mini_farm_free (farm);
  g_free (loads);
}

/* -- HASS_ce and HASS_cd ------------------------------------------------ */

/* Shares of the last of some rounds of equal loads. */
static void
run_rounds (MiniFarm *farm, guint rounds, guint32 units, double *parts)
{
  HassLoad *loads = mini_equal_loads (units);
  MiniRound result;
  for (guint r = 0; r < rounds; r++)
    mini_farm_run (farm, loads, units, &result);
  for (guint d = 0; d < farm->n; d++)
    parts[d] = result.devices[d].units / (double)units;
  g_free (loads);
}

static void
ce_converges (void)
{
  double parts[3], ideal[3];
  MiniFarm *farm = mini_farm_new ("hass-ce", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  thesis, 3, 1);
  run_rounds (farm, 10, 2000, parts);
  mini_ideal_parts (thesis, 3, 2000, ideal);
  for (guint d = 0; d < 3; d++)
    CU_ASSERT_DOUBLE_EQUAL (parts[d], ideal[d], 0.005);
  mini_farm_free (farm);
}

/* As listed in the thesis the CPU's part can only shrink. */
static void
ce_has_no_ratchet (void)
{
  double before[3], slow[3], after[3], ideal[3];
  MiniFarm *farm = mini_farm_new ("hass-ce", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  thesis, 3, 1);
  run_rounds (farm, 8, 2000, before);
  farm->devices[0].ns_per_work *= 3;
  run_rounds (farm, 12, 2000, slow);
  mini_ideal_parts (farm->devices, 3, 2000, ideal);
  CU_ASSERT (slow[0] < 0.5 * before[0]);
  CU_ASSERT_DOUBLE_EQUAL (slow[0], ideal[0], 0.01);
  farm->devices[0].ns_per_work /= 3;
  farm->devices[1].ns_per_work *= 2;
  run_rounds (farm, 12, 2000, after);
  mini_ideal_parts (farm->devices, 3, 2000, ideal);
  CU_ASSERT (after[0] > 1.3 * before[0]);
  CU_ASSERT_DOUBLE_EQUAL (after[0], ideal[0], 0.01);
  mini_farm_free (farm);
}

static void
checks_thefts (const char *spec, gboolean many, guint n_gpus)
{
  MiniFarm *farm = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_SIZED,
                                  thesis, n_gpus + 1, 1);
  GRand *rand = g_rand_new_with_seed (9);
  guint thefts = 0;
  for (guint r = 0; r < 3; r++)
    {
      MiniRound result;
      HassLoad *loads
          = mini_random_loads (rand, 1000, HASS_FARM_COMBINE, FALSE);
      for (guint i = 0; i < 1000; i++)
        loads[i].cost /= 500;
      mini_farm_run (farm, loads, 1000, &result);
      for (guint i = 0; i < farm->grants->len; i++)
        {
          MiniGrant *grant = &g_array_index (farm->grants, MiniGrant, i);
          if (grant->source != HASS_FROM_THEFT)
            continue;
          guint64 right = many ? MAX (grant->cpu_share / (n_gpus + 1), 1) : 1;
          CU_ASSERT_EQUAL (grant->asked, right);
          thefts++;
        }
      g_free (loads);
    }
  CU_ASSERT (thefts > 3);
  g_rand_free (rand);
  mini_farm_free (farm);
}

static void
steals_as_said (void)
{
  checks_thefts ("hass-cd", TRUE, 1);
  checks_thefts ("hass-cd", TRUE, 2);
  checks_thefts ("hass", FALSE, 2);
  checks_thefts ("hass-ce", FALSE, 2);
}

/* Once HASS_ce has learned, each GPU gets its share as one bundle and few
   units more. */
static void
ce_bundles_a_share (void)
{
  double parts[3];
  guint64 first[3] = { 0 };
  MiniFarm *farm = mini_farm_new ("hass-ce", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  thesis, 3, 1);
  run_rounds (farm, 10, 2000, parts);
  for (guint i = farm->grants->len; i-- > 0;)
    {
      MiniGrant *grant = &g_array_index (farm->grants, MiniGrant, i);
      first[grant->device] = grant->units;
    }
  CU_ASSERT (first[1] >= 0.99 * parts[1] * 2000);
  CU_ASSERT (first[2] >= 0.98 * parts[2] * 2000);
  mini_farm_free (farm);
}

/* A launch takes a tenth of the round: a unit that is stolen at the end would
   come back after the CPU could have done it. */
static void
ce_leaves_the_last_to_the_cpu (void)
{
  MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 400000) };
  double parts[2], ideal[2];
  MiniFarm *farm = mini_farm_new ("hass-ce", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  devices, 2, 1);
  run_rounds (farm, 10, 2000, parts);
  mini_ideal_parts (devices, 2, 2000, ideal);
  HassLoad *loads = mini_equal_loads (2000);
  farm->noise = 0.02;
  for (guint r = 0; r < 20; r++)
    {
      MiniRound result;
      mini_farm_run (farm, loads, 2000, &result);
      CU_ASSERT (result.summary.makespan_ns
                 < 1.06 * ideal[0] * 2000 * 40000 / 4);
    }
  g_free (loads);
  mini_farm_free (farm);
}

/* What a GPU cannot hold in one bundle, an idle CPU steals: one unit for
   each core, from the GPU's share. */
static void
cpu_steals_from_clipped_share (void)
{
  MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000) };
  devices[1].max_units = 100;
  HassLoad *loads = mini_equal_loads (2000);
  MiniFarm *farm = mini_farm_new ("hass-ce", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  devices, 2, 1);
  MiniRound result;
  for (guint r = 0; r < 5; r++)
    mini_farm_run (farm, loads, 2000, &result);
  guint64 cpu = result.devices[0].units;
  farm->devices[0].ns_per_work /= 8;
  mini_farm_run (farm, loads, 2000, &result);
  CU_ASSERT (result.once);
  CU_ASSERT (result.devices[0].units > 2 * cpu);
  CU_ASSERT_EQUAL (result.cpu_thefts, 4);
  mini_farm_free (farm);
  g_free (loads);
}

HASS_TEST_SUITE (
    sched_strategies,
    { "a lost GPU's share is run by the others", works_on_without_lost_gpu },
    { "a device that fails is tried with single units", risks_single_units },
    { "a device that never comes is not waited for", waits_for_nobody_in_vain },
    { "naive-greedy and min-min do not bundle", peers_do_not_bundle },
    { "the first round measures one unit each while others wait",
      measures_one_unit_each },
    { "the CPU's unit is measured by its progress", measures_a_quiet_cpu },
    { "known rates need no measuring", trusts_known_rates },
    { "hass-ce beats naive-greedy, min-min and hass", ce_beats_its_peers },
    { "hass-cd beats its peers on sizes, loses to hass-ce on equal loads",
      cd_beats_its_peers },
    { "modified-greedy beats naive-greedy", modified_greedy_beats_naive },
    { "modified-greedy weighs bundles by measured speed",
      modified_greedy_weighs_by_speed },
    { "hass-ce converges to shares by rate", ce_converges },
    { "hass-ce lets the CPU's share grow and shrink", ce_has_no_ratchet },
    { "hass-cd steals M/(n+1), hass and hass-ce one", steals_as_said },
    { "hass-ce gives a GPU its share as one bundle", ce_bundles_a_share },
    { "no GPU steals what the CPU has done sooner",
      ce_leaves_the_last_to_the_cpu },
    { "the CPU steals what a GPU could not take at once",
      cpu_steals_from_clipped_share })
