/* SPDX-License-Identifier: MIT */
/* test_pipeline_tag_devices.c: what stages hang on tokens is freed exactly once
   where devices compute them, fail and are lost.
   Thread safety: single-threaded. */
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tag_ledger.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

/* -- Devices ------------------------------------------------------------ */

static void
copy_kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    memcpy (bundle->output
                + (bundle->output_offsets ? bundle->output_offsets[i] : 0),
            bundle->input + (bundle->offsets ? bundle->offsets[i] : 0), 1);
}

STAND_IN_WORKER (gpu_copy, copy_kernel)

static gboolean
cpu_copy (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)w, (void)data, (void)error;
  t->output[0] = t->input[0];
  return TRUE;
}

static const char *const strategies[]
    = { "pipe-auto", "pipe-greedy", "pipe-lp", "pipe-fixed", "aspara-pipe" };

static const HassLoad *
loads_of_one_byte (void)
{
  static HassLoad loads[PIPE_LOADS];
  static guint8 byte;
  for (guint i = 0; i < PIPE_LOADS; i++)
    loads[i] = (HassLoad){ .input = &byte,
                           .input_bytes = 1,
                           .tag = GSIZE_TO_POINTER (i) };
  return loads;
}

/* Runs on a stand-in, which fails by @plan. Returns: TRUE if all went well. */
static gboolean
run_on_device (const StandInPlan *plan, const char *strategy,
               HassStageFunc last)
{
  HassDevice *device = stand_in_new (plan);
  const HassStage stages[]
      = { HASS_STAGE (.cpu = tag_hang),
          HASS_STAGE (.cpu = plan->lose_at > 0 ? NULL : cpu_copy,
                      .gpu = gpu_copy, .output_ratio = 1),
          HASS_STAGE (.cpu = last, .mode = HASS_STAGE_ORDERED) };
  HassPipeline p = pipe_new (stages, 3, PIPE_LOADS);
  g_autofree TagLedger *ledger = tag_ledger_new ();
  p.loads = loads_of_one_byte ();
  p.release = tag_release;
  p.tag_free = tag_free;
  p.user_data = ledger;
  p.tokens = 64;
  p.run.devices = &device;
  p.run.n_devices = 1;
  p.run.strategy = strategy;
  gboolean ok = pipe_run (&p, NULL, NULL);
  CU_ASSERT_TRUE (ledger->n > 0);
  CU_ASSERT_TRUE (tag_ledger_balanced (ledger));
  stand_in_free (device);
  return ok;
}

static void
on_devices (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
    {
      StandInPlan plan = { .depth = 2 };
      CU_ASSERT_TRUE (run_on_device (&plan, strategies[i], tag_pass));
      CU_ASSERT_FALSE (run_on_device (&plan, strategies[i], tag_fail_one));
      plan.fail_bundle_every = 3;
      CU_ASSERT_TRUE (run_on_device (&plan, strategies[i], tag_pass));
      plan = (StandInPlan){ .depth = 2, .lose_at = 3 };
      CU_ASSERT_FALSE (run_on_device (&plan, strategies[i], tag_pass));
    }
}

/* -- Modelled machines -------------------------------------------------- */

static const char machine[] = "[platform]\n"
                              "name = test\n"
                              "[cpu]\n"
                              "cores = 2\n"
                              "work_per_us = 1\n"
                              "[gpu0]\n"
                              "multiprocessors = 16\n"
                              "width = 64\n"
                              "work_per_us = 8\n"
                              "launch_us = 5\n"
                              "link_us = 5\n"
                              "h2d_gbps = 10\n"
                              "d2h_gbps = 10\n";

/* A stage that only modelled devices run, by its CPU worker. */
static gboolean
no_kernel (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
           GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

static void
on_modelled_machines (void)
{
  g_autofree char *path = trial_file (machine);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (strategies); i++)
    {
      g_autofree TagLedger *ledger = tag_ledger_new ();
      const HassStage stages[]
          = { HASS_STAGE (.cpu = tag_hang, .gpu = no_kernel),
              HASS_STAGE (.cpu = i & 1 ? tag_fail_one : tag_pass,
                          .mode = HASS_STAGE_ORDERED) };
      HassPipeline p = pipe_new (stages, 2, PIPE_LOADS);
      p.loads = loads_of_one_byte ();
      p.release = tag_release;
      p.tag_free = tag_free;
      p.user_data = ledger;
      p.run.n_cores = p.run.n_gpus = 0; /* those of the platform */
      p.run.platform = path;
      p.run.strategy = strategies[i / 2];
      CU_ASSERT_EQUAL (pipe_run (&p, NULL, NULL), !(i & 1));
      CU_ASSERT_TRUE (ledger->n > TAG_BAD_SEQ);
      CU_ASSERT_TRUE (tag_ledger_balanced (ledger));
    }
  unlink (path);
}

HASS_TEST_SUITE (
    pipeline_tag_devices,
    { "tags are freed once where devices compute, fail and are lost",
      on_devices },
    { "tags are freed once on modelled machines", on_modelled_machines })
