/* SPDX-License-Identifier: MIT */
/* test_pipe_strategies.c: strategies of pipelines on modelled machines: nothing
   is lost, and how near they come to the bound.
   Thread safety: one thread. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hass_test.h"
#include "mini_stream.h"
#include "pipe_test.h"
#include "sched/pipe/steady.h"
#include "sched/registry.h"

/* Virtual time is the same under a sanitizer, but takes ten times as long. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#  define ONE_OF 5
#else
#  define ONE_OF 1
#endif

/* Seeds that nothing was tuned on. */
#define JUDGE_SEED 20260711

/* Each token passes each stage once and in the promised order. */
static void
lose_nothing (void)
{
  for (guint i = 0; hass_builtin_strategies[i]; i++)
    {
      const HassStrategyOps *ops = hass_builtin_strategies[i];
      for (guint k = 0; ops->farms & HASS_FARM_PIPELINE && k < 15; k++)
        {
          g_autoptr (SimPipeCase) c = sim_pipe_random (11, k);
          MiniStream run = { .strategy = ops->name, .most_tokens = 300 };
          mini_stream_run (c, &run);
          gboolean right = run.makespan_ns > 0 && run.in_order
                           && run.through == c->reach[c->pipe->n_stages]
                           && run.peak <= 300;
          CU_ASSERT_TRUE (right);
          if (!right)
            g_printerr ("\n    %s, %s: in order %d, through %" G_GUINT64_FORMAT,
                        ops->name, c->pipe->name, run.in_order, run.through);
        }
    }
}

/* With the true times of a pipeline without launches and noise, the library's
   solver finds the rate that GLPK finds. */
static void
solves_as_glpk (void)
{
  if (!sim_pipe_has_bound ())
    {
      hass_test_skip ("built without GLPK");
      return;
    }
  for (guint i = 0; i < 100; i++)
    {
      g_autoptr (SimPipeCase) c = sim_pipe_random (12, i);
      for (guint g = 0; g < c->platform->n_gpus; g++)
        c->platform->gpus[g].duplex = TRUE;
      HassClassState states[SIM_MOST_STAGES];
      HassDeviceHolds holds[SIM_MOST_DEVICES];
      memset (states, 0, sizeof states);
      memset (holds, 0, sizeof holds);
      MiniEnv env;
      HassPaces paces;
      HassSteady steady;
      mini_stream_env (c, &env);
      hass_paces_init (&paces, &env.env);
      hass_steady_init (&steady, &paces);
      for (guint s = 0; s < c->pipe->n_stages; s++)
        {
          states[s].done = c->reach[s] * 1000000;
          for (guint d = 0; d < c->n_devices; d++)
            {
              gboolean gpu = d >= c->first_gpu;
              const HassGpuModel *m = &c->platform->gpus[gpu ? d - 1 : 0];
              *hass_pace (&paces, s, d) = (HassPace){
                .ns = c->ns[s][d],
                .in_ns = gpu ? c->in_bytes[s] / m->h2d_bytes_per_ns : 0,
                .out_ns = gpu ? c->out_bytes[s] / m->d2h_bytes_per_ns : 0,
                .units = c->ns[s][d] > 0
              };
            }
        }
      HassStreamState state = { .now_ns = 1,
                                .n_classes = c->pipe->n_stages,
                                .classes = states,
                                .n_devices = c->n_devices,
                                .devices = holds };
      hass_steady_update (&steady, &state);
      sim_pipe_bound (c, NULL);
      gboolean right = fabs (steady.rate - c->rate) < 1e-6 * c->rate;
      CU_ASSERT_TRUE (right);
      if (!right)
        g_printerr ("\n    %s: %g loads per ns where %g were due",
                    c->pipe->name, steady.rate, c->rate);
      hass_steady_clear (&steady);
      hass_paces_clear (&paces);
    }
}

