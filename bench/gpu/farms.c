/* SPDX-License-Identifier: MIT */
/* farms.c: see farms.h.
   Thread safety: see farms.h. */
#include "farms.h"

#include <hass/data_farm.h>
#include <stdio.h>
#include <stdlib.h>

typedef gboolean (*Run) (const HassDataFarm *farm, HassReport **report,
                         GError **error);

/* -- Running ------------------------------------------------------------ */

/* A failed GPU does not end the run, but is reported with the figures. */
static double
look_at (const HassReport *report)
{
  double work = 0, gpu_work = 0;
  for (guint d = 0; d < report->n_devices; d++)
    {
      const HassDeviceReport *device = &report->devices[d];
      if (device->message)
        fprintf (stderr, "%s: %s: %s\n", report->farm, device->name,
                 device->message);
      work += device->work;
      gpu_work += device->kind == HASS_DEVICE_GPU ? device->work : 0;
    }
  return work > 0 ? gpu_work / work : 0;
}

static FarmResult
finish (gboolean ok, gint64 begin_ns, HassReport *report, GError *error)
{
  FarmResult result = { .seconds = (bench_now_ns () - begin_ns) * 1e-9 };
  if (!ok)
    {
      fflush (stdout);
      fprintf (stderr, "hass: %s\n", error ? error->message : "failed");
      exit (1);
    }
  result.gpu_share = look_at (report);
  hass_report_free (report);
  return result;
}

static void
set_run (const FarmSettings *settings, HassRunOptions *run)
{
  run->strategy = settings->strategy;
  run->n_gpus = settings->n_gpus > 0 ? (gint)settings->n_gpus : -1;
}

static FarmResult
run_farm (const FarmSettings *settings, HassDataFarm *farm, Run run)
{
  GError *error = NULL;
  HassReport *report = NULL;
  guint64 sum = 0;
  farm->name = settings->name;
  farm->cpu_worker = settings->cpu ? farm->cpu_worker : NULL;
  farm->gpu_worker = settings->n_gpus > 0 ? farm->gpu_worker : NULL;
  farm->block_elements = settings->block_elements;
  if (farm->reduce)
    {
      farm->accumulator = &sum;
      farm->accumulator_bytes = sizeof sum;
    }
  set_run (settings, &farm->run);
  gint64 begin = bench_now_ns ();
  gboolean ok = run (farm, &report, &error);
  FarmResult result = finish (ok, begin, report, error);
  result.sum = sum;
  return result;
}

static void
add (gpointer sum, gconstpointer part, gpointer user_data)
{
  (void)user_data;
  *(guint64 *)sum += *(const guint64 *)part;
}

/* -- Farms -------------------------------------------------------------- */

static gboolean
search_block (const HassBlock *block, HassWorker *worker, gpointer user_data,
              GError **error)
{
  const HandText *text = user_data;
  guint64 *sum = hass_worker_accumulator (worker);
  (void)error;
  *sum
      += scan_cpu (block->input, block->count, block->count + block->halo_after,
                   text->needle, text->length);
  return TRUE;
}

FarmResult
farm_search (const FarmSettings *settings, const HandText *text)
{
  HassLoad load
      = { .input = text->text, .input_bytes = text->n, .size = text->n };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.user_data = (gpointer)text;
  farm.loads = &load;
  farm.n_loads = 1;
  farm.cpu_worker = search_block;
  farm.gpu_worker = worker_search;
  farm.halo_elements = text->length - 1;
  farm.reduce = add;
  return run_farm (settings, &farm, hass_data_farm_partition);
}

static gboolean
count_load (const HassBlock *block, HassWorker *worker, gpointer user_data,
            GError **error)
{
  const HandText *text = user_data;
  (void)worker;
  (void)error;
  *(guint64 *)(gpointer)block->output
      = scan_cpu (block->input, block->input_bytes, block->input_bytes,
                  text->needle, text->length);
  return TRUE;
}

FarmResult
farm_count (const FarmSettings *settings, const HandText *text,
            const guint8 *const *loads, gsize bytes, gsize n, guint64 *counts)
{
  HassLoad *all = g_new0 (HassLoad, n);
  for (gsize i = 0; i < n; i++)
    all[i] = (HassLoad){ .input = loads[i],
                         .input_bytes = bytes,
                         .size = bytes,
                         .output = &counts[i],
                         .output_bytes = sizeof counts[i] };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.user_data = (gpointer)text;
  farm.loads = all;
  farm.n_loads = n;
  farm.cpu_worker = count_load;
  farm.gpu_worker = worker_search;
  FarmResult result = run_farm (settings, &farm, hass_data_farm_combine);
  g_free (all);
  return result;
}

static gboolean
do_nothing (const HassBlock *block, HassWorker *worker, gpointer user_data,
            GError **error)
{
  (void)block;
  (void)worker;
  (void)user_data;
  (void)error;
  return TRUE;
}

FarmResult
farm_empty (const FarmSettings *settings, HassGpuWorkerFunc worker,
            gpointer user_data, gsize n)
{
  HassLoad *loads = g_new0 (HassLoad, n);
  for (gsize i = 0; i < n; i++)
    loads[i].size = 1;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.user_data = user_data;
  farm.loads = loads;
  farm.n_loads = n;
  farm.cpu_worker = do_nothing;
  farm.gpu_worker = worker;
  FarmResult result = run_farm (settings, &farm, hass_data_farm_combine);
  g_free (loads);
  return result;
}

