/* SPDX-License-Identifier: MIT */
/* test_static.c: the parts of a static division, what it refuses, and who
   runs the part of a device that is lost.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"

static const MiniDevice three[]
    = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000),
        MINI_GPU (8, 9000, 30000) };

/* -- Parts -------------------------------------------------------------- */

static void
check_shares (const char *spec, guint n, guint32 units, guint64 cpu,
              guint64 gpu0, guint64 gpu1)
{
  const guint64 wanted[] = { cpu, gpu0, gpu1 };
  HassLoad *loads = mini_equal_loads (units);
  MiniFarm *farm
      = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL, three, n, 1);
  MiniRound result;
  for (guint r = 0; r < 2; r++)
    {
      mini_farm_run (farm, loads, units, &result);
      CU_ASSERT (result.once);
      for (guint d = 0; d < n; d++)
        {
          CU_ASSERT_EQUAL (result.shares[d], wanted[d]);
          CU_ASSERT_EQUAL (result.devices[d].units, wanted[d]);
          if (d > 0)
            CU_ASSERT_EQUAL (result.devices[d].bundles, wanted[d] > 0);
        }
    }
  mini_farm_free (farm);
  g_free (loads);
}

static void
gives_the_parts (void)
{
  check_shares ("static", 3, 1000, 500, 250, 250);
  check_shares ("static:cpu=0.1", 3, 1000, 100, 450, 450);
  check_shares ("static:cpu=0.1,gpu0=0.7", 3, 1000, 100, 700, 200);
  check_shares ("static:cpu=0.1,gpu1=0.7", 3, 1000, 100, 200, 700);
  check_shares ("static:cpu=0", 3, 1001, 0, 500, 501);
  check_shares ("static:cpu=1", 3, 1000, 1000, 0, 0);
  check_shares ("static:cpu=0.35", 2, 1000, 350, 650, 0);
  /* Less than all is shared out in proportion. */
  check_shares ("static:cpu=0.2,gpu0=0.2", 2, 1000, 500, 500, 0);
  check_shares ("static:cpu=0.2,gpu0=0.2,gpu1=0.1", 3, 1000, 400, 400, 200);
  /* The part of a GPU that is not there is nobody's. */
  check_shares ("static:cpu=0.25,gpu1=0.7", 2, 1000, 250, 750, 0);
}

/* Any parts, any number of units: each device is right to a unit, and all
   units are somebody's. */
static void
is_right_to_a_unit (void)
{
  GRand *rand = g_rand_new_with_seed (11);
  for (guint trial = 0; trial < 200; trial++)
    {
      guint32 units = (guint32)g_rand_int_range (rand, 1, 3000);
      double cpu = g_rand_double (rand),
             gpu0 = g_rand_double (rand) * (1 - cpu);
      char *spec = g_strdup_printf ("static:cpu=%.6f,gpu0=%.6f", cpu, gpu0);
      double parts[] = { cpu, gpu0, 1 - cpu - gpu0 };
      HassLoad *loads = mini_equal_loads (units);
      MiniFarm *farm = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                      three, 3, 1);
      MiniRound result;
      mini_farm_run (farm, loads, units, &result);
      guint64 sum = 0;
      for (guint d = 0; d < 3; d++)
        {
          CU_ASSERT_DOUBLE_EQUAL (result.shares[d], parts[d] * units, 1.01);
          sum += result.shares[d];
        }
      CU_ASSERT_EQUAL (sum, units);
      mini_farm_free (farm);
      g_free (loads);
      g_free (spec);
    }
  g_rand_free (rand);
}

/* Costs that grow along the round: the parts are of the work. */
static void
divides_work (void)
{
  guint32 units = 1000;
  double total = 0;
  HassLoad *loads = mini_equal_loads (units);
  for (guint32 i = 0; i < units; i++)
    total += loads[i].cost = (float)(i + 1);
  MiniFarm *farm
      = mini_farm_new ("static:cpu=0.3,gpu0=0.45", HASS_FARM_INDIVISIBLE,
                       HASS_COST_SIZED, three, 3, 1);
  MiniRound result;
  mini_farm_run (farm, loads, units, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[0].work / total, 0.3, 0.002);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].work / total, 0.45, 0.002);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[2].work / total, 0.25, 0.002);
  CU_ASSERT (result.shares[0] > 500); /* the cheap ones */
  mini_farm_free (farm);
  farm = mini_farm_new ("static:cpu=0.3,gpu0=0.45", HASS_FARM_PARTITION,
                        HASS_COST_EQUAL, three, 3, 1);
  mini_farm_run_divisible (farm, 100003, 64, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[0].work, 0.3 * 100003, 64);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].work, 0.45 * 100003, 64);
  mini_farm_free (farm);
  g_free (loads);
}

