/* SPDX-License-Identifier: MIT */
/* test_pipe_run.c: modelled pipelines in the virtual engine.
   Thread safety: one thread. */

#include "hass/error.h"
#include "hass_test.h"
#include "pipe_test.h"
#include "tests/program.h"

static void
passes_every_token (void)
{
  static const char *const strategies[]
      = { "pipe-auto", "pipe-greedy", "pipe-lp", "aspara-pipe" };
  for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
    for (guint k = 0; k < 4; k++)
      {
        g_autoptr (SimPipeCase) c = sim_pipe_random (11, k);
        SimPipeOptions options = { .strategy = strategies[i], .tokens = 300 };
        SimPipeResult r;
        GError *error = NULL;
        gboolean ran = sim_pipe_run (c, &options, &r, &error);
        CU_ASSERT_TRUE (ran);
        g_clear_error (&error);
        if (!ran)
          continue;
        CU_ASSERT_TRUE (r.in_order);
        CU_ASSERT_EQUAL (r.through, c->reach[c->pipe->n_stages]);
        for (guint s = 0; s < c->pipe->n_stages; s++)
          CU_ASSERT_EQUAL (r.report->stages[s].tokens, c->reach[s]);
        hass_report_free (r.report);
      }
}

/* 1000 loads become 2500 tokens, half of which stage c drops; only the GPU runs
   c, in 2 us a token, and four cores take 10 us for each load in a. */
static void
takes_the_model_time (void)
{
  g_autoptr (SimPipeCase) c
      = pipe_test_case (PIPE_CPU PIPE_GPU ("0"),
                        "[pipeline]\ntokens = 1000\nbytes = 10\n"
                        "[stage a]\ncpu_us = 10\nemits = 2.5\n"
                        "[stage c]\ndevices = gpu\ngpu_us = 2\nemits = 0.5\n"
                        "[stage d]\nmode = ordered\ncpu_us = 0.1\n",
                        NULL);
  SimPipeOptions options = { .strategy = "pipe-auto" };
  SimPipeResult r;
  CU_ASSERT_PTR_NOT_NULL_FATAL (c);
  CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &options, &r, NULL));
  CU_ASSERT_TRUE (r.in_order && r.through == 1250);
  CU_ASSERT_TRUE (r.makespan_ns >= 5e6 && r.makespan_ns < 6.5e6);
  hass_report_free (r.report);
}

static void
program (void)
{
  g_autofree char *out = NULL, *err = NULL, *none = NULL, *why = NULL;
  CU_ASSERT_EQUAL (program_run_words (&out, &err, "hass-sim",
                                      "--pipeline ferret -s pipe-auto,auto"),
                   0);
  program_says (out, "ferret on box: 6 stages, 3500 loads");
  program_says (out, "\n    rank             parallel        3500 ");
  CU_ASSERT_EQUAL (
      program_run_words (&none, &why, "hass-sim", "--pipeline random:0"), 2);
}

HASS_TEST_SUITE (
    pipe_run,
    { "a modelled pipeline passes each token once and in order in the engine",
      passes_every_token },
    { "stages that drop and emit on a GPU alone take the time of the model",
      takes_the_model_time },
    { "hass-sim prints makespan, bound and stages of a pipeline", program })
