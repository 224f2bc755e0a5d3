/* SPDX-License-Identifier: MIT */
/* test_cold_pipeline.c: pipelines on two GPUs that take long to start.
   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <stdatomic.h>

#include "cold_trial.h"
#include "engine/core/job-private.h"
#include "hass_test.h"

#define N_TOKENS 40
/* From the first bundle on a start counts as having taken so long, in ms, and
   after so many of them it would have been made. */
#define SHORT_MS 5
#define N_STARTS 20
/* The watchdog comes before, in ms. */
#define HANG_MS 600000

static _Atomic guint n_through; /* tokens that have left the last stage */

static gboolean
emit_some (HassEmitter *emitter, guint n)
{
  static const HassLoad load = { .size = 1 };
  gboolean ok = TRUE;
  for (guint i = 0; i < n && ok; i++)
    ok = hass_emitter_emit (emitter, &load);
  return ok;
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  return emit_some (emitter, N_TOKENS);
}

/* Emits a token and waits until it has left the pipeline: a GPU has shown. */
static gboolean
emit_first (HassEmitter *emitter)
{
  gboolean ok = emit_some (emitter, 1);
  while (ok && atomic_load (&n_through) == 0
         && !hass_emitter_stopping (emitter))
    g_usleep (100);
  return ok;
}

/* The GPU has nothing to do while several starts would be made. */
static gboolean
generate_and_idle (HassEmitter *emitter, gpointer data, GError **error)
{
  gboolean ok = emit_first (emitter);
  (void)data, (void)error;
  g_usleep (N_STARTS * SHORT_MS * 1000);
  return ok;
}

/* The second bundle takes until both GPUs have begun to start. */
static gboolean
generate_until_both (HassEmitter *emitter, gpointer data, GError **error)
{
  gboolean ok = emit_first (emitter) && emit_some (emitter, 1);
  (void)data, (void)error;
  cold_await_starts (2);
  fake_end_hang ();
  return ok;
}

/* Returns: the busy time of the first GPU, in ns. */
static gint64
busy_ns (HassJob *job)
{
  hass_lock_take (&job->decision);
  double ns = job->source->rest (job, 2).busy_ns;
  hass_lock_give (&job->decision);
  return (gint64)ns;
}

/* The GPU idles, and then has the second bundle in flight until that was seen.
 */
static gboolean
generate_and_measure (HassEmitter *emitter, gpointer data, GError **error)
{
  HassJob *job = emitter->job;
  gboolean ok = emit_first (emitter);
  (void)data, (void)error;
  gint64 before_ns = busy_ns (job);
  g_usleep (SHORT_MS * 1000);
  CU_ASSERT_EQUAL (busy_ns (job), before_ns);
  gint64 begin_ns = job->engine->now (job);
  ok = ok && emit_some (emitter, 1);
  while (ok && !fake_hanging ())
    g_usleep (100);
  gint64 hangs_ns = job->engine->now (job);
  g_usleep (SHORT_MS * 1000);
  gint64 least_ns = job->engine->now (job) - hangs_ns;
  gint64 busy = busy_ns (job) - before_ns;
  CU_ASSERT_TRUE (busy >= least_ns);
  CU_ASSERT_TRUE (busy <= job->engine->now (job) - begin_ns);
  fake_end_hang ();
  return ok;
}

static gboolean
count_on_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
              GError **error)
{
  fake_machine_set_start ((guint)fake_current_device (), *(guint *)data);
  return counting_gpu_worker (bundle, stream, NULL, error);
}

static gboolean
leave (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  atomic_fetch_add (&n_through, 1);
  return TRUE;
}

/* Returns: how many GPUs of two were started. A start takes an hour, and
   @start_ms from the first bundle on. @hang_at: see FakePlan. */
static guint
starts (guint start_ms, HassGenerateFunc func, guint hang_at)
{
  const HassStage stages[] = { HASS_STAGE (.name = "count", .gpu = count_on_gpu,
                                           .user_data = &start_ms),
                               HASS_STAGE (.name = "leave", .cpu = leave) };
  FakePlan plan = { .n_devices = 2,
                    .start_ms = COLD_HOUR_MS,
                    .open_ms = 20,
                    .hang_kernel_at = hang_at,
                    .hang_ms = HANG_MS };
  HassPipeline pipeline = HASS_PIPELINE_INIT;
  pipeline.name = "cold";
  pipeline.generate = func;
  pipeline.stages = stages;
  pipeline.n_stages = G_N_ELEMENTS (stages);
  pipeline.run.platform = "";
  pipeline.run.n_cores = 2;
  atomic_store (&n_through, 0);
  return cold_pipeline_starts (&plan, &pipeline);
}

static void
one_suffices (void)
{
  CU_ASSERT_EQUAL (starts (COLD_HOUR_MS, generate, 0), 1);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), N_TOKENS);
}

static void
first_idles (void)
{
  CU_ASSERT_EQUAL (starts (SHORT_MS, generate_and_idle, 0), 1);
  CU_ASSERT_EQUAL (atomic_load (&n_through), 1);
}

static void
measured (void)
{
  CU_ASSERT_EQUAL (starts (COLD_HOUR_MS, generate_and_measure, 2), 1);
  CU_ASSERT_EQUAL (atomic_load (&n_through), 2);
}

static void
second_follows (void)
{
  CU_ASSERT_EQUAL (starts (SHORT_MS, generate_until_both, 2), 2);
  CU_ASSERT_EQUAL (atomic_load (&n_through), 2);
}

HASS_TEST_SUITE (
    cold_pipeline,
    { "of two GPUs one may suffice for a pipeline", one_suffices },
    { "the second GPU does not start while the first one has nothing to do",
      first_idles },
    { "a GPU of a pipeline is busy while it has something in flight",
      measured },
    { "the second GPU starts during a bundle that takes longer than that",
      second_follows })
