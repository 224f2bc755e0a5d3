/* SPDX-License-Identifier: MIT */
/* test_pipeline_pure_gpus.c: a pure stage that only GPUs can run: a second GPU
   begins tokens again and fails with them.
   Thread safety: single-threaded. */
#include <stdatomic.h>

#include "hass/hass.h"
#include "hass/strategy.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N 20
/* Long enough for the second GPU to refuse or to fail, in us. */
#define LATE_US 50000

/* -- A strategy: the first GPU takes all, the second one begins again --- */

static _Atomic gboolean tried;

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  const HassStrategyEnv *env = self;
  (void)force;
  serve->units = N;
  serve->within_ns = 1000000;
  if (env->devices[device].kind != HASS_DEVICE_GPU)
    return HASS_TAKE;
  if (g_str_equal (env->devices[device].name, "first"))
    return state->classes[0].ready > 0 ? HASS_TAKE : HASS_WAIT;
  serve->again = state->held.units > 0;
  tried |= serve->again;
  return serve->again ? HASS_TAKE : HASS_WAIT;
}

static const HassStrategyOps ops = { .struct_size = sizeof ops,
                                     .name = "test-pure-gpus",
                                     .summary = "a test",
                                     .source = "a test",
                                     .farms = HASS_FARM_PIPELINE,
                                     .create = trial_env,
                                     .serve = serve };

/* -- A pipeline --------------------------------------------------------- */

typedef struct
{
  gboolean waits; /* the first kernel, until the second GPU has had its try */
  guint n_gpus;
  HassErrorPolicy on_error;
  guint8 in[N];
  guint seen;
  _Atomic guint committed, released;
} Run;

static void
kernel (const HassBundle *bundle, gpointer data)
{
  Run *run = data;
  while (run->waits && !tried)
    g_thread_yield ();
  if (run->waits)
    g_usleep (LATE_US);
  run->waits = FALSE;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      guint64 in = bundle->offsets ? bundle->offsets[i] : i;
      guint64 out = bundle->output_offsets ? bundle->output_offsets[i] : i;
      bundle->output[out] = (guint8)(bundle->input[in] + 1);
    }
}

STAND_IN_WORKER (on_gpu, kernel)

static gboolean
sink (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Run *run = data;
  (void)worker, (void)error;
  CU_ASSERT_EQUAL (*token->input, (guint8)(3 * token->seq + 1));
  run->seen++;
  return TRUE;
}

static void
released (const HassLoad *load, gboolean committed, gpointer data)
{
  Run *run = data;
  (void)load;
  run->released++;
  run->committed += committed;
}

/* Returns: whether the pipeline succeeded; @report gets its report. */
static gboolean
go (Run *run, const StandInPlan *plans, HassReport **report, GError **error)
{
  HassDevice *devices[2];
  HassLoad loads[N];
  const HassStage stages[] = {
    HASS_STAGE (.name = "add", .gpu = on_gpu, .output_bytes = 1, .pure = TRUE),
    HASS_STAGE (.name = "sink", .mode = HASS_STAGE_ORDERED, .cpu = sink)
  };
  for (guint i = 0; i < N; i++)
    {
      run->in[i] = (guint8)(3 * i);
      loads[i] = (HassLoad){ .input = &run->in[i], .input_bytes = 1 };
    }
  for (guint d = 0; d < run->n_gpus; d++)
    devices[d] = stand_in_new (&plans[d]);
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = loads;
  p.n_loads = N;
  p.user_data = run;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.release = released;
  p.run.devices = devices;
  p.run.n_devices = run->n_gpus;
  p.run.n_cores = 1;
  p.run.strategy = ops.name;
  p.run.on_error = run->on_error;
  hass_strategy_register (&ops, NULL); /* once is enough */
  tried = FALSE;
  watchdog (30, "a token that a GPU begins again");
  gboolean ok = hass_pipeline (&p, report, error);
  watchdog (0, NULL);
  for (guint d = 0; d < run->n_gpus; d++)
    stand_in_free (devices[d]);
  guint64 unfinished = 0;
  CU_ASSERT_PTR_NOT_NULL_FATAL (*report);
  for (guint i = 0; i < (*report)->n_unfinished; i++)
    unfinished += (*report)->unfinished[i].n_loads;
  CU_ASSERT_EQUAL (unfinished, N - run->seen);
  CU_ASSERT_EQUAL (run->released, N);
  CU_ASSERT_EQUAL (run->committed, run->seen);
  return ok;
}

/* -- Tests -------------------------------------------------------------- */

static void
too_large_for_the_second (void)
{
  const StandInPlan plans[]
      = { { .name = "first" }, { .name = "second", .memory_bytes = 1 } };
  Run run = { .n_gpus = 2, .waits = TRUE };
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (go (&run, plans, &report, &error));
  CU_ASSERT_EQUAL (run.seen, N);
  CU_ASSERT_EQUAL (report->stages[0].tokens, N);
  CU_ASSERT_TRUE (report->stages[0].again > 0);
}

/* No GPU has room for any token: with either policy each is listed once. */
static void
too_large_for_all (void)
{
  const StandInPlan plan = { .name = "first", .memory_bytes = 1 };
  for (guint policy = 0; policy < 2; policy++)
    {
      Run run = { .n_gpus = 1,
                  .on_error
                  = policy == 0 ? HASS_ON_ERROR_STOP : HASS_ON_ERROR_CONTINUE };
      g_autoptr (HassReport) report = NULL;
      g_autoptr (GError) error = NULL;
      CU_ASSERT_EQUAL (go (&run, &plan, &report, &error), policy == 1);
      CU_ASSERT_EQUAL (run.seen, 0);
    }
}

/* The first GPU is lost before the second one fails: neither has computed
   anything. */
static void
both_fail (void)
{
  const StandInPlan plans[]
      = { { .name = "first", .delay_us = LATE_US, .lose_at = 1 },
          { .name = "second", .delay_us = 3 * LATE_US, .lose_at = 1 } };
  Run run = { .n_gpus = 2 };
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  CU_ASSERT_FALSE (go (&run, plans, &report, &error));
  CU_ASSERT_EQUAL (run.seen, 0);
  CU_ASSERT_EQUAL (report->stages[0].overtaken, 0);
}

HASS_TEST_SUITE (pipeline_pure_gpus,
                 { "a GPU without room for tokens that another one computes "
                   "leaves them to that one",
                   too_large_for_the_second },
                 { "tokens that fit into no GPU are listed once",
                   too_large_for_all },
                 { "tokens that a second GPU fails with are not overtaken",
                   both_fail })
