/* SPDX-License-Identifier: MIT */
/* test_cold_gpu.c: a GPU that takes long to start is started only when that
   can pay, and whenever it is the only way.
   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

#include "cold_trial.h"
#include "device/cuda/gpus-private.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define MINUTE_MS 60000 /* a fortieth: 1.5 s */
#define N_QUICK 8       /* units, before workers wait for a start */

/* -- Work --------------------------------------------------------------- */

static gboolean
needs_start (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  if (atomic_load (&counting_on_cpu) >= N_QUICK)
    cold_await_starts (1);
  return counting_cpu_worker (block, worker, data, error);
}

static gboolean
hangs_without (const HassBlock *block, HassWorker *worker, gpointer data,
               GError **error)
{
  cold_await_starts (1);
  return counting_cpu_worker (block, worker, data, error);
}

/* The first N_QUICK units take 1 ms, the others until the GPU computes. */
static gboolean
slow_without (const HassBlock *block, HassWorker *worker, gpointer data,
              GError **error)
{
  gboolean quick = atomic_load (&counting_on_cpu) < N_QUICK;
  do
    usleep (1000);
  while (!quick && atomic_load (&counting_on_gpu) == 0);
  return counting_cpu_worker (block, worker, data, error);
}

/* Of 600 units the last 100 take two cores 300 ms, the others nothing. Only
   when these are done does a start count as short, 8 s. */
static gboolean
slow_at_end (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  if (atomic_load (&counting_on_cpu) >= 500)
    {
      fake_machine_set_start (0, 8000);
      usleep (6000);
    }
  return counting_cpu_worker (block, worker, data, error);
}

static gboolean
twenty_ms (const HassBlock *block, HassWorker *worker, gpointer data,
           GError **error)
{
  usleep (20000);
  return counting_cpu_worker (block, worker, data, error);
}

static gboolean
slow (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  usleep (5000);
  return counting_cpu_worker (block, worker, data, error);
}

static gboolean
cancels (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  usleep (3000);
  if (atomic_load (&counting_on_cpu) >= N_QUICK)
    g_cancellable_cancel (data);
  return counting_cpu_worker (block, worker, data, error);
}

/* Does not end before the GPU's start has begun. */
static gboolean
generate_and_wait (HassEmitter *emitter, gpointer data, GError **error)
{
  gboolean ok = cold_emit_all (emitter);
  (void)data, (void)error;
  cold_await_starts (1);
  return ok;
}

static gboolean
task_cpu (const HassTask *task, HassWorker *worker, gpointer data,
          GError **error)
{
  (void)task;
  return needs_start (NULL, worker, data, error);
}

/* A farm that cannot end well without its GPU's start. */
static void
must_start (const HassDataFarm *farm)
{
  cold_install (1, MINUTE_MS);
  hass_report_free (cold_run (farm));
  CU_ASSERT_EQUAL (fake_cudart_counts ().opening, 1);
  fake_machine_end ();
}

/* -- Tests -------------------------------------------------------------- */

/* auto keeps the last units for GPUs that it does not know. */
static void
not_for_tiny (void)
{
  static const char *const strategies[]
      = { "auto", "naive-greedy", "shared-queue" };
  for (guint n_gpus = 1; n_gpus <= 2; n_gpus++)
    {
      HassDataFarm farm = cold_farm (counting_cpu_worker, N_COLD_LOADS);
      cold_install (n_gpus, COLD_HOUR_MS);
      for (guint s = 0; s < G_N_ELEMENTS (strategies); s++)
        {
          farm.run.strategy = strategies[s];
          g_autoptr (HassReport) r = cold_run (&farm);
          CU_ASSERT_EQUAL_FATAL (r->n_devices, 1 + n_gpus);
          CU_ASSERT_PTR_NULL (r->devices[0].message);
          const char *why = r->devices[n_gpus].message;
          CU_ASSERT_TRUE (why && strstr (why, "was not started"));
        }
      CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), 0);
      fake_machine_end ();
      CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_SET_DEVICE], 0);
    }
}

/* auto would give all to a GPU that was that much faster in an earlier run, and
   the cores nothing to show how fast they are: that run tells. */
static void
not_for_tiny_known (void)
{
  g_autofree char *store = trial_file ("");
  g_autofree char *lock = g_strconcat (store, ".lock", NULL);
  HassDataFarm farm = cold_farm (slow, N_COLD_LOADS);
  g_setenv ("HASS_PROFILE", store, TRUE);
  /* how long the first start takes is not remembered */
  g_setenv ("XDG_CACHE_HOME", "/dev/null", TRUE);
  farm.run.strategy = "static:cpu=0.5";
  cold_install (1, 0);
  hass_report_free (cold_run (&farm));
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), N_COLD_LOADS / 2);
  fake_machine_end ();
  farm.run.strategy = "auto";
  cold_install (1, COLD_HOUR_MS);
  hass_report_free (cold_run (&farm));
  fake_machine_end ();
  CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_SET_DEVICE], 0);
  g_setenv ("HASS_PROFILE", "off", TRUE);
  g_unsetenv ("XDG_CACHE_HOME");
  unlink (store);
  unlink (lock);
}

