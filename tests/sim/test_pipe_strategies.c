/* SPDX-License-Identifier: MIT */
/* test_pipe_strategies.c: strategies of pipelines on modelled machines: nothing
   is lost, and how near they come to the bound.
   Thread safety: one thread. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hass_test.h"
#include "pipe_test.h"
#include "sched/pipe/steady.h"
#include "sched/registry.h"
#include "tests/trials.h"

/* Seeds that nothing was tuned on. */
#define JUDGE_SEED 20260711

/* Noise makes a run shorter than the bound by this factor at most. */
#define LUCK 1.02

/* Lets only the first @tokens loads come. */
static void
shorten (SimPipeCase *c, guint64 tokens)
{
  c->pipe->tokens = c->reach[0] = MIN (c->pipe->tokens, tokens);
  for (guint s = 0; s < c->pipe->n_stages; s++)
    c->reach[s + 1] = sim_pipe_next (c->pipe, s, c->reach[s]);
}

/* Each token passes each stage once and in the promised order: of ten times as
   many as may be in flight, so that the window is full most of the time. */
static void
lose_nothing (void)
{
  for (guint i = 0; hass_builtin_strategies[i]; i++)
    {
      const HassStrategyOps *ops = hass_builtin_strategies[i];
      for (guint k = 0;
           ops->farms & HASS_FARM_PIPELINE && k < TRIALS (15, 5, 15); k++)
        {
          g_autoptr (SimPipeCase) c = sim_pipe_random (11, k);
          SimPipeOptions options = { .strategy = ops->name, .tokens = 300 };
          SimPipeResult r;
          g_autoptr (GError) error = NULL;
          shorten (c, 10 * options.tokens);
          gboolean ran = sim_pipe_run (c, &options, &r, &error);
          CU_ASSERT_TRUE (ran);
          if (!ran)
            {
              g_printerr ("\n    %s: %s", ops->name, error->message);
              continue;
            }
          CU_ASSERT_TRUE (r.in_order);
          CU_ASSERT_EQUAL (r.through, c->reach[c->pipe->n_stages]);
          for (guint s = 0; s < c->pipe->n_stages; s++)
            CU_ASSERT_EQUAL (r.report->stages[s].tokens, c->reach[s]);
          hass_report_free (r.report);
        }
    }
}

/* What a strategy is created for on a modelled machine. */
typedef struct
{
  HassStrategyEnv env;
  HassDeviceTraits devices[SIM_MOST_DEVICES];
  HassClassTraits classes[SIM_MOST_STAGES];
} Env;

static void
make_devices (const SimPipeCase *c, HassDeviceTraits *devices)
{
  const HassPlatform *p = c->platform;
  if (p->has_cpu)
    devices[0] = (HassDeviceTraits){ .name = "cpu",
                                     .kind = HASS_DEVICE_CPU,
                                     .cores = p->cores,
                                     .width = p->cores,
                                     .max_in_flight = 1 };
  for (guint g = 0; g < p->n_gpus; g++)
    devices[c->first_gpu + g] = (HassDeviceTraits){
      .name = p->gpus[g].name,
      .kind = HASS_DEVICE_GPU,
      .cores = p->gpus[g].multiprocessors,
      .width = p->gpus[g].width,
      .latency_ns = p->gpus[g].launch_ns + p->gpus[g].link_ns,
      .link_bytes_per_ns = p->gpus[g].h2d_bytes_per_ns,
      .max_in_flight = p->gpus[g].depth,
      .link = p->n_links < p->n_gpus ? p->gpus[g].link + 1 : 0
    };
}

static void
make_env (const SimPipeCase *c, Env *env)
{
  memset (env, 0, sizeof *env);
  make_devices (c, env->devices);
  for (guint s = 0; s < c->pipe->n_stages; s++)
    {
      const SimStage *stage = &c->pipe->stages[s];
      env->classes[s]
          = (HassClassTraits){ .name = stage->name,
                               .cost = stage->cost,
                               .one_at_a_time
                               = stage->mode != HASS_STAGE_PARALLEL,
                               .in_order = stage->mode == HASS_STAGE_ORDERED,
                               .at_once = stage->at_once,
                               .element_threads = stage->elements };
      for (guint d = 0; d < c->n_devices; d++)
        if (c->ns[s][d] > 0)
          env->classes[s].devices |= (guint64)1 << d;
    }
  env->env = (HassStrategyEnv){ .struct_size = sizeof env->env,
                                .farm_name = c->pipe->name,
                                .farm = HASS_FARM_PIPELINE,
                                .cost = HASS_COST_UNKNOWN,
                                .n_devices = c->n_devices,
                                .devices = env->devices,
                                .seed = c->seed,
                                .n_classes = c->pipe->n_stages,
                                .classes = env->classes };
}

