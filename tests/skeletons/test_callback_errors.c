/* SPDX-License-Identifier: MIT */
/* test_callback_errors.c: what a farm's error is when a callback fails: with
   an error of its own, without one, or with one although it returns TRUE.
   Thread safety: one thread. */
#include <string.h>

#include "guarded.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

typedef enum
{
  NOBODY,
  GENERATOR,
  PARTITIONER,
  CPU_WORKER,
  COLLECTOR,
  GPU_WORKER,
  GPU_RESULT,
  BUNDLER,
  UNBUNDLER,
  TASK,
  GPU_TASK,
  N_CALLBACKS
} Who;

typedef enum
{
  OWN_ERROR,      /* FALSE with an error */
  TRUE_AND_ERROR, /* TRUE with an error */
  SILENT,         /* FALSE without one */
  N_WAYS
} Way;

typedef struct
{
  Who who;
  Way way;
} Failing;

/* Fails if it is the callback's turn. */
static gboolean
fail (Failing *f, Who who, GError **error)
{
  if (f->who != who)
    return TRUE;
  if (f->way != SILENT)
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "no such pattern");
  return f->way == TRUE_AND_ERROR;
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  static guint8 out[4];
  HassLoad load = { .input = "abcd",
                    .input_bytes = 4,
                    .output = out,
                    .output_bytes = 4,
                    .size = 4 };
  return hass_emitter_emit (emitter, &load) && fail (data, GENERATOR, error);
}

static gboolean
partition (const HassLoad *load, gsize first, gsize count, HassBlock *block,
           gpointer data, GError **error)
{
  (void)load, (void)first, (void)count, (void)block;
  return fail (data, PARTITIONER, error);
}

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  (void)block, (void)worker;
  return fail (data, CPU_WORKER, error);
}

static gboolean
collect (const HassResult *result, gpointer data, GError **error)
{
  (void)result;
  return fail (data, COLLECTOR, error);
}

static gboolean
gpu_work (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  (void)bundle, (void)stream;
  return fail (data, GPU_WORKER, error) && fail (data, GPU_TASK, error);
}

static gboolean
gpu_result (const HassBlock *block, gconstpointer records, gsize n_records,
            HassWorker *worker, gpointer data, GError **error)
{
  (void)block, (void)records, (void)n_records, (void)worker;
  return fail (data, GPU_RESULT, error);
}

static gboolean
bundle (const HassBlock *blocks, gsize n, HassStaging *staging, gpointer data,
        GError **error)
{
  return hass_staging_gather (blocks, n, staging, NULL, NULL, error)
         && fail (data, BUNDLER, error);
}

static gboolean
unbundle (const HassBlock *blocks, gsize n, const HassStaging *staging,
          gpointer data, GError **error)
{
  (void)blocks, (void)n, (void)staging;
  return fail (data, UNBUNDLER, error);
}

static gboolean
task_work (const HassTask *task, HassWorker *worker, gpointer data,
           GError **error)
{
  (void)task, (void)worker;
  return fail (data, TASK, error);
}

static gboolean
on_gpu (Who who)
{
  return who >= GPU_WORKER && who != TASK;
}

static gboolean
run_data_farm (Failing *failing, HassDevice *device, GError **error)
{
  Who who = failing->who;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "shaky";
  f.generate = generate;
  f.user_data = failing;
  f.collect = collect;
  f.run.n_cores = 1;
  if (on_gpu (who))
    {
      f.gpu_worker = gpu_work;
      f.gpu_result = gpu_result;
      f.bundle = who == BUNDLER ? bundle : NULL;
      f.unbundle = who == UNBUNDLER ? unbundle : NULL;
      f.run.devices = &device;
      f.run.n_devices = 1;
    }
  else
    f.cpu_worker = work;
  if (who != PARTITIONER)
    return guarded (hass_data_farm_combine, &f, NULL, error);
  f.partition = partition;
  return guarded (hass_data_farm_partition, &f, NULL, error);
}

static gboolean
run_tasks (Failing *failing, HassDevice *device, GError **error)
{
  HassTask task = { .cpu = failing->who == TASK ? task_work : NULL,
                    .gpu = failing->who == TASK ? NULL : gpu_work };
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  f.name = "shaky";
  f.tasks = &task;
  f.n_tasks = 1;
  f.user_data = failing;
  f.run.n_cores = 1;
  f.run.devices = &device;
  f.run.n_devices = 1;
  watchdog (30, "a task that fails");
  gboolean ok = hass_function_farm (&f, NULL, error);
  watchdog (0, NULL);
  return ok;
}

