/* SPDX-License-Identifier: MIT */
/* test_cold_pipeline.c: pipelines on two GPUs that take long to start.
   Thread safety: one thread, beside the engine's and the stand-in's. */
#include "cold_trial.h"
#include "hass_test.h"

#define N_TOKENS 40

static gboolean
emit_some (HassEmitter *emitter)
{
  static const HassLoad load = { .size = 1 };
  gboolean ok = TRUE;
  for (guint i = 0; i < N_TOKENS && ok; i++)
    ok = hass_emitter_emit (emitter, &load);
  return ok;
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  return emit_some (emitter);
}

/* Goes on until both GPUs have begun to start. */
static gboolean
generate_until_both (HassEmitter *emitter, gpointer data, GError **error)
{
  gboolean ok = generate (emitter, data, error);
  cold_await_starts (2);
  return ok;
}

/* From the first bundle on the start counts as having taken as long as the
   stand-in says that it takes. */
static gboolean
count_on_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
              GError **error)
{
  fake_machine_set_start ((guint)fake_current_device (), *(guint *)data);
  return counting_gpu_worker (bundle, stream, NULL, error);
}

/* Returns: how many GPUs of two were started. */
static guint
starts (guint start_ms, HassGenerateFunc func)
{
  const HassStage stages[] = { HASS_STAGE (.name = "count", .gpu = count_on_gpu,
                                           .user_data = &start_ms) };
  FakePlan plan = { .n_devices = 2, .start_ms = start_ms, .open_ms = 20 };
  HassPipeline pipeline = HASS_PIPELINE_INIT;
  pipeline.name = "cold";
  pipeline.generate = func;
  pipeline.stages = stages;
  pipeline.n_stages = G_N_ELEMENTS (stages);
  pipeline.run.platform = "";
  return cold_pipeline_starts (&plan, &pipeline);
}

static void
one_suffices (void)
{
  CU_ASSERT_EQUAL (starts (COLD_HOUR_MS, generate), 1);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), N_TOKENS);
}

static void
second_follows (void)
{
  CU_ASSERT_EQUAL (starts (5, generate_until_both), 2);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), N_TOKENS);
}

HASS_TEST_SUITE (
    cold_pipeline,
    { "of two GPUs one may suffice for a pipeline", one_suffices },
    { "the second GPU starts if tokens come for as long as that takes",
      second_follows })
