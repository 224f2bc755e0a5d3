/* SPDX-License-Identifier: MIT */
/* test_aspara.c: fitness, computed once or again and again.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"

static const MiniDevice pair[]
    = { MINI_CPU (1, 1000), MINI_GPU (30, 250, 64000) };

/* Of 32768 units 512 calibrate: 256 in 256 us and in 128 us, F = 1/3, 2/3. */
static void
single_calibrates_once (void)
{
  MiniFarm *farm = mini_farm_new_equal ("aspara-single", pair, 2);
  MiniRound result;
  mini_run (farm, 32768, &result);
  CU_ASSERT_EQUAL (mini_units (farm, 0), 256);
  CU_ASSERT_EQUAL (mini_units (farm, 1), 21504);
  for (guint r = 0; r < 4; r++)
    {
      mini_run (farm, 3000, &result);
      CU_ASSERT_EQUAL (farm->grants->len, 1);
      CU_ASSERT_EQUAL (mini_units (farm, 0), 2000);
      CU_ASSERT_EQUAL (result.devices[0].units, 1000);
      CU_ASSERT_EQUAL (result.forced, 0);
      farm->devices[1].ns_per_work *= 2; /* F is what it was */
    }
  mini_farm_free (farm);
}

static void
single_trusts_known_rates (void)
{
  MiniDevice devices[] = { pair[0], pair[1] };
  devices[0].known_rate = 1;
  devices[1].known_rate = 4;
  MiniFarm *farm = mini_farm_new_equal ("aspara-single", devices, 2);
  MiniRound result;
  mini_run (farm, 1000, &result);
  CU_ASSERT_EQUAL (farm->grants->len, 1);
  CU_ASSERT_EQUAL (mini_units (farm, 0), 800);
  /* The profile store knows better. */
  HassProfileRate profile[]
      = { { .work_per_ns = 1, .runs = 1 }, { .work_per_ns = 3, .runs = 1 } };
  farm->env.profile = profile;
  mini_farm_restart (farm, "aspara-single");
  mini_run (farm, 1000, &result);
  CU_ASSERT_EQUAL (mini_units (farm, 0), 750);
  mini_farm_free (farm);
}

/* Four instalments of 1024 units: 512 of each to begin with, which take the
   core 512 us and the GPU 192 us. When the GPU is back nobody knows the
   core, so it counts as the mean: 512 again. When the core is back F is 3/11
   of 1024 for it; the GPU comes back with F known after its second. */
static void
multi_follows_fitness (void)
{
  MiniFarm *farm = mini_farm_new_equal ("aspara-multi:instalments=4", pair, 2);
  MiniRound result;
  mini_run (farm, 4096, &result);
  CU_ASSERT_EQUAL (mini_units (farm, 0), 512);
  CU_ASSERT_EQUAL (mini_units (farm, 1), 512);
  CU_ASSERT_EQUAL (mini_units (farm, 2), 512);
  CU_ASSERT_EQUAL (mini_units (farm, 3), 744); /* 8/11 of 1024, or less */
  CU_ASSERT_EQUAL (result.waits + result.forced, 0);
  /* F of the last round: the GPU's last bundle. Core 1 unit a us. */
  double last = mini_units (farm, farm->grants->len - 1);
  double gpu = last / (64 + last / 4);
  mini_run (farm, 4096, &result);
  CU_ASSERT_DOUBLE_EQUAL (mini_units (farm, 0), 1024 * gpu / (1 + gpu), 1);
  mini_farm_free (farm);
}

/* A GPU that becomes 4 times slower has a smaller part of the instalments
   after its next. */
static void
multi_follows_a_change (void)
{
  const MiniDevice devices[] = { MINI_CPU (1, 1000), MINI_GPU (30, 250, 0) };
  MiniFarm *farm
      = mini_farm_new_equal ("aspara-multi:instalments=8", devices, 2);
  MiniRound result;
  for (guint r = 0; r < 2; r++)
    mini_run (farm, 8000, &result);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].units, 6400, 400);
  CU_ASSERT_DOUBLE_EQUAL (mini_units (farm, 0), 800, 1);
  farm->devices[1].ns_per_work = 1000;
  mini_run (farm, 8000, &result);
  CU_ASSERT_DOUBLE_EQUAL (mini_units (farm, 0), 800, 1);
  CU_ASSERT_DOUBLE_EQUAL (mini_units (farm, 1), 500, 1);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].units, 4000, 600);
  mini_farm_free (farm);
}

static void
both_do_without_a_lost_gpu (void)
{
  static const char *const specs[] = { "aspara-single", "aspara-multi" };
  const MiniDevice three[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 3000),
                               MINI_GPU (8, 2500, 3000) };
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    for (guint after = 1; after < 4; after++)
      {
        MiniFarm *farm = mini_farm_new_equal (specs[i], three, 3);
        MiniRound result;
        farm->devices[2].lost_after = after;
        for (guint r = 0; r < 6; r++)
          {
            mini_run (farm, 3000, &result);
            CU_ASSERT_EQUAL (result.rescued, 0);
          }
        CU_ASSERT (farm->lost[2]);
        CU_ASSERT_EQUAL (result.devices[2].units, 0);
        CU_ASSERT (result.devices[1].units > 2000);
        CU_ASSERT (result.summary.makespan_ns
                   < 1.25 * mini_bound_ns (three, 2, 3000));
        mini_farm_free (farm);
      }
}

/* A GPU that fails gets single units, and when they succeed, its part. */
static void
both_risk_single_units (void)
{
  static const char *const specs[] = { "aspara-single", "aspara-multi" };
  const MiniDevice devices[] = { MINI_CPU (1, 1000), MINI_GPU (30, 250, 0) };
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      MiniFarm *farm = mini_farm_new_equal (specs[i], devices, 2);
      MiniRound result;
      mini_run (farm, 3000, &result);
      farm->devices[1].fails = 1;
      mini_run (farm, 300, &result);
      CU_ASSERT (mini_units (farm, 0) > 20);
      CU_ASSERT_EQUAL (result.devices[0].units, 300);
      CU_ASSERT (farm->grants->len > 2);
      for (guint g = 1; g < farm->grants->len; g++)
        CU_ASSERT_EQUAL (mini_units (farm, g), 1);
      farm->devices[1].fails = 0;
      for (guint r = 0; r < 3; r++)
        mini_run (farm, 3000, &result);
      CU_ASSERT_DOUBLE_EQUAL (result.devices[1].units, 2400, 120);
      mini_farm_free (farm);
    }
}

HASS_TEST_SUITE (
    sched_aspara,
    { "aspara-single computes fitness once", single_calibrates_once },
    { "aspara-single trusts the store, then the engine",
      single_trusts_known_rates },
    { "aspara-multi gives instalments by the last bundles",
      multi_follows_fitness },
    { "aspara-multi follows a GPU that becomes slower",
      multi_follows_a_change },
    { "both ASPara strategies do without a lost GPU",
      both_do_without_a_lost_gpu },
    { "both ASPara strategies try a GPU that failed with single units",
      both_risk_single_units })
