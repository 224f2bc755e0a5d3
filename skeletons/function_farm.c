/* SPDX-License-Identifier: MIT */
/* function_farm.c: tasks with functions of their own; a load represents a task
   by its tag.
   Thread safety: see function_farm.h. */
#include "hass/function_farm.h"
#include "hass/round.h"

#include "device/kinds.h"
#include "normalise-private.h"
#include "pool/struct_size.h"

#include <stdatomic.h>

/* Returns: the task's worker for a kind of device, NULL if it has none. */
static HassGpuWorkerFunc
function_for (const HassTask *task, const char *kind)
{
  for (const HassKindWorker *w = task->workers; w && w->kind; w++)
    if (strcmp (w->kind, kind) == 0)
      return w->worker;
  return strcmp (kind, HASS_GPU_KIND) == 0 ? task->gpu : NULL;
}

/* Returns: the flags (HassLoad.flags) of the kinds of devices that the task's
   array of workers has functions for. Not inlined, so that tasks without an
   array are emitted without saving registers for its loop. */
static G_GNUC_NO_INLINE guint32
flags_of_workers (const HassTask *task)
{
  guint32 flags = function_for (task, HASS_GPU_KIND) ? HASS_LOAD_GPU : 0;
  for (const HassKindWorker *w = task->workers; w->kind; w++)
    {
      gint index = hass_device_kind_find (w->kind);
      if (index >= 0 && w->worker && strcmp (w->kind, HASS_GPU_KIND) != 0)
        flags |= HASS_LOAD_KIND ((guint)index);
    }
  return flags;
}

/* Returns: the flags of all kinds of devices that the task has functions for; 0
   if it has none. */
static inline guint32
flags_of (const HassTask *task)
{
  guint32 flags = task->cpu ? HASS_LOAD_CPU : 0;
  if (task->gpu)
    flags |= HASS_LOAD_GPU;
  return G_UNLIKELY (task->workers) ? flags | flags_of_workers (task) : flags;
}

/* Fills in the load that represents a task in the engine. A task without
   functions becomes a load for the CPU; one that was emitted fails there with
   an error when it is run. */
static inline void
load_of (const HassTask *task, HassLoad *load)
{
  guint32 flags = flags_of (task);
  flags = flags ? flags : HASS_LOAD_CPU;
  *load
      = (HassLoad){ .input = task->input,
                    .input_bytes = task->input_bytes,
                    .output = task->output,
                    .output_bytes = task->output_bytes,
                    .size = MAX (task->parallelism, 1),
                    .tag = (gpointer)task,
                    .cost = (gfloat)task->expected_time,
                    .flags = flags | (task->priority ? HASS_LOAD_URGENT : 0) };
}

gboolean
hass_emitter_emit_task (HassEmitter *emitter, const HassTask *task)
{
  HassLoad load;
  load_of (task, &load);
  return hass_engine_emit_task (emitter, &load);
}

gboolean
hass_worker_emit_task (HassWorker *worker, const HassTask *task)
{
  HassLoad *load = hass_engine_nest_task (worker);
  if (G_UNLIKELY (!load))
    return FALSE;
  HassTask *copy = load->tag;
  *copy = *task;
  load_of (copy, load);
  load->flags |= HASS_LOAD_COPIED;
  return TRUE;
}

static G_GNUC_NO_INLINE gboolean
refuse_call (const HassTask *task, guint64 seq, GError **error)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
               "task %" G_GUINT64_FORMAT " has no CPU function%s", seq,
               task->gpu ? ", which virtual time needs for its result" : "");
  return FALSE;
}

static gboolean
call_task (const HassBlock *block, HassWorker *worker, gpointer data,
           GError **error)
{
  const HassFunctionFarm *f = data;
  const HassTask *task = block->load->tag;
  return G_LIKELY (task->cpu) ? task->cpu (task, worker, f->user_data, error)
                              : refuse_call (task, block->seq, error);
}

