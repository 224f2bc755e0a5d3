/* SPDX-License-Identifier: MIT */
/* test_auto_change.c: what auto makes of a device that has become far slower,
   in the mini engine's virtual time.
   Thread safety: one thread. */
#include "hass_test.h"

#include <stdio.h>

#include "tests/sched/mini_engine.h"

#define UNITS 20000

/* Runs rounds; the longest of them over the time that all devices need. */
static double
worst_of (MiniFarm *farm, guint rounds)
{
  double worst = 0;
  for (guint r = 0; r < rounds; r++)
    {
      MiniRound result;
      mini_farm_run_equal (farm, UNITS, &result);
      worst = MAX (worst, result.summary.makespan_ns
                              / mini_bound_ns (farm->devices, farm->n, UNITS));
    }
  return worst;
}

/* The round in which it happens is divided by what the GPU could do before, and
   takes several times as long as it should. That says nothing of the next one:
   the cores alone, which would then seem faster, take 1.5 times as long as
   both. */
static void
one_bad_round (void)
{
  static const MiniDevice devices[]
      = { MINI_CPU (16, 16e3), MINI_GPU (132, 200, 3e5) };
  MiniFarm *farm
      = mini_farm_new_equal ("auto", devices, G_N_ELEMENTS (devices));
  double before = worst_of (farm, 3);
  before = worst_of (farm, 5);
  farm->devices[1].ns_per_work *= 10;
  double changed = worst_of (farm, 1), after = worst_of (farm, 8);
  printf ("\n    %.3f times the bound, then %.3f, then at most %.3f ...",
          before, changed, after);
  CU_ASSERT_TRUE (before < 1.2);
  CU_ASSERT_TRUE (changed > 1.5);
  CU_ASSERT_TRUE (after < 1.2);
  mini_farm_free (farm);
}

HASS_TEST_SUITE (sched_auto_change,
                 { "one bad round does not exclude a device", one_bad_round })
