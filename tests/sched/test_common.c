/* SPDX-License-Identifier: MIT */
/* test_common.c: whole shares and the Min-min map against the definitions.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>

#include "mini_engine.h"
#include "sched/common.h"

#define MOST 9

static guint
random_rates (GRand *rand, double *rates)
{
  guint n = g_rand_int_range (rand, 1, MOST + 1);
  for (guint d = 0; d < n; d++)
    rates[d]
        = g_rand_int_range (rand, 0, 5) ? g_rand_double_range (rand, 0, 9) : 0;
  rates[g_rand_int_range (rand, 0, n)] = 1;
  return n;
}

static void
remainders_add_up (void)
{
  GRand *rand = g_rand_new_with_seed (1);
  for (guint trial = 0; trial < 3000; trial++)
    {
      double rates[MOST], sum = 0;
      guint64 counts[MOST], given = 0;
      guint n = random_rates (rand, rates);
      guint64 units = trial % 3 ? (guint32)g_rand_int_range (rand, 0, 20)
                                : g_rand_int (rand);
      hass_share_largest_remainder (units, rates, n, counts);
      for (guint d = 0; d < n; d++)
        sum += rates[d];
      for (guint d = 0; d < n; d++)
        {
          CU_ASSERT (fabs (counts[d] - units * rates[d] / sum) < 1);
          CU_ASSERT (rates[d] > 0 || counts[d] == 0);
          given += counts[d];
        }
      CU_ASSERT_EQUAL (given, units);
    }
  g_rand_free (rand);
}

static void
remainders_go_to_the_largest (void)
{
  guint64 counts[3];
  hass_share_largest_remainder (10, (double[]){ 0.55, 0.26, 0.19 }, 3, counts);
  CU_ASSERT (counts[0] == 5 && counts[1] == 3 && counts[2] == 2);
  hass_share_largest_remainder (7, (double[]){ 0, 0, 0 }, 3, counts);
  CU_ASSERT (counts[0] == 0 && counts[1] == 0 && counts[2] == 0);
}

/* Unit by unit, as Min-min is defined for equal units. */
static void
counts_are_min_min (void)
{
  GRand *rand = g_rand_new_with_seed (2);
  for (guint trial = 0; trial < 1000; trial++)
    {
      double rates[MOST];
      guint64 counts[MOST], slow[MOST] = { 0 };
      guint n = random_rates (rand, rates);
      guint64 units = g_rand_int_range (rand, 0, 200);
      hass_share_min_min (units, rates, n, counts);
      for (guint64 u = 0; u < units; u++)
        {
          guint best = 0;
          double least = INFINITY;
          for (guint d = 0; d < n; d++)
            if (rates[d] > 0 && (slow[d] + 1) / rates[d] < least)
              {
                best = d;
                least = (slow[d] + 1) / rates[d];
              }
          slow[best]++;
        }
      for (guint d = 0; d < n; d++)
        CU_ASSERT_EQUAL (counts[d], slow[d]);
    }
  g_rand_free (rand);
}

/* Min-min as Maheswaran et al. define it: of all unmapped units that one
   whose least completion time is least, O(n^2 devices). */
static void
min_min (double *costs, guint n_units, const double *rates, guint n,
         double *work)
{
  double ready[MOST] = { 0 };
  for (guint round = 0; round < n_units; round++)
    {
      guint unit = 0, device = 0;
      double least = INFINITY;
      for (guint u = 0; u < n_units; u++)
        for (guint d = 0; d < n; d++)
          if (costs[u] > 0 && ready[d] + costs[u] / rates[d] < least)
            {
              least = ready[d] + costs[u] / rates[d];
              unit = u;
              device = d;
            }
      ready[device] = least;
      work[device] += costs[unit];
      costs[unit] = 0;
    }
}

