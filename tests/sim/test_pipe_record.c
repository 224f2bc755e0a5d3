/* SPDX-License-Identifier: MIT */
/* test_pipe_record.c: a recorded pipeline runs again in hass-sim.
   Thread safety: one thread. */
#include <unistd.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "pool/clock.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"
#include "tools/hass-sim/pipe/pipe.h"

static const char machine[]
    = "[platform]\nname = m\n[cpu]\ncores = 4\nwork_per_us = 1\n"
      "[gpu0]\nmultiprocessors = 16\nwidth = 1\n"
      "work_per_us = 8\nlaunch_us = 5\nlink_us = 0\n"
      "h2d_gbps = 10\nd2h_gbps = 5\n";

static const char film[]
    = "[pipeline]\nname = film\ntokens = 2000\n"
      "bytes = 20000\n"
      "[stage a (read)]\nmode = ordered\nwork = 5\nemits = 1.5\n"
      "[stage blur]\ndevices = any\nwork = 100\n"
      "costs = lognormal 0.3\n"
      "[stage sum]\ndevices = gpu\nwork = 20\n"
      "output_bytes = 100\n"
      "[stage write]\nmode = serial\nwork = 4\n";

/* Runs a pipeline file on a platform file, or on its own machine, and fails the
   test if that fails. Returns: the makespan, in us. */
