/* SPDX-License-Identifier: MIT */
/* test_cold_gpu.c: a GPU that takes long to start is started only when that
   can pay, and whenever it is the only way.

   DESIGN. The stand-in for the CUDA runtime says that a start takes an hour, or
   a minute where the farm shall begin one, so it does so for another reason
   than its cores' speed. Workers that count on the start wait for it:
   without it they hang, and the watchdog says so.

   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

#include "tests/engine/counting.h"
#include "device/fake_machine.h"
#include "device/cuda/gpus-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "sched/registry.h"
#include "tests/engine/trial.h"

#define HOUR_MS 3600000 /* of which 90 s are looked on */
#define MINUTE_MS 60000 /* 1.5 s */
#define N_LOADS 40
#define N_QUICK 8 /* units, before workers wait for a start */

/* -- Work --------------------------------------------------------------- */

static void
await_starts (guint n)
{
  while (fake_cudart_counts ().opening < n)
    usleep (100);
}

static gboolean
needs_start (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  if (atomic_load (&counting_on_cpu) >= N_QUICK)
    await_starts (1);
  return counting_cpu_worker (block, worker, data, error);
}

static gboolean
hangs_without (const HassBlock *block, HassWorker *worker, gpointer data,
               GError **error)
{
  await_starts (1);
  return counting_cpu_worker (block, worker, data, error);
}

/* Two seconds for two cores alone. */
static gboolean
slow_without (const HassBlock *block, HassWorker *worker, gpointer data,
              GError **error)
{
  if (atomic_load (&counting_on_gpu) == 0)
    usleep (1000);
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
cancels (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  usleep (3000);
  if (atomic_load (&counting_on_cpu) >= N_QUICK)
    g_cancellable_cancel (data);
  return counting_cpu_worker (block, worker, data, error);
}

/* GPUs whose start had begun when the first of them got a bundle. */
static _Atomic guint begun_at_first;

static gboolean
notes_starts (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
              GError **error)
{
  guint none = 0;
  atomic_compare_exchange_strong (&begun_at_first, &none,
                                  fake_cudart_counts ().opening);
  return counting_gpu_worker (bundle, stream, data, error);
}

/* A bundle takes 5 ms. */
static gboolean
slow_on_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
             GError **error)
{
  usleep (5000);
  return notes_starts (bundle, stream, data, error);
}

static gboolean
hangs_without_both (const HassBundle *bundle, HassGpuStream *stream,
                    gpointer data, GError **error)
{
  await_starts (2);
  return notes_starts (bundle, stream, data, error);
}

static gboolean
emit_all (HassEmitter *emitter)
{
  static const HassLoad load = { .size = 1 };
  gboolean ok = TRUE;
  for (guint i = 0; i < N_LOADS && ok; i++)
    ok = hass_emitter_emit (emitter, &load);
  return ok;
}

/* Does not end before the GPU's start has begun. */
static gboolean
generate_and_wait (HassEmitter *emitter, gpointer data, GError **error)
{
  gboolean ok = emit_all (emitter);
  (void)data, (void)error;
  await_starts (1);
  return ok;
}

static gboolean
generate_slowly (HassEmitter *emitter, gpointer data, GError **error)
{
  gboolean ok = emit_all (emitter);
  (void)data, (void)error;
  usleep (10000);
  return ok;
}

/* -- Farms -------------------------------------------------------------- */

static HassDataFarm
farm_of (HassCpuWorkerFunc cpu, guint n_loads)
{
  static const HassLoad loads[4000];
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "cold";
  farm.loads = loads;
  farm.n_loads = n_loads;
  farm.cpu_worker = cpu;
  farm.gpu_worker = counting_gpu_worker;
  farm.run.n_cores = cpu ? 2 : 0;
  farm.run.platform = "";
  return farm;
}

static void
install (guint n_gpus, guint start_ms)
{
  fake_machine_begin (&(FakePlan){ .n_devices = n_gpus, .start_ms = start_ms });
}

/* No device may have failed. NULL when the farm has. */
static HassReport *
run (const HassDataFarm *farm)
{
  HassReport *r = NULL;
  g_autoptr (GError) error = NULL;
  counting_reset ();
  watchdog (60, "a farm whose GPU is cold");
  CU_ASSERT_TRUE (hass_data_farm_combine (farm, &r, &error));
  watchdog (0, NULL);
  if (error)
    g_printerr ("\n    %s: %s", farm->run.strategy, error->message);
  for (guint d = 0; r && d < r->n_devices; d++)
    {
      CU_ASSERT_FALSE (r->devices[d].lost);
      CU_ASSERT_EQUAL (r->devices[d].failures, 0);
      if (r->devices[d].lost || r->devices[d].failures > 0)
        g_printerr ("\n    %s: %s", farm->run.strategy, r->devices[d].message);
    }
  CU_ASSERT_EQUAL (atomic_load (&counting_on_cpu)
                       + atomic_load (&counting_on_gpu),
                   farm->n_loads);
  return r;
}

