/* SPDX-License-Identifier: MIT */
/* farm.h: a farm of any kind, as the skeletons hand it to an engine.
   Thread safety: constant while the farm runs. */
#ifndef HASS_FARM_H
#define HASS_FARM_H

#include "hass/callbacks.h"
#include "source.h"

/* A listener is told what a running farm does; see facts.h. */
typedef struct HassListener HassListener;

/* A farm as the engines see it. Fields without a comment mean the same as in
   the public HassDataFarm; a function farm's tasks travel as loads whose tag
   points to the task. All defaults are filled in. */
typedef struct
{
  const char *name;
  HassFarmKind kind;
  HassCostClass cost;
  gpointer user_data;

  HassGenerateFunc generate;
  const HassLoad *loads;
  gsize n_loads;
  /* size of what the tag of an emitted load points to, which is copied; 0: tags
     are opaque and not copied */
  gsize tag_bytes;

  HassCpuWorkerFunc cpu_worker;
  gpointer cpu_worker_data;
  /* GPU worker of devices that the user gave, of a kind that is neither
     registered nor in @workers */
  HassGpuWorkerFunc gpu_worker;
  /* workers of the devices of each registered kind, gpu_kind included; ends
     with kind NULL */
  const HassKindWorker *workers;
  /* function farm: returns a task's worker for a kind of device; or NULL */
  HassGpuWorkerFunc (*worker_of) (const HassLoad *load, const char *kind);
  /* whether any task may use a kind of device; NULL: if it is in @workers */
  gboolean (*may_use) (gpointer user_data, const char *kind);
  const char *gpu_kind; /* kind of device that @gpu_worker is for */
  /* function farm: a task's GPU worker; or NULL */
  HassGpuWorkerFunc (*gpu_worker_of) (const HassLoad *load);
  /* function farm: the priority of a task with HASS_LOAD_URGENT; or NULL */
  gint64 (*priority_of) (const HassLoad *load);
  /* function farm: a number for a task's GPU function; or NULL */
  guint32 (*gpu_function_of) (const HassLoad *load);
  /* function farm: which of its functions the task of a load calls; called by
     the thread that emits, where n_functions > 1; or NULL. Loads that are known
     at the beginning have it in their flags (HASS_LOAD_FUNCTION). */
  guint (*function_of) (const HassLoad *load, gpointer data);
  gpointer function_data;
  guint n_functions; /* how many may come, up to HASS_MOST_FUNCTIONS */
  /* for the report, by any thread: as function_of, but HASS_MOST_FUNCTIONS for
     a task that calls none of those */
  guint (*known_function_of) (const HassLoad *load, gconstpointer data);
  /* for the report: (transfer full): what to call a function */
  char *(*function_name) (guint function, gconstpointer data);
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
  /* a pipeline: HassPipeline.tag_free, with @user_data; or NULL */
  void (*tag_free) (gpointer tag, gpointer user_data);

  gsize block_elements;
  gsize halo_elements;
  gsize element_threads;
  gboolean join_tiles;
  /* parts for a GPU end at multiples of so many units; 0: 1 */
  gsize gpu_multiple;
  const HassConstant *constants;
  guint n_constants;
  gsize pool_loads;
  gsize pool_bytes;
  gboolean bounded_loads, bounded_bytes; /* the user has set the bound */
  guint32 round_loads;                   /* most units in a round */
  gsize window; /* ordered farm: most units begun and not delivered */

  const HassSourceOps *source; /* NULL: rounds */
  /* a pipeline: its stages with all defaults filled in, and its bounds
     (HassPipeline); else NULL and 0 */
  const struct _HassStage *stages;
  guint n_stages;
  gsize tokens, token_bytes;
  /* a modelled pipeline: its CPU worker computes the results of stages that
     have none, on modelled devices alone; or NULL */
  const struct _HassStage *stand_in;

  const char *strategy;
  /* virtual time: rates that the strategy gets as if they had been measured in
     earlier runs; or NULL */
  const HassProfileRate *profile;
  const HassRunOptions *run;
  /* Adds listeners to @listeners, which the farm then owns; or NULL. Returns:
     FALSE with an error if the farm must not run. */
  gboolean (*observe) (const HassRunOptions *run, const char *name,
                       HassListener **listeners, GError **error);
  /* when the user called the farm, on hass_engine_clock; 0: when the engine is
     called */
  gint64 called_ns;
} HassFarm;

/* Returns: TRUE if the farm's emitter takes tasks, not loads. A model of a
   function farm has loads without tasks, and FALSE. */
static inline gboolean
hass_farm_takes_tasks (const HassFarm *farm)
{
  return farm->tag_bytes > 0;
}

/* Returns: what messages call the farm, before its name. */
static inline const char *
hass_farm_noun (const HassFarm *farm)
{
  return farm->kind == HASS_FARM_PIPELINE   ? "pipeline"
         : farm->kind == HASS_FARM_DATAFLOW ? "dataflow"
                                            : "farm";
}

/* Returns: TRUE if the block has an input or output without an address;
   hass_results_check() decides whether that is an error. */
static inline gboolean
hass_block_is_nowhere (const HassBlock *block)
{
  return (!block->input && block->input_bytes > 0)
         || (!block->output && block->output_bytes > 0);
}

/* Returns the time on the clock of live farms, in ns. */
gint64 hass_engine_clock (void);

gboolean hass_engine_run (const HassFarm *farm, HassReport **report,
                          GError **error);
void hass_engine_refused (const char *name, const char *why);

/* Flag of a load in a function farm: its tag points to the library's own copy
   of the task, which the library frees. */
#define HASS_LOAD_COPIED (1u << 31)
/* Flag of a load in a function farm: its task has a priority other than 0. */
#define HASS_LOAD_URGENT (1u << 30)

/* Emits a task as a load, as hass_emitter_emit() emits a load in a data farm.
   What the load's tag points to, tag_bytes of the farm, is copied. */
gboolean hass_engine_emit_task (HassEmitter *emitter, HassLoad *load);

/* Emits a task as a load, as hass_worker_emit() emits a load in a data farm.
   Returns: the load, for the caller to fill in before it returns to the unit:
   the tag points to tag_bytes of the farm for the task's copy, all else is
   undefined, and the flags must get HASS_LOAD_COPIED; NULL: it was refused.
 */
HassLoad *hass_engine_nest_task (HassWorker *worker);

/* Returns a name for the user's callback that the calling thread is in, for
   messages: "the cpu_worker of farm 'x'"; NULL: it is in none. */
const char *hass_engine_callback (void);

#endif
