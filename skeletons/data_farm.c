/* SPDX-License-Identifier: MIT */
/* data_farm.c: the three data farms.
   Thread safety: see data_farm.h. */
#include "hass/data_farm.h"

#include "normalise-private.h"
#include "pool/struct_size.h"

/* Returns: a copy of the farm's workers for further kinds of devices,
   NULL-terminated, to which gpu_worker is added as the worker for kind "cuda"
   if it is set; free with g_free(). */
static HassKindWorker *
all_workers (const HassDataFarm *f)
{
  gsize n = 0;
  while (f->workers && f->workers[n].kind)
    n++;
  HassKindWorker *all = g_new0 (HassKindWorker, n + 2);
  if (n > 0)
    memcpy (all, f->workers, n * sizeof *all);
  if (f->gpu_worker)
    all[n] = (HassKindWorker){ HASS_GPU_KIND, f->gpu_worker };
  return all;
}

static gboolean
run (const HassDataFarm *given, HassFarmKind kind, const char *function,
     HassReport **report, GError **error)
{
  gint64 called_ns = hass_engine_clock ();
  HassDataFarm f;
  if (report)
    *report = NULL;
  if (!hass_struct_read (&f, sizeof f,
                         HASS_SIZE_UP_TO (HassDataFarm, cpu_worker), given,
                         "HassDataFarm", error))
    return hass_farm_end (FALSE, report, NULL, kind);
  g_autofree HassKindWorker *workers = all_workers (&f);
  HassFarm farm = { .name = f.name,
                    .kind = kind,
                    .cost = f.cost,
                    .user_data = f.user_data,
                    .generate = f.generate,
                    .loads = f.loads,
                    .n_loads = f.n_loads,
                    .cpu_worker = f.cpu_worker,
                    .cpu_worker_data = f.user_data,
                    .gpu_worker = f.gpu_worker,
                    .gpu_kind = HASS_GPU_KIND,
                    .workers = workers,
                    .bundle = f.bundle,
                    .unbundle = f.unbundle,
                    .partition = f.partition,
                    .collect = f.collect,
                    .order = f.order,
                    .reduce = f.reduce,
                    .reduce_init = f.reduce_init,
                    .reduce_clear = f.reduce_clear,
                    .accumulator = f.accumulator,
                    .accumulator_bytes = f.accumulator_bytes,
                    .gpu_result = f.gpu_result,
                    .gpu_record_bytes = f.gpu_record_bytes,
                    .gpu_records_per_element = f.gpu_records_per_element,
                    .release = f.release,
                    .release_data = f.user_data,
                    .block_elements = f.block_elements,
                    .halo_elements = f.halo_elements,
                    .element_threads = f.element_threads,
                    .join_tiles = f.join_tiles,
                    .gpu_multiple = f.gpu_multiple,
                    .constants = f.constants,
                    .n_constants = f.n_constants,
                    .run = &f.run,
                    .called_ns = called_ns };
  hass_farm_limits (&farm, f.pool_loads, f.pool_bytes, f.round_loads,
                    f.window_loads);
  gboolean ok = hass_farm_run (&farm, function, f.window_loads, report, error);
  return hass_farm_end (ok, report, f.name, kind);
}

gboolean
hass_data_farm_partition (const HassDataFarm *farm, HassReport **report,
                          GError **error)
{
  return run (farm, HASS_FARM_PARTITION, "hass_data_farm_partition", report,
              error);
}

gboolean
hass_data_farm_combine (const HassDataFarm *farm, HassReport **report,
                        GError **error)
{
  return run (farm, HASS_FARM_COMBINE, "hass_data_farm_combine", report, error);
}

gboolean
hass_data_farm_indivisible (const HassDataFarm *farm, HassReport **report,
                            GError **error)
{
  return run (farm, HASS_FARM_INDIVISIBLE, "hass_data_farm_indivisible", report,
              error);
}
