/* SPDX-License-Identifier: MIT */
/* test_remembered_gpus.c: which GPUs there are is remembered from process to
   process, checked by the first start, and asked of the driver where that
   matters.

   DESIGN. A process begins when the GPUs are forgotten and the stand-in for the
   CUDA runtime is installed anew; the cache is a folder of the test's own. The
   stand-in counts the calls.

   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <string.h>
#include <unistd.h>

#include "tests/engine/counting.h"
#include "device/fake_machine.h"
#include "device/cuda/gpus-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define HOUR_MS 3600000
#define N_LOADS 40

static char *cache, *file; /* a test's */

/* -- Processes ---------------------------------------------------------- */

/* With a cache that remembers so many GPUs, none for 0. */
static void
set_up (guint n_gpus)
{
  cache = g_dir_make_tmp ("hass-cache-XXXXXX", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (cache);
  file = g_build_filename (cache, "hass", "gpus", NULL);
  g_autofree char *profile = g_build_filename (cache, "profile", NULL);
  g_setenv ("XDG_CACHE_HOME", cache, TRUE);
  g_setenv ("HASS_PROFILE", profile, TRUE);
  if (n_gpus == 0)
    return;
  fake_machine_begin (&(FakePlan){ .n_devices = n_gpus });
  CU_ASSERT_EQUAL (hass_gpus_count (), n_gpus);
  fake_machine_end ();
  CU_ASSERT_TRUE (g_file_test (file, G_FILE_TEST_IS_REGULAR));
}

static void
clear (void)
{
  static const char *const names[]
      = { "hass/gpus", "hass", "profile", "profile.lock", "" };
  g_setenv ("HASS_PROFILE", "off", TRUE);
  g_unsetenv ("XDG_CACHE_HOME");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (cache, names[i], NULL);
      remove (path);
    }
  CU_ASSERT_FALSE (g_file_test (cache, G_FILE_TEST_EXISTS));
  g_clear_pointer (&cache, g_free);
  g_clear_pointer (&file, g_free);
}

static guint
looks (void)
{
  return fake_cudart_counts ().calls[FAKE_DEVICE_COUNT];
}

/* -- Farms -------------------------------------------------------------- */

/* Waits until the start of the first GPU has begun. */
static gboolean
sees_start (const HassBlock *block, HassWorker *worker, gpointer data,
            GError **error)
{
  HassGpu *gpu = data;
  for (gboolean cold = TRUE; cold; usleep (100))
    {
      pthread_mutex_lock (&gpu->lock);
      cold = gpu->start == HASS_GPU_COLD && !gpu->has_starter;
      pthread_mutex_unlock (&gpu->lock);
    }
  return counting_cpu_worker (block, worker, data, error);
}

static HassReport *
run (HassCpuWorkerFunc cpu, const char *strategy, gpointer data)
{
  static const HassLoad loads[N_LOADS];
  HassReport *r = NULL;
  g_autoptr (GError) error = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "remembered";
  farm.loads = loads;
  farm.n_loads = N_LOADS;
  farm.cpu_worker = cpu;
  farm.gpu_worker = counting_gpu_worker;
  farm.user_data = data;
  farm.run.n_cores = cpu ? 2 : 0;
  farm.run.strategy = strategy;
  farm.run.platform = "";
  counting_reset ();
  watchdog (60, "a farm whose GPU is remembered");
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, &r, &error));
  watchdog (0, NULL);
  if (error)
    g_printerr ("\n    %s", error->message);
  CU_ASSERT_EQUAL (
      atomic_load (&counting_on_cpu) + atomic_load (&counting_on_gpu), N_LOADS);
  return r;
}

/* -- Tests -------------------------------------------------------------- */

static void
not_asked_for (void)
{
  set_up (2);
  fake_machine_begin (&(FakePlan){ .n_devices = 2, .start_ms = HOUR_MS });
  g_autoptr (HassReport) r = run (counting_cpu_worker, NULL, NULL);
  CU_ASSERT_EQUAL (r->n_devices, 3);
  CU_ASSERT_EQUAL (fake_cudart_counts ().n_calls, 0);
  CU_ASSERT_STRING_EQUAL (hass_gpus_get (1)->properties.name, "Fake GPU 1");
  CU_ASSERT_PTR_NULL (hass_gpus_problem ());
  fake_machine_end ();
  clear ();
}

static gboolean
take (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  (void)task, (void)worker, (void)data, (void)error;
  return TRUE;
}