static void
map_is_min_min (void)
{
  GRand *rand = g_rand_new_with_seed (3);
  for (guint trial = 0; trial < 30; trial++)
    {
      MiniDevice devices[3];
      double rates[3], costs[80], work[MOST] = { 0 };
      HassLoad loads[80] = { { 0 } };
      guint units = g_rand_int_range (rand, 1, 80);
      for (guint d = 0; d < 3; d++)
        {
          rates[d] = g_rand_double_range (rand, 0.1, 9);
          devices[d]
              = (MiniDevice){ .kind = d ? HASS_DEVICE_GPU : HASS_DEVICE_CPU,
                              .cores = 1,
                              .ns_per_work = 1 / rates[d],
                              .known_rate = rates[d] };
        }
      for (guint u = 0; u < units; u++)
        {
          loads[u].cost = (float)g_rand_double_range (rand, 1, 100);
          costs[u] = loads[u].cost;
        }
      MiniFarm *farm = mini_farm_new ("min-min", HASS_FARM_COMBINE,
                                      HASS_COST_SIZED, devices, 3, 1);
      MiniRound result;
      mini_farm_run (farm, loads, units, &result);
      min_min (costs, units, rates, 3, work);
      for (guint d = 0; d < 3; d++)
        CU_ASSERT_DOUBLE_EQUAL (result.devices[d].work, work[d], 0.01);
      mini_farm_free (farm);
    }
  g_rand_free (rand);
}

/* -- What a round counts as waiting ------------------------------------- */

/* Units that come back from the middle of the range still wait. */
static void
returned_units_wait (void)
{
  static const HassDeviceTraits traits[]
      = { { .kind = HASS_DEVICE_CPU, .cores = 1 },
          { .kind = HASS_DEVICE_GPU, .cores = 1 } };
  HassLoad loads[30] = { { 0 } };
  for (guint i = 0; i < 30; i++) /* 10 for CPUs, 10 for any, 10 for GPUs */
    {
      loads[i].size = 1;
      loads[i].flags = i < 10 ? HASS_LOAD_CPU : i < 20 ? 0 : HASS_LOAD_GPU;
    }
  HassRound *round = g_aligned_alloc0 (1, sizeof *round, HASS_CACHE_LINE);
  hass_round_init (round, 2, traits);
  HassSpan span = { .loads = loads, .mask = G_MAXUINT64, .n = 30 };
  hass_round_begin_loads (round, HASS_FARM_FUNCTION, HASS_COST_EQUAL, &span);
  hass_round_open (round);
  CU_ASSERT_EQUAL (hass_round_front (round), 10);
  CU_ASSERT_EQUAL (hass_round_back (round), 20);
  HassUnitRange *r = round->ranges;
  hass_unit_range_take_front (&r[HASS_RANGE_COMMON], 5);
  hass_unit_range_take_front (hass_round_partial (round, 1), 5);
  hass_unit_range_take_back (hass_round_partial (round, 2), 5);
  CU_ASSERT_EQUAL (hass_round_waiting (round), 5);
  hass_round_give_back (round, (HassExtent){ 11, 2 });
  hass_round_give_back (round, (HassExtent){ 1, 3 });
  hass_round_give_back (round, (HassExtent){ 26, 1 });
  CU_ASSERT_EQUAL (hass_round_waiting (round), 7);
  CU_ASSERT_EQUAL (hass_round_exclusive (round, 0), 8);
  CU_ASSERT_EQUAL (hass_round_exclusive (round, 1), 6);
  CU_ASSERT_EQUAL (hass_round_front (round), 15);
  CU_ASSERT_EQUAL (hass_round_back (round), 20);
  hass_round_clear (round);
  g_aligned_free (round);
}

HASS_TEST_SUITE (
    sched_common,
    { "shares by largest remainder add up and are right within one",
      remainders_add_up },
    { "what is over goes where most was rounded off",
      remainders_go_to_the_largest },
    { "Min-min of equal units is the unit by unit choice", counts_are_min_min },
    { "the map of distinct units is Min-min as defined", map_is_min_min },
    { "units that were given back count as waiting", returned_units_wait })