/* A farm that cannot end well without its GPU's start. */
static void
must_start (const HassDataFarm *farm)
{
  install (1, MINUTE_MS);
  hass_report_free (run (farm));
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
      HassDataFarm farm = farm_of (counting_cpu_worker, N_LOADS);
      install (n_gpus, HOUR_MS);
      for (guint s = 0; s < G_N_ELEMENTS (strategies); s++)
        {
          farm.run.strategy = strategies[s];
          g_autoptr (HassReport) r = run (&farm);
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

static gboolean
slow (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  usleep (5000);
  return counting_cpu_worker (block, worker, data, error);
}

/* auto would give all to a GPU that was that much faster in an earlier run, and
   the cores nothing to show how fast they are: that run tells. */
static void
not_for_tiny_known (void)
{
  g_autofree char *store = trial_file ("");
  g_autofree char *lock = g_strconcat (store, ".lock", NULL);
  HassDataFarm farm = farm_of (slow, N_LOADS);
  g_setenv ("HASS_PROFILE", store, TRUE);
  farm.run.strategy = "static:cpu=0.5";
  install (1, 0);
  hass_report_free (run (&farm));
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), N_LOADS / 2);
  fake_machine_end ();
  farm.run.strategy = "auto";
  install (1, HOUR_MS);
  hass_report_free (run (&farm));
  fake_machine_end ();
  CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_SET_DEVICE], 0);
  g_setenv ("HASS_PROFILE", "off", TRUE);
  unlink (store);
  unlink (lock);
}

/* A farm of 300 ms and a start of 8 s, as the cores have shown after 0.2. */
static void
not_for_short (void)
{
  HassDataFarm farm = farm_of (slow_without, 600);
  install (1, 8000);
  hass_report_free (run (&farm));
  fake_machine_end ();
  CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_SET_DEVICE], 0);
}

/* All units are taken, if not done. */
static void
not_when_nothing_waits (void)
{
  HassDataFarm farm = farm_of (twenty_ms, 1);
  farm.run.strategy = "naive-greedy";
  install (1, HOUR_MS);
  hass_report_free (run (&farm));
  CU_ASSERT_EQUAL (fake_cudart_counts ().opening, 0);
  fake_machine_end ();
}

static void
for_long (void)
{
  HassDataFarm farm = farm_of (slow_without, 4000);
  install (1, 100);
  hass_report_free (run (&farm));
  CU_ASSERT_EQUAL (fake_cudart_counts ().opened, 1);
  CU_ASSERT_TRUE (atomic_load (&counting_on_gpu) > 0);
  fake_machine_end ();
}

static void
for_unknown (void)
{
  HassDataFarm farm = farm_of (counting_cpu_worker, 0);
  install (1, MINUTE_MS);
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
  HassDataFarm farm = farm_of (needs_start, N_LOADS);
  farm.round_loads = N_LOADS / 2;
  must_start (&farm);
}

static void
for_no_progress (void)
{
  HassDataFarm farm = farm_of (hangs_without, N_LOADS);
  must_start (&farm);
}

/* By the cores' wish or for want of any. */
static void
for_gpus_alone (void)
{
  static const char *const strategies[]
      = { "gpu-only", "static:cpu=0", "static:cpu=0.5" };
  HassDataFarm farm = farm_of (NULL, N_LOADS);
  must_start (&farm);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), N_LOADS);
  for (guint s = 0; s < G_N_ELEMENTS (strategies); s++)
    {
      farm = farm_of (counting_cpu_worker, N_LOADS);
      farm.run.strategy = strategies[s];
      must_start (&farm);
      CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu),
                       s < 2 ? N_LOADS : N_LOADS / 2);
    }
}

/* Of two cold GPUs, whose kernels and starts take so long, the latter a tenth
   of what they are said to. */