static double
run (const char *path, const char *platform, const char *strategy,
     const char *record, SimPipeCase **kept)
{
  SimPipe *pipe = NULL;
  HassPlatform *p = NULL;
  SimPipeResult result = { 0 };
  g_autoptr (GError) error = NULL;
  SimPipeOptions options = { .strategy = strategy, .record = record };
  gboolean ok = sim_pipe_find (path, platform, &pipe, &p, &error);
  if (error)
    g_printerr ("\n    %s", error->message);
  CU_ASSERT_TRUE_FATAL (ok);
  SimPipeCase *c = sim_pipe_case_new (pipe, p, 1, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (c);
  ok = sim_pipe_run (c, &options, &result, &error);
  if (error)
    g_printerr ("\n    %s", error->message);
  CU_ASSERT_TRUE_FATAL (ok);
  hass_report_free (result.report);
  if (kept)
    *kept = c;
  else
    sim_pipe_case_free (c);
  return result.makespan_ns * 1e-3;
}

static void
again (void)
{
  /* What each of fused stages takes is not known. */
  static const char *const strategies[] = { "pipe-auto:fuse=0", "pipe-greedy" };
  g_autofree char *path = trial_file (film), *platform = trial_file (machine);
  g_autofree char *record = trial_file ("");
  g_autofree char *recorded = g_strconcat (record, ".platform", NULL);
  SimPipeCase *c = NULL;
  double us = run (path, platform, strategies[0], record, NULL);
  double same = run (record, NULL, strategies[0], NULL, &c);
  CU_ASSERT_DOUBLE_EQUAL (same / us, 1, 0.05);
  double other = run (path, platform, strategies[1], NULL, NULL);
  double replayed = run (record, NULL, strategies[1], NULL, NULL);
  /* The same strategy varies by 7 % with the costs that are drawn. */
  CU_ASSERT_DOUBLE_EQUAL (replayed / other, 1, 0.15);
  CU_ASSERT_EQUAL (c->pipe->tokens, 2000);
  CU_ASSERT_EQUAL (c->pipe->n_stages, 4);
  CU_ASSERT_EQUAL (c->pipe->bytes, 20000);
  CU_ASSERT_STRING_EQUAL (c->pipe->stages[0].name, "a (read)");
  CU_ASSERT_EQUAL (c->pipe->stages[0].mode, HASS_STAGE_ORDERED);
  CU_ASSERT_DOUBLE_EQUAL (c->pipe->stages[0].work, 5, 0.5);
  CU_ASSERT_TRUE (c->pipe->stages[1].cpu && c->pipe->stages[1].gpu);
  CU_ASSERT_DOUBLE_EQUAL (c->pipe->stages[1].work, 100, 5);
  CU_ASSERT_DOUBLE_EQUAL (c->pipe->stages[1].family_a, 0.3, 0.05);
  CU_ASSERT_DOUBLE_EQUAL (c->pipe->stages[0].emits, 1.5, 0.01);
  CU_ASSERT_TRUE (!c->pipe->stages[2].cpu && c->pipe->stages[2].gpu);
  CU_ASSERT_DOUBLE_EQUAL (c->ns[2][1], 20e3 / 8, 200);
  CU_ASSERT_EQUAL (c->pipe->stages[2].output_bytes, 100);
  CU_ASSERT_EQUAL (c->pipe->stages[3].mode, HASS_STAGE_SERIAL);
  sim_pipe_case_free (c);
  unlink (path);
  unlink (platform);
  unlink (record);
  unlink (recorded);
}

/* Of the device, whose kernels run one after another. */
static gint64 computed_ns;

static void
kernel (const HassBundle *bundle, gpointer data)
{
  gint64 begin = hass_clock_ns ();
  (void)data;
  g_usleep (500 * bundle->n_blocks);
  computed_ns += hass_clock_ns () - begin;
}

STAND_IN_WORKER (on_gpu, kernel)

static gboolean
sink (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  return TRUE;
}

static const HassStage compute_stage
    = HASS_STAGE (.name = "compute", .gpu = on_gpu);
static const HassStage sink_stage
    = HASS_STAGE (.name = "sink", .mode = HASS_STAGE_ORDERED, .cpu = sink);

/* Records a pipeline on a device that says of each kernel that it lasted 20 ms
   longer than it did, as one seems to that has begun beside earlier ones; fails
   the test unless the replay takes as long as the kernels did. */
static void
replays (HassPipeline *p)
{
  static const char strategy[] = "pipe-fixed:units=4";
  g_autofree char *record = trial_file ("");
  g_autofree char *platform = g_strconcat (record, ".platform", NULL);
  HassDevice *device
      = stand_in_new (&(StandInPlan){ .depth = 4, .kernel_us = 20000 });
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  p->run.devices = &device;
  p->run.n_devices = 1;
  p->run.strategy = strategy;
  p->run.record = record;
  computed_ns = 0;
  watchdog (60, "recording a pipeline");
  CU_ASSERT_TRUE_FATAL (hass_pipeline (p, &report, &error));
  watchdog (0, NULL);
  double us = run (record, NULL, strategy, NULL, NULL);
  CU_ASSERT_TRUE (us >= 0.95 * (double)computed_ns * 1e-3);
  CU_ASSERT_TRUE (us <= 1.05 * report->makespan_s * 1e6);
  stand_in_free (device);
  unlink (record);
  unlink (platform);
}

static void
overlap (void)
{
  static HassLoad loads[200];
  const HassStage stages[] = { compute_stage, sink_stage };
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = loads;
  p.n_loads = G_N_ELEMENTS (loads);
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  replays (&p);
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (guint i = 0; i < 200; i++)
    if (!hass_emitter_emit (emitter, &(HassLoad){ .size = 1 }))
      return FALSE;
  return TRUE;
}

static void
without_cores (void)
{
  static HassLoad loads[200];
  const HassStage stages[] = { compute_stage, compute_stage };
  HassPipeline p = HASS_PIPELINE_INIT;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.loads = loads;
  p.n_loads = G_N_ELEMENTS (loads);
  replays (&p);
  p.n_loads = 0;
  p.generate = generate;
  replays (&p);
}

/* The device says that each kernel added 2 ms, so once the device is open the
   replay computes as long as that, whatever opening and kernels have taken. */
static void
told (void)
{
  static HassLoad loads[50];
  const HassStage stages[] = { compute_stage };
  g_autofree char *record = trial_file ("");
  g_autofree char *platform = g_strconcat (record, ".platform", NULL);
  HassDevice *device
      = stand_in_new (&(StandInPlan){ .depth = 4, .busy_us = 2000 });
  HassPipeline p = HASS_PIPELINE_INIT;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.loads = loads;
  p.n_loads = G_N_ELEMENTS (loads);
  p.run.devices = &device;
  p.run.n_devices = 1;
  p.run.strategy = "pipe-fixed:units=1";
  p.run.record = record;
  watchdog (60, "recording a pipeline");
  CU_ASSERT_TRUE_FATAL (hass_pipeline (&p, NULL, NULL));
  watchdog (0, NULL);
  double us = run (record, NULL, p.run.strategy, NULL, NULL);
  g_autoptr (GKeyFile) keys = g_key_file_new ();
  CU_ASSERT_TRUE_FATAL (g_key_file_load_from_file (keys, platform, 0, NULL));
  us -= g_key_file_get_double (keys, "gpu0", "start_us", NULL);
  CU_ASSERT_DOUBLE_EQUAL (us, 50 * 2000, 100);
  stand_in_free (device);
  unlink (record);
  unlink (platform);
}

HASS_TEST_SUITE (
    sim_pipe_record,
    { "a recorded GPU is as fast as its bundles, which overlap, "
      "have been together",
      overlap },
    { "a recorded pipeline of which no stage is for cores runs "
      "again",
      without_cores },
    { "what a device says that each kernel added to its time counts "
      "in the record",
      told },
    { "a recorded pipeline takes as long again, with its own "
      "strategy and with another",
      again })
