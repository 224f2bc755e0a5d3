/* SPDX-License-Identifier: MIT */
/* test_bundle.c: bundlers that lay data out anew or break their rules.
   Thread safety: one thread. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

typedef gboolean (*Run) (const HassDataFarm *, HassReport **, GError **);

static gboolean
guarded (Run run, const HassDataFarm *f, HassReport **report, GError **error)
{
  watchdog (30, f->name);
  gboolean ok = run (f, report, error);
  watchdog (0, NULL);
  return ok;
}

/* -- Bundling ----------------------------------------------------------- */

typedef struct
{
  guint8 input[64], output[64];
  _Atomic guint on_cpu, on_gpu;
  char how;
} Bundling;

/* Interleaves the blocks' bytes backwards, or spoils them. */
static gboolean
bundle (const HassBlock *blocks, gsize n, HassStaging *staging, gpointer data,
        GError **error)
{
  Bundling *b = data;
  (void)error;
  for (gsize i = 0; i < n; i++)
    {
      staging->data[i] = *blocks[n - 1 - i].input;
      staging->offsets[i] = i;
    }
  staging->offsets[n] = n;
  if (b->how == 'w')
    staging->data[staging->capacity + 3] = 1;
  else if (b->how == 'o')
    staging->offsets[n] = staging->capacity + 1;
  else if (b->how == 'd')
    staging->offsets[0] = n + 1;
  return b->how != 'f';
}

static gboolean
unbundle (const HassBlock *blocks, gsize n, const HassStaging *staging,
          gpointer data, GError **error)
{
  (void)data, (void)error;
  for (gsize i = 0; i < n; i++)
    *blocks[n - 1 - i].output = staging->data[i];
  return TRUE;
}

static void
add_constant (const HassBundle *bundle, gpointer data)
{
  Bundling *b = data;
  for (gsize i = 0; i < bundle->input_bytes; i++)
    bundle->output[i] = bundle->input[i] + *(guint8 *)bundle->constants[0];
  b->on_gpu += bundle->n_blocks;
}

STAND_IN_WORKER (on_gpu, add_constant)

static gboolean
on_cpu (const HassBlock *block, HassWorker *worker, gpointer data,
        GError **error)
{
  Bundling *b = data;
  (void)error;
  *block->output
      = *block->input + *(const guint8 *)hass_worker_constant (worker, 0);
  b->on_cpu++;
  return TRUE;
}

static void
run_bundling (Bundling *b, gboolean cpu, HassReport **report, GError **error)
{
  static const guint8 seven = 7;
  HassConstant constant = { &seven, 1 };
  StandInPlan plan = { .depth = 2 };
  HassDevice *device = stand_in_new (&plan);
  HassLoad loads[64];
  HassDataFarm f = HASS_DATA_FARM_INIT;
  for (guint i = 0; i < 64; i++)
    {
      b->input[i] = i;
      b->output[i] = 0;
      loads[i] = (HassLoad){ .input = &b->input[i],
                             .input_bytes = 1,
                             .output = &b->output[i],
                             .output_bytes = 1,
                             .size = 1 };
    }
  f.loads = loads;
  f.n_loads = G_N_ELEMENTS (loads);
  f.cpu_worker = cpu ? on_cpu : NULL;
  f.gpu_worker = on_gpu;
  f.bundle = bundle;
  f.unbundle = unbundle;
  f.constants = &constant;
  f.n_constants = 1;
  f.user_data = b;
  f.run.devices = &device;
  f.run.n_devices = 1;
  f.run.n_cores = 1;
  f.run.strategy = "gpu-only"; /* or cores are done before it is open */
  guarded (hass_data_farm_combine, &f, report, error);
  CU_ASSERT_PTR_NULL (stand_in_counts (device).wrong);
  stand_in_free (device);
}

static gboolean
all_right (const Bundling *b)
{
  for (guint i = 0; i < 64; i++)
    if (b->output[i] != i + 7)
      return FALSE;
  return TRUE;
}

static void
own_layout (void)
{
  Bundling b = { .how = ' ' };
  GError *error = NULL;
  run_bundling (&b, FALSE, NULL, &error);
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_EQUAL (b.on_gpu, 64);
  CU_ASSERT_TRUE (all_right (&b));
}

static void
bundler_overruns (void)
{
  for (const char *how = "wodf"; *how; how++)
    {
      Bundling b = { .how = *how };
      g_autoptr (HassReport) report = NULL;
      GError *error = NULL;
      run_bundling (&b, TRUE, &report, &error);
      CU_ASSERT_PTR_NULL (error);
      CU_ASSERT_EQUAL (b.on_cpu, 64);
      CU_ASSERT_EQUAL (b.on_gpu, 0);
      CU_ASSERT_TRUE (all_right (&b));
      CU_ASSERT_TRUE (report->devices[1].failures > 0);
      g_clear_pointer (&report, hass_report_free);
      run_bundling (&b, FALSE, &report, &error);
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_BUNDLE));
      CU_ASSERT_EQUAL (report->unfinished[0].n_loads, 64);
      g_clear_error (&error);
    }
}

HASS_TEST_SUITE (
    bundle, { "a bundler may lay data out anew", own_layout },
    { "a bundler that breaks its rules fails the bundle, not the farm",
      bundler_overruns })
