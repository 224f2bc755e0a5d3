/* SPDX-License-Identifier: MIT */
/* test_hass_i.c: multiples and order of HASS_i.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>

#include "tests/sched/mini_engine.h"

static void
i_takes_multiples_in_order (void)
{
  MiniDevice devices[]
      = { MINI_CPU (4, 100), MINI_GPU (30, 3, 1000), MINI_GPU (8, 9, 1000) };
  GRand *rand = g_rand_new_with_seed (4);
  HassLoad *loads
      = mini_random_loads (rand, 2000, HASS_FARM_INDIVISIBLE, FALSE);
  for (guint waves = 1; waves <= 3; waves += 2)
    {
      MiniFarm *farm = mini_farm_new (waves == 1 ? "hass-i" : "hass-i:waves=3",
                                      HASS_FARM_INDIVISIBLE, HASS_COST_SIZED,
                                      devices, 3, 1);
      MiniRound result;
      mini_farm_run (farm, loads, 2000, &result);
      CU_ASSERT (result.once);
      double last = INFINITY;
      for (guint i = 0; i < farm->grants->len; i++)
        {
          MiniGrant *grant = &g_array_index (farm->grants, MiniGrant, i);
          guint m = devices[grant->device].cores;
          CU_ASSERT (grant->most <= last); /* the largest first */
          last = grant->least;
          CU_ASSERT (grant->units == m * waves || grant->waiting < m * waves);
          CU_ASSERT (grant->units % m == 0 || grant->units < m);
        }
      CU_ASSERT (mini_ascending (farm->cpu_order, 0, farm->cpu_order->len));
      CU_ASSERT (farm->cpu_order->len > 100);
      mini_farm_free (farm);
    }
  g_free (loads);
  g_rand_free (rand);
}

HASS_TEST_SUITE (sched_hass_i,
                 { "hass-i takes multiples, largest first; cores the shortest",
                   i_takes_multiples_in_order })
