/* SPDX-License-Identifier: MIT */
/* test_function_farm.c: tasks with functions of their own.
   Thread safety: one thread. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/rogue.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

typedef struct
{
  _Atomic guint a, b, on_gpu;
  _Atomic guint64 sum;
} Ran;

static gboolean
cpu_a (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  (void)task, (void)worker, (void)error;
  ((Ran *)data)->a++;
  return TRUE;
}

static gboolean
cpu_b (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  (void)task, (void)worker, (void)error;
  ((Ran *)data)->b++;
  return TRUE;
}

static void
kernel (const HassBundle *bundle, gpointer data)
{
  ((Ran *)data)->on_gpu += bundle->n_blocks;
}

STAND_IN_WORKER (gpu, kernel)

static gboolean
run (HassFunctionFarm *f, HassReport **report, GError **error)
{
  watchdog (20, f->name);
  gboolean ok = hass_function_farm (f, report, error);
  watchdog (0, NULL);
  return ok;
}

static void
own_functions (void)
{
  HassTask tasks[60];
  Ran ran = { 0 };
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  for (guint i = 0; i < 60; i++)
    tasks[i] = (HassTask){ .cpu = i % 3 ? cpu_a : cpu_b };
  f.tasks = tasks;
  f.n_tasks = 60;
  f.user_data = &ran;
  CU_ASSERT_TRUE (run (&f, NULL, NULL));
  CU_ASSERT_EQUAL (ran.a, 40);
  CU_ASSERT_EQUAL (ran.b, 20);
}

static void
only_where_they_can (void)
{
  StandInPlan plan = { .depth = 2 };
  HassTask tasks[60];
  Ran ran = { 0 };
  HassDevice *device = stand_in_new (&plan);
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  for (guint i = 0; i < 60; i++)
    tasks[i] = (HassTask){ .cpu = i % 2 ? cpu_a : NULL,
                           .gpu = i % 2 ? NULL : gpu,
                           .parallelism = i % 5 };
  f.tasks = tasks;
  f.n_tasks = 60;
  f.user_data = &ran;
  f.run.devices = &device;
  f.run.n_devices = 1;
  CU_ASSERT_TRUE (run (&f, NULL, NULL));
  CU_ASSERT_EQUAL (ran.a, 30);
  CU_ASSERT_EQUAL (ran.on_gpu, 30);
  CU_ASSERT_PTR_NULL (stand_in_counts (device).wrong);
  stand_in_free (device);
}

/* The only device that could run them is lost, also while it takes what the
   strategy does not give. */
