/* SPDX-License-Identifier: MIT */
/* test_qilin.c: Qilin's training, its lines and where they meet.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"

/* A core does a unit in 1 us; the GPU in 0.25 us after 64 us. */
static const MiniDevice pair[]
    = { MINI_CPU (1, 1000), MINI_GPU (30, 250, 64000) };

/* A quarter of 8800 units in equal parts: 1100 each in bundles of 1, 1, 2, 3
   and 4 hundred. Lines: 1000 n and 64000 + 250 n ns. The rest, 6600, is done
   at T with T / 1000 + (T - 64000) / 250 = 6600: T = 1371200, 1371 on the
   core. The next round, 8800: T = 1811200, 1811. */
static void
trains_and_intersects (void)
{
  static const guint64 bundles[] = { 100, 100, 200, 300, 400, 5229 };
  MiniFarm *farm = mini_farm_new_equal ("qilin", pair, 2);
  MiniRound result;
  mini_run (farm, 8800, &result);
  CU_ASSERT_EQUAL (result.shares[0], 1100);
  CU_ASSERT_EQUAL (result.shares[1], 1100);
  CU_ASSERT_EQUAL (farm->grants->len, G_N_ELEMENTS (bundles));
  for (guint g = 0; g < farm->grants->len && g < G_N_ELEMENTS (bundles); g++)
    CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, g).units,
                     bundles[g]);
  mini_run (farm, 8800, &result);
  CU_ASSERT_EQUAL (result.devices[0].units, 1811);
  CU_ASSERT_EQUAL (farm->grants->len, 1);
  CU_ASSERT_DOUBLE_EQUAL (result.summary.makespan_ns, 1811200, 1000);
  /* Another size: the lines hold. T = (200 + 256) * 200 = 91200. */
  mini_run (farm, 200, &result);
  CU_ASSERT_EQUAL (result.devices[0].units, 91);
  mini_farm_free (farm);
}

/* So little work that the core has it done before the GPU could begin: the
   lines do not meet in between, all goes to one side. */
static void
leaves_out_who_begins_too_late (void)
{
  MiniFarm *farm = mini_farm_new_equal ("qilin", pair, 2);
  MiniRound result;
  mini_run (farm, 8800, &result);
  mini_run (farm, 60, &result);
  CU_ASSERT_EQUAL (result.devices[0].units, 60);
  CU_ASSERT_EQUAL (result.devices[1].units, 0);
  mini_farm_free (farm);
  /* Of three, one is left out and the other two meet: GPU 1 begins at 9 ms.
     8800 = T / 1000 + (T - 64000) / 250. */
  const MiniDevice three[]
      = { pair[0], MINI_GPU (30, 250, 64000), MINI_GPU (30, 100, 9000000) };
  farm = mini_farm_new_equal ("qilin", three, 3);
  mini_run (farm, 88000, &result);
  mini_run (farm, 8800, &result);
  CU_ASSERT_EQUAL (result.devices[0].units, 1811);
  CU_ASSERT_EQUAL (result.devices[2].units, 0);
  /* With 100000 it is in: T = (100000 + 256 + 90000) / (1/1000 + 1/250 +
     1/100) = 12683733, 12684 on the core. */
  mini_run (farm, 100000, &result);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[0].units, 12684, 1.01);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[2].units, 36837, 2);
  CU_ASSERT_DOUBLE_EQUAL (result.summary.makespan_ns, 12683733, 2000);
  mini_farm_free (farm);
}

/* The first bundle of a GPU is a warm-up and no point of its line. */
static void
leaves_out_the_warm_up (void)
{
  MiniDevice devices[] = { pair[0], pair[1] };
  devices[1].first_ns = 5000000;
  MiniFarm *farm = mini_farm_new_equal ("qilin", devices, 2);
  MiniRound result;
  mini_run (farm, 8800, &result);
  mini_run (farm, 8800, &result);
  CU_ASSERT_EQUAL (result.devices[0].units, 1811);
  mini_farm_free (farm);
}