/* Runs @n tasks that cores and GPUs can compute, and @n_gpu for GPUs alone.
   Returns: how often that asked which GPUs there are. */
static guint
run_tasks (gsize n, gsize n_gpu, guint start_ms)
{
  g_autoptr (GError) error = NULL;
  HassTask tasks[8] = { { .cpu = NULL } };
  HassFunctionFarm farm = HASS_FUNCTION_FARM_INIT;
  for (gsize i = 0; i < n + n_gpu; i++)
    tasks[i]
        = (HassTask){ .cpu = i < n ? take : NULL, .gpu = counting_gpu_worker };
  farm.name = "remembered";
  farm.tasks = tasks;
  farm.n_tasks = n + n_gpu;
  farm.run.n_cores = 2;
  farm.run.platform = "";
  set_up (2);
  fake_machine_begin (&(FakePlan){ .n_devices = 2, .start_ms = start_ms });
  watchdog (60, "tasks for a GPU that is remembered");
  CU_ASSERT_TRUE (hass_function_farm (&farm, NULL, &error));
  watchdog (0, NULL);
  guint n_looks = looks ();
  fake_machine_end ();
  clear ();
  return n_looks;
}

static void
tasks_ask (void)
{
  CU_ASSERT_EQUAL (run_tasks (3, 0, HOUR_MS), 0);
  CU_ASSERT_EQUAL (run_tasks (0, 3, 0), 1);
  CU_ASSERT_EQUAL (run_tasks (3, 1, 0), 1);
}

/* Whoever cannot do without, or wants to show them. */
static void
asked_for (void)
{
  set_up (1);
  fake_machine_begin (&(FakePlan){ .n_devices = 2 });
  g_autoptr (HassReport) r = run (NULL, NULL, NULL);
  CU_ASSERT_EQUAL (r->n_devices, 2);
  CU_ASSERT_EQUAL (looks (), 1);
  fake_machine_end ();
  fake_machine_begin (&(FakePlan){ 0 });
  CU_ASSERT_EQUAL (hass_gpus_count (), 1);
  fake_machine_end ();
  fake_machine_begin (&(FakePlan){ .start_ms = HOUR_MS });
  hass_report_free (run (counting_cpu_worker, NULL, NULL));
  CU_ASSERT_EQUAL (looks (), 0);
  HassGpu *gpu = hass_gpus_get (0);
  CU_ASSERT_EQUAL (hass_gpus_count (), 1);
  CU_ASSERT_EQUAL (looks (), 1);
  CU_ASSERT_PTR_EQUAL (hass_gpus_get (0), gpu);
  fake_machine_end ();
  clear ();
}

/* The first start looks, and the GPU is what it was. */
static void
confirmed (void)
{
  set_up (1);
  fake_machine_begin (&(FakePlan){ 0 });
  g_autoptr (HassReport) r = run (counting_cpu_worker, "gpu-only", NULL);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), N_LOADS);
  CU_ASSERT_FALSE (r->devices[1].lost);
  hass_report_free (run (counting_cpu_worker, "gpu-only", NULL));
  CU_ASSERT_EQUAL (looks (), 1);
  fake_machine_end ();
  clear ();
}

/* @want: what the file remembers then. */
static void
others_found (const FakePlan *plan, guint want)
{
  set_up (2);
  fake_machine_begin (plan);
  g_autoptr (HassReport) r = run (counting_cpu_worker, "gpu-only", NULL);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_cpu), N_LOADS);
  CU_ASSERT_EQUAL_FATAL (r->n_devices, 3);
  for (guint d = 1; d < 3; d++)
    {
      CU_ASSERT_TRUE (r->devices[d].lost);
      CU_ASSERT_TRUE (r->devices[d].message
                      && strstr (r->devices[d].message, "remembered"));
    }
  CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_SET_DEVICE], 0);
  g_autoptr (HassReport) next
      = run (counting_cpu_worker, want > 0 ? "gpu-only" : NULL, NULL);
  CU_ASSERT_EQUAL (next->n_devices, 1 + want);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), want > 0 ? N_LOADS : 0);
  CU_ASSERT_EQUAL (looks (), 1);
  fake_machine_end ();
  CU_ASSERT_EQUAL (g_file_test (file, G_FILE_TEST_EXISTS), want > 0);
  fake_machine_begin (&(FakePlan){ .n_devices = MAX (want, 1) });
  CU_ASSERT_EQUAL (hass_gpus_expected (), MAX (want, 1));
  CU_ASSERT_EQUAL (looks (), want == 0);
  fake_machine_end ();
  clear ();
}