/* Takes every other stage from the GPUs, so that none can be fused: the
   library's program does not know fused stages. */
static void
separate (SimPipeCase *c)
{
  for (guint s = 1; s < c->pipe->n_stages; s += 2)
    {
      for (guint d = c->first_gpu; d < c->n_devices; d++)
        c->ns[s][d] = 0;
      c->ns[s][0] = MAX (c->ns[s][0], 1e3);
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
      separate (c);
      HassClassState states[SIM_MOST_STAGES];
      HassDeviceHolds holds[SIM_MOST_DEVICES];
      memset (states, 0, sizeof states);
      memset (holds, 0, sizeof holds);
      Env env;
      HassPaces paces;
      HassSteady steady;
      make_env (c, &env);
      hass_paces_init (&paces, &env.env);
      hass_steady_init (&steady, &paces, 1);
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
                                .most_tokens = G_MAXUINT32,
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

/* The geometric mean, the least and the greatest of bound / makespan, over the
   first @n cases of a seed or one of @one_of of them. */
typedef struct
{
  double mean, worst, best;
} Efficiency;

static Efficiency
efficiency (const char *strategy, guint64 seed, guint n, guint one_of)
{
  Efficiency all = { .worst = 1e9 };
  double sum = 0;
  guint ran = 0;
  for (guint i = 0; i < n; i += one_of, ran++)
    {
      g_autoptr (SimPipeCase) c = sim_pipe_random (seed, i);
      SimPipeOptions options = { .strategy = strategy };
      SimPipeResult r;
      sim_pipe_bound (c, NULL);
      CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &options, &r, NULL));
      double e = c->bound_ns / r.makespan_ns;
      all.worst = MIN (all.worst, e);
      all.best = MAX (all.best, e);
      sum += log (e);
      hass_report_free (r.report);
    }
  all.mean = exp (sum / ran);
  return all;
}

/* Of pipe-greedy some runs are enough: its best is that of all 50, and that the
   bound knows of fused stages is for test_pipe_bound.c. */
static void
comes_near_the_bound (void)
{
  if (!sim_pipe_has_bound ())
    {
      hass_test_skip ("built without GLPK");
      return;
    }
  const char *cases = g_getenv ("TEST_PIPELINES");
  guint n = cases ? (guint)g_ascii_strtoull (cases, NULL, 10) : 50;
  Efficiency tuned = efficiency ("pipe-auto", JUDGE_SEED, n, 1);
  Efficiency lp = efficiency ("pipe-lp", JUDGE_SEED, n, 1);
  Efficiency greedy = efficiency ("pipe-greedy", JUDGE_SEED, n, 4);
  printf ("\n    %u pipelines, %.1f %% of the bound, worst %.1f ...", n,
          100 * tuned.mean, 100 * tuned.worst);
  CU_ASSERT_TRUE (tuned.mean >= 0.94 && tuned.worst >= 0.65);
  CU_ASSERT_TRUE (lp.mean < tuned.mean);
  CU_ASSERT_TRUE (tuned.best < LUCK && lp.best < LUCK && greedy.best < LUCK);
  CU_ASSERT_TRUE (greedy.worst > 0.01);
}

/* The link takes 2 us for a token of either stage in each direction, and the
   GPU 1.5 us for both. Without fusing a token needs 4 us of the link at least;
   fused, two in flight need 5.5 us to 6 us. */