/* The engine judges the start when a fortieth of it, 0.2 s, is over, and finds
   five units of six done: the others need 8 s only if those took 40 s. */
static void
not_for_short (void)
{
  HassDataFarm farm = cold_farm (slow_at_end, 600);
  cold_install (1, COLD_HOUR_MS);
  hass_report_free (cold_run (&farm));
  fake_machine_end ();
  CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_SET_DEVICE], 0);
}

/* All units are taken, if not done. */
static void
not_when_nothing_waits (void)
{
  HassDataFarm farm = cold_farm (twenty_ms, 1);
  farm.run.strategy = "naive-greedy";
  cold_install (1, COLD_HOUR_MS);
  hass_report_free (cold_run (&farm));
  CU_ASSERT_EQUAL (fake_cudart_counts ().opening, 0);
  fake_machine_end ();
}

static void
for_long (void)
{
  HassDataFarm farm = cold_farm (slow_without, 4000);
  cold_install (1, 100);
  hass_report_free (cold_run (&farm));
  CU_ASSERT_EQUAL (fake_cudart_counts ().opened, 1);
  CU_ASSERT_TRUE (atomic_load (&counting_on_gpu) > 0);
  fake_machine_end ();
}

static void
for_unknown (void)
{
  HassDataFarm farm = cold_farm (counting_cpu_worker, 0);
  cold_install (1, MINUTE_MS);
  farm.generate = generate_and_wait;
  atomic_store (&counting_on_cpu, 0);
  watchdog (60, "a generator that waits for a cold GPU");
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, NULL, NULL));
  watchdog (0, NULL);
  CU_ASSERT_EQUAL (fake_cudart_counts ().opening, 1);
  fake_machine_end ();
}

static void
for_more_rounds (void)
{
  HassDataFarm farm = cold_farm (needs_start, N_COLD_LOADS);
  farm.round_loads = N_COLD_LOADS / 2;
  must_start (&farm);
}

static void
for_no_progress (void)
{
  HassDataFarm farm = cold_farm (hangs_without, N_COLD_LOADS);
  must_start (&farm);
}

/* By the cores' wish or for want of any. */
static void
for_gpus_alone (void)
{
  static const char *const strategies[]
      = { "gpu-only", "static:cpu=0", "static:cpu=0.5" };
  HassDataFarm farm = cold_farm (NULL, N_COLD_LOADS);
  must_start (&farm);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), N_COLD_LOADS);
  for (guint s = 0; s < G_N_ELEMENTS (strategies); s++)
    {
      farm = cold_farm (counting_cpu_worker, N_COLD_LOADS);
      farm.run.strategy = strategies[s];
      must_start (&farm);
      CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu),
                       s < 2 ? N_COLD_LOADS : N_COLD_LOADS / 2);
    }
}

/* Farms of 20 ms, each too short for a start of an hour, of which each takes
   off the time in which it did without the GPU: that it was seen to run at
   most. Nearly all of the hour is taken off as if by farms before. */
static void
for_many_short (void)
{
  HassDataFarm farm = cold_farm (twenty_ms, 1);
  guint n = 0;
  gint64 second_ns = 1000000000;
  farm.run.strategy = "naive-greedy";
  cold_install (1, COLD_HOUR_MS);
  gint64 begin_us = g_get_monotonic_time ();
  hass_report_free (cold_run (&farm));
  gint64 most_ns = 1000 * (g_get_monotonic_time () - begin_us + 1);
  CU_ASSERT_EQUAL (fake_cudart_counts ().opening, 0);
  gint64 rest_ns = hass_gpu_start_ns (hass_gpus_get (0));
  CU_ASSERT_TRUE (rest_ns <= 3600 * second_ns);
  CU_ASSERT_TRUE (rest_ns >= 3600 * second_ns - most_ns);
  hass_gpu_unstarted (hass_gpus_get (0), rest_ns - second_ns / 10);
  for (; n < 1000 && fake_cudart_counts ().opening == 0; n++)
    hass_report_free (cold_run (&farm));
  CU_ASSERT_TRUE (n < 1000);
  fake_machine_end ();
}

/* Pinned memory has a context already, and is meant for GPUs. That is the first
   GPU's, and what was left of its start says nothing of another's. */
