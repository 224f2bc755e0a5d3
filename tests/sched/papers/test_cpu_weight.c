/* SPDX-License-Identifier: MIT */
/* test_cpu_weight.c: the annealing sequence, what it converges to, and what
   it does not learn from.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"

/* 40 us a unit on all cores against 2.5: 59 of 1000 units are the CPU's. */
static const MiniDevice pair[]
    = { MINI_CPU (4, 160000), MINI_GPU (30, 2500, 30000) };

/* 0.20, 0.19, ... 0.06, then to and fro: 60 units take the CPU 2.4 ms and the
   rest the GPU 2.38; 50 units 2.08 and 2.405. */
static void
anneals_by_a_step (void)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniFarm *farm = mini_farm_new ("cpu-weight", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  for (guint r = 0; r < 30; r++)
    {
      mini_farm_run (farm, loads, 1000, &result);
      guint64 wanted = r <= 14 ? 200 - 10 * r : r % 2 ? 50 : 60;
      CU_ASSERT (result.once);
      CU_ASSERT_EQUAL (result.shares[0], wanted);
      CU_ASSERT_EQUAL (result.shares[1], 1000 - wanted);
    }
  CU_ASSERT (result.summary.makespan_ns < 1.05 * mini_bound_ns (pair, 2, 1000));
  mini_farm_free (farm);
  g_free (loads);
}

static void
check_weights (const char *spec, const guint64 *cpu, guint n)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniFarm *farm
      = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  for (guint r = 0; r < n; r++)
    {
      mini_farm_run (farm, loads, 1000, &result);
      CU_ASSERT_EQUAL (result.shares[0], cpu[r]);
    }
  mini_farm_free (farm);
  g_free (loads);
}

static void
takes_weight_and_step (void)
{
  static const guint64 down[] = { 500, 400, 300, 200, 100, 0, 100, 0 };
  static const guint64 up[] = { 0, 50, 100, 50, 100 };
  static const guint64 all[] = { 1000, 750, 500 };
  check_weights ("cpu-weight:weight=0.5,step=0.1", down, 8);
  check_weights ("cpu-weight:weight=0,step=0.05", up, 5);
  check_weights ("cpu-weight:weight=1,step=0.25", all, 3);
  CU_ASSERT (mini_refused ("cpu-weight:weight=1.5", "out of range"));
  CU_ASSERT (mini_refused ("cpu-weight:step=0.6", "out of range"));
}

/* GPUs get equal parts, however different they are. */
static void
gives_gpus_equal_parts (void)
{
  static const MiniDevice three[]
      = { MINI_CPU (4, 160000), MINI_GPU (30, 2500, 30000),
          MINI_GPU (8, 10000, 30000) };
  HassLoad *loads = mini_equal_loads (1000);
  MiniFarm *farm = mini_farm_new ("cpu-weight", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, three, 3, 1);
  MiniRound result;
  for (guint r = 0; r < 20; r++)
    {
      mini_farm_run (farm, loads, 1000, &result);
      CU_ASSERT (ABS ((gint64)result.shares[1] - (gint64)result.shares[2])
                 <= 1);
    }
  /* The weight balances the slower GPU's part: 40 us x = 5 us (1 - x). */
  CU_ASSERT_DOUBLE_EQUAL (result.shares[0], 111, 11);
  mini_farm_free (farm);
  g_free (loads);
}

/* A round in which a bundle failed leaves the weight as it is; a lost GPU's
   part goes to the other. */
static void
learns_nothing_from_failures (void)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniDevice three[] = { pair[0], pair[1], pair[1] };
  three[2].lost_after = 2;
  MiniFarm *farm = mini_farm_new ("cpu-weight", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, three, 3, 1);
  static const guint64 cpu[] = { 200, 190, 180, 180, 170 };
  static const guint64 lost[] = { 400, 405, 410, 0, 0 };
  MiniRound result;
  for (guint r = 0; r < 5; r++)
    {
      mini_farm_run (farm, loads, 1000, &result);
      CU_ASSERT (result.once);
      CU_ASSERT_DOUBLE_EQUAL (result.shares[0], cpu[r], 1);
      CU_ASSERT_EQUAL (result.shares[2], lost[r]);
    }
  mini_farm_free (farm);
  g_free (loads);
}

/* Sizes that grow along the round: the weight is a part of the work. */
static void
divides_work (void)
{
  double total = 0;
  HassLoad *loads = mini_equal_loads (1000);
  for (guint i = 0; i < 1000; i++)
    total += loads[i].cost = (float)(i + 1);
  MiniFarm *farm = mini_farm_new ("cpu-weight:weight=0.3", HASS_FARM_COMBINE,
                                  HASS_COST_SIZED, pair, 2, 1);
  MiniRound result;
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[0].work / total, 0.3, 0.002);
  CU_ASSERT (result.shares[0] > 500); /* the cheap ones */
  mini_farm_free (farm);
  g_free (loads);
}

HASS_TEST_SUITE (sched_cpu_weight,
                 { "cpu-weight anneals by a step a round and then stays",
                   anneals_by_a_step },
                 { "cpu-weight takes first weight and step, within 0 and 1",
                   takes_weight_and_step },
                 { "cpu-weight gives GPUs equal parts",
                   gives_gpus_equal_parts },
                 { "cpu-weight divides by work where it is known",
                   divides_work },
                 { "cpu-weight learns nothing from a round that failed",
                   learns_nothing_from_failures })
