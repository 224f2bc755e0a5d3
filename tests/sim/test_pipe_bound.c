/* SPDX-License-Identifier: MIT */
/* test_pipe_bound.c: the bound of a pipeline, where it can be computed by hand.
   Thread safety: one thread. */
#include <math.h>

#include "hass_test.h"
#include "pipe_test.h"

#define TOKENS "[pipeline]\ntokens = 1000\nbytes = 200\n"

static const struct
{
  const char *why, *platform, *pipe;
  double token_ns; /* time for a token in the long run */
  double bound_ns; /* of 1000; 0: not tested */
} cases[] = {
  { "four cores", PIPE_CPU, TOKENS "[stage a]\nwork = 8\n[stage b]\nwork = 4\n",
    3000, 3000000 },
  { "an ordered stage, the way to it and from it", PIPE_CPU,
    TOKENS "[stage a]\nwork = 2\n[stage b]\nmode = ordered\nwork = 5\n"
           "[stage c]\nwork = 1\n",
    5000, 5003000 },
  { "a serial stage that does not bind", PIPE_CPU,
    TOKENS "[stage a]\nwork = 7\n[stage b]\nmode = serial\nwork = 1\n", 2000,
    2000000 },
  { "two tokens at once", PIPE_CPU, TOKENS "[stage a]\nwork = 6\nat_once = 2\n",
    3000, 3000000 },
  /* 4 / 8 + 10 / 8 tokens per us. */
  { "cores and a GPU side by side", PIPE_CPU PIPE_GPU ("0"),
    TOKENS "[stage a]\ndevices = any\nwork = 8\n", 8000. / 14, 0 },
  /* The GPU takes what it gains most at: all of b and 0.3 of a, so that it
     needs 0.1 + 0.3 * 2 us for a token and the cores 0.7 * 4 / 4. */
  { "the GPU where it gains most", PIPE_CPU PIPE_GPU ("0"),
    TOKENS "[stage a]\ndevices = any\ncpu_us = 4\ngpu_us = 2\n"
           "[stage b]\ndevices = any\ncpu_us = 30\ngpu_us = 0.1\n",
    700, 0 },
  { "the link in", PIPE_CPU PIPE_GPU ("0"),
    TOKENS "[stage a]\ndevices = gpu\ngpu_us = 0.1\n", 200, 0 },
  { "a half duplex link", PIPE_CPU PIPE_GPU ("0") "duplex = no\n",
    TOKENS "[stage a]\ndevices = gpu\ngpu_us = 0.1\n", 400, 0 },
  { "a link that two GPUs share",
    PIPE_CPU PIPE_GPU ("0") "link = x\n" PIPE_GPU ("1") "link = x\n",
    TOKENS "[stage a]\ndevices = gpu\ngpu_us = 0.1\n", 200, 0 },
  { "links of their own", PIPE_CPU PIPE_GPU ("0") PIPE_GPU ("1"),
    TOKENS "[stage a]\ndevices = gpu\ngpu_us = 0.1\n", 100, 0 },
  { "bytes that are as good as none", PIPE_CPU PIPE_GPU ("0"),
    "[pipeline]\ntokens = 1000\nbytes = 1e-308\n"
    "[stage a]\ndevices = gpu\ngpu_us = 0.1\n",
    100, 0 },
  { "fused stages, which copy once", PIPE_CPU PIPE_GPU ("0"),
    TOKENS "[stage a]\ndevices = gpu\ngpu_us = 0.05\n"
           "[stage b]\ndevices = gpu\ngpu_us = 0.05\n",
    200, 0 },
  /* 3 tokens at a time fill a quarter of the width. */
  { "bundles of no more than what may be in flight",
    PIPE_CPU "[gpu0]\nmultiprocessors = 4\nwidth = 12\nwork_per_us = 10\n"
             "h2d_gbps = 100\nlaunch_us = 3\nlink_us = 0\n",
    "[pipeline]\ntokens = 1000\nin_flight = 3\n[stage a]\ndevices = gpu\n"
    "gpu_us = 1\n",
    5000, 0 },
  { "half of the tokens are dropped before the second stage", PIPE_CPU,
    TOKENS "[stage a]\nwork = 4\nemits = 0.5\n[stage b]\nwork = 8\n", 2000,
    2000000 },
  { "the longest way of one token", PIPE_CPU,
    "[pipeline]\ntokens = 1\n[stage a]\nwork = 8\n[stage b]\nwork = 4\n", 3000,
    12000 },
};

static void
as_by_hand (void)
{
  if (!sim_pipe_has_bound ())
    {
      hass_test_skip ("built without GLPK");
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SimPipeCase) c
          = pipe_test_case (cases[i].platform, cases[i].pipe, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (c);
      sim_pipe_bound (c, NULL);
      double ns = c->rate > 0 ? 1 / c->rate : 0;
      double due = cases[i].bound_ns;
      gboolean right = fabs (ns - cases[i].token_ns) < 1e-6 * ns
                       && (due == 0 || fabs (c->bound_ns - due) < 1e-6 * due);
      CU_ASSERT_TRUE (right);
      if (!right)
        g_printerr ("\n    %s: %.3f ns where %.3f were due, %.0f in all",
                    cases[i].why, ns, cases[i].token_ns, c->bound_ns);
    }
}

