/* SPDX-License-Identifier: MIT */
/* test_skmd_linear.c: linear partitioning ignores what it should.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"

static const MiniDevice pair[]
    = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000) };

/* 1e-4 units a ns against 4e-4, all but the launch: 0.2 and 0.8. */
static void
divides_in_proportion (void)
{
  HassLoad *loads = mini_equal_loads (4000);
  MiniFarm *farm = mini_farm_new ("skmd-linear", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  /* Nothing that the merge could cost changes that. */
  farm->env.merge_ns = 1e9;
  for (guint r = 0; r < 4; r++)
    {
      mini_farm_run (farm, loads, 4000, &result);
      CU_ASSERT (result.once);
    }
  CU_ASSERT_DOUBLE_EQUAL (result.shares[0], 800, 8);
  CU_ASSERT_DOUBLE_EQUAL (result.shares[1], 3200, 8);
  mini_farm_free (farm);
  g_free (loads);
}

/* 10 units that a GPU does in 3 ms, launch and all, are still given by speed
   at full size, not left to the CPU. */
static void
does_not_see_launches (void)
{
  MiniDevice late[] = { pair[0], MINI_GPU (30, 2500, 400000) };
  HassLoad *loads = mini_equal_loads (4000);
  MiniRound linear, tree;
  for (guint i = 0; i < 2; i++)
    {
      MiniRound *result = i ? &tree : &linear;
      MiniFarm *farm
          = mini_farm_new (i ? "skmd" : "skmd-linear", HASS_FARM_COMBINE,
                           HASS_COST_EQUAL, late, 2, 1);
      mini_farm_run (farm, loads, 4000, result);
      for (guint r = 0; r < 3; r++)
        mini_farm_run (farm, loads, 60, result);
      mini_farm_free (farm);
    }
  CU_ASSERT (linear.shares[1] > 0);
  CU_ASSERT (tree.summary.makespan_ns < linear.summary.makespan_ns);
  g_free (loads);
}

static void
refuses_wrong_parameters (void)
{
  CU_ASSERT (mini_refused ("skmd-linear:steps=5", "steps"));
}

HASS_TEST_SUITE (
    sched_skmd_linear,
    { "skmd-linear divides in proportion to kernel speed, whatever the merge",
      divides_in_proportion },
    { "skmd-linear is beaten where launches count", does_not_see_launches },
    { "skmd-linear refuses wrong parameters", refuses_wrong_parameters })