/* The geometric mean over cases of a seed of bound / makespan; @worst: the
   least of them. */
static double
efficiency (const char *strategy, guint64 seed, guint n, double *worst)
{
  double sum = 0;
  guint ran = 0;
  *worst = 1e9;
  for (guint i = 0; i < n; i += ONE_OF, ran++)
    {
      g_autoptr (SimPipeCase) c = sim_pipe_random (seed, i);
      MiniStream run = { .strategy = strategy };
      sim_pipe_bound (c, NULL);
      mini_stream_run (c, &run);
      CU_ASSERT_TRUE_FATAL (run.makespan_ns > 0);
      double e = c->bound_ns / (double)run.makespan_ns;
      *worst = MIN (*worst, e);
      sum += log (e);
    }
  return exp (sum / ran);
}

static void
comes_near_the_bound (void)
{
  double worst, without;
  if (!sim_pipe_has_bound ())
    {
      hass_test_skip ("built without GLPK");
      return;
    }
  const char *cases = g_getenv ("TEST_PIPELINES");
  guint n = cases ? (guint)g_ascii_strtoull (cases, NULL, 10) : 60;
  double mean = efficiency ("pipe-auto", JUDGE_SEED, n, &worst);
  double lp = efficiency ("pipe-lp", JUDGE_SEED, n, &without);
  printf ("\n    %u pipelines, %.1f %% of the bound, worst %.1f ...", n,
          100 * mean, 100 * worst);
  CU_ASSERT_TRUE (mean >= 0.94 && worst >= 0.65);
  CU_ASSERT_TRUE (lp < mean);
}

/* One GPU serves stages b and c, the cores all. */
#define RECOVERY                                                               \
  "[pipeline]\ntokens = 6000\n[stage a]\ncpu_us = 40\n"                        \
  "[stage b]\ndevices = any\ncpu_us = 900\ngpu_us = 60\n"                      \
  "[stage c]\ndevices = any\ncpu_us = 400\ngpu_us = 60\n"

/* The GPU becomes four times slower at a third of the run. Stages that go on as
   they were mapped take 2 * 240 us a token then; stage c on four cores and b on
   the GPU take 240. */
static void
replaces_a_slow_processor (void)
{
  g_autoptr (SimPipeCase) c
      = pipe_test_case (PIPE_CPU PIPE_GPU ("0"), RECOVERY, NULL);
  MiniStream stays = { .strategy = "pipe-fixed:s2=1,s3=1",
                       .slow_device = 1,
                       .slow_factor = 4,
                       .slow_ns = 240000000 };
  MiniStream moves = stays;
  moves.strategy = "aspara-pipe";
  mini_stream_run (c, &stays);
  mini_stream_run (c, &moves);
  CU_ASSERT_TRUE (fabs (1 / stays.late_rate - 480e3) < 10e3);
  CU_ASSERT_TRUE (1 / moves.late_rate < 260e3);
  MiniStream both = stays;
  both.strategy = "pipe-auto";
  mini_stream_run (c, &both);
  CU_ASSERT_TRUE (both.late_rate >= moves.late_rate);
}

static void
is_deterministic (void)
{
  g_autoptr (SimPipeCase) c = sim_pipe_random (13, 4);
  MiniStream a = { .strategy = "pipe-auto" }, b = a;
  mini_stream_run (c, &a);
  mini_stream_run (c, &b);
  CU_ASSERT_EQUAL (a.makespan_ns, b.makespan_ns);
}

HASS_TEST_SUITE (
    pipe_strategies,
    { "every strategy of pipelines passes each token once and in order",
      lose_nothing },
    { "the steady state has the rate that GLPK finds", solves_as_glpk },
    { "pipe-auto comes near the bound of random pipelines",
      comes_near_the_bound },
    { "aspara-pipe replaces a processor that has become four times slower",
      replaces_a_slow_processor },
    { "a seed makes the same run again", is_deterministic })
