/* SPDX-License-Identifier: MIT */
/* normalise.c: the checks that all farms share.
   Thread safety: any thread. */
#include "normalise-private.h"

#include <stdatomic.h>
#include <string.h>

#include "device/ops.h"
#include "hass/strategy.h"
#include "sched/registry.h"

#define POOL_LOADS 8192
#define POOL_BYTES (64 << 20)
#define POOL_LOADS_MAX (1u << 30)
/* Longest deadline that is accepted, in ms: the present time plus the
   deadline, in ns, fits a gint64. */
#define MOST_MS (G_MAXINT64 / 2000000)

static gsize
or_default (gsize value, gsize preset)
{
  return value > 0 ? value : preset;
}

/* Sets the bounds of the farm's load pool and rounds from the user's settings,
   0 meaning the default. With ordered results a round holds no more loads than
   the window, so that no result has to wait for one further away. */
void
hass_farm_limits (HassFarm *farm, gsize pool_loads, gsize pool_bytes,
                  gsize round_loads, gsize window)
{
  farm->pool_loads = MIN (or_default (pool_loads, POOL_LOADS), POOL_LOADS_MAX);
  farm->pool_bytes = or_default (pool_bytes, POOL_BYTES);
  farm->bounded_loads = pool_loads > 0;
  farm->bounded_bytes = pool_bytes > 0;
  gsize most = or_default (round_loads, G_MAXUINT32 - 1);
  farm->window = or_default (window, POOL_LOADS);
  if (farm->order == HASS_RESULTS_ORDERED && farm->collect)
    most = MIN (most, farm->window);
  farm->round_loads = (guint32)MIN (most, G_MAXUINT32 - 1);
}

static gboolean
invalid (const HassFarm *farm, GError **error, const char *what)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID, "%s '%s': %s",
               hass_farm_noun (farm), farm->name, what);
  return FALSE;
}

/* Checks that each kind of device in farm->workers has exactly one worker,
   which is not NULL. Returns: FALSE with an error. */
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
                   "%s '%s': the worker for kind \"%s\" %s",
                   hass_farm_noun (farm), farm->name, w->kind, wrong);
      return FALSE;
    }
  return TRUE;
}

static gboolean
check_members (const HassFarm *f, GError **error)
{
  const HassRunOptions *run = f->run;
  const struct
  {
    gboolean wrong;
    const char *what;
  } rules[] = {
    { !f->generate && !f->loads, "neither a generator nor loads are given" },
    { f->n_loads > 0 && !f->loads, "n_loads is given, but loads is NULL" },
    { (guint)f->cost > HASS_COST_UNKNOWN, "cost is no HassCostClass" },
    { (guint)f->order > HASS_RESULTS_ORDERED, "order is no HassResultOrder" },
    { (guint)run->on_error > HASS_ON_ERROR_CONTINUE,
      "on_error is no HassErrorPolicy" },
    { f->reduce && (!f->accumulator || f->accumulator_bytes == 0),
      "reduce needs accumulator and accumulator_bytes" },
    { f->reduce_clear && !f->reduce,
      "reduce_clear is given, but reduce is NULL" },
    { f->n_constants > 0 && !f->constants,
      "n_constants is given, but constants is NULL" },
    { run->n_devices > 0 && !run->devices,
      "n_devices is given, but devices is NULL" },
    { run->deadline_ms < 0 || run->deadline_ms > MOST_MS,
      "deadline_ms is out of range" },
    { run->bundle_deadline_ms < 0 || run->bundle_deadline_ms > MOST_MS,
      "bundle_deadline_ms is out of range" },
    { f->gpu_record_bytes > 0 && !f->gpu_result,
      "gpu_record_bytes is given, but gpu_result is NULL" },
    { !(f->gpu_records_per_element >= 0 && f->gpu_records_per_element <= 1e6),
      "gpu_records_per_element must lie between 0 and 1e6" },
    { f->join_tiles && f->unbundle,
      "join_tiles is set, but unbundle wants tiles one after another" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if (rules[i].wrong)
      return invalid (f, error, rules[i].what);
  return TRUE;
}

static gboolean
check_devices (const HassFarm *farm, GError **error)
{
  const HassRunOptions *run = farm->run;
  for (guint i = 0; i < run->n_devices; i++)
    {
      HassDeviceOps ops;
      if (hass_device_ops_read (&ops, run->devices[i], error))
        continue;
      g_prefix_error (error,
                      "%s '%s': device %u of %u: ", hass_farm_noun (farm),
                      farm->name, i, run->n_devices);
      return FALSE;
    }
  return TRUE;
}

/* Checks that no run option of a later version is set. Returns: FALSE with an
   error. */
static gboolean
check_reserved (const HassFarm *farm, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (farm->run->reserved); i++)
    if (farm->run->reserved[i])
      {
        g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                     "%s '%s': run.reserved[%u] is set: the option is of a "
                     "later version",
                     hass_farm_noun (farm), farm->name, i);
        return FALSE;
      }
  return TRUE;
}

