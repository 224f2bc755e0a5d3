/* SPDX-License-Identifier: MIT */
/* test_one_kind.c: cpu-only and gpu-only, and what they give to the other
   kind of device all the same.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_engine.h"

static const MiniDevice three[]
    = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000),
        MINI_GPU (8, 10000, 30000) };

static void
one_kind_computes_all (void)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniRound result;
  MiniFarm *farm = mini_farm_new ("cpu-only", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, three, 3, 1);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (result.devices[0].units, 1000);
  CU_ASSERT_EQUAL (farm->grants->len, 0);
  CU_ASSERT_DOUBLE_EQUAL (result.summary.makespan_ns, 1000 * 10000., 1);
  mini_farm_free (farm);
  farm = mini_farm_new ("gpu-only", HASS_FARM_COMBINE, HASS_COST_EQUAL, three,
                        2, 1);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (result.devices[1].units, 1000);
  CU_ASSERT_EQUAL (farm->grants->len, 1);
  CU_ASSERT_DOUBLE_EQUAL (result.summary.makespan_ns, 1000 * 2500. + 30000, 1);
  mini_farm_free (farm);
  g_free (loads);
}

/* Two GPUs: halves, then parts by what the halves took: 500 units in 1280 us
   and in 5030 us. One becomes slower and gets less. */
static void
gpus_share_by_rate (void)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniRound result;
  MiniFarm *farm = mini_farm_new ("gpu-only", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, three, 3, 1);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (result.devices[1].units, 500);
  CU_ASSERT_EQUAL (result.devices[2].units, 500);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (result.devices[1].units, 797);
  CU_ASSERT_EQUAL (result.devices[2].units, 203);
  CU_ASSERT_EQUAL (result.devices[0].units, 0);
  CU_ASSERT_EQUAL (farm->grants->len, 2);
  farm->devices[1].ns_per_work = 10000;
  for (guint r = 0; r < 12; r++)
    mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].units, 500, 3);
  mini_farm_free (farm);
  g_free (loads);
}

/* Tasks for one kind alone: 60 for the CPU, 90 for GPUs, 150 for any. */
static void
exclusive_units_go_where_they_can (void)
{
  HassLoad *loads = mini_equal_loads (300);
  for (guint32 i = 0; i < 300; i++)
    loads[i].flags = i % 10 < 2   ? HASS_LOAD_CPU
                     : i % 10 < 5 ? HASS_LOAD_GPU
                                  : 0;
  for (guint gpu = 0; gpu < 2; gpu++)
    {
      MiniRound result;
      MiniFarm *farm
          = mini_farm_new (gpu ? "gpu-only" : "cpu-only", HASS_FARM_FUNCTION,
                           HASS_COST_EQUAL, three, 3, 1);
      for (guint r = 0; r < 3; r++)
        {
          mini_farm_run (farm, loads, 300, &result);
          CU_ASSERT (result.once);
          CU_ASSERT_EQUAL (result.devices[0].units, gpu ? 60 : 210);
          CU_ASSERT_EQUAL (result.rescued + result.forced, 0);
          /* The two GPUs had 45 of their tasks each. */
          CU_ASSERT (result.devices[1].units >= 45);
          CU_ASSERT (result.devices[2].units >= 45);
        }
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* The kind that is asked for is not there. */
static void
others_compute_where_there_is_none (void)
{
  HassLoad *loads = mini_equal_loads (500);
  MiniRound result;
  MiniFarm *farm = mini_farm_new ("cpu-only", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, three + 1, 2, 1);
  mini_farm_run (farm, loads, 500, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_EQUAL (result.rescued, 0);
  CU_ASSERT (result.devices[0].units > 0 && result.devices[1].units > 0);
  mini_farm_free (farm);
  const MiniDevice two[] = { MINI_CPU (2, 100) };
  farm = mini_farm_new ("gpu-only", HASS_FARM_COMBINE, HASS_COST_EQUAL, two, 1,
                        1);
  mini_farm_run (farm, loads, 500, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_EQUAL (result.devices[0].units, 500);
  CU_ASSERT_EQUAL (result.rescued, 0);
  mini_farm_free (farm);
  g_free (loads);
}

/* gpu1 is lost in its bundle or before it; then gpu0 too. */
static void
lost_gpus_are_made_good (void)
{
  HassLoad *loads = mini_equal_loads (400);
  for (guint early = 0; early < 2; early++)
    {
      MiniFarm *farm = mini_farm_new ("gpu-only", HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, three, 3, 1);
      MiniRound result;
      farm->devices[2].lost_after = early ? 0 : 1;
      farm->lost[2] = early;
      for (guint r = 0; r < 3; r++)
        {
          mini_farm_run (farm, loads, 400, &result);
          CU_ASSERT (result.once && !result.hung);
          if (r > 1)
            {
              CU_ASSERT_EQUAL (result.devices[1].units, 400);
              CU_ASSERT_EQUAL (farm->grants->len, 1);
            }
        }
      farm->devices[1].lost_after = farm->bundles[1];
      mini_farm_run (farm, loads, 400, &result);
      CU_ASSERT (result.once && !result.hung);
      CU_ASSERT_EQUAL (result.devices[0].units, 400);
      CU_ASSERT_EQUAL (result.rescued, 0);
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* A bundle fails: single units until one succeeds, cores help meanwhile, and
   the next round is the GPU's again. */
static void
a_gpu_that_failed_comes_back (void)
{
  HassLoad *loads = mini_equal_loads (400);
  MiniRound result;
  MiniFarm *farm = mini_farm_new ("gpu-only", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, three, 2, 1);
  farm->devices[1].fails = 1;
  mini_farm_run (farm, loads, 400, &result);
  CU_ASSERT (result.once && !result.hung);
  CU_ASSERT_EQUAL (result.devices[0].units, 400);
  CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, 0).units, 400);
  for (guint g = 1; g < farm->grants->len; g++)
    CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, g).units, 1);
  farm->devices[1].fails = 0;
  mini_farm_run (farm, loads, 400, &result);
  CU_ASSERT (result.devices[1].units > 300);
  mini_farm_run (farm, loads, 400, &result);
  CU_ASSERT_EQUAL (result.devices[1].units, 400);
  mini_farm_free (farm);
  g_free (loads);
}

HASS_TEST_SUITE (sched_one_kind,
                 { "cpu-only uses cores alone, gpu-only one bundle on the GPU",
                   one_kind_computes_all },
                 { "gpu-only divides among GPUs by their last rates",
                   gpus_share_by_rate },
                 { "both give exclusive units to the kind that can run them",
                   exclusive_units_go_where_they_can },
                 { "both compute on a machine without their kind",
                   others_compute_where_there_is_none },
                 { "gpu-only makes good for lost GPUs, at last with the cores",
                   lost_gpus_are_made_good },
                 { "gpu-only tries a GPU that failed with single units",
                   a_gpu_that_failed_comes_back })
