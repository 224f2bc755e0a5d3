/* SPDX-License-Identifier: MIT */
/* hass/function_farm.h: a farm of tasks with functions of their own (Zhang
   2011, 3.6).
   Thread safety: as hass/data_farm.h. */
#ifndef HASS_FUNCTION_FARM_H
#define HASS_FUNCTION_FARM_H

#include <hass/callbacks.h>
#include <hass/report.h>
#include <string.h>

HASS_BEGIN_DECLS

typedef struct _HassTask HassTask;

/**
 * HassTaskFunc: a task's CPU function. Threads and failing as for
 * #HassCpuWorkerFunc; @worker serves the hass_worker functions, and
 * hass_worker_emit_task() for tasks that this one makes ready.
 */
typedef gboolean (*HassTaskFunc) (const HassTask *task, HassWorker *worker,
                                  gpointer user_data, GError **error);

/**
 * HassTask: a function with its input.
 * @cpu, @gpu, @workers: at least one; a task runs only on devices of the kinds
 *   that it has a function for. @gpu is the function for CUDA.
 * @data: the task's own.
 * @input, @input_bytes, @output, @output_bytes: bytes that travel to a GPU
 *   and back; may be NULL and 0.
 * @expected_time: in any unit that is the same for all tasks (exeTime in the
 *   thesis); 0: unknown. One that is negative, not finite or more than 3.4e38
 *   makes the farm fail with HASS_ERROR_INVALID.
 * @parallelism: its PD, the threads it can use at most: 1 (or 0) simplex,
 *   more: multiplex (Zhang 2011, 3.6.1).
 * @gpu_function: what the task's @gpu finds in HassBundle.functions: where
 *   tasks share one @gpu worker, which of its device functions is this
 *   task's. Tasks with the same @gpu run in one bundle and one call.
 * @workers: functions for further kinds of devices, ended by one whose kind
 *   is NULL; or NULL. Must stay valid until the task is released.
 * @reserved: zero, else the task fails with HASS_ERROR_INVALID; for later
 *   versions.
 */
struct _HassTask
{
  HassTaskFunc cpu;
  HassGpuWorkerFunc gpu;
  gpointer data;
  gconstpointer input;
  gsize input_bytes;
  gpointer output;
  gsize output_bytes;
  double expected_time;
  guint64 parallelism;
  guint32 gpu_function;
  const HassKindWorker *workers;
  guint64 reserved[1];
};

/**
 * HassFunctionFarm: start from HASS_FUNCTION_FARM_INIT or
 * hass_function_farm_init(). Fields of the same name as in #HassDataFarm mean
 * the same.
 * @struct_size: as there, but the struct may end after @n_tasks.
 * @tasks: [@n_tasks] tasks known at the start; not copied, must stay valid.
 *   Where none of them has a GPU function and there is no generator, GPUs are
 *   used for what workers emit only if @run asks for them (n_gpus > 0).
 * @release: called once for each task the library is done with. Of a task
 *   that was emitted it gets the library's copy, which is gone afterwards.
 */
typedef struct
{
  gsize struct_size;
  const char *name;
  gpointer user_data;

  HassGenerateFunc generate;
  const HassTask *tasks;
  gsize n_tasks;

  HassCollectFunc collect;
  HassResultOrder order;
  gsize window_tasks;
  HassReduceFunc reduce;
  HassReduceInitFunc reduce_init;
  HassReduceClearFunc reduce_clear;
  gpointer accumulator;
  gsize accumulator_bytes;
  void (*release) (const HassTask *task, gboolean committed,
                   gpointer user_data);

  const HassConstant *constants;
  guint n_constants;
  gsize pool_tasks;
  gsize round_tasks;

  HassRunOptions run;
} HassFunctionFarm;

/* A farm of zeros that knows its size. */
static inline HassFunctionFarm
hass_function_farm_init (void)
{
  HassFunctionFarm farm;
  memset (&farm, 0, sizeof farm);
  farm.struct_size = sizeof farm;
  return farm;
}

/* The same as an initialiser. C++ has those of this form since 2020 only. */
#ifdef __cplusplus
#  define HASS_FUNCTION_FARM_INIT hass_function_farm_init ()
#else
#  define HASS_FUNCTION_FARM_INIT                                              \
    {                                                                          \
      .struct_size = sizeof (HassFunctionFarm)                                 \
    }
#endif

/**
 * hass_emitter_emit_task:
 * @task: copied; what it points to stays the user's and must stay valid until
 *   the task is released. The task's functions, the collector (as tag) and
 *   the release callback get the copy.
 *
 * As hass_emitter_emit(), for the generator of a function farm; in a data farm
 * it is HASS_ERROR_MISUSE.
 */
gboolean hass_emitter_emit_task (HassEmitter *emitter, const HassTask *task);

/**
 * hass_worker_emit_task:
 * @task: copied, as by hass_emitter_emit_task().
 *
 * As hass_worker_emit(), for a task of a function farm; in a data farm it is
 * HASS_ERROR_MISUSE.
 */
gboolean hass_worker_emit_task (HassWorker *worker, const HassTask *task);

/**
 * hass_function_farm:
 *
 * Runs a function farm: SPD and MPD sets, LTF for GPUs, STF for the CPU
 * (Zhang 2011, 3.6.3, HASS_f). Returns and errors as
 * hass_data_farm_partition(). A task that no present device can run is
 * HASS_ERROR_NO_DEVICE and is named.
 */
gboolean hass_function_farm (const HassFunctionFarm *farm, HassReport **report,
                             GError **error);

HASS_END_DECLS

#endif