static void
gpu_tasks_lost (void)
{
  static const char *const strategies[]
      = { "naive-greedy", "hass-f", "rogue-done", "rogue-wait" };
  rogue_strategies ();
  for (guint s = 0; s < G_N_ELEMENTS (strategies); s++)
    {
      StandInPlan plan = { .lose_at = 2 };
      HassTask tasks[40];
      Ran ran = { 0 };
      HassDevice *device = stand_in_new (&plan);
      HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
      g_autoptr (HassReport) report = NULL;
      GError *error = NULL;
      for (guint i = 0; i < 40; i++)
        tasks[i] = (HassTask){ .cpu = i < 10 ? cpu_a : NULL, .gpu = gpu };
      f.name = strategies[s];
      f.tasks = tasks;
      f.n_tasks = 40;
      f.round_tasks = 20;
      f.user_data = &ran;
      f.run.devices = &device;
      f.run.n_devices = 1;
      f.run.strategy = strategies[s];
      CU_ASSERT_FALSE (run (&f, &report, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
      CU_ASSERT_TRUE (report->n_unfinished > 0);
      g_clear_error (&error);
      stand_in_free (device);
    }
}

static void
no_device_for_a_task (void)
{
  HassTask tasks[3] = { { .cpu = cpu_a }, { .gpu = gpu }, { .cpu = cpu_a } };
  Ran ran = { 0 };
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  GError *error = NULL;
  f.tasks = tasks;
  f.n_tasks = 3;
  f.user_data = &ran;
  f.run.n_gpus = -1;
  CU_ASSERT_FALSE (run (&f, NULL, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_DEVICE));
  CU_ASSERT_PTR_NOT_NULL (
      strstr (error->message, "task 1 can only run on a GPU"));
  g_clear_error (&error);
  tasks[1].gpu = NULL;
  CU_ASSERT_FALSE (run (&f, NULL, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_DEVICE));
  CU_ASSERT_PTR_NOT_NULL (
      strstr (error->message, "task 1 of 3 has no function"));
  CU_ASSERT_EQUAL (ran.a, 0);
  g_clear_error (&error);
}

static void
tasks_missing (void)
{
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  GError *error = NULL;
  f.n_tasks = 3;
  CU_ASSERT_FALSE (run (&f, NULL, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
  g_clear_error (&error);
  f.n_tasks = 0;
  CU_ASSERT_TRUE (run (&f, NULL, NULL));
}

/* A binary tree of tasks, each of which makes its children ready. */
static HassTask tree[1023];

static gboolean
grow (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  gsize i = GPOINTER_TO_SIZE (task->data);
  Ran *ran = data;
  (void)error;
  ran->a++;
  for (gsize child = 2 * i + 1; child <= 2 * i + 2; child++)
    if (child < G_N_ELEMENTS (tree)
        && !hass_worker_emit_task (worker, &tree[child]))
      return FALSE;
  return TRUE;
}

static void
emitted_by_tasks (void)
{
  Ran ran = { 0 };
  g_autoptr (HassReport) report = NULL;
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  for (gsize i = 0; i < G_N_ELEMENTS (tree); i++)
    tree[i] = (HassTask){ .cpu = grow, .data = GSIZE_TO_POINTER (i) };
  f.tasks = tree;
  f.n_tasks = 1;
  f.user_data = &ran;
  CU_ASSERT_TRUE (run (&f, &report, NULL));
  CU_ASSERT_EQUAL (ran.a, 1023);
  CU_ASSERT_EQUAL (report->loads, 1023);
}

/* The leaves of the tree can only run on a GPU; none that is there at the
   start can. */
static void
emitted_for_gpus (void)
{
  StandInPlan plan = { .depth = 2 };
  Ran ran = { 0 };
  HassDevice *device = stand_in_new (&plan);
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  for (gsize i = 0; i < G_N_ELEMENTS (tree); i++)
    {
      tree[i] = i < G_N_ELEMENTS (tree) / 2 ? (HassTask){ .cpu = grow }
                                            : (HassTask){ .gpu = gpu };
      tree[i].data = GSIZE_TO_POINTER (i);
    }
  f.tasks = tree;
  f.n_tasks = 1;
  f.user_data = &ran;
  f.run.devices = &device;
  f.run.n_devices = 1;
  CU_ASSERT_TRUE (run (&f, NULL, NULL));
  CU_ASSERT_EQUAL (ran.a, 511);
  CU_ASSERT_EQUAL (ran.on_gpu, 512);
  stand_in_free (device);
}

/* -- Nested loops ------------------------------------------------------- */

static gboolean
add_indices (gsize first, gsize n, HassWorker *worker, gpointer data,
             GError **error)
{
  guint64 sum = 0;
  (void)worker, (void)error;
  for (gsize i = first; i < first + n; i++)
    sum += i;
  atomic_fetch_add (&((Ran *)data)->sum, sum);
  return TRUE;
}

static gboolean
loops (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  (void)task;
  return hass_worker_parallel_for (worker, 10000, 0, add_indices, data, error)
         && hass_worker_parallel_for (worker, 100, 7, add_indices, data, error)
         && hass_worker_parallel_for (worker, 0, 0, add_indices, data, error);
}

static void
nested_loops (void)
{
  for (guint cores = 1; cores < 5; cores++)
    {
      HassTask tasks[20];
      Ran ran = { 0 };
      HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
      for (guint i = 0; i < 20; i++)
        tasks[i] = (HassTask){ .cpu = loops };
      f.tasks = tasks;
      f.n_tasks = 20;
      f.user_data = &ran;
      f.run.n_cores = cores;
      CU_ASSERT_TRUE (run (&f, NULL, NULL));
      CU_ASSERT_EQUAL (ran.sum, 20 * (49995000 + 4950));
    }
}

HASS_TEST_SUITE (
    function_farm, { "each task runs its own function", own_functions },
    { "a task runs only on devices that it has a function for",
      only_where_they_can },
    { "tasks whose only device is lost end the farm", gpu_tasks_lost },
    { "a task that no device can run is named", no_device_for_a_task },
    { "a number of tasks without tasks is refused", tasks_missing },
    { "a task can make others ready", emitted_by_tasks },
    { "a task can make tasks ready that only a GPU can run", emitted_for_gpus },
    { "a nested loop runs each iteration once", nested_loops })