/* Figure 31: seven rounds in equal parts, then the division; and it is never
   trained again, even where it is wrong by now. */
static void
trains_as_long_as_told (void)
{
  MiniFarm *farm = mini_farm_new_equal ("qilin:training=7,part=1", pair, 2);
  MiniRound result;
  for (guint r = 0; r < 7; r++)
    {
      mini_run (farm, 8800, &result);
      CU_ASSERT_EQUAL (result.devices[0].units, 4400);
    }
  for (guint r = 0; r < 3; r++)
    {
      mini_run (farm, 8800, &result);
      CU_ASSERT_EQUAL (result.devices[0].units, 1811);
      farm->devices[1].ns_per_work *= 2;
    }
  mini_farm_free (farm);
}

/* A round too small for all devices is no training. */
static void
trains_again_after_a_tiny_round (void)
{
  MiniFarm *farm = mini_farm_new_equal ("qilin", pair, 2);
  MiniRound result;
  mini_run (farm, 1, &result);
  mini_run (farm, 8800, &result);
  CU_ASSERT_EQUAL (result.shares[0], 1100); /* a training part again */
  mini_run (farm, 8800, &result);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[0].units, 1811, 2);
  mini_farm_free (farm);
}

/* The profile store knows all devices: no training, its rates and fixed costs
   are the lines. One unknown: training. */
static void
reads_the_profile_store (void)
{
  HassProfileRate profile[]
      = { { .work_per_ns = 1 / 1000., .runs = 3 },
          { .work_per_ns = 1 / 250., .latency_ns = 64000, .runs = 3 } };
  for (guint known = 0; known < 2; known++)
    {
      MiniFarm *farm = mini_farm_new_equal ("qilin", pair, 2);
      MiniRound result;
      GError *error = NULL;
      profile[0].work_per_ns = known ? 1 / 1000. : 0;
      hass_strategy_free (farm->strategy);
      farm->env.profile = profile;
      farm->strategy = hass_strategy_new ("qilin", &farm->env, &error);
      CU_ASSERT_PTR_NULL_FATAL (error);
      mini_run (farm, 8800, &result);
      CU_ASSERT_EQUAL (result.devices[0].units, known ? 1811 : 1100 + 1371);
      CU_ASSERT_EQUAL (farm->grants->len, known ? 1 : 6);
      mini_farm_free (farm);
    }
}

/* Lost in training, or after it: the others have all, and their lines. */
static void
does_without_a_lost_gpu (void)
{
  const MiniDevice three[] = { pair[0], pair[1], MINI_GPU (30, 250, 64000) };
  for (guint after = 1; after < 9; after += 3)
    {
      MiniFarm *farm = mini_farm_new_equal ("qilin", three, 3);
      MiniRound result;
      farm->devices[2].lost_after = after;
      for (guint r = 0; r < 6; r++)
        {
          mini_run (farm, 8800, &result);
          CU_ASSERT_EQUAL (result.rescued, 0);
        }
      CU_ASSERT (farm->lost[2]);
      CU_ASSERT_EQUAL (result.shares[2], 0);
      CU_ASSERT_DOUBLE_EQUAL (result.devices[0].units, 1811, 2);
      mini_farm_free (farm);
    }
}

HASS_TEST_SUITE (sched_qilin,
                 { "qilin fits its lines in training and cuts where they meet",
                   trains_and_intersects },
                 { "qilin leaves out who would begin too late",
                   leaves_out_who_begins_too_late },
                 { "qilin leaves a GPU's warm-up out", leaves_out_the_warm_up },
                 { "qilin trains for as many rounds as told and never after",
                   trains_as_long_as_told },
                 { "qilin trains again after a round too small to show all",
                   trains_again_after_a_tiny_round },
                 { "qilin needs no training where the profile store knows all",
                   reads_the_profile_store },
                 { "qilin does without a lost GPU", does_without_a_lost_gpu })
