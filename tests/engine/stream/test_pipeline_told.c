/* SPDX-License-Identifier: MIT */
/* test_pipeline_told.c: when strategies are told what cores have computed.
   Thread safety: single-threaded. */
#include <pthread.h>
#include <stdatomic.h>

#include "engine/stream/stream-private.h"
#include "hass/hass.h"
#include "hass/strategy.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N 500

/* -- A strategy: one unit on a core, then the device alone ---------------- */

/* That a core has computed a unit, and that the engine ran out of patience with
   this strategy, after which cores may take what they want. */
static _Atomic gboolean first_done, forced;
static _Atomic guint n_told; /* by cores */

static void
served (gpointer self, const HassStreamState *state, const HassServed *served)
{
  const HassStrategyEnv *env = self;
  (void)state;
  if (env->devices[served->device].kind == HASS_DEVICE_GPU
      || served->units == 0)
    return;
  first_done = TRUE;
  n_told++;
}

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  const HassStrategyEnv *env = self;
  gboolean is_gpu = env->devices[device].kind == HASS_DEVICE_GPU;
  forced = forced || (force && !is_gpu);
  serve->at_once[0] = 1;
  serve->leave[0] = first_done ? G_MAXUINT32 : 0;
  serve->units = N;
  serve->within_ns = 1000000;
  return !is_gpu || (first_done && state->classes[0].ready > 0) ? HASS_TAKE
                                                                : HASS_WAIT;
}

static const HassStrategyOps ops = { .struct_size = sizeof ops,
                                     .name = "test-told",
                                     .summary = "a test",
                                     .source = "a test",
                                     .farms = HASS_FARM_PIPELINE,
                                     .create = trial_env,
                                     .served = served,
                                     .serve = serve };

/* -- A pipeline of one stage, which counts ------------------------------- */

typedef struct
{
  _Atomic guint on_cores, on_gpu;
} Counts;

static gboolean
on_core (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Counts *counts = data;
  (void)token, (void)worker, (void)error;
  counts->on_cores++;
  return TRUE;
}

static void
kernel (const HassBundle *bundle, gpointer data)
{
  Counts *counts = data;
  counts->on_gpu += (guint)bundle->n_blocks;
}

STAND_IN_WORKER (on_gpu, kernel)

static void
go (Counts *counts)
{
  static guint8 input[N];
  HassDevice *device = stand_in_new (&(StandInPlan){ .depth = 1 });
  HassLoad loads[N];
  const HassStage stage
      = HASS_STAGE (.name = "count", .cpu = on_core, .gpu = on_gpu);
  for (guint i = 0; i < N; i++)
    loads[i] = (HassLoad){ .input = &input[i], .input_bytes = 1 };
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = loads;
  p.n_loads = N;
  p.user_data = counts;
  p.stages = &stage;
  p.n_stages = 1;
  p.run.devices = &device;
  p.run.n_devices = 1;
  p.run.n_cores = 4;
  p.run.strategy = ops.name;
  first_done = forced = FALSE;
  watchdog (20, "a core's first unit");
  CU_ASSERT_TRUE (hass_pipeline (&p, NULL, NULL));
  watchdog (0, NULL);
  stand_in_free (device);
}

/* -- The test ------------------------------------------------------------- */

/* A core tells what its first unit at a stage took before it gives back its
   place there, so no core begins what the strategy would not have begun. Where
   the device does not come for 5 ms, cores may: such a run says nothing. */
static void
first_unit (void)
{
  guint judged = 0;
  CU_ASSERT_TRUE (hass_strategy_register (&ops, NULL));
  for (guint i = 0; i < 200 && judged < 20; i++)
    {
      Counts counts = { 0 };
      go (&counts);
      CU_ASSERT_EQUAL (counts.on_cores + counts.on_gpu, N);
      if (forced)
        continue;
      judged++;
      CU_ASSERT_EQUAL (counts.on_cores, 1);
    }
  CU_ASSERT_TRUE (judged > 0);
}

/* -- Told while a core counts --------------------------------------------- */

/* The engine tells what cores have done while this one has counted a token, but
   not its time. */
static gboolean
tell_amid (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  HassJob *job = worker->job;
  HassStream *stream = hass_stream_of (job);
  HassStageCount *count = &stream->workers[worker->index].stages[0];
  (void)token, (void)data, (void)error;
  hass_lock_take (&job->decision);
  gint64 now_ns = job->engine->now (job);
  hass_stream_tell_cores (stream, now_ns);
  guint before = n_told;
  atomic_fetch_add (&count->tokens, 1);
  hass_stream_tell_cores (stream, now_ns);
  CU_ASSERT_EQUAL (n_told, before);
  atomic_fetch_sub (&count->tokens, 1);
  hass_lock_give (&job->decision);
  return TRUE;
}

static void
no_unit_without_time (void)
{
  const HassStage stage = HASS_STAGE (.name = "count", .cpu = tell_amid);
  guint8 input = 0;
  HassLoad loads[2] = { { .input = &input, .input_bytes = 1 },
                        { .input = &input, .input_bytes = 1 } };
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = loads;
  p.n_loads = G_N_ELEMENTS (loads);
  p.stages = &stage;
  p.n_stages = 1;
  p.run.n_cores = 1;
  p.run.n_gpus = -1;
  p.run.strategy = ops.name;
  n_told = 0;
  watchdog (20, "a token that is half counted");
  CU_ASSERT_TRUE (hass_pipeline (&p, NULL, NULL));
  watchdog (0, NULL);
}

HASS_TEST_SUITE (pipeline_told,
                 { "what a core's first unit took is told before its place is "
                   "free",
                   first_unit },
                 { "no unit of a core is told without its time",
                   no_unit_without_time })
