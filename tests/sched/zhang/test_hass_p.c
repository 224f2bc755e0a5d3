/* SPDX-License-Identifier: MIT */
/* test_hass_p.c: division, freezing and thawing of HASS_p.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_engine.h"

#define ELEMENTS 1200000
#define BLOCK 240

static const MiniDevice pair[]
    = { MINI_CPU (4, 100), MINI_GPU (30, 6.25, 600000) };

/* A frozen CPU gets its share as one block, which its cores divide. */
static gboolean
frozen (const MiniRound *result)
{
  return result->cpu_chunk == 0;
}

static guint
thefts (const MiniFarm *farm)
{
  guint n = 0;
  for (guint i = 0; i < farm->grants->len; i++)
    n += g_array_index (farm->grants, MiniGrant, i).source == HASS_FROM_THEFT;
  return n;
}

static void
p_finds_optimum (void)
{
  double ideal[2];
  MiniFarm *farm = mini_farm_new ("hass-p", HASS_FARM_PARTITION,
                                  HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  for (guint r = 0; r < 10; r++)
    mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  mini_ideal_parts (pair, 2, ELEMENTS, ideal);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].work / ELEMENTS, ideal[1], 0.02);
  double best_ns = ideal[0] * ELEMENTS * 100 / 4;
  CU_ASSERT (result.summary.makespan_ns < 1.02 * best_ns);
  mini_farm_free (farm);
}

static void
p_freezes_and_thaws (void)
{
  double ideal[2];
  MiniFarm *farm = mini_farm_new ("hass-p", HASS_FARM_PARTITION,
                                  HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (!frozen (&result));
  mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (!frozen (&result)); /* mapped by the measured unit */
  mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (!frozen (&result)); /* that division was bad */
  guint r = 0;
  for (; r < 8 && !frozen (&result); r++)
    mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (frozen (&result));
  guint64 units = result.devices[1].units;
  /* Drift within the bounds leaves it frozen. */
  farm->devices[1].ns_per_work *= 1.02;
  for (r = 0; r < 5; r++)
    {
      mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
      CU_ASSERT (frozen (&result));
      CU_ASSERT_EQUAL (result.devices[1].units, units);
    }
  /* The GPU gets slower: it must lose work although nobody steals from it. */
  farm->devices[1].ns_per_work *= 2;
  mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  guint64 before = result.devices[1].units;
  CU_ASSERT (frozen (&result));
  mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (result.devices[1].units < before * 9 / 10);
  for (r = 0; r < 4; r++)
    mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (frozen (&result));
  mini_ideal_parts (farm->devices, 2, ELEMENTS, ideal);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].work / ELEMENTS, ideal[1], 0.02);
  mini_farm_free (farm);
}

static void
p_thaws_when_a_grant_fails (void)
{
  double ideal[2];
  MiniFarm *farm = mini_farm_new ("hass-p", HASS_FARM_PARTITION,
                                  HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  for (guint r = 0; r < 10; r++)
    mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (frozen (&result));
  farm->devices[1].fails = 1;
  mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_EQUAL (result.devices[1].units, 0);
  farm->devices[1].fails = 0;
  mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (!frozen (&result));
  CU_ASSERT_EQUAL (result.shares[1], 0);
  CU_ASSERT (result.devices[1].units > 0); /* stolen: it works again */
  for (guint r = 0; r < 10; r++)
    mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (frozen (&result));
  mini_ideal_parts (pair, 2, ELEMENTS, ideal);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].work / ELEMENTS, ideal[1], 0.02);
  mini_farm_free (farm);
}

/* Blocks so large that finishes differ by one on a core, 6 % of the round. */
static void
p_freezes_with_coarse_blocks (void)
{
  MiniFarm *farm = mini_farm_new ("hass-p", HASS_FARM_PARTITION,
                                  HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  for (guint r = 0; r < 15; r++)
    mini_farm_run_divisible (farm, ELEMENTS, 4000, &result);
  CU_ASSERT (frozen (&result));
  mini_farm_free (farm);
}

/* A launch so cheap that a GPU could steal up to the end: finishes are equal
   from the first round on, which must not freeze a bad division; and a frozen
   GPU must not steal. */
static void
p_is_not_fooled_by_stealing (void)
{
  MiniDevice devices[] = { MINI_CPU (4, 100), MINI_GPU (30, 6.25, 10000) };
  MiniFarm *farm = mini_farm_new ("hass-p", HASS_FARM_PARTITION,
                                  HASS_COST_EQUAL, devices, 2, 1);
  MiniRound result;
  guint r = 0, stolen = G_MAXUINT;
  for (; r < 10; r++)
    {
      mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
      if (frozen (&result))
        break;
      stolen = thefts (farm);
    }
  CU_ASSERT (r >= 2 && r < 10);
  CU_ASSERT (stolen < 0.02 * ELEMENTS / BLOCK);
  farm->devices[1].ns_per_work *= 0.97;
  mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (frozen (&result));
  CU_ASSERT_EQUAL (thefts (farm), 0);
  CU_ASSERT_EQUAL (farm->grants->len, 1);
  mini_farm_free (farm);
}

/* Loads too small to give each device a block say nothing about balance. */
static void
p_does_not_freeze_on_tiny_loads (void)
{
  MiniFarm *farm = mini_farm_new ("hass-p", HASS_FARM_PARTITION,
                                  HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  for (guint r = 0; r < 4; r++)
    mini_farm_run_divisible (farm, BLOCK, BLOCK, &result);
  mini_farm_run_divisible (farm, ELEMENTS, BLOCK, &result);
  CU_ASSERT (!frozen (&result));
  mini_farm_free (farm);
}

HASS_TEST_SUITE (
    sched_hass_p,
    { "hass-p comes within 2 % of the best split", p_finds_optimum },
    { "hass-p freezes when even and thaws when it drifts",
      p_freezes_and_thaws },
    { "hass-p thaws when a grant fails, and finds back",
      p_thaws_when_a_grant_fails },
    { "hass-p freezes with coarse blocks", p_freezes_with_coarse_blocks },
    { "hass-p is not fooled by stealing, and stops it when frozen",
      p_is_not_fooled_by_stealing },
    { "hass-p does not freeze on tiny loads", p_does_not_freeze_on_tiny_loads })