static HassGpuWorkerFunc
gpu_function (const HassLoad *load)
{
  return function_for (load->tag, HASS_GPU_KIND);
}

static HassGpuWorkerFunc
function_of (const HassLoad *load, const char *kind)
{
  return function_for (load->tag, kind);
}

static gint64
priority_of (const HassLoad *load)
{
  return ((const HassTask *)load->tag)->priority;
}

static guint32
gpu_function_index (const HassLoad *load)
{
  return ((const HassTask *)load->tag)->gpu_function;
}

/* The functions of the tasks so far: the first task of each, and its number.
   What is simple (a parallelism of 1) is another function than what is not, for
   it takes a GPU another time. The thread that emits adds functions while
   others look for theirs. */
typedef struct
{
  _Atomic guint n;
  HassTask of[HASS_MOST_FUNCTIONS];
  guint64 number[HASS_MOST_FUNCTIONS];
  guint64 n_tasks; /* that were asked for */
} Functions;

static inline gboolean
calls_the_same (const HassTask *a, const HassTask *b)
{
  return a->cpu == b->cpu && a->gpu == b->gpu
         && a->gpu_function == b->gpu_function && a->workers == b->workers
         && (a->parallelism > 1) == (b->parallelism > 1);
}

static inline guint
find_function (const HassTask *task, const Functions *functions)
{
  /* acquire pairs with the release in function_of_task() */
  guint n = atomic_load_explicit (&((Functions *)functions)->n,
                                  memory_order_acquire);
  for (guint i = 0; i < n; i++)
    if (calls_the_same (task, &functions->of[i]))
      return i;
  return HASS_MOST_FUNCTIONS;
}

/* Returns: the function of the next task. If there are too many to be told
   apart, the last one stands for all others. */
static guint
function_of_task (const HassLoad *load, gpointer data)
{
  Functions *functions = data;
  const HassTask *task = load->tag;
  guint64 number = functions->n_tasks++;
  guint found = find_function (task, functions);
  guint n = atomic_load_explicit (&functions->n, memory_order_relaxed);
  if (found < HASS_MOST_FUNCTIONS || n == HASS_MOST_FUNCTIONS)
    return MIN (found, HASS_MOST_FUNCTIONS - 1);
  functions->of[n] = *task;
  functions->number[n] = number;
  atomic_store_explicit (&functions->n, n + 1, memory_order_release);
  return n;
}

static guint
known_function_of_task (const HassLoad *load, gconstpointer data)
{
  return find_function (load->tag, data);
}

/* Returns (transfer full): what the report calls a function: users give
   functions no names, but know their tasks by their numbers. */
static char *
name_of_function (guint function, gconstpointer data)
{
  const Functions *functions = data;
  const HassTask *task = &functions->of[function];
  guint n = atomic_load_explicit (&((Functions *)functions)->n,
                                  memory_order_relaxed);
  gboolean several = FALSE;
  for (guint i = 0; i < n; i++)
    several |= functions->of[i].gpu_function != task->gpu_function
               && functions->of[i].gpu == task->gpu
               && functions->of[i].workers == task->workers;
  if (!several)
    return g_strdup_printf ("like task %" G_GUINT64_FORMAT,
                            functions->number[function]);
  return g_strdup_printf ("like task %" G_GUINT64_FORMAT ", gpu_function %u",
                          functions->number[function], task->gpu_function);
}

/* Returns: whether tasks of the farm may run on devices of this kind: a known
   task has a function for it, a generator exists, whose tasks are unknown yet,
   or the user asks for GPUs. For tasks that only workers may emit no driver is
   started. */
static gboolean
may_use (gpointer data, const char *kind)
{
  const HassFunctionFarm *f = data;
  for (gsize i = 0; i < f->n_tasks; i++)
    if (function_for (&f->tasks[i], kind))
      return TRUE;
  return f->generate || f->run.n_gpus > 0;
}