/* The parts of each stage sum up to its tokens, and no device gets a stage that
   it cannot run. */
static void
divides_each_stage (void)
{
  if (!sim_pipe_has_bound ())
    {
      hass_test_skip ("built without GLPK");
      return;
    }
  for (guint i = 0; i < 50; i++)
    {
      g_autoptr (SimPipeCase) c = sim_pipe_random (3, i);
      guint n = c->n_devices;
      g_autofree double *shares = g_new0 (double, c->pipe->n_stages *n);
      sim_pipe_bound (c, shares);
      CU_ASSERT_TRUE (c->rate > 0 && c->bound_ns >= c->reach[0] / c->rate);
      for (guint s = 0; s < c->pipe->n_stages; s++)
        {
          double sum = 0, due = (double)c->reach[s] / c->reach[0];
          for (guint d = 0; d < n; d++)
            {
              sum += shares[s * n + d];
              CU_ASSERT_TRUE (c->ns[s][d] > 0 || shares[s * n + d] == 0);
            }
          CU_ASSERT_TRUE (fabs (sum - due) < 1e-6 * due);
        }
    }
}

static gboolean
same (const SimPipeCase *a, const SimPipeCase *b)
{
  gboolean ok = a->pipe->n_stages == b->pipe->n_stages
                && a->n_devices == b->n_devices
                && a->pipe->tokens == b->pipe->tokens;
  for (guint s = 0; ok && s < a->pipe->n_stages; s++)
    for (guint d = 0; ok && d < a->n_devices; d++)
      ok = a->ns[s][d] == b->ns[s][d]
           && sim_pipe_cost (a, s, 0, 7) == sim_pipe_cost (b, s, 0, 7);
  return ok;
}

/* 200 random pipelines are what random.c says, and depend on seed and index
   alone. */
static void
random_pipelines (void)
{
  guint stages[9] = { 0 }, gpus[5] = { 0 }, ordered = 0, bound = 0, other = 0;
  for (guint i = 0; i < 200; i++)
    {
      g_autoptr (SimPipeCase) c = sim_pipe_random (7, i);
      g_autoptr (SimPipeCase) again = sim_pipe_random (7, i);
      g_autoptr (SimPipeCase) next = sim_pipe_random (8, i);
      guint n = c->pipe->n_stages;
      CU_ASSERT_TRUE_FATAL (n >= 3 && n <= 8 && c->platform->n_gpus <= 4);
      CU_ASSERT_TRUE (same (c, again));
      other += !same (c, next);
      stages[n]++;
      gpus[c->platform->n_gpus]++;
      CU_ASSERT_EQUAL (c->platform->noise, 0.1);
      for (guint s = 0; s < n; s++)
        {
          ordered += c->pipe->stages[s].mode == HASS_STAGE_ORDERED;
          bound += c->pipe->stages[s].at_once > 0;
          CU_ASSERT_TRUE (c->pipe->stages[s].mode == HASS_STAGE_PARALLEL
                          || !c->pipe->stages[s].gpu);
        }
    }
  for (guint n = 3; n <= 8; n++)
    CU_ASSERT_TRUE (stages[n] > 10);
  for (guint g = 0; g <= 4; g++)
    CU_ASSERT_TRUE (gpus[g] > 10);
  CU_ASSERT_TRUE (ordered > 100 && bound > 10);
  CU_ASSERT_EQUAL (other, 200);
}

/* GLPK would end the program. */
static void
survives_absurd_numbers (void)
{
  static const char *const pipes[]
      = { "[pipeline]\ntokens = 20\nbytes = 1e-308\n[stage a]\ndevices = any\n"
          "[stage b]\ndevices = gpu\n",
          "[pipeline]\ntokens = 20\nbytes = 1e15\n[stage a]\ndevices = any\n"
          "output_ratio = 1e6\n[stage b]\ndevices = any\noutput_ratio = 1e6\n"
          "[stage c]\ndevices = any\noutput_ratio = 1e-300\n",
          "[pipeline]\ntokens = 20\n[stage a]\ndevices = any\nwork = 1e-12\n"
          "[stage b]\ndevices = any\ncpu_us = 1e12\ngpu_us = 1e-300\n",
          "[pipeline]\ntokens = 20\nbytes = 1e-308\n[stage a]\ndevices = any\n"
          "cpu_us = 1e-308\ngpu_us = 1e-308\n" };
  for (guint i = 0; i < G_N_ELEMENTS (pipes); i++)
    {
      g_autoptr (SimPipeCase) c
          = pipe_test_case (PIPE_CPU PIPE_GPU ("0"), pipes[i], NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (c);
      sim_pipe_bound (c, NULL);
      CU_ASSERT_TRUE (c->rate >= 0 && c->bound_ns >= 0);
    }
}

HASS_TEST_SUITE (pipe_bound,
                 { "the bound of small pipelines is that by hand", as_by_hand },
                 { "the optimum divides each stage among devices that can",
                   divides_each_stage },
                 { "numbers that are absurd do not end the program",
                   survives_absurd_numbers },
                 { "random pipelines are what they say, by seed and index",
                   random_pipelines })
