/* SPDX-License-Identifier: MIT */
/* test_levels.c: what is learned from round to round of how costs lie.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>

#include "sched/levels.h"

#define UNITS 6400.0
#define PIECES 64 /* bundles of a round */

/* Time of a unit on device 0 at a place of the round. */
typedef double (*CostFunc) (GRand *rand, double place);

/* Rounds in which devices, each four times as fast as the one before, take
   neighbouring bundles in turn; with as many pieces as told. */
static void
run_rounds (HassLevels *h, guint rounds, guint devices, guint pieces,
            CostFunc cost)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  for (guint r = 0; r < rounds; r++)
    {
      for (guint i = 0; i < pieces; i++)
        {
          double from = (double)i / pieces, to = (i + 1.0) / pieces;
          guint d = (i + r) % devices;
          double units = UNITS / pieces;
          double ns = units * cost (rand, (from + to) / 2) / pow (4, d);
          hass_levels_add (h, d, from, to, units, ns);
        }
      hass_levels_end (h, devices);
    }
}

static double
ramp (GRand *rand, double place)
{
  (void)rand;
  return 100 * (1 + 4 * place);
}

static double
chance (GRand *rand, double place)
{
  (void)place;
  return g_rand_boolean (rand) ? 500 : 100;
}

static double
equal (GRand *rand, double place)
{
  (void)rand, (void)place;
  return 100;
}

static void
knows_nothing_first (void)
{
  HassLevels *h = hass_levels_new (2);
  CU_ASSERT_DOUBLE_EQUAL (hass_levels_between (h, 0.1, 0.7), 1, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (hass_levels_between (h, 0.3, 0.3), 1, 1e-12);
  CU_ASSERT_TRUE (hass_levels_doubt (h) < 0);
  hass_levels_end (h, 2);
  CU_ASSERT_DOUBLE_EQUAL (hass_levels_between (h, 0, 1), 1, 1e-12);
  CU_ASSERT_TRUE (hass_levels_doubt (h) < 0);
  hass_levels_free (h);
}

/* A ramp from 1 to 5, whatever the speed of who computes which part. */
static void
learns_a_ramp (void)
{
  HassLevels *h = hass_levels_new (3);
  run_rounds (h, 5, 3, PIECES, ramp);
  for (guint i = 0; i < 10; i++)
    CU_ASSERT_DOUBLE_EQUAL (hass_levels_between (h, i / 10., (i + 1) / 10.),
                            ramp (NULL, (i + 0.5) / 10) / 300, 0.05);
  CU_ASSERT_DOUBLE_EQUAL (hass_levels_between (h, 0, 1), 1, 1e-9);
  CU_ASSERT_TRUE (hass_levels_trust (h) > 0.95);
  CU_ASSERT_TRUE (hass_levels_doubt (h) < 0.1);
  hass_levels_free (h);
}

/* What is dear in one round only says nothing of the next. */
static void
trusts_no_chance (void)
{
  HassLevels *h = hass_levels_new (2);
  run_rounds (h, 8, 2, PIECES, chance);
  CU_ASSERT_TRUE (hass_levels_trust (h) < 0.25);
  for (guint i = 0; i < 8; i++)
    CU_ASSERT_DOUBLE_EQUAL (hass_levels_between (h, i / 8., (i + 1) / 8.), 1,
                            0.15);
  CU_ASSERT_TRUE (hass_levels_doubt (h) > 0.4);
  hass_levels_free (h);
}

static void
doubts_no_equal_costs (void)
{
  HassLevels *h = hass_levels_new (2);
  run_rounds (h, 3, 2, PIECES, equal);
  CU_ASSERT_TRUE (hass_levels_doubt (h) >= 0);
  CU_ASSERT_TRUE (hass_levels_doubt (h) < 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (hass_levels_between (h, 0.9, 1), 1, 1e-6);
  hass_levels_free (h);
}

/* What was learned from small bundles stays when there are only large ones. */
static void
keeps_what_large_bundles_hide (void)
{
  HassLevels *h = hass_levels_new (2);
  run_rounds (h, 4, 2, PIECES, ramp);
  run_rounds (h, 8, 2, 2, ramp);
  CU_ASSERT_DOUBLE_EQUAL (hass_levels_between (h, 0, 0.125),
                          ramp (NULL, 0.0625) / 300, 0.1);
  CU_ASSERT_DOUBLE_EQUAL (hass_levels_between (h, 0.875, 1),
                          ramp (NULL, 0.9375) / 300, 0.1);
  hass_levels_free (h);
}

/* When ends are changed round, so does the belief. */
static double
falling (GRand *rand, double place)
{
  return ramp (rand, 1 - place);
}

static void
follows_a_change (void)
{
  HassLevels *h = hass_levels_new (2);
  run_rounds (h, 4, 2, PIECES, ramp);
  run_rounds (h, 10, 2, PIECES, falling);
  CU_ASSERT_DOUBLE_EQUAL (hass_levels_between (h, 0, 0.125),
                          falling (NULL, 0.0625) / 300, 0.15);
  hass_levels_free (h);
}

HASS_TEST_SUITE (
    sched_levels,
    { "unknown costs are taken to lie evenly at first", knows_nothing_first },
    { "a ramp of costs is learned by devices of any speed", learns_a_ramp },
    { "costs that lie anew in each round are not trusted", trusts_no_chance },
    { "equal costs are not doubted", doubts_no_equal_costs },
    { "large bundles do not wipe out what small ones have shown",
      keeps_what_large_bundles_hide },
    { "a shape of costs that has changed is followed", follows_a_change })
