/* SPDX-License-Identifier: MIT */
/* coping.c: lost and failing devices, odd machines, tiny rounds and tasks of
   one kind only; see coping.h.
   Thread safety: one thread. */
#include "coping.h"

#include <CUnit/CUnit.h>
#include <string.h>

#include "hass/error.h"

static void
expect (MiniFarm *farm, const HassLoad *loads, guint32 n, const char *what)
{
  MiniRound result;
  mini_farm_run (farm, loads, n, &result);
  CU_ASSERT (result.once);
  CU_ASSERT (!result.hung);
  if (!result.once || result.hung)
    g_printerr ("\n    %s, %u units: %s", what, n,
                result.hung ? "hung" : "not each unit once");
}

/* A GPU is lost before it was asked, in its first bundle, or later. */
static void
loses_devices (const char *spec)
{
  HassLoad *loads = mini_equal_loads (600);
  for (guint after = 0; after < 5; after++)
    {
      MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000),
                               MINI_GPU (8, 9000, 30000) };
      devices[1].lost_after = after;
      MiniFarm *farm = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                      devices, 3, 1);
      farm->lost[1] = after == 0;
      for (guint r = 0; r < 8; r++)
        expect (farm, loads, 600, "a lost device");
      MiniRound last;
      mini_farm_run (farm, loads, 600, &last);
      CU_ASSERT (after < 4 ? last.devices[1].units == 0 : TRUE);
      CU_ASSERT_EQUAL (last.rescued, 0);
      /* The two that are left share the work. */
      CU_ASSERT (last.devices[0].units > 0 && last.devices[2].units > 0);
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* A GPU goes between two rounds, without a bundle that says so. */
static void
misses_devices (const char *spec)
{
  MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000),
                           MINI_GPU (8, 9000, 30000) };
  HassLoad *loads = mini_equal_loads (600);
  MiniFarm *farm
      = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL, devices, 3, 1);
  MiniRound last;
  for (guint r = 0; r < 3; r++)
    expect (farm, loads, 600, "before it goes");
  farm->lost[1] = TRUE;
  expect (farm, loads, 600, "as it goes");
  for (guint r = 0; r < 2; r++)
    mini_farm_run (farm, loads, 600, &last);
  CU_ASSERT_EQUAL (last.shares[1], 0);
  CU_ASSERT_EQUAL (last.rescued, 0);
  mini_farm_free (farm);
  g_free (loads);
}

/* All bundles of a GPU fail for a round; it must have a part again. */
static void
finds_back (const char *spec)
{
  MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000) };
  HassLoad *loads = mini_equal_loads (600);
  MiniFarm *farm
      = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL, devices, 2, 1);
  MiniRound last;
  for (guint r = 0; r < 3; r++)
    expect (farm, loads, 600, "before it fails");
  farm->devices[1].fails = 1;
  expect (farm, loads, 600, "while it fails");
  farm->devices[1].fails = 0;
  for (guint r = 0; r < 4; r++)
    mini_farm_run (farm, loads, 600, &last);
  CU_ASSERT (last.devices[1].units > 100);
  mini_farm_free (farm);
  g_free (loads);
}

/* 0 to 8 GPUs, with a CPU or without, some failing now and then, rounds of
   any size, tasks for one kind only. */
static void
meets_odd_machines (const char *spec)
{
  static const guint32 sizes[] = { 1, 2, 3, 9, 0, 40, 700 };
  GRand *rand = g_rand_new_with_seed (5);
  for (guint n_gpus = 0; n_gpus <= 8; n_gpus++)
    for (guint has_cpu = n_gpus == 0; has_cpu < 2; has_cpu++)
      for (HassFarmKind kind = HASS_FARM_COMBINE; kind < HASS_FARM_ANY;
           kind <<= 1)
        {
          MiniDevice devices[MINI_DEVICES];
          guint n = 0;
          if (has_cpu)
            devices[n++] = (MiniDevice)MINI_CPU (3, 500);
          for (guint g = 0; g < n_gpus; g++)
            {
              devices[n] = (MiniDevice)MINI_GPU (5 + g, 20 + 50 * g, 3000);
              devices[n++].fails = g % 3 == 1 ? 0.1 : 0;
            }
          gboolean exclusive = has_cpu && n_gpus > 0;
          MiniFarm *farm = mini_farm_new (
              spec, kind, g_rand_int_range (rand, 0, 3), devices, n, 7);
          for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
            {
              HassLoad *loads
                  = mini_random_loads (rand, sizes[i], kind, exclusive);
              expect (farm, loads, sizes[i], spec);
              g_free (loads);
            }
          mini_farm_free (farm);
        }
  g_rand_free (rand);
}

/* Tasks that only GPUs can run are not one GPU's alone. */
static void
shares_gpu_tasks (const char *spec)
{
  MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000),
                           MINI_GPU (30, 2500, 30000) };
  HassLoad *loads = mini_equal_loads (600);
  MiniFarm *farm = mini_farm_new (spec, HASS_FARM_FUNCTION, HASS_COST_EQUAL,
                                  devices, 3, 1);
  for (guint i = 0; i < 600; i += 2)
    loads[i].flags = HASS_LOAD_GPU;
  for (guint r = 0; r < 4; r++)
    expect (farm, loads, 600, "tasks for GPUs only");
  for (guint i = 0; i < farm->grants->len; i++)
    CU_ASSERT (coping_units (farm, i) < 300);
  mini_farm_free (farm);
  g_free (loads);
}

void
coping_expect (const char *spec)
{
  loses_devices (spec);
  misses_devices (spec);
  finds_back (spec);
  shares_gpu_tasks (spec);
  meets_odd_machines (spec);
}

gboolean
coping_refused (const char *spec, const char *word)
{
  static const HassDeviceTraits traits[]
      = { { .name = "cpu", .kind = HASS_DEVICE_CPU, .cores = 4 },
          { .name = "gpu0", .kind = HASS_DEVICE_GPU, .cores = 30 } };
  HassStrategyEnv env = { .struct_size = sizeof env,
                          .farm_name = "test",
                          .farm = HASS_FARM_COMBINE,
                          .n_devices = 2,
                          .devices = traits };
  GError *error = NULL;
  HassStrategy *strategy = hass_strategy_new (spec, &env, &error);
  gboolean is = !strategy
                && g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY)
                && strstr (error->message, word);
  g_clear_error (&error);
  hass_strategy_free (strategy);
  return is;
}

/* Units of a bundle of the last round; 0: there was none. */
void
coping_run (MiniFarm *farm, guint32 units, MiniRound *result)
{
  mini_farm_run_equal (farm, units, result);
  CU_ASSERT (result->once && !result->hung);
  CU_ASSERT_EQUAL (result->forced, 0);
}

guint64
coping_units (const MiniFarm *farm, guint grant)
{
  return grant < farm->grants->len
             ? g_array_index (farm->grants, MiniGrant, grant).units
             : 0;
}