/* -- Refusals ----------------------------------------------------------- */

static void
refuses_parts (void)
{
  CU_ASSERT (mini_refused_with ("static:cpu=1.01", 3, "out of range"));
  CU_ASSERT (mini_refused_with ("static:cpu=-0.1", 3, "out of range"));
  CU_ASSERT (mini_refused_with ("static:gpu7=1.5", 3, "out of range"));
  CU_ASSERT (mini_refused_with ("static:gpu0=-2", 3, "out of range"));
  CU_ASSERT (mini_refused_with ("static:gpu8=0.1", 3, "gpu8"));
  CU_ASSERT (mini_refused_with ("static:cpu=0.7,gpu0=0.4", 3, "add up to 1.1"));
  CU_ASSERT (mini_refused_with ("static:cpu=0.5,gpu0=0.3,gpu1=0.3", 3,
                                "add up to 1.1"));
  CU_ASSERT (!mini_refused_with ("static:cpu=0.5,gpu0=0.3,gpu1=0.3", 2, ""));
  CU_ASSERT (!mini_refused_with ("static:cpu=0.7,gpu0=0.3", 3, ""));
}

/* -- Devices that fail -------------------------------------------------- */

/* A GPU that is lost in its bundle, and one that is gone before it was
   asked. */
static void
others_run_a_lost_part (void)
{
  static const char *const specs[]
      = { "static:cpu=0.2", "static:cpu=0", "static:cpu=0,gpu1=1" };
  HassLoad *loads = mini_equal_loads (600);
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    for (guint early = 0; early < 2; early++)
      {
        MiniDevice devices[] = { three[0], three[1], three[2] };
        devices[2].lost_after = early ? 0 : 2;
        MiniFarm *farm = mini_farm_new (specs[i], HASS_FARM_COMBINE,
                                        HASS_COST_EQUAL, devices, 3, 1);
        MiniRound result;
        farm->lost[2] = early;
        for (guint r = 0; r < 5; r++)
          {
            mini_farm_run (farm, loads, 600, &result);
            CU_ASSERT (result.once);
            CU_ASSERT (!result.hung);
            CU_ASSERT (result.rescued == 0 || (early && r == 0));
          }
        CU_ASSERT (result.shares[2] > 0); /* the division is as it was */
        CU_ASSERT_EQUAL (result.devices[2].units, 0);
        mini_farm_free (farm);
      }
  g_free (loads);
}

/* A bundle fails: the GPU gets single units for the rest of the round, and
   its part again in the next. */
static void
comes_back (void)
{
  HassLoad *loads = mini_equal_loads (600);
  MiniFarm *farm = mini_farm_new ("static:cpu=0.25", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, three, 2, 1);
  MiniRound result;
  farm->devices[1].fails = 1;
  mini_farm_run (farm, loads, 600, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, 0).units, 450);
  CU_ASSERT (farm->grants->len > 1);
  for (guint g = 1; g < farm->grants->len; g++)
    CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, g).asked, 1);
  farm->devices[1].fails = 0;
  mini_farm_run (farm, loads, 600, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, 0).units, 450);
  CU_ASSERT_EQUAL (result.devices[1].units, 450);
  mini_farm_free (farm);
  g_free (loads);
}

HASS_TEST_SUITE (
    sched_static, { "static gives each device its part", gives_the_parts },
    { "static is right to a unit and leaves none out", is_right_to_a_unit },
    { "static divides by work where it is known", divides_work },
    { "static refuses parts out of range or of more than all", refuses_parts },
    { "static lets others run the part of a lost device",
      others_run_a_lost_part },
    { "static gives a GPU that failed single units, then its part again",
      comes_back })
