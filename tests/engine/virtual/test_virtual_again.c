/* SPDX-License-Identifier: MIT */
/* test_virtual_again.c: tokens of pure stages on modelled machines, of which
   one takes a core so long that the GPU is done with it first.
   Thread safety: single-threaded. */
#include <unistd.h>

#include "hass/hass.h"
#include "hass/strategy.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define N 200
#define LONG_SEQ 60
/* In flight: so few that LONG_SEQ comes to its stage after time 0. */
#define TOKENS 16
/* Times on a core, in us. */
#define SHORT_US 10
#define LONG_US 1e6
/* A core has had a token for so long before the GPU begins it again, in us. */
#define LATE_US 100

/* Cores take all tokens; the GPU only begins again what is late. */
static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  const HassStrategyEnv *env = self;
  gint64 late_ns = LATE_US * 1000;
  (void)force;
  if (env->devices[device].kind != HASS_DEVICE_GPU)
    return HASS_TAKE;
  gint64 left_ns = state->held.since_ns + late_ns - state->now_ns;
  serve->again = state->held.units > 0 && left_ns <= 0;
  serve->within_ns = state->held.units > 0 ? left_ns : late_ns;
  return serve->again ? HASS_TAKE : HASS_WAIT;
}

static const HassStrategyOps ops = { .struct_size = sizeof ops,
                                     .name = "test-late",
                                     .summary = "a test",
                                     .source = "a test",
                                     .farms = HASS_FARM_PIPELINE,
                                     .create = trial_env,
                                     .serve = serve };

static gboolean
twice (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)worker, (void)data, (void)error;
  *token->output = (guint8)(2 * *token->input);
  return TRUE;
}

static gboolean
on_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

static gboolean
sink (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  guint *seen = data;
  (void)worker, (void)error;
  CU_ASSERT_EQUAL (token->seq, *seen);
  CU_ASSERT_EQUAL (*token->input, (guint8)(2 * token->seq));
  ++*seen;
  return TRUE;
}

/* The GPU is 100 times as fast as a core. */
static const char machine[] = "[platform]\n"
                              "name = test\n"
                              "[cpu]\n"
                              "cores = 4\n"
                              "work_per_us = 1\n"
                              "[gpu0]\n"
                              "multiprocessors = 1\n"
                              "width = 1\n"
                              "work_per_us = 100\n"
                              "launch_us = 5\n"
                              "link_us = 5\n"
                              "h2d_gbps = 10\n"
                              "[stage sink]\n"
                              "cpu_work_per_us = 1e9\n";

static HassReport *
run (gboolean pure)
{
  guint8 input[N];
  HassLoad loads[N];
  guint seen = 0;
  for (guint i = 0; i < N; i++)
    {
      input[i] = (guint8)i;
      loads[i] = (HassLoad){ .input = &input[i],
                             .input_bytes = 1,
                             .cost = i == LONG_SEQ ? LONG_US : SHORT_US };
    }
  const HassStage stages[] = {
    HASS_STAGE (.name = "twice", .cpu = twice, .gpu = on_gpu, .output_bytes = 1,
                .cost = HASS_COST_UNKNOWN, .pure = pure),
    HASS_STAGE (.name = "sink", .mode = HASS_STAGE_ORDERED, .cpu = sink),
  };
  g_autofree char *path = trial_file (machine);
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = loads;
  p.n_loads = N;
  p.user_data = &seen;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.tokens = TOKENS;
  p.run.platform = path;
  p.run.strategy = ops.name;
  g_autoptr (GError) error = NULL;
  HassReport *report = NULL;
  hass_strategy_register (&ops, NULL); /* once is enough */
  CU_ASSERT_TRUE (hass_pipeline (&p, &report, &error));
  unlink (path);
  CU_ASSERT_EQUAL (seen, N);
  CU_ASSERT_PTR_NOT_NULL_FATAL (report);
  CU_ASSERT_EQUAL (report->stages[0].tokens, N);
  return report;
}

/* The core leaves the token when the GPU has computed it; else the run would
   last as long as the core takes. */
static void
gpu_is_first (void)
{
  g_autoptr (HassReport) plain = run (FALSE);
  g_autoptr (HassReport) pure = run (TRUE);
  double gpu_us = LATE_US + LONG_US / 100;
  CU_ASSERT_TRUE (plain->makespan_s * 1e6 >= LONG_US);
  CU_ASSERT_EQUAL (plain->stages[0].again, 0);
  CU_ASSERT_TRUE (pure->makespan_s * 1e6 >= gpu_us);
  CU_ASSERT_TRUE (pure->makespan_s * 1e6 < gpu_us + N * SHORT_US);
  CU_ASSERT_EQUAL (pure->stages[0].again, pure->stages[0].overtaken);
  CU_ASSERT_TRUE (pure->stages[0].again > 0);
  /* While one device computes a token it does not wait for the other. */
  CU_ASSERT_TRUE (pure->stages[0].waiting_s <= plain->stages[0].waiting_s);
}

HASS_TEST_SUITE (virtual_again,
                 { "a GPU that is first ends the token of a core",
                   gpu_is_first })