static void
two (const char *strategy, HassGpuWorkerFunc worker, guint n_loads,
     guint kernel_ms, guint open_ms, guint begun_first, guint begun)
{
  HassDataFarm farm = farm_of (NULL, n_loads);
  FakePlan plan = { .n_devices = 2,
                    .start_ms = 10 * open_ms,
                    .open_ms = open_ms,
                    .kernel_delay_us = 1000 * kernel_ms };
  farm.gpu_worker = worker;
  farm.round_loads = n_loads;
  farm.run.strategy = strategy;
  atomic_store (&begun_at_first, 0);
  fake_machine_begin (&plan);
  g_autoptr (HassReport) r = run (&farm);
  CU_ASSERT_EQUAL (atomic_load (&begun_at_first), begun_first);
  CU_ASSERT_EQUAL (fake_cudart_counts ().opening, begun);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), n_loads);
  if (atomic_load (&begun_at_first) != begun_first
      || fake_cudart_counts ().opening != begun)
    g_printerr ("\n    %s: %u, %u", strategy, atomic_load (&begun_at_first),
                fake_cudart_counts ().opening);
  for (guint d = 0; r && worker == slow_on_gpu && d < 2; d++)
    CU_ASSERT_TRUE (r->devices[d].units > 0);
  fake_machine_end ();
}

/* What is made once in the first bundle has the runtime to itself. */
static void
one_goes_first (void)
{
  two ("auto", notes_starts, N_LOADS, 0, 200, 1, 1);
  two ("naive-greedy", notes_starts, N_LOADS, 0, 200, 1, 1);
  two ("naive-greedy", slow_on_gpu, 100, 0, 20, 1, 2);
}

/* The first one's second bundle comes back long after a fortieth of a start. */
static void
slow_bundles (void)
{
  two ("naive-greedy", notes_starts, 6, 20, 200, 1, 1);
}

static void
both_with_shares (void)
{
  two ("gpu-only", notes_starts, N_LOADS, 0, 50, 2, 2);
  two ("static", notes_starts, N_LOADS, 0, 50, 2, 2);
}

/* Nobody knows that the loads are all, for less than a fortieth of 2 s. */
static void
one_before_all_is_known (void)
{
  HassDataFarm farm = farm_of (NULL, 0);
  FakePlan plan = { .n_devices = 2, .start_ms = 2000, .open_ms = 200 };
  farm.generate = generate_slowly;
  farm.gpu_worker = notes_starts;
  atomic_store (&begun_at_first, 0);
  fake_machine_begin (&plan);
  watchdog (60, "a generator beside two cold GPUs");
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, NULL, NULL));
  watchdog (0, NULL);
  CU_ASSERT_EQUAL (atomic_load (&begun_at_first), 1);
  fake_machine_end ();
}

/* But for as long as a start was said to take and then took. */
static void
not_for_ever (void)
{
  two ("auto", hangs_without_both, N_LOADS, 0, 50, 2, 2);
}

/* Some of them need the GPU, as their cores wait for it, some do not. */
static void
under_any_strategy (void)
{
  const HassStrategyOps *const *list = hass_builtin_strategies;
  for (guint s = 0; list[s]; s++)
    for (guint cores = 0; cores < 2; cores++)
      {
        HassDataFarm farm = farm_of (cores ? counting_cpu_worker : NULL, 400);
        FakePlan plan = { .n_devices = 2, .start_ms = HOUR_MS, .open_ms = 5 };
        if (!(list[s]->farms & HASS_FARM_COMBINE))
          continue;
        farm.run.strategy = list[s]->name;
        farm.round_loads = s % 2 ? 100 : 0;
        fake_machine_begin (&plan);
        hass_report_free (run (&farm));
        fake_machine_end ();
      }
}

static gboolean
task_cpu (const HassTask *task, HassWorker *worker, gpointer data,
          GError **error)
{
  (void)task;
  return needs_start (NULL, worker, data, error);
}

static void
for_gpu_tasks (void)
{
  HassTask tasks[N_LOADS];
  HassFunctionFarm farm = HASS_FUNCTION_FARM_INIT;
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < N_LOADS; i++)
    tasks[i] = (HassTask){ .cpu = i > 0 ? task_cpu : NULL,
                           .gpu = counting_gpu_worker };
  farm.tasks = tasks;
  farm.n_tasks = N_LOADS;
  farm.run.n_cores = 2;
  farm.run.platform = "";
  install (1, HOUR_MS);
  counting_reset ();
  watchdog (60, "a task that only a cold GPU can run");
  CU_ASSERT_TRUE (hass_function_farm (&farm, NULL, &error));
  watchdog (0, NULL);
  CU_ASSERT_TRUE (atomic_load (&counting_on_gpu) > 0);
  fake_machine_end ();
}

/* Farms of 20 ms, each too short for a start of a third of a second. */
static void
for_many_short (void)
{
  HassDataFarm farm = farm_of (twenty_ms, 1);
  guint n = 0;
  farm.run.strategy = "naive-greedy";
  install (1, 300);
  for (; n < 1000 && fake_cudart_counts ().opening == 0; n++)
    hass_report_free (run (&farm));
  CU_ASSERT_TRUE (n > 1 && n < 1000);
  fake_machine_end ();
}

