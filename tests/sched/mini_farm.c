/* SPDX-License-Identifier: MIT */
/* mini_farm.c: farms and loads for the mini engine, and what to expect of a
   round.
   Thread safety: one thread. */
#include "mini_engine.h"

void
mini_farm_restart (MiniFarm *farm, const char *spec)
{
  GError *error = NULL;
  g_clear_pointer (&farm->strategy, hass_strategy_free);
  farm->strategy = hass_strategy_new (spec, &farm->env, &error);
  if (!farm->strategy)
    g_error ("%s: %s", spec, error->message);
}

void
mini_farm_tell_functions (MiniFarm *farm, const char *spec, guint n)
{
  farm->env.n_functions = farm->round->most_functions = n;
  mini_farm_restart (farm, spec);
}

MiniFarm *
mini_farm_new (const char *spec, HassFarmKind kind, HassCostClass cost,
               const MiniDevice *devices, guint n, guint32 seed)
{
  static const char *const names[MINI_DEVICES]
      = { "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9" };
  g_assert (n <= MINI_DEVICES);
  MiniFarm *farm = g_new0 (MiniFarm, 1);
  farm->n = n;
  farm->rand = g_rand_new_with_seed (seed);
  farm->grants = g_array_new (FALSE, FALSE, sizeof (MiniGrant));
  farm->cpu_order = g_array_new (FALSE, FALSE, sizeof (double));
  for (guint d = 0; d < n; d++)
    {
      farm->devices[d] = devices[d];
      farm->traits[d] = (HassDeviceTraits){
        .name = names[d],
        .kind = devices[d].kind,
        .cores = devices[d].cores,
        .width = devices[d].width > 0 ? devices[d].width
                                      : (guint64)MAX (devices[d].fill_work, 1),
        .latency_ns = devices[d].latency_ns,
        .work_per_ns = devices[d].known_rate,
        .max_in_flight = 1
      };
    }
  farm->env = (HassStrategyEnv){ .struct_size = sizeof farm->env,
                                 .farm_name = "mini",
                                 .farm = kind,
                                 .cost = cost,
                                 .element_threads = 1,
                                 .n_devices = n,
                                 .devices = farm->traits };
  mini_farm_restart (farm, spec);
  farm->round = g_aligned_alloc0 (1, sizeof (HassRound), HASS_CACHE_LINE);
  hass_round_init (farm->round, n, farm->traits);
  return farm;
}

void
mini_farm_free (MiniFarm *farm)
{
  hass_strategy_free (farm->strategy);
  hass_round_clear (farm->round);
  g_aligned_free (farm->round);
  g_array_unref (farm->grants);
  g_array_unref (farm->cpu_order);
  g_rand_free (farm->rand);
  g_free (farm);
}

/* -- Loads -------------------------------------------------------------- */

HassLoad *
mini_equal_loads (guint32 n)
{
  HassLoad *loads = g_new0 (HassLoad, MAX (n, 1));
  for (guint32 i = 0; i < n; i++)
    loads[i].size = 1;
  return loads;
}

MiniFarm *
mini_farm_new_equal (const char *spec, const MiniDevice *devices, guint n)
{
  return mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL, devices, n,
                        1);
}

void
mini_farm_run_equal (MiniFarm *farm, guint32 n, MiniRound *result)
{
  g_autofree HassLoad *loads = mini_equal_loads (n);
  mini_farm_run (farm, loads, n, result);
}

/* Distinct sizes; in a function farm SPD tasks among them. */
HassLoad *
mini_random_loads (GRand *rand, guint32 n, HassFarmKind kind,
                   gboolean exclusive)
{
  HassLoad *loads = g_new0 (HassLoad, MAX (n, 1));
  for (guint32 i = 0; i < n; i++)
    {
      loads[i].size = g_rand_int_range (rand, 1, 1000);
      loads[i].cost = loads[i].size;
      if (kind != HASS_FARM_FUNCTION)
        continue;
      loads[i].size = g_rand_boolean (rand) ? 1 : loads[i].size;
      int only = g_rand_int_range (rand, 0, 8);
      if (exclusive && only < 2)
        loads[i].flags = only ? HASS_LOAD_CPU : HASS_LOAD_GPU;
    }
  return loads;
}

/* -- What to expect ----------------------------------------------------- */

/* Time in which all devices together could do the work, launches and
   rounding left out. */
double
mini_bound_ns (const MiniDevice *devices, guint n, double work)
{
  double rate = 0;
  for (guint d = 0; d < n; d++)
    rate += (devices[d].kind == HASS_DEVICE_CPU ? devices[d].cores : 1)
            / devices[d].ns_per_work;
  return work / rate;
}

/* Parts by rate, launches counted: all finish at T. */
void
mini_ideal_parts (const MiniDevice *devices, guint n, double units,
                  double *parts)
{
  double rates = 0, late = 0;
  for (guint d = 0; d < n; d++)
    {
      double rate = (devices[d].kind == HASS_DEVICE_CPU ? devices[d].cores : 1)
                    / devices[d].ns_per_work;
      rates += rate;
      late += rate * devices[d].latency_ns;
      parts[d] = rate;
    }
  double end_ns = (units + late) / rates;
  for (guint d = 0; d < n; d++)
    parts[d] *= (end_ns - devices[d].latency_ns) / units;
}

/* Whether costs[from] to costs[to - 1] ascend. */
gboolean
mini_ascending (const GArray *costs, guint from, guint to)
{
  for (guint i = from + 1; i < to; i++)
    if (g_array_index (costs, double, i) < g_array_index (costs, double, i - 1))
      return FALSE;
  return TRUE;
}