static gboolean
fails_right (Who who, Way way)
{
  static const HassError silent[N_CALLBACKS] = {
    [GENERATOR] = HASS_ERROR_GENERATOR, [PARTITIONER] = HASS_ERROR_PARTITION,
    [CPU_WORKER] = HASS_ERROR_WORKER,   [COLLECTOR] = HASS_ERROR_COLLECTOR,
    [GPU_WORKER] = HASS_ERROR_WORKER,   [GPU_RESULT] = HASS_ERROR_WORKER,
    [BUNDLER] = HASS_ERROR_BUNDLE,      [UNBUNDLER] = HASS_ERROR_BUNDLE,
    [TASK] = HASS_ERROR_WORKER,         [GPU_TASK] = HASS_ERROR_WORKER
  };
  Failing failing = { who, way };
  StandInPlan plan = { 0 };
  g_autoptr (GError) error = NULL;
  HassDevice *device = stand_in_new (&plan);
  gboolean ok = who >= TASK ? run_tasks (&failing, device, &error)
                            : run_data_farm (&failing, device, &error);
  stand_in_free (device);
  const char *text = way == SILENT ? "without saying why" : "no such pattern";
  gboolean right
      = !ok && strstr (error->message, text)
        && strstr (error->message, "farm 'shaky'")
        && (way == SILENT
                ? g_error_matches (error, HASS_ERROR, (gint)silent[who])
                : g_error_matches (error, G_FILE_ERROR, G_FILE_ERROR_NOENT));
  if (!right)
    g_printerr ("\n    callback %u, way %u: %s %d %s", who, way,
                error ? g_quark_to_string (error->domain) : "no error",
                error ? error->code : 0, error ? error->message : "");
  return right;
}

static void
errors_keep_their_domain (void)
{
  for (Who who = GENERATOR; who < N_CALLBACKS; who++)
    CU_ASSERT_TRUE (fails_right (who, OWN_ERROR));
}

static void
an_error_is_a_failure (void)
{
  for (Who who = GENERATOR; who < N_CALLBACKS; who++)
    CU_ASSERT_TRUE (fails_right (who, TRUE_AND_ERROR));
}

static void
silence_has_a_code (void)
{
  for (Who who = GENERATOR; who < N_CALLBACKS; who++)
    CU_ASSERT_TRUE (fails_right (who, SILENT));
}

/* -- A farm inside a callback ------------------------------------------- */

static gboolean
inner_farm (const HassBlock *block, HassWorker *worker, gpointer data,
            GError **error)
{
  HassDataFarm f = HASS_DATA_FARM_INIT;
  (void)worker, (void)data;
  f.loads = block->load;
  f.n_loads = 1;
  f.cpu_worker = work;
  return hass_data_farm_combine (&f, NULL, error);
}

static void
misuse_inside_is_misuse (void)
{
  HassLoad load = { .size = 1 };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "outer";
  f.loads = &load;
  f.n_loads = 1;
  f.cpu_worker = inner_farm;
  CU_ASSERT_TRUE (fails_with (hass_data_farm_combine, &f, HASS_ERROR_MISUSE,
                              "worker failed on load 0"));
}

/* With CONTINUE the units are listed with what their worker said. */
static void
listed_with_the_reason (void)
{
  for (Way way = OWN_ERROR; way < N_WAYS; way++)
    {
      Failing failing = { CPU_WORKER, way };
      HassLoad load = { .size = 1 };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      g_autoptr (HassReport) report = NULL;
      f.loads = &load;
      f.n_loads = 1;
      f.cpu_worker = work;
      f.user_data = &failing;
      f.run.on_error = HASS_ON_ERROR_CONTINUE;
      CU_ASSERT_TRUE (guarded (hass_data_farm_combine, &f, &report, NULL));
      CU_ASSERT_EQUAL_FATAL (report->n_unfinished, 1);
      CU_ASSERT_PTR_NOT_NULL (
          strstr (report->unfinished[0].message,
                  way == SILENT ? "without saying why" : "no such pattern"));
    }
}

/* What a failed worker adds to the error: a load is named, and the part of it
   where it is one, by its first and last element, as in the report. */
static void
named_load (void)
{
  for (guint cut = 0; cut < 2; cut++)
    {
      Failing failing = { CPU_WORKER, OWN_ERROR };
      HassLoad load = { .size = 100 };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      g_autoptr (GError) error = NULL;
      f.loads = &load;
      f.n_loads = 1;
      f.cpu_worker = work;
      f.user_data = &failing;
      f.block_elements = cut ? 100 : 0;
      CU_ASSERT_FALSE (
          guarded (cut ? hass_data_farm_partition : hass_data_farm_combine, &f,
                   NULL, &error));
      CU_ASSERT_STRING_EQUAL (
          error->message,
          cut ? "farm 'farm': worker failed on load 0, elements 0 to 99: no "
                "such pattern"
              : "farm 'farm': worker failed on load 0: no such pattern");
    }
}

HASS_TEST_SUITE (
    callback_errors,
    { "a callback's own error keeps its domain and code",
      errors_keep_their_domain },
    { "a callback that sets an error has failed, whatever it returns",
      an_error_is_a_failure },
    { "a callback that fails without an error gets the code named for it",
      silence_has_a_code },
    { "a farm inside a worker makes the outer farm fail with MISUSE",
      misuse_inside_is_misuse },
    { "with CONTINUE failed loads are listed with their reason",
      listed_with_the_reason },
    { "a failed worker's error names the load, and a part by its elements",
      named_load })