/* Warns, once in the process for each kind of farm, that no strategy of
   HASS_STRATEGY serves it. */
static void
warn_unserved (const HassFarm *farm, const char *list)
{
  static _Atomic guint warned; /* kinds */
  const char *kind = farm->kind == HASS_FARM_PARTITION     ? "partition farms"
                     : farm->kind == HASS_FARM_COMBINE     ? "combine farms"
                     : farm->kind == HASS_FARM_INDIVISIBLE ? "indivisible farms"
                     : farm->kind == HASS_FARM_FUNCTION    ? "function farms"
                     : farm->kind == HASS_FARM_PIPELINE    ? "pipelines"
                                                           : "dataflows";
  if (atomic_fetch_or_explicit (&warned, farm->kind, memory_order_relaxed)
      & farm->kind)
    return;
  g_autofree char *serving = hass_strategy_serving (farm->kind);
  g_printerr ("hass: HASS_STRATEGY=%s serves no %s: they run under %s; they "
              "are served by %s\n",
              list, kind, farm->strategy, serving);
}

/* Chooses the strategy: that of the program, which must serve the farm, else
   one of HASS_STRATEGY that does, else the default. Returns: FALSE with an
   error if the variable is malformed. */
static gboolean
choose_strategy (HassFarm *farm, GError **error)
{
  const char *list = farm->run->strategy ? NULL : g_getenv ("HASS_STRATEGY");
  g_autofree char *spec = NULL;
  farm->strategy = farm->run->strategy;
  if (list && *list && !hass_strategy_choose (list, farm->kind, &spec, error))
    return FALSE;
  if (spec)
    farm->strategy = g_intern_string (spec); /* outlives the farm */
  else if (!farm->strategy || !*farm->strategy)
    farm->strategy = hass_strategy_default (farm->kind, farm->cost);
  if (list && *list && !spec)
    warn_unserved (farm, list);
  return TRUE;
}

/* @function: the public function that was called, for messages. Returns: FALSE
   with HASS_ERROR_MISUSE if called from a callback. */
gboolean
hass_farm_check_caller (const char *function, GError **error)
{
  const char *callback = hass_engine_callback ();
  if (!callback)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_MISUSE,
               "%s called from %s: callbacks cannot run farms or record graphs",
               function, callback);
  return FALSE;
}

/* Checks the settings that all kinds of farms have in common, sets the default
   name and chooses the strategy. @function: the public function that was
   called, for messages. Returns: FALSE with an error for an invalid farm, or
   if called from a callback. */
gboolean
hass_farm_check (HassFarm *farm, const char *function, GError **error)
{
  if (!farm->name)
    farm->name = "farm";
  if (!hass_farm_check_caller (function, error))
    return FALSE;
  if (!farm->cpu_worker && !(farm->workers && farm->workers[0].kind))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                   "farm '%s' has neither a CPU worker nor a GPU worker",
                   farm->name);
      return FALSE;
    }
  if (!check_workers (farm, error) || !check_members (farm, error)
      || !check_devices (farm, error) || !check_reserved (farm, error))
    return FALSE;
  return choose_strategy (farm, error);
}

/* Checks a farm, pipeline or dataflow and runs it. @function: as for
   hass_farm_check(). @window: as for hass_farm_check_settings(). */
gboolean
hass_farm_run (HassFarm *farm, const char *function, gsize window,
               HassReport **report, GError **error)
{
  GError *why = NULL;
  if (hass_farm_check (farm, function, &why)
      && hass_farm_check_settings (farm, window, &why))
    return hass_engine_run (farm, report, error);
  hass_engine_refused (farm->name, why->message);
  g_propagate_error (error, why);
  return FALSE;
}

/* Ends the call of a farm, pipeline or dataflow: what failed before the engine
   made a report gets an empty one. @report: NULL or where the report belongs,
   which holds NULL or the engine's. @name: NULL: the default of @kind. Returns:
   @ok. */
gboolean
hass_farm_end (gboolean ok, HassReport **report, const char *name,
               HassFarmKind kind)
{
  if (!report || *report)
    return ok;
  if (!name)
    name = kind == HASS_FARM_PIPELINE   ? "pipeline"
           : kind == HASS_FARM_DATAFLOW ? "dataflow"
                                        : "farm";
  *report = g_new0 (HassReport, 1);
  (*report)->farm = g_strdup (name);
  (*report)->kind = kind;
  return ok;
}
