/* SPDX-License-Identifier: MIT */
/* farm.h: a farm of any kind, as the skeletons hand it to an engine.
   Thread safety: constant while the farm runs. */
#ifndef HASS_FARM_H
#define HASS_FARM_H

#include "hass/callbacks.h"
#include "hass/report.h"
#include "hass/strategy.h"

/* Hears what a farm does; see facts.h. */
typedef struct HassListener HassListener;

/* Fields as in HassDataFarm; a function farm's tasks travel as loads whose
   tag is the task. All defaults are filled in. */
typedef struct
{
  const char *name;
  HassFarmKind kind;
  HassCostClass cost;
  gpointer user_data;

  HassGenerateFunc generate;
  const HassLoad *loads;
  gsize n_loads;
  gsize tag_bytes; /* that emitted loads' tags point to; 0: tags are opaque */

  HassCpuWorkerFunc cpu_worker;
  gpointer cpu_worker_data;
  HassGpuWorkerFunc gpu_worker;  /* of devices that stand in for GPUs */
  const HassKindWorker *workers; /* of the other kinds and of gpu_kind */
  HassGpuWorkerFunc (*worker_of) (const HassLoad *load,
                                  const char *kind);          /* or NULL */
  gboolean (*may_use) (gpointer user_data, const char *kind); /* or NULL */
  const char *gpu_kind; /* that gpu_worker is for */
  HassGpuWorkerFunc (*gpu_worker_of) (const HassLoad *load); /* or NULL */
  guint32 (*gpu_function_of) (const HassLoad *load);         /* or NULL */
  HassGpuResultFunc gpu_result;
  gsize gpu_record_bytes;
  double gpu_records_per_element;
  HassPartitionFunc partition;
  HassBundleFunc bundle;
  HassUnbundleFunc unbundle;

  HassCollectFunc collect;
  HassResultOrder order;
  HassReduceFunc reduce;
  HassReduceInitFunc reduce_init;
  HassReduceClearFunc reduce_clear;
  gpointer accumulator;
  gsize accumulator_bytes;
  HassReleaseFunc release;
  gpointer release_data;

  gsize block_elements;
  gsize halo_elements;
  gsize element_threads;
  gboolean join_tiles;
  gsize gpu_multiple; /* 0: 1 */
  const HassConstant *constants;
  guint n_constants;
  gsize pool_loads;
  gsize pool_bytes;
  guint32 round_loads; /* at most so many units a round */
  gsize window;        /* in sequence order: units begun and not delivered */

  const char *strategy;
  const HassProfileRate *profile; /* in virtual time: as if it was measured
                                     before; or NULL */
  const HassRunOptions *run;
  /* Adds listeners to the list, which the farm then owns; or NULL. Returns:
     FALSE if the farm must not run. */
  gboolean (*observe) (const HassRunOptions *run, const char *name,
                       HassListener **listeners, GError **error);
  gint64 called_ns; /* hass_engine_clock; 0: when the engine is called */
} HassFarm;

/* Loads' tags are tasks; a model of a function farm has loads without. */
static inline gboolean
hass_farm_takes_tasks (const HassFarm *farm)
{
  return farm->tag_bytes > 0;
}

/* The clock of live farms, in ns. */
gint64 hass_engine_clock (void);

gboolean hass_engine_run (const HassFarm *farm, HassReport **report,
                          GError **error);

/* A flag of function farms' loads: the tag is a copy of the library's. */
#define HASS_LOAD_COPIED (1u << 31)

/* As hass_emitter_emit() and hass_worker_emit(), for function farms: the
   load's tag is copied, @tag_bytes of the farm. */
gboolean hass_engine_emit_task (HassEmitter *emitter, HassLoad *load);
gboolean hass_engine_nest_task (HassWorker *worker, HassLoad *load);

/* What callback this thread is in: "the cpu_worker of farm 'x'", or NULL. */
const char *hass_engine_callback (void);

#endif