static gboolean
take_steps (const HassBlock *block, HassWorker *worker, gpointer user_data,
            GError **error)
{
  guint64 *sum = hass_worker_accumulator (worker);
  (void)error;
  *sum += steps_cpu (user_data, block->first, block->count);
  return TRUE;
}

FarmResult
farm_steps (const FarmSettings *settings, const Steps *steps, gsize n)
{
  HassLoad load = { .size = n };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.user_data = (gpointer)steps;
  farm.loads = &load;
  farm.n_loads = 1;
  farm.cpu_worker = take_steps;
  farm.gpu_worker = worker_steps;
  farm.reduce = add;
  return run_farm (settings, &farm, hass_data_farm_partition);
}

static gboolean
take_token_steps (const HassBlock *block, HassWorker *worker,
                  gpointer user_data, GError **error)
{
  (void)error;
  return token_steps_cpu (user_data, worker, block->input, block->output);
}

static FarmResult
farm_token_loads (const FarmSettings *settings, UnitKind kind,
                  const TokenSteps *steps, gsize n, const guint8 *inputs,
                  guint8 *results)
{
  gsize bytes = steps->n_words * sizeof (guint32), out = bytes / WORDS_SUMMED;
  gboolean combine = kind == UNIT_COMBINE;
  HassLoad *loads = g_new0 (HassLoad, n);
  for (gsize i = 0; i < n; i++)
    loads[i] = (HassLoad){ .input = inputs + i * bytes,
                           .input_bytes = bytes,
                           .size = steps->n_words,
                           .output = results + i * out,
                           .output_bytes = out };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.user_data = (gpointer)steps;
  farm.loads = loads;
  farm.n_loads = n;
  farm.cpu_worker = take_token_steps;
  farm.gpu_worker = combine ? worker_token_steps : worker_token_blocks;
  FarmResult result = run_farm (settings, &farm,
                                combine ? hass_data_farm_combine
                                        : hass_data_farm_indivisible);
  g_free (loads);
  return result;
}

static FarmResult
run_tasks (const FarmSettings *settings, HassFunctionFarm *farm)
{
  GError *error = NULL;
  HassReport *report = NULL;
  farm->name = settings->name;
  set_run (settings, &farm->run);
  gint64 begin = bench_now_ns ();
  gboolean ok = hass_function_farm (farm, &report, &error);
  return finish (ok, begin, report, error);
}

static gboolean
take_token_task (const HassTask *task, HassWorker *worker, gpointer user_data,
                 GError **error)
{
  (void)error;
  return token_steps_cpu (user_data, worker, task->input, task->output);
}

/* The GPU workers of the tasks of a farm, in turn. */
static HassGpuWorkerFunc
token_worker (UnitKind kind, gsize i)
{
  gboolean slow = kind != UNIT_TASK && i % 2;
  if (kind == UNIT_SIMPLE)
    return slow ? worker_token_blocks_slow : worker_token_blocks;
  return slow ? worker_token_steps_slow : worker_token_steps;
}

/* What the callbacks of a farm get: the steps, and what its generator emits. */
typedef struct
{
  TokenSteps steps[2];
  const HassTask *tasks;
  gsize n;
} TokenTasks;

static gboolean
emit_tasks (HassEmitter *emitter, gpointer user_data, GError **error)
{
  const TokenTasks *t = user_data;
  (void)error;
  for (gsize i = 0; i < t->n; i++)
    if (!hass_emitter_emit_task (emitter, &t->tasks[i]))
      return FALSE;
  return TRUE;
}

static FarmResult
farm_token_tasks (const FarmSettings *settings, UnitKind kind,
                  const TokenSteps steps[2], gsize n, const guint8 *inputs,
                  guint8 *results)
{
  gsize bytes = steps->n_words * sizeof (guint32), out = bytes / WORDS_SUMMED;
  HassTask *tasks = g_new0 (HassTask, n);
  TokenTasks all = { { steps[0], steps[1] }, tasks, n };
  for (gsize i = 0; i < n; i++)
    tasks[i]
        = (HassTask){ .cpu = settings->cpu ? take_token_task : NULL,
                      .gpu
                      = settings->n_gpus > 0 ? token_worker (kind, i) : NULL,
                      .input = inputs + i * bytes,
                      .input_bytes = bytes,
                      .output = results + i * out,
                      .output_bytes = out,
                      .parallelism = kind == UNIT_SIMPLE ? 1 : steps->n_words };
  HassFunctionFarm farm = HASS_FUNCTION_FARM_INIT;
  farm.user_data = &all;
  farm.tasks = kind == UNIT_EMITTED ? NULL : tasks;
  farm.n_tasks = kind == UNIT_EMITTED ? 0 : n;
  farm.generate = kind == UNIT_EMITTED ? emit_tasks : NULL;
  FarmResult result = run_tasks (settings, &farm);
  g_free (tasks);
  return result;
}

FarmResult
farm_token_steps (const FarmSettings *settings, UnitKind kind,
                  const TokenSteps steps[2], gsize n, const guint8 *inputs,
                  guint8 *results)
{
  gboolean loads = kind == UNIT_COMBINE || kind == UNIT_INDIVISIBLE;
  return loads ? farm_token_loads (settings, kind, steps, n, inputs, results)
               : farm_token_tasks (settings, kind, steps, n, inputs, results);
}

FarmResult
farm_tasks (const FarmSettings *settings, const HassTask *tasks, gsize n)
{
  HassFunctionFarm farm = HASS_FUNCTION_FARM_INIT;
  farm.tasks = tasks;
  farm.n_tasks = n;
  return run_tasks (settings, &farm);
}
