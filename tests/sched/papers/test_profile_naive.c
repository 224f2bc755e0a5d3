/* SPDX-License-Identifier: MIT */
/* test_profile_naive.c: profile, barrier, ratio and cached rates of Kaleem's
   naive profiling.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"

/* 1e-4 units a ns on all cores; a GPU that 30 elements fill. */
static const MiniDevice pair[]
    = { MINI_CPU (4, 40000), MINI_WIDE_GPU (30, 2500, 30000) };

/* Both run 30 units. C_r = 30 / 300 us, G_r = 30 / 105 us, so the GPU's part
   is 1 / (1 + 0.35) = 0.7407 of the 940 that are left. */
static void
divides_by_the_profile (void)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniFarm *farm = mini_farm_new ("profile-naive", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_EQUAL (farm->grants->len, 2);
  CU_ASSERT_EQUAL (mini_units (farm, 0), 30);
  CU_ASSERT_EQUAL (mini_units (farm, 1), 696);
  CU_ASSERT_EQUAL (result.devices[0].units, 274);
  /* The barrier: the CPU's 30 units take 8 times 40 us, and the GPU goes on
     only then. */
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].last_finish_ns,
                          320000 + 30000 + 696 * 2500, 1);
  /* "For already-seen kernels, the runtime uses the old values." */
  for (guint r = 0; r < 3; r++)
    {
      farm->devices[1].ns_per_work *= 2;
      mini_farm_run (farm, loads, 1000, &result);
      CU_ASSERT_EQUAL (result.shares[0], 259);
      CU_ASSERT_EQUAL (result.shares[1], 741);
    }
  mini_farm_free (farm);
  g_free (loads);
}

/* The CPU tells of its profile in pieces; the last 4 of its units cost 10. Its
   rate is that of them all: 30 / 660 us beside 30 / 105 us, 0.8627 of 940. */
static void
measures_whole_profiles (void)
{
  HassLoad *loads = mini_equal_loads (1000);
  for (guint i = 0; i < 1000; i++)
    loads[i].cost = i >= 26 && i < 30 ? 10 : 1;
  MiniFarm *farm = mini_farm_new ("profile-naive", HASS_FARM_COMBINE,
                                  HASS_COST_UNKNOWN, pair, 2, 1);
  MiniRound result;
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (mini_units (farm, 1), 811);
  mini_farm_free (farm);
  g_free (loads);
}

static void
takes_a_given_profile (void)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniFarm *farm
      = mini_farm_new ("profile-naive:profile=100", HASS_FARM_COMBINE,
                       HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (mini_units (farm, 0), 100);
  /* G_r = 100 / 280 us: 0.78125 of 800. */
  CU_ASSERT_EQUAL (mini_units (farm, 1), 625);
  mini_farm_free (farm);
  /* Loads of 10 elements: 3 of them fill the GPU. */
  for (guint i = 0; i < 1000; i++)
    loads[i].size = 10;
  farm = mini_farm_new ("profile-naive", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                        pair, 2, 1);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (mini_units (farm, 0), 3);
  mini_farm_free (farm);
  /* Where a load is a block it fills a multiprocessor. */
  farm = mini_farm_new ("profile-naive", HASS_FARM_INDIVISIBLE, HASS_COST_EQUAL,
                        pair, 2, 1);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (mini_units (farm, 0), 30);
  mini_farm_free (farm);
  g_free (loads);
  CU_ASSERT (mini_refused ("profile-naive:profile=-1", "out of range"));
  CU_ASSERT (mini_refused ("profile-naive:part=1", "part"));
}

/* Table 2: LMD and HW, 0 %. Two profiles of 30 do not fit into 59 units. */
static void
leaves_small_rounds_to_the_cpu (void)
{
  HassLoad *loads = mini_equal_loads (60);
  MiniFarm *farm = mini_farm_new ("profile-naive", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  mini_farm_run (farm, loads, 59, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_EQUAL (result.devices[1].units, 0);
  CU_ASSERT_EQUAL (result.rescued, 0);
  mini_farm_run (farm, loads, 60, &result);
  CU_ASSERT_EQUAL (mini_units (farm, 0), 30);
  mini_farm_free (farm);
  g_free (loads);
}

/* Three GPUs: each has a profile of its own, the CPU the smallest. */
static void
profiles_several_gpus (void)
{
  static const MiniDevice four[]
      = { MINI_CPU (4, 40000), MINI_WIDE_GPU (30, 2500, 30000),
          MINI_WIDE_GPU (8, 9000, 30000), MINI_WIDE_GPU (16, 5000, 30000) };
  HassLoad *loads = mini_equal_loads (3000);
  MiniFarm *farm = mini_farm_new ("profile-naive", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, four, 4, 1);
  MiniRound result;
  mini_farm_run (farm, loads, 3000, &result);
  CU_ASSERT_EQUAL (farm->grants->len, 6);
  CU_ASSERT_EQUAL (mini_units (farm, 0), 30);
  CU_ASSERT_EQUAL (mini_units (farm, 1), 8);
  CU_ASSERT_EQUAL (mini_units (farm, 2), 16);
  mini_farm_run (farm, loads, 3000, &result);
  double rates[] = { 1e-4, 30 / 105e3, 8 / 102e3, 16 / 110e3 }, sum = 0;
  for (guint d = 0; d < 4; d++)
    sum += rates[d];
  for (guint d = 0; d < 4; d++)
    CU_ASSERT_DOUBLE_EQUAL (result.shares[d], 3000 * rates[d] / sum, 1);
  mini_farm_free (farm);
  g_free (loads);
}

HASS_TEST_SUITE (
    sched_profile_naive,
    { "profile-naive divides by one profile, after a barrier, for ever",
      divides_by_the_profile },
    { "profile-naive measures the whole profile of the CPU",
      measures_whole_profiles },
    { "profile-naive fills the GPU, or takes the profile that is given",
      takes_a_given_profile },
    { "profile-naive leaves rounds without room for profiles to the CPU",
      leaves_small_rounds_to_the_cpu },
    { "profile-naive profiles each of several GPUs", profiles_several_gpus })