/* What a start took is expected of the next GPU. */
static void
learns (void)
{
  HassDataFarm farm = farm_of (NULL, N_LOADS);
  install (2, HOUR_MS);
  farm.run.n_gpus = 1;
  hass_report_free (run (&farm));
  CU_ASSERT_EQUAL (hass_gpu_start_ns (hass_gpus_get (0)), 0);
  gint64 ns = hass_gpu_start_ns (hass_gpus_get (1));
  CU_ASSERT_TRUE (ns > 0 && ns < HOUR_MS * G_GINT64_CONSTANT (1000000));
  fake_machine_end ();
}

/* Pinned memory has a context already, and is meant for GPUs. That is the first
   GPU's, and what was left of its start says nothing of another's. */
static void
for_pinned_memory (void)
{
  HassDataFarm farm = farm_of (NULL, N_LOADS);
  install (2, HOUR_MS);
  CU_ASSERT_EQUAL (hass_gpus_count (), 2);
  gint64 hour_ns = hass_gpu_start_ns (hass_gpus_get (0));
  CU_ASSERT_EQUAL (hour_ns, HOUR_MS * G_GINT64_CONSTANT (1000000));
  gpointer memory = hass_memory_alloc (100, NULL);
  CU_ASSERT_EQUAL (hass_gpu_start_ns (hass_gpus_get (0)), 0);
  CU_ASSERT_EQUAL (hass_gpu_start_ns (hass_gpus_get (1)), hour_ns);
  farm.run.n_gpus = 1;
  hass_report_free (run (&farm));
  CU_ASSERT_EQUAL (hass_gpu_start_ns (hass_gpus_get (1)), hour_ns);
  hass_memory_free (memory);
  fake_machine_end ();
  install (1, HOUR_MS);
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
  HassDataFarm farm = farm_of (cancels, 4000);
  farm.user_data = cancellable;
  farm.run.cancellable = cancellable;
  install (1, HOUR_MS);
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
  HassDataFarm farm = farm_of (counting_cpu_worker, N_LOADS);
  unlink (path);
  farm.run.record = path;
  install (1, HOUR_MS);
  hass_report_free (run (&farm));
  fake_machine_end ();
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  unlink (path);
  const char *open = strstr (text, "\"event\":\"open\",\"device\":1,");
  const char *end = open ? strchr (open, '\n') : NULL;
  CU_ASSERT_TRUE (end && g_str_has_prefix (end - 11, "\"ok\":false}"));
}

/* Two GPUs, of which one is started; the trace says when, and how long that
   took. */
static void
traced (void)
{
  g_autofree char *path = trial_file ("");
  g_autofree char *text = NULL;
  HassDataFarm farm = farm_of (NULL, 6);
  FakePlan plan = {
    .n_devices = 2, .start_ms = 2000, .open_ms = 50, .kernel_delay_us = 2000
  };
  farm.run.trace = path;
  fake_machine_begin (&plan);
  hass_report_free (run (&farm));
  fake_machine_end ();
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  unlink (path);
  g_auto (GStrv) lines = g_strsplit (text, "\n", 0);
  guint n[2] = { 0, 0 };
  for (char **l = lines; *l; l++)
    {
      gint64 end, begin;
      char device, ok;
      if (sscanf (*l,
                  "{\"t\":%" G_GINT64_FORMAT
                  ",\"event\":\"open\",\"device\":\"gpu%c\""
                  ",\"begin\":%" G_GINT64_FORMAT ",\"ok\":%c",
                  &end, &device, &begin, &ok)
          != 4)
        continue;
      CU_ASSERT_TRUE (end - begin >= (ok == 't' ? 50000000 : 0));
      n[ok == 't']++;
    }
  CU_ASSERT_EQUAL (n[0], 1);
  CU_ASSERT_EQUAL (n[1], 1);
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
    { "of two GPUs one goes first, and may suffice", one_goes_first },
    { "of two GPUs with long bundles one may suffice", slow_bundles },
    { "one of two GPUs starts first before all loads are known",
      one_before_all_is_known },
    { "both GPUs start where each has its share", both_with_shares },
    { "the second GPU's start is not put off for ever", not_for_ever },
    { "tasks that only GPUs can run start one", for_gpu_tasks },
    { "many short farms together start the GPU", for_many_short },
    { "farms whose loads lie in pinned memory start the GPU",
      for_pinned_memory },
    { "a farm with a cold GPU ends under every strategy", under_any_strategy },
    { "the next GPU is taken to start as fast", learns },
    { "a farm that is cancelled meanwhile ends", cancelled },
    { "a record shows that a GPU was not opened", recorded },
    { "a trace shows when GPUs were started", traced })
