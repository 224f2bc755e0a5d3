/* SPDX-License-Identifier: MIT */
/* normalise.c: the checks that all farms share.
   Thread safety: any thread. */
#include "normalise-private.h"

#include <string.h>

#include "device/ops.h"
#include "hass/strategy.h"

#define POOL_LOADS 8192
#define POOL_BYTES (64 << 20)
#define POOL_LOADS_MAX (1u << 30)

static gsize
or_default (gsize value, gsize preset)
{
  return value > 0 ? value : preset;
}

/* Sets the bounds of pool and rounds. With ordered results a round holds no
   more than the window, so no result waits for one further away. */
void
hass_farm_limits (HassFarm *farm, gsize pool_loads, gsize pool_bytes,
                  gsize round_loads, gsize window)
{
  farm->pool_loads = MIN (or_default (pool_loads, POOL_LOADS), POOL_LOADS_MAX);
  farm->pool_bytes = or_default (pool_bytes, POOL_BYTES);
  gsize most = or_default (round_loads, G_MAXUINT32 - 1);
  farm->window = or_default (window, POOL_LOADS);
  if (farm->order == HASS_RESULTS_ORDERED && farm->collect)
    most = MIN (most, farm->window);
  farm->round_loads = (guint32)MIN (most, G_MAXUINT32 - 1);
}

static gboolean
invalid (const HassFarm *farm, GError **error, const char *what)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID, "farm '%s': %s",
               farm->name, what);
  return FALSE;
}

/* Each kind has one worker. */
static gboolean
check_workers (const HassFarm *farm, GError **error)
{
  for (const HassKindWorker *w = farm->workers; w && w->kind; w++)
    {
      const char *wrong = w->worker ? NULL : "is NULL";
      for (const HassKindWorker *v = farm->workers; v < w; v++)
        if (strcmp (v->kind, w->kind) == 0)
          wrong = "is given twice";
      if (!wrong)
        continue;
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "farm '%s': the worker for kind \"%s\" %s", farm->name,
                   w->kind, wrong);
      return FALSE;
    }
  return TRUE;
}

/* Refuses what no farm can run with; chooses the strategy. */
gboolean
hass_farm_check (HassFarm *farm, const char *function, GError **error)
{
  const HassRunOptions *run = farm->run;
  const char *callback = hass_engine_callback ();
  if (callback)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_MISUSE,
                   "%s called from %s: callbacks cannot run farms", function,
                   callback);
      return FALSE;
    }
  if (!farm->name)
    farm->name = "farm";
  if (!farm->cpu_worker && !(farm->workers && farm->workers[0].kind))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                   "farm '%s' has neither a CPU worker nor a GPU worker",
                   farm->name);
      return FALSE;
    }
  if (!check_workers (farm, error))
    return FALSE;
  if (!farm->generate && !farm->loads)
    return invalid (farm, error, "neither a generator nor loads are given");
  if (farm->n_loads > 0 && !farm->loads)
    return invalid (farm, error, "n_loads is given, but loads is NULL");
  if ((guint)farm->cost > HASS_COST_UNKNOWN)
    return invalid (farm, error, "cost is no HassCostClass");
  if ((guint)farm->order > HASS_RESULTS_ORDERED)
    return invalid (farm, error, "order is no HassResultOrder");
  if ((guint)run->on_error > HASS_ON_ERROR_CONTINUE)
    return invalid (farm, error, "on_error is no HassErrorPolicy");
  if (farm->reduce && (!farm->accumulator || farm->accumulator_bytes == 0))
    return invalid (farm, error,
                    "reduce needs accumulator and accumulator_bytes");
  if (farm->reduce_clear && !farm->reduce)
    return invalid (farm, error, "reduce_clear is given, but reduce is NULL");
  if (farm->n_constants > 0 && !farm->constants)
    return invalid (farm, error,
                    "n_constants is given, but constants is "
                    "NULL");
  if (run->n_devices > 0 && !run->devices)
    return invalid (farm, error, "n_devices is given, but devices is NULL");
  for (guint i = 0; i < run->n_devices; i++)
    {
      HassDeviceOps ops;
      if (hass_device_ops_read (&ops, run->devices[i], error))
        continue;
      g_prefix_error (error, "farm '%s': device %u of %u: ", farm->name, i,
                      run->n_devices);
      return FALSE;
    }
  if (run->deadline_ms < 0 || run->deadline_ms > G_MAXINT64 / 2000000)
    return invalid (farm, error, "deadline_ms is out of range");
  if (run->bundle_deadline_ms < 0
      || run->bundle_deadline_ms > G_MAXINT64 / 2000000)
    return invalid (farm, error, "bundle_deadline_ms is out of range");
  if (farm->gpu_record_bytes > 0 && !farm->gpu_result)
    return invalid (farm, error,
                    "gpu_record_bytes is given, but gpu_result is NULL");
  if (!(farm->gpu_records_per_element >= 0
        && farm->gpu_records_per_element <= 1e6))
    return invalid (farm, error,
                    "gpu_records_per_element must lie between 0 and 1e6");
  if (farm->join_tiles && farm->unbundle)
    return invalid (farm, error,
                    "join_tiles is set, but unbundle wants tiles one after "
                    "another");
  for (guint i = 0; i < G_N_ELEMENTS (run->reserved); i++)
    if (run->reserved[i])
      {
        g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                     "farm '%s': run.reserved[%u] is set: the option is of a "
                     "later version",
                     farm->name, i);
        return FALSE;
      }
  farm->strategy = run->strategy;
  if (!farm->strategy)
    farm->strategy = g_getenv ("HASS_STRATEGY");
  if (!farm->strategy || !*farm->strategy)
    farm->strategy = hass_strategy_default (farm->kind, farm->cost);
  return TRUE;
}