static void
disproved (void)
{
  others_found (&(FakePlan){ .n_devices = 1 }, 1);
  others_found (&(FakePlan){ .n_devices = 2, .multiprocessors = 5 }, 2);
  others_found (&(FakePlan){ .device_count_code = FAKE_NO_DRIVER }, 0);
}

/* The exit's handler must come behind the runtime's own. */
static void
stays_for_the_look (void)
{
  set_up (1);
  fake_machine_begin (&(FakePlan){ .look_ms = 60, .hold_opening = TRUE });
  CU_ASSERT_EQUAL (hass_gpus_expected (), 1);
  hass_report_free (run (sees_start, "naive-greedy", hass_gpus_get (0)));
  CU_ASSERT_EQUAL (looks (), 1);
  CU_ASSERT_EQUAL (fake_cudart_counts ().opened, 0);
  fake_let_open ();
  fake_machine_end ();
  clear ();
}

static void
absent (void)
{
  static const int codes[] = { FAKE_NO_DRIVER, FAKE_NO_DEVICE };
  for (guint i = 0; i < 2; i++)
    {
      set_up (0);
      fake_machine_begin (&(FakePlan){ .device_count_code = codes[i] });
      g_autoptr (HassReport) r = run (counting_cpu_worker, NULL, NULL);
      CU_ASSERT_EQUAL (r->n_devices, 1);
      CU_ASSERT_PTR_NOT_NULL (hass_gpus_problem ());
      CU_ASSERT_EQUAL (looks (), 1);
      fake_machine_end ();
      CU_ASSERT_FALSE (g_file_test (file, G_FILE_TEST_EXISTS));
      clear ();
    }
}

/* So many are expected; and whether the runtime was asked for that. */
static void
expect (const FakePlan *plan, guint n, gboolean asked)
{
  fake_machine_begin (plan);
  CU_ASSERT_EQUAL (hass_gpus_expected (), n);
  CU_ASSERT_EQUAL (looks (), (guint)asked);
  fake_machine_end ();
}

static void
elsewhere (void)
{
  const FakePlan same = { .n_devices = 2 };
  set_up (2);
  expect (&same, 2, FALSE);
  g_setenv ("CUDA_VISIBLE_DEVICES", "0", TRUE);
  expect (&(FakePlan){ .n_devices = 1 }, 1, TRUE);
  expect (&(FakePlan){ .n_devices = 1 }, 1, FALSE);
  g_unsetenv ("CUDA_VISIBLE_DEVICES");
  expect (&same, 2, TRUE);
  expect (&(FakePlan){ .n_devices = 1, .version = 7 }, 1, TRUE);
  expect (&same, 2, TRUE);
  g_autofree char *text = NULL;
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (file, &text, NULL, NULL));
  char *boot = strstr (text, "boot=");
  CU_ASSERT_PTR_NOT_NULL_FATAL (boot);
  boot[5] = boot[5] == '0' ? '1' : '0';
  g_file_set_contents (file, text, -1, NULL);
  expect (&same, 2, TRUE);
  g_setenv ("HASS_NGPU", "1", TRUE);
  expect (&same, 1, FALSE);
  g_setenv ("HASS_NGPU", "0", TRUE);
  expect (&same, 0, FALSE);
  g_unsetenv ("HASS_NGPU");
  g_setenv ("HASS_PROFILE", "off", TRUE);
  expect (&same, 2, TRUE);
  clear ();
}

/* The start of the first GPU as it is predicted before it has begun, by a
   process that has asked which there are, or not. */
static gint64
predicted_ms (gboolean asked)
{
  fake_machine_begin (&(FakePlan){ .start_ms = HOUR_MS });
  CU_ASSERT_EQUAL (asked ? hass_gpus_count () : hass_gpus_expected (), 1);
  gint64 ms = hass_gpu_start_ns (hass_gpus_get (0)) / 1000000;
  CU_ASSERT_EQUAL (looks (), (guint)asked);
  fake_machine_end ();
  return ms;
}

/* What one process has measured; others that start none keep it. */
static void
start_known (void)
{
  set_up (1);
  CU_ASSERT_EQUAL (predicted_ms (FALSE), HOUR_MS);
  fake_machine_begin (&(FakePlan){ .open_ms = 30 });
  hass_report_free (run (counting_cpu_worker, "gpu-only", NULL));
  fake_machine_end ();
  for (guint i = 0; i < 4; i++)
    {
      gint64 ms = predicted_ms (i & 1);
      CU_ASSERT_TRUE (ms >= 30 && ms < HOUR_MS);
    }
  clear ();
}