static void
for_pinned_memory (void)
{
  HassDataFarm farm = cold_farm (NULL, N_COLD_LOADS);
  cold_install (2, COLD_HOUR_MS);
  CU_ASSERT_EQUAL (hass_gpus_count (), 2);
  gint64 hour_ns = hass_gpu_start_ns (hass_gpus_get (0));
  CU_ASSERT_EQUAL (hour_ns, COLD_HOUR_MS * G_GINT64_CONSTANT (1000000));
  gpointer memory = hass_memory_alloc (100, NULL);
  CU_ASSERT_EQUAL (hass_gpu_start_ns (hass_gpus_get (0)), 0);
  CU_ASSERT_EQUAL (hass_gpu_start_ns (hass_gpus_get (1)), hour_ns);
  farm.run.n_gpus = 1;
  hass_report_free (cold_run (&farm));
  CU_ASSERT_EQUAL (hass_gpu_start_ns (hass_gpus_get (1)), hour_ns);
  hass_memory_free (memory);
  fake_machine_end ();
  cold_install (1, COLD_HOUR_MS);
  CU_ASSERT_EQUAL (hass_gpus_count (), 1);
  CU_ASSERT_TRUE (hass_gpu_start_ns (hass_gpus_get (0)) > 0);
  g_autofree char *own = g_malloc (100);
  CU_ASSERT_TRUE (hass_memory_register (own, 100, NULL));
  CU_ASSERT_EQUAL (hass_gpu_start_ns (hass_gpus_get (0)), 0);
  hass_memory_unregister (own);
  fake_machine_end ();
}

static void
cancelled (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (HassReport) r = NULL;
  g_autoptr (GError) error = NULL;
  HassDataFarm farm = cold_farm (cancels, 4000);
  farm.user_data = cancellable;
  farm.run.cancellable = cancellable;
  cold_install (1, COLD_HOUR_MS);
  atomic_store (&counting_on_cpu, 0);
  watchdog (60, "a farm that is cancelled while its GPU is cold");
  CU_ASSERT_FALSE (hass_data_farm_combine (&farm, &r, &error));
  watchdog (0, NULL);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED));
  CU_ASSERT_EQUAL (fake_cudart_counts ().opening, 0);
  CU_ASSERT_FALSE (r->devices[1].lost);
  fake_machine_end ();
}

static void
recorded (void)
{
  g_autofree char *path = trial_file ("");
  g_autofree char *text = NULL;
  HassDataFarm farm = cold_farm (counting_cpu_worker, N_COLD_LOADS);
  unlink (path);
  farm.run.record = path;
  cold_install (1, COLD_HOUR_MS);
  hass_report_free (cold_run (&farm));
  fake_machine_end ();
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  unlink (path);
  const char *open = strstr (text, "\"event\":\"open\",\"device\":1,");
  const char *end = open ? strchr (open, '\n') : NULL;
  CU_ASSERT_TRUE (end && g_str_has_prefix (end - 11, "\"ok\":false}"));
}

static void
for_gpu_tasks (void)
{
  HassTask tasks[N_COLD_LOADS];
  HassFunctionFarm farm = HASS_FUNCTION_FARM_INIT;
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < N_COLD_LOADS; i++)
    tasks[i] = (HassTask){ .cpu = i > 0 ? task_cpu : NULL,
                           .gpu = counting_gpu_worker };
  farm.tasks = tasks;
  farm.n_tasks = N_COLD_LOADS;
  farm.run.n_cores = 2;
  farm.run.platform = "";
  cold_install (1, COLD_HOUR_MS);
  counting_reset ();
  watchdog (60, "a task that only a cold GPU can run");
  CU_ASSERT_TRUE (hass_function_farm (&farm, NULL, &error));
  watchdog (0, NULL);
  CU_ASSERT_TRUE (atomic_load (&counting_on_gpu) > 0);
  fake_machine_end ();
}

HASS_TEST_SUITE (
    cold_gpu, { "a tiny farm never starts a cold GPU", not_for_tiny },
    { "a farm whose cores an earlier run measured as fast enough starts no GPU",
      not_for_tiny_known },
    { "a farm that the cores will soon have done starts no GPU",
      not_for_short },
    { "a farm of which no unit waits starts no GPU", not_when_nothing_waits },
    { "a long farm starts the GPU", for_long },
    { "a farm whose generator goes on starts the GPU", for_unknown },
    { "loads of a later round start the GPU", for_more_rounds },
    { "a farm whose cores finish nothing starts the GPU", for_no_progress },
    { "farms and strategies that use GPUs alone start them", for_gpus_alone },
    { "tasks that only GPUs can run start one", for_gpu_tasks },
    { "many short farms together start the GPU", for_many_short },
    { "farms whose loads lie in pinned memory start the GPU",
      for_pinned_memory },
    { "a farm that is cancelled meanwhile ends", cancelled },
    { "a record shows that a GPU was not opened", recorded })