static gboolean
may_use_gpus (const HassFunctionFarm *f)
{
  return may_use ((gpointer)f, HASS_GPU_KIND) || f->run.n_devices > 0;
}

static void
release_task (const HassLoad *load, gboolean committed, gpointer data)
{
  const HassFunctionFarm *f = data;
  f->release (load->tag, committed, f->user_data);
}

/* Returns (transfer full): the loads of the known tasks; NULL with an error if
   there are no tasks, or one without functions. @functions: gets what they
   call. */
static HassLoad *
read_tasks (const HassFunctionFarm *f, Functions *functions, GError **error)
{
  const char *name = f->name ? f->name : "farm";
  if (f->n_tasks > 0 && !f->tasks)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "farm '%s': n_tasks is given, but tasks is NULL", name);
      return NULL;
    }
  HassLoad *loads = g_new (HassLoad, f->n_tasks + 1);
  for (gsize i = 0; i < f->n_tasks; i++)
    {
      load_of (&f->tasks[i], &loads[i]);
      loads[i].flags
          |= HASS_LOAD_FUNCTION (function_of_task (&loads[i], functions));
      if (!(loads[i].flags & HASS_LOAD_CPU) || f->tasks[i].cpu)
        continue;
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                   "farm '%s': task %zu of %zu has no function", name, i,
                   f->n_tasks);
      g_free (loads);
      return NULL;
    }
  return loads;
}

gboolean
hass_function_farm (const HassFunctionFarm *given, HassReport **report,
                    GError **error)
{
  gint64 called_ns = hass_engine_clock ();
  HassFunctionFarm f;
  if (report)
    *report = NULL;
  if (!hass_struct_read (&f, sizeof f,
                         HASS_SIZE_UP_TO (HassFunctionFarm, n_tasks), given,
                         "HassFunctionFarm", error))
    return hass_farm_end (FALSE, report, NULL, HASS_FARM_FUNCTION);
  Functions functions = { 0 };
  g_autofree HassLoad *loads = read_tasks (&f, &functions, error);
  if (!loads)
    return hass_farm_end (FALSE, report, f.name, HASS_FARM_FUNCTION);
  HassFarm farm
      = { .name = f.name,
          .kind = HASS_FARM_FUNCTION,
          .cost = HASS_COST_SIZED,
          .user_data = f.user_data,
          .generate = f.generate,
          .loads = loads,
          .n_loads = f.n_tasks,
          .tag_bytes = sizeof (HassTask),
          .cpu_worker = call_task,
          .cpu_worker_data = &f,
          .gpu_worker_of = may_use_gpus (&f) ? gpu_function : NULL,
          .gpu_kind = HASS_GPU_KIND,
          .worker_of = function_of,
          .may_use = may_use,
          .priority_of = priority_of,
          .gpu_function_of = gpu_function_index,
          .function_of = function_of_task,
          .function_data = &functions,
          .n_functions = f.generate ? HASS_MOST_FUNCTIONS : functions.n,
          .known_function_of = known_function_of_task,
          .function_name = name_of_function,
          .collect = f.collect,
          .order = f.order,
          .reduce = f.reduce,
          .reduce_init = f.reduce_init,
          .reduce_clear = f.reduce_clear,
          .accumulator = f.accumulator,
          .accumulator_bytes = f.accumulator_bytes,
          .release = f.release ? release_task : NULL,
          .release_data = &f,
          .constants = f.constants,
          .n_constants = f.n_constants,
          .run = &f.run,
          .called_ns = called_ns };
  hass_farm_limits (&farm, f.pool_tasks, 0, f.round_tasks, f.window_tasks);
  gboolean ok = hass_farm_run (&farm, "hass_function_farm", f.window_tasks,
                               report, error);
  return hass_farm_end (ok, report, f.name, HASS_FARM_FUNCTION);
}
