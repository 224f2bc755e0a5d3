/* SPDX-License-Identifier: MIT */
/* test_asym_conv.c: the steps of ASYM+CONV and where they end.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"

static const MiniDevice pair[]
    = { MINI_CPU (4, 40000), MINI_WIDE_GPU (30, 2500, 30000) };

/* By hand: the first profile shows 0.7407; of half of the 958 left the GPU
   runs 354, which alone show 0.7946, too far from it; of half of the 512 left
   by 0.7904 it runs 202, which show 0.7906; then 0.7905 of 258 are its part. */
static void
profiles_until_it_converges (void)
{
  static const guint64 wanted[] = { 30, 354, 202, 204 };
  HassLoad *loads = mini_equal_loads (1000);
  MiniRound result;
  MiniFarm *farm = mini_farm_new ("asym-conv", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, pair, 2, 1);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_EQUAL (farm->grants->len, 4);
  for (guint i = 0; i < 4; i++)
    CU_ASSERT_EQUAL (mini_units (farm, i), wanted[i]);
  /* A first invocation's matter only. */
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (farm->grants->len, 1);
  CU_ASSERT (result.shares[1] > 780 && result.shares[1] < 800);
  mini_farm_free (farm);
  g_free (loads);
}

static guint
steps (const char *spec)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniRound result;
  MiniFarm *farm
      = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL, pair, 2, 1);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT (result.once);
  guint n = farm->grants->len;
  mini_farm_free (farm);
  g_free (loads);
  return n;
}

static void
obeys_the_tolerance (void)
{
  CU_ASSERT_EQUAL (steps ("asym-conv:tolerance=1"), 3);
  CU_ASSERT_EQUAL (steps ("asym-conv:tolerance=0.054"), 3);
  CU_ASSERT_EQUAL (steps ("asym-conv"), 4);
  /* Until less than a profile is left. */
  CU_ASSERT (steps ("asym-conv:tolerance=0") > 6);
  CU_ASSERT (mini_refused ("asym-conv:tolerance=2", "out of range"));
}

HASS_TEST_SUITE (
    sched_asym_conv,
    { "asym-conv profiles half of the rest until the ratio converges",
      profiles_until_it_converges },
    { "asym-conv obeys its tolerance", obeys_the_tolerance })
