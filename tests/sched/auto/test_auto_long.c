/* SPDX-License-Identifier: MIT */
/* test_auto_long.c: what auto does with few units that are known to be very
   long, in the mini engine's virtual time.
   Thread safety: one thread. */
#include "hass_test.h"

#include <stdio.h>

#include "tests/sched/mini_engine.h"

#define UNITS 4000
#define LONG 100 /* times as long, one unit in as many */

/* A core needs 10 ms for a long unit, all devices together 7 ms for the
   round. */
static const MiniDevice machine[]
    = { MINI_CPU (8, 1e5), MINI_GPU (16, 1e3, 1e4) };

static HassLoad *
loads_with_long_ones (void)
{
  HassLoad *loads = g_new0 (HassLoad, UNITS);
  for (guint i = 0; i < UNITS; i++)
    loads[i] = (HassLoad){ .size = 1, .cost = i % LONG == LONG / 2 ? LONG : 1 };
  return loads;
}

/* Runs rounds and returns how many of the cores' units were long, in all of
   them; the last one's result is kept. */
static guint
long_on_cores (guint rounds, MiniRound *result)
{
  MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE, HASS_COST_SIZED,
                                  machine, G_N_ELEMENTS (machine), 1);
  g_autofree HassLoad *loads = loads_with_long_ones ();
  guint n = 0, all = 0;
  for (guint r = 0; r < rounds; r++)
    {
      mini_farm_run (farm, loads, UNITS, result);
      CU_ASSERT_TRUE (result->once && !result->hung);
      for (guint i = 0; i < farm->cpu_order->len; i++)
        n += g_array_index (farm->cpu_order, double, i) > 1;
      all += farm->cpu_order->len;
    }
  printf ("\n    %u of the cores' %u units were long, makespan %.3g ms ...", n,
          all, result->summary.makespan_ns * 1e-6);
  mini_farm_free (farm);
  return n;
}

/* The first round lies as it was emitted. */
static void
not_on_cores (void)
{
  MiniRound result;
  CU_ASSERT_EQUAL (long_on_cores (1, &result), 0);
}

/* Later ones are sorted, so that cores are not held up by the first long unit
   that they meet. */
static void
sorted_for_cores (void)
{
  MiniRound result;
  double work = UNITS * (1 + (LONG - 1.) / LONG);
  CU_ASSERT_EQUAL (long_on_cores (6, &result), 0);
  CU_ASSERT_TRUE (result.devices[0].units > UNITS / 20);
  CU_ASSERT_TRUE (
      result.summary.makespan_ns
      < 1.05 * mini_bound_ns (machine, G_N_ELEMENTS (machine), work));
}

HASS_TEST_SUITE (sched_auto_long,
                 { "no core gets a unit that is known to outlast the round",
                   not_on_cores },
                 { "rounds with long units are sorted, so that cores help",
                   sorted_for_cores })
