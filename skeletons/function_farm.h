/* SPDX-License-Identifier: MIT */
/* hass/function_farm.h: a farm of tasks with functions of their own (Zhang
   2011, section 3.6).
   Thread safety: as hass/data_farm.h. */
#ifndef HASS_FUNCTION_FARM_H
#define HASS_FUNCTION_FARM_H

#include <hass/callbacks.h>
#include <hass/report.h>
#include <string.h>

HASS_BEGIN_DECLS

typedef struct _HassTask HassTask;

/**
 * HassTaskFunc: the CPU function of a task. Threads and failures as for
 * #HassCpuWorkerFunc. @worker is valid for the hass_worker functions and for
 * hass_worker_emit_task().
 */
typedef gboolean (*HassTaskFunc) (const HassTask *task, HassWorker *worker,
                                  gpointer user_data, GError **error);

/**
 * HassTask: functions with their data. The user owns all it points to, which
 * must stay valid until the task is released.
 * @cpu, @gpu: CPU function and worker for CUDA devices; at least one of these
 *   and @workers. A task runs only on devices of the kinds that it has a
 *   function for.
 * @data: a value of the user for the functions.
 * @input, @input_bytes: host memory that is copied to a GPU; may be NULL and 0.
 * @output, @output_bytes: host memory that is copied back; may be NULL and 0.
 * @expected_time: in any unit common to all tasks (exeTime in the thesis); 0:
 *   unknown. A value that is negative, not finite or above 3.4e38 fails the
 *   farm with HASS_ERROR_INVALID.
 * @parallelism: parallelism degree PD, the maximum number of threads of the
 *   task: 0 or 1: simplex (SPD); more: multiplex (MPD; Zhang 2011, section
 *   3.6.1).
 * @gpu_function: value that @gpu finds in HassBundle.functions: which of the
 *   worker's device functions this task calls. Tasks with the same @gpu share
 *   bundles and calls.
 * @workers: workers for further kinds of devices, ended by an entry whose kind
 *   is NULL; or NULL.
 * @priority: tasks with a higher priority are begun first, of equal ones the
 *   one that was emitted first; negative ones after all others. Strategies that
 *   keep closed rounds (all but auto and naive-greedy) and ordered farms ignore
 *   it, and among tasks shorter than about a microsecond it is not exact. In a
 *   graph of tasks the time from a task to the end of the graph (its bottom
 *   level) is a good priority.
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
  gint64 priority;
};

/**
 * HassFunctionFarm: the settings of a function farm. Start from
 * HASS_FUNCTION_FARM_INIT or hass_function_farm_init(). Fields with a name of
 * #HassDataFarm have the same meaning; @window_tasks, @pool_tasks and
 * @round_tasks count tasks as window_loads, pool_loads and round_loads of
 * #HassDataFarm count loads.
 * @struct_size: as HassDataFarm.struct_size, but the struct may end after
 *   @n_tasks.
 * @tasks: [@n_tasks] tasks known at the beginning; not copied, must stay valid.
 *   If none of them has a GPU worker and there is no generator, GPUs are used
 *   for tasks that workers emit only if @run asks for GPUs (n_gpus > 0).
 * @n_tasks: number of tasks.
 * @release: called once for each task that the library no longer uses. For an
 *   emitted task it gets the library's copy, valid during the call.
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

/* Returns: a farm with all fields zero but struct_size. */
static inline HassFunctionFarm
hass_function_farm_init (void)
{
  HassFunctionFarm farm;
  memset (&farm, 0, sizeof farm);
  farm.struct_size = sizeof farm;
  return farm;
}

/* An initialiser of a farm with all fields zero but struct_size. In C++ it is
   a function call, as C++ has designated initialisers only since C++20. */
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
 * @task: copied; the user keeps what it points to valid until the task is
 *   released. The functions, the collector (as tag) and the release callback
 *   get the copy.
 *
 * Emits a task of a function farm from its generator, as hass_emitter_emit()
 * emits a load of a data farm; HASS_ERROR_MISUSE in a data farm.
 */
gboolean hass_emitter_emit_task (HassEmitter *emitter, const HassTask *task);

/**
 * hass_worker_emit_task:
 * @task: copied, as by hass_emitter_emit_task().
 *
 * Emits a task of a function farm from a worker, as hass_worker_emit() emits a
 * load of a data farm; HASS_ERROR_MISUSE in a data farm.
 */
gboolean hass_worker_emit_task (HassWorker *worker, const HassTask *task);

/**
 * hass_function_farm:
 *
 * Runs a function farm: SPD and MPD tasks in separate sets, longest first for
 * GPUs (LTF), shortest first for the CPU (STF) (Zhang 2011, section 3.6.3,
 * HASS_f). Report, threads, return value and errors as for
 * hass_data_farm_partition(). A task that no present device can run is
 * HASS_ERROR_NO_DEVICE and is named in the message.
 */
gboolean hass_function_farm (const HassFunctionFarm *farm, HassReport **report,
                             GError **error);

HASS_END_DECLS

#endif