/* Of the first GPU, by what is remembered of it. */
static double
link_remembered (void)
{
  HassDeviceTraits traits;
  fake_machine_begin (&(FakePlan){ .compute_major = 9 });
  CU_ASSERT_EQUAL (hass_gpus_expected (), 1);
  HassDevice *device = hass_cuda_device_new (0);
  device->ops->describe (device, &traits);
  hass_cuda_device_free (device);
  CU_ASSERT_EQUAL (looks (), 0);
  fake_machine_end ();
  return traits.link_bytes_per_ns;
}

/* The remembered text with something else in it is not believed, and written
   anew. */
static void
rewrite (const char *text, const char *old, const char *new)
{
  g_auto (GStrv) parts = g_strsplit (text, old, 2);
  CU_ASSERT_EQUAL_FATAL (g_strv_length (parts), 2);
  g_autofree char *other = g_strjoinv (new, parts);
  g_file_set_contents (file, other, -1, NULL);
  expect (&(FakePlan){ .compute_major = 9 }, 1, TRUE);
  expect (&(FakePlan){ .compute_major = 9 }, 1, FALSE);
}

/* So is what its link may do; a file of a version that did not know is written
   anew. */
static void
generation (void)
{
  g_autofree char *text = NULL;
  set_up (1);
  expect (&(FakePlan){ .compute_major = 9, .version = 7 }, 1, TRUE);
  expect (&(FakePlan){ .compute_major = 9 }, 1, TRUE);
  CU_ASSERT_EQUAL (link_remembered (), 50);
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (file, &text, NULL, NULL));
  rewrite (text, "keys=3", "keys=1");
  rewrite (text, "keys=3\n", "");
  rewrite (text, "compute-major=9", "compute-major=x");
  rewrite (text, "compute-major=9", "compute-major=1001");
  rewrite (text, "compute-major=9\n", "");
  rewrite (text, "start-ns=0", "start-ns=-1");
  rewrite (text, "start-ns=0", "start-ns=3600000000001");
  rewrite (text, "start-ns=0\n", "");
  clear ();
}

/* Damaged ones are replaced, what is not ours is left alone; the warning is on
   stderr, once. */
static void
damaged (void)
{
  const FakePlan same = { .n_devices = 2 };
  g_autofree char *text = NULL;
  gsize length;
  set_up (2);
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (file, &text, &length, NULL));
  int out = dup (STDERR_FILENO);
  CU_ASSERT_PTR_NOT_NULL (freopen ("/dev/null", "w", stderr));
  for (gsize n = strlen ("# hass-gpus 1\n"); n + 1 < length; n += 7)
    {
      g_file_set_contents (file, text, n, NULL);
      expect (&same, 2, TRUE);
      expect (&same, 2, FALSE);
    }
  static const char *const foreign[]
      = { "", "# hass-gpus 2\n[gpus]\ncount=1\n", "a letter to a friend\n" };
  for (guint i = 0; i < G_N_ELEMENTS (foreign); i++)
    {
      g_autofree char *after = NULL;
      g_file_set_contents (file, foreign[i], -1, NULL);
      expect (&same, 2, TRUE);
      expect (&same, 2, TRUE);
      CU_ASSERT_TRUE (g_file_get_contents (file, &after, NULL, NULL));
      CU_ASSERT_EQUAL (g_strcmp0 (after, foreign[i]), 0);
    }
  fflush (stderr);
  dup2 (out, STDERR_FILENO);
  close (out);
  clear ();
}

HASS_TEST_SUITE (
    remembered_gpus,
    { "a tiny farm does not even ask which there are", not_asked_for },
    { "a farm that needs a GPU asks which there are", asked_for },
    { "tasks ask only if a known one is for GPUs alone", tasks_ask },
    { "the first start looks, once", confirmed },
    { "where there are others, the farm goes on and the next has them",
      disproved },
    { "a farm that ends waits for the look alone", stays_for_the_look },
    { "a machine without GPUs is not remembered", absent },
    { "another boot, variable or runtime counts as another machine",
      elsewhere },
    { "how long a start takes is remembered", start_known },
    { "what its link may do is remembered, too", generation },
    { "damaged files are replaced, foreign ones left alone", damaged })
