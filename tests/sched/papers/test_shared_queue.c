/* SPDX-License-Identifier: MIT */
/* test_shared_queue.c: chunks of the shared queue.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"

static const MiniDevice three[]
    = { MINI_CPU (4, 40000), MINI_WIDE_GPU (30, 2500, 30000),
        MINI_WIDE_GPU (8, 9000, 30000) };

static void
check_chunks (const char *spec, guint64 first, guint64 second)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniFarm *farm
      = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL, three, 3, 1);
  MiniRound result;
  for (guint r = 0; r < 2; r++)
    {
      mini_farm_run (farm, loads, 1000, &result);
      CU_ASSERT (result.once);
      guint short_ones = 0;
      for (guint i = 0; i < farm->grants->len; i++)
        {
          const MiniGrant *g = &g_array_index (farm->grants, MiniGrant, i);
          CU_ASSERT_EQUAL (g->asked, g->device == 1 ? first : second);
          CU_ASSERT_EQUAL (g->source, HASS_FROM_FRONT);
          short_ones += g->units < g->asked;
        }
      CU_ASSERT (short_ones <= 1);
      CU_ASSERT (result.devices[0].units > 0);
    }
  mini_farm_free (farm);
  g_free (loads);
}

static void
takes_fixed_chunks (void)
{
  check_chunks ("shared-queue", 30, 8);
  check_chunks ("shared-queue:chunk=7", 7, 7);
  CU_ASSERT (mini_refused ("shared-queue:chunk=-1", "out of range"));
}

/* It may have the queue's last chunk when the others are done: the round
   ends a chunk late at most. */
static void
ends_a_chunk_late_at_most (void)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniFarm *farm = mini_farm_new ("shared-queue", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, three, 3, 1);
  MiniRound result;
  double first = G_MAXDOUBLE, last = 0;
  mini_farm_run (farm, loads, 1000, &result);
  for (guint d = 0; d < 3; d++)
    {
      first = MIN (first, result.devices[d].last_finish_ns);
      last = MAX (last, result.devices[d].last_finish_ns);
    }
  CU_ASSERT (last - first <= 30000 + 30 * 2500);
  mini_farm_free (farm);
  g_free (loads);
}

HASS_TEST_SUITE (sched_shared_queue,
                 { "shared-queue gives GPUs fixed chunks from the front",
                   takes_fixed_chunks },
                 { "shared-queue ends a chunk late at most",
                   ends_a_chunk_late_at_most })
