/* SPDX-License-Identifier: MIT */
/* test_settings.c: settings that mean nothing are refused by name, and loads
   that have bytes nowhere.
   Thread safety: one thread. */
#include <string.h>

#include "guarded.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

static gboolean
collect (const HassResult *result, gpointer data, GError **error)
{
  (void)result, (void)data, (void)error;
  return TRUE;
}

static gboolean
partition (const HassLoad *load, gsize first, gsize count, HassBlock *block,
           gpointer data, GError **error)
{
  (void)load, (void)first, (void)count, (void)block, (void)data, (void)error;
  return TRUE;
}

static gboolean
gpu_work (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

static void
init (gpointer accumulator, gpointer data)
{
  (void)accumulator, (void)data;
}

static const HassLoad one = { .size = 1 };

static HassDataFarm
plain_farm (void)
{
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "odd";
  f.loads = &one;
  f.n_loads = 1;
  f.cpu_worker = work;
  f.run.n_cores = 1;
  return f;
}

typedef void (*Change) (HassDataFarm *f);

#define CHANGE(name, statement)                                                \
  static void name (HassDataFarm *f) { statement; }

static int number;
static const HassConstant constants[2] = { { "x", 1 }, { NULL, 12 } };

CHANGE (set_init, f->reduce_init = init)
CHANGE (set_accumulator, f->accumulator = &number)
CHANGE (set_accumulator_bytes, f->accumulator_bytes = 4)
CHANGE (set_order, f->order = HASS_RESULTS_ORDERED)
CHANGE (set_window, (f->collect = collect, f->window_loads = 5))
CHANGE (set_partition, f->partition = partition)
CHANGE (set_halo, f->halo_elements = 1)
CHANGE (set_block, f->block_elements = 1)
CHANGE (set_tiles, f->join_tiles = TRUE)
CHANGE (set_records, f->gpu_records_per_element = 0.5)
CHANGE (set_dry, f->run.dry = TRUE)
CHANGE (set_gpus, f->run.n_gpus = -2)
CHANGE (set_expected, f->run.loads_expected = 9)
CHANGE (set_constants, (f->constants = constants, f->n_constants = 2))

static void
refused_by_name (void)
{
  static const struct
  {
    Change change;
    const char *text;
  } cases[] = {
    { set_init, "reduce_init needs reduce" },
    { set_accumulator, "accumulator and accumulator_bytes need reduce" },
    { set_accumulator_bytes, "accumulator and accumulator_bytes need reduce" },
    { set_order, "order needs collect" },
    { set_window, "a window needs collect and order ORDERED" },
    { set_partition, "partition is for partition farms" },
    { set_halo, "halo_elements is for partition farms" },
    { set_block, "block_elements is for partition farms" },
    { set_tiles, "join_tiles needs partition" },
    { set_records, "gpu_records_per_element needs gpu_record_bytes" },
    { set_dry, "dry needs a platform" },
    { set_gpus, "n_gpus must be -1" },
    { set_expected, "loads_expected is for pipelines with a generator" },
    { set_constants, "constant 1 of 2 has 12 bytes" },
  };
  static const Run kinds[]
      = { hass_data_farm_combine, hass_data_farm_indivisible };
  HassDataFarm f = plain_farm ();
  CU_ASSERT_TRUE (guarded (hass_data_farm_combine, &f, NULL, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      f = plain_farm ();
      cases[i].change (&f);
      CU_ASSERT_TRUE (
          fails_with (kinds[i % 2], &f, HASS_ERROR_INVALID, cases[i].text));
    }
}

static gboolean
task_work (const HassTask *task, HassWorker *worker, gpointer data,
           GError **error)
{
  (void)task, (void)worker, (void)data, (void)error;
  return TRUE;
}

static void
tasks_too (void)
{
  HassTask task = { .cpu = task_work };
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  g_autoptr (GError) error = NULL;
  f.tasks = &task;
  f.n_tasks = 1;
  f.window_tasks = 3;
  CU_ASSERT_FALSE (hass_function_farm (&f, NULL, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
}

/* -- A strategy without its device -------------------------------------- */

static void
gpu_only_needs_one (void)
{
  StandInPlan plan = { 0 };
  HassDevice *device = stand_in_new (&plan);
  HassDataFarm f = plain_farm ();
  f.run.strategy = "gpu-only";
  CU_ASSERT_TRUE (
      fails_with (hass_data_farm_combine, &f, HASS_ERROR_NO_DEVICE,
                  "strategy gpu-only does not serve it: it needs a GPU"));
  f.run.devices = &device;
  f.run.n_devices = 1;
  CU_ASSERT_TRUE (fails_with (hass_data_farm_combine, &f, HASS_ERROR_NO_DEVICE,
                              "a GPU worker"));
  f.gpu_worker = gpu_work;
  CU_ASSERT_TRUE (guarded (hass_data_farm_combine, &f, NULL, NULL));
  stand_in_free (device);
}

/* -- Bytes that are nowhere --------------------------------------------- */

static gboolean
emit_given (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)error;
  return hass_emitter_emit (emitter, &one) && hass_emitter_emit (emitter, data);
}

static void
nowhere (gboolean gpu, gboolean emitted, gboolean output)
{
  HassLoad loads[2] = { one, { .size = 1 } };
  StandInPlan plan = { 0 };
  HassDevice *device = stand_in_new (&plan);
  HassDataFarm f = plain_farm ();
  (output ? &loads[1].output_bytes : &loads[1].input_bytes)[0] = 24;
  f.loads = emitted ? NULL : loads;
  f.n_loads = emitted ? 0 : 2;
  f.generate = emitted ? emit_given : NULL;
  f.user_data = &loads[1];
  if (gpu)
    {
      f.cpu_worker = NULL;
      f.run.devices = &device;
      f.run.n_devices = 1;
    }
  else
    f.run.n_gpus = -1;
  f.gpu_worker = gpu_work;
  CU_ASSERT_TRUE (
      fails_with (hass_data_farm_combine, &f, HASS_ERROR_INVALID,
                  output ? "load 1: output is NULL, but output_bytes is 24"
                         : "load 1: input is NULL, but input_bytes is 24"));
  stand_in_free (device);
}

static void
bytes_need_an_address (void)
{
  for (guint i = 0; i < 8; i++)
    nowhere (i & 1, i & 2, i & 4);
  HassLoad load = { .size = 4, .input_bytes = 8 };
  HassDataFarm f = plain_farm ();
  f.loads = &load;
  CU_ASSERT_TRUE (guarded (hass_data_farm_combine, &f, NULL, NULL));
}

HASS_TEST_SUITE (
    settings,
    { "a setting that means nothing in its farm is refused", refused_by_name },
    { "a setting that means nothing in a function farm is refused", tasks_too },
    { "gpu-only needs a GPU and a GPU worker", gpu_only_needs_one },
    { "a load whose bytes are nowhere is refused and named",
      bytes_need_an_address })