static void
fuses_where_copies_bind (void)
{
  g_autoptr (SimPipeCase) c
      = pipe_test_case (PIPE_CPU PIPE_GPU ("0"),
                        "[pipeline]\ntokens = 20000\nbytes = 2000\n"
                        "[stage a]\ndevices = gpu\ngpu_us = 1\n"
                        "[stage b]\ndevices = gpu\ngpu_us = 0.5\n",
                        NULL);
  SimPipeOptions fuse = { .strategy = "pipe-auto" };
  SimPipeOptions not_fuse = { .strategy = "pipe-auto:fuse=0" };
  SimPipeResult r, other;
  CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &fuse, &r, NULL));
  CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &not_fuse, &other, NULL));
  CU_ASSERT_TRUE (r.makespan_ns < 20000 * 3200.);
  CU_ASSERT_TRUE (other.makespan_ns > 20000 * 4000.);
  hass_report_free (r.report);
  hass_report_free (other.report);
}

/* One GPU serves stages b and c, the cores all. */
#define RECOVERY                                                               \
  "[pipeline]\ntokens = 6000\n[stage a]\ncpu_us = 40\n"                        \
  "[stage b]\ndevices = any\ncpu_us = 900\ngpu_us = 60\n"                      \
  "[stage c]\ndevices = any\ncpu_us = 600\ngpu_us = 60\n"

static double
slowed_ns (const SimPipeCase *c, const char *strategy)
{
  const HassVirtualEvent slow
      = { .device = 1, .slower = 4, .at_ns = 240000000 };
  SimPipeOptions options
      = { .strategy = strategy, .events = &slow, .n_events = 1 };
  SimPipeResult r;
  CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &options, &r, NULL));
  hass_report_free (r.report);
  return r.makespan_ns;
}

/* Both stages are fastest on the GPU, 120 us a token against 160 for a and c on
   the cores. At a third of the run it becomes four times slower: stages that
   stay take 480 us a token from then on, 2160 ms in all; with stage c on the
   cores they take 240, 1200 ms in all. */
static void
replaces_a_slow_processor (void)
{
  g_autoptr (SimPipeCase) c
      = pipe_test_case (PIPE_CPU PIPE_GPU ("0"), RECOVERY, NULL);
  double stays = slowed_ns (c, "aspara-pipe:tolerance=100");
  double moves = slowed_ns (c, "aspara-pipe");
  printf ("\n    %.0f ms, %.0f with another processor ...", stays / 1e6,
          moves / 1e6);
  CU_ASSERT_TRUE (stays > 1900e6);
  CU_ASSERT_TRUE (moves < 1400e6);
  CU_ASSERT_TRUE (slowed_ns (c, "pipe-auto") <= moves);
}

static void
is_deterministic (void)
{
  g_autoptr (SimPipeCase) c = sim_pipe_random (13, 4);
  SimPipeOptions options = { .strategy = "pipe-auto" };
  SimPipeResult a, b;
  CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &options, &a, NULL));
  CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &options, &b, NULL));
  CU_ASSERT_EQUAL (a.makespan_ns, b.makespan_ns);
  hass_report_free (a.report);
  hass_report_free (b.report);
}

/* A core holds a frame for so long that the stream waits for it, all cores
   together do not. */
static void
computes_one_token_on_all_cores (void)
{
  double ns[2];
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (SimPipeCase) c = sim_pipe_of_family ("video", 702, 9);
      SimPipeOptions options = { .strategy = "pipe-auto" };
      SimPipeResult r;
      c->pipe->stages[1].loops = i * 0.9;
      c->pipe->stages[1].cost = HASS_COST_UNKNOWN;
      CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &options, &r, NULL));
      ns[i] = r.makespan_ns;
      hass_report_free (r.report);
    }
  CU_ASSERT_TRUE (ns[1] < 0.6 * ns[0]);
}

HASS_TEST_SUITE (
    pipe_strategies,
    { "every strategy of pipelines passes each token once and in order",
      lose_nothing },
    { "the steady state has the rate that GLPK finds", solves_as_glpk },
    { "pipe-auto fuses stages of a GPU where copies bind",
      fuses_where_copies_bind },
    { "cores that help inside one token beside a fast GPU shorten the run",
      computes_one_token_on_all_cores },
    { "aspara-pipe replaces a processor that has become four times slower",
      replaces_a_slow_processor },
    { "a seed makes the same run again", is_deterministic })

/* How good the strategies are, which is the same under a sanitizer. */
HASS_TEST_SUITE (
    pipe_near_bound,
    { "pipe-auto comes near the bound of random pipelines, none beyond it",
      comes_near_the_bound })
