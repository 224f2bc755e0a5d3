/* SPDX-License-Identifier: MIT */
/* test_asym_size.c: where ASYM+SIZE stops, and what it is for.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"

static const MiniDevice pair[]
    = { MINI_CPU (4, 40000), MINI_WIDE_GPU (30, 2500, 30000) };

/* 30 units of the GPU and 10.5 of the CPU in 105 us: after 12 steps 512 are
   left, after 13 470, less than half. 0.7407 of those are the GPU's. */
static void
profiles_half_of_the_round (void)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniRound result;
  MiniFarm *farm = mini_farm_new ("asym-size", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, pair, 2, 1);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_EQUAL (farm->grants->len, 14);
  for (guint i = 0; i < 13; i++)
    CU_ASSERT_EQUAL (mini_units (farm, i), 30);
  CU_ASSERT_EQUAL (mini_units (farm, 13), 348);
  /* A first invocation's matter only. */
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (farm->grants->len, 1);
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
  guint n = farm->grants->len;
  mini_farm_free (farm);
  g_free (loads);
  return n;
}

static void
obeys_what_shall_remain (void)
{
  CU_ASSERT_EQUAL (steps ("asym-size:remaining=1"), 2);
  CU_ASSERT_EQUAL (steps ("asym-size:remaining=0.9"), 4);
  CU_ASSERT (steps ("asym-size:remaining=0") > 20);
  CU_ASSERT (mini_refused ("asym-size:remaining=1.1", "out of range"));
}

/* Costs of 1 in the first tenth and of 4 after it on the GPU's side of things:
   a profile from the front alone is not like the rest. Half of the round is. */
static double
first_round_ns (const char *spec, const HassLoad *loads)
{
  static const MiniDevice skewed[] = { MINI_CPU (4, 40000),
                                       { .kind = HASS_DEVICE_GPU,
                                         .cores = 30,
                                         .ns_per_work = 2500,
                                         .latency_ns = 30000,
                                         .fill_work = 60 } };
  MiniRound result;
  MiniFarm *farm = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_UNKNOWN,
                                  skewed, 2, 1);
  mini_farm_run (farm, loads, 2000, &result);
  CU_ASSERT (result.once);
  mini_farm_free (farm);
  return result.summary.makespan_ns;
}

static void
sees_more_than_the_beginning (void)
{
  HassLoad *loads = mini_equal_loads (2000);
  for (guint i = 0; i < 2000; i++)
    loads[i].cost = i < 200 ? 0.5f : 4;
  CU_ASSERT (first_round_ns ("asym-size", loads)
             < 0.95 * first_round_ns ("asym", loads));
  g_free (loads);
}

HASS_TEST_SUITE (
    sched_asym_size,
    { "asym-size profiles until less than half is left",
      profiles_half_of_the_round },
    { "asym-size obeys the part that shall remain", obeys_what_shall_remain },
    { "asym-size divides better than asym where the beginning misleads",
      sees_more_than_the_beginning })
