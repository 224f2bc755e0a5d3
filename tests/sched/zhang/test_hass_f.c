/* SPDX-License-Identifier: MIT */
/* test_hass_f.c: order of SPD and MPD tasks in HASS_f.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>

#include "tests/sched/mini_engine.h"

static void
f_keeps_spd_and_mpd_apart (void)
{
  MiniDevice devices[]
      = { MINI_CPU (4, 100), MINI_GPU (30, 3, 1000), MINI_GPU (8, 9, 1000) };
  GRand *rand = g_rand_new_with_seed (4);
  HassLoad *loads = mini_random_loads (rand, 3000, HASS_FARM_FUNCTION, FALSE);
  guint n_spd = 0, multiple = 0;
  for (guint i = 0; i < 3000; i++) /* most tasks are SPD, so GPUs get there */
    {
      loads[i].size = i % 8 ? 1 : loads[i].size + 1;
      n_spd += loads[i].size == 1;
    }
  MiniFarm *farm = mini_farm_new ("hass-f", HASS_FARM_FUNCTION, HASS_COST_SIZED,
                                  devices, 3, 1);
  MiniRound result;
  mini_farm_run (farm, loads, 3000, &result);
  CU_ASSERT (result.once);
  double last = INFINITY;
  gboolean spd = FALSE;
  for (guint i = 0; i < farm->grants->len; i++)
    {
      MiniGrant *grant = &g_array_index (farm->grants, MiniGrant, i);
      if (grant->parallel == 0 && !spd)
        {
          spd = TRUE; /* MPD is empty: from here on the SPD set */
          last = INFINITY;
        }
      CU_ASSERT (grant->most <= last);
      last = grant->least;
      guint m = devices[grant->device].cores;
      gboolean full = grant->units == m || grant->waiting < m;
      CU_ASSERT (spd ? grant->parallel == 0 && full
                     : grant->parallel == 1 && grant->units == 1);
      multiple += grant->units > 1;
    }
  CU_ASSERT (spd && multiple > 3);
  CU_ASSERT (mini_ascending (farm->cpu_order, 0, farm->cpu_order->len));
  mini_farm_free (farm);

  /* Few SPD tasks: the cores come to MPD tasks, again the shortest first. */
  n_spd = 0;
  for (guint i = 0; i < 3000; i++)
    {
      loads[i].size = i % 64 ? 2 : 1;
      n_spd += loads[i].size == 1;
    }
  farm = mini_farm_new ("hass-f", HASS_FARM_FUNCTION, HASS_COST_SIZED, devices,
                        3, 1);
  mini_farm_run (farm, loads, 3000, &result);
  CU_ASSERT_FATAL (farm->cpu_order->len > n_spd + 10);
  CU_ASSERT (mini_ascending (farm->cpu_order, 0, n_spd));
  CU_ASSERT (mini_ascending (farm->cpu_order, n_spd, farm->cpu_order->len));
  mini_farm_free (farm);
  g_free (loads);
  g_rand_free (rand);
}

HASS_TEST_SUITE (sched_hass_f, { "hass-f keeps SPD and MPD apart and in order",
                                 f_keeps_spd_and_mpd_apart })
