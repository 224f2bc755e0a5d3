/* SPDX-License-Identifier: MIT */
/* test_pipe_files.c: files of pipelines, good and broken, and what is computed
   from them before a run.
   Thread safety: one thread. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "device/model/shipped.h"
#include "hass/error.h"
#include "hass_test.h"
#include "pipe_test.h"
#include "tests/engine/trial.h"

static SimPipe *
load (const char *text, GError **error)
{
  g_autofree char *path = trial_file (text);
  SimPipe *p = sim_pipe_load (path, error);
  unlink (path);
  return p;
}

static gboolean
near (double a, double b)
{
  return fabs (a - b) <= 1e-9 * fabs (b);
}

static void
reads_every_key (void)
{
  g_autoptr (SimPipe) p = load (
      "[pipeline]\nname = x\nsource = here\nplatform = box\ntokens = 7\n"
      "bytes = 100\nin_flight = 5\nin_flight_bytes = 900\n"
      "[stage a b]\nmode = ordered\ncpu_us = 3\nwork = 4\noutput_bytes = 10\n"
      "output_ratio = 0.5\nemits = 2.5\n"
      "[stage c]\ndevices = any\nat_once = 3\nclass = sized\n"
      "costs = bimodal 0.1 5\ngpu_us = 2\nelements = 16\n"
      "[stage d]\nmode = serial\n[stage e]\nmode = caller\n"
      "[stage f]\ndevices = gpu\ncosts = lognormal 0.5\n",
      NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  const SimStage *s = p->stages;
  CU_ASSERT_STRING_EQUAL (p->name, "x");
  CU_ASSERT_STRING_EQUAL (p->platform, "box");
  CU_ASSERT_TRUE (p->tokens == 7 && p->in_flight == 5);
  CU_ASSERT_TRUE (p->in_flight_bytes == 900 && p->bytes == 100);
  CU_ASSERT_EQUAL_FATAL (p->n_stages, 5);
  CU_ASSERT_STRING_EQUAL (s[0].name, "a b");
  CU_ASSERT_EQUAL (s[0].mode, HASS_STAGE_ORDERED);
  CU_ASSERT_TRUE (s[0].cpu && !s[0].gpu);
  CU_ASSERT_TRUE (near (s[0].cpu_ns, 3000) && near (s[0].work, 4));
  CU_ASSERT_TRUE (near (s[0].output_bytes, 10));
  CU_ASSERT_TRUE (near (s[0].output_ratio, 0.5) && near (s[0].emits, 2.5));
  CU_ASSERT_EQUAL (s[0].cost, HASS_COST_EQUAL);
  CU_ASSERT_TRUE (s[1].cpu && s[1].gpu && s[1].at_once == 3);
  CU_ASSERT_TRUE (s[1].cost == HASS_COST_SIZED && s[1].family == SIM_BIMODAL);
  CU_ASSERT_TRUE (near (s[1].family_a, 0.1) && near (s[1].family_b, 5));
  CU_ASSERT_TRUE (near (s[1].gpu_ns, 2000) && s[1].elements == 16);
  CU_ASSERT_TRUE (s[1].output_ratio == 1 && s[1].output_bytes == 0);
  CU_ASSERT_EQUAL (s[2].mode, HASS_STAGE_SERIAL);
  CU_ASSERT_EQUAL (s[3].mode, HASS_STAGE_CALLER);
  CU_ASSERT_TRUE (!s[4].cpu && s[4].gpu);
  CU_ASSERT_EQUAL (s[4].cost, HASS_COST_UNKNOWN);
}

#define TOP "[pipeline]\ntokens = 3\n"

static void
refuses_broken_files (void)
{
  static const struct
  {
    const char *text, *line, *what;
  } broken[] = {
    { "", "line 1:", "no [pipeline]" },
    { "[pipeline]\n[stage a]\n", "line 1:", "needs tokens" },
    { TOP, "line 1:", "needs a [stage NAME]" },
    { TOP "token = 3\n", "line 3:", "knows no key 'token'" },
    { TOP "[stages]\n", "line 3:", "unknown group [stages]" },
    { TOP "[stage ]\n", "line 3:", "unknown group" },
    { TOP "[stage a]\nmode = fast\n", "line 4:", "one of parallel, ordered" },
    { TOP "[stage a]\ndevices = none\n", "line 4:", "one of cpu, gpu" },
    { TOP "[stage a]\nmode = serial\ndevices = gpu\n", "line 5:", "parallel" },
    { TOP "[stage a]\nmode = ordered\nat_once = 2\n", "line 5:", "at_once" },
    { TOP "[stage a]\nemits = 0\n", "line 4:", "not in" },
    { TOP "[stage a]\ncpu_us = -1\n", "line 4:", "not in" },
    { TOP "[stage a]\nclass = equal\ncosts = lognormal 1\n",
      "line 5:", "equal" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (broken); i++)
    {
      GError *error = NULL;
      SimPipe *p = load (broken[i].text, &error);
      gboolean right
          = !p && g_error_matches (error, HASS_ERROR, HASS_ERROR_PLATFORM)
            && strstr (error->message, broken[i].line)
            && strstr (error->message, broken[i].what);
      CU_ASSERT_TRUE (right);
      if (!right)
        g_printerr ("\n    '%s' '%s' was due, got: %s", broken[i].line,
                    broken[i].what, error ? error->message : "success");
      g_clear_error (&error);
      g_clear_pointer (&p, sim_pipe_free);
    }
}

static void
loads_what_is_shipped (void)
{
  g_auto (GStrv) names = hass_shipped_names ("pipelines");
  CU_ASSERT_TRUE (g_strv_length (names) >= 2);
  for (char **n = names; *n; n++)
    {
      SimPipe *pipe = NULL;
      HassPlatform *machine = NULL;
      GError *error = NULL;
      gboolean ok = sim_pipe_find (*n, NULL, &pipe, &machine, &error);
      CU_ASSERT_TRUE (ok);
      if (!ok)
        g_printerr ("\n    %s: %s", *n, error->message);
      g_clear_error (&error);
      g_autoptr (SimPipeCase) c
          = ok ? sim_pipe_case_new (pipe, machine, 1, NULL) : NULL;
      CU_ASSERT_PTR_NOT_NULL (c);
    }
}

static void
names_what_nothing_can_run (void)
{
  GError *error = NULL;
  CU_ASSERT_PTR_NULL (pipe_test_case (PIPE_CPU,
                                      TOP "[stage a]\n"
                                          "[stage b]\ndevices = gpu\n",
                                      &error));
  CU_ASSERT_TRUE (error && strstr (error->message, "stage b"));
  g_clear_error (&error);
}

/* Each stage hands on what it emits: 10, 25, 12 tokens. */
static void
counts_what_is_emitted (void)
{
  g_autoptr (SimPipeCase) c = pipe_test_case (
      PIPE_CPU,
      "[pipeline]\ntokens = 10\nbytes = 8\n"
      "[stage a]\nemits = 2.5\noutput_ratio = 0.5\n"
      "[stage b]\nemits = 0.5\noutput_bytes = 1\noutput_ratio = 2\n[stage c]\n",
      NULL);
  guint64 children = 0;
  CU_ASSERT_PTR_NOT_NULL_FATAL (c);
  CU_ASSERT_EQUAL (c->reach[1], 25);
  CU_ASSERT_EQUAL (c->reach[2], 12);
  for (guint64 t = 0; t < 10; t++)
    children
        += sim_pipe_next (c->pipe, 0, t + 1) - sim_pipe_next (c->pipe, 0, t);
  CU_ASSERT_EQUAL (children, 25);
  CU_ASSERT_TRUE (c->in_bytes[1] == 4 && c->out_bytes[1] == 9);
}

/* A stage's rate: of the file, else of the platform for it, else the general
   one. */
static void
prefers_the_nearest_rate (void)
{
  g_autoptr (SimPipeCase) c = pipe_test_case (
      PIPE_CPU PIPE_GPU ("0") "[stage b]\ncpu_work_per_us = 4\n"
                              "gpu0_work_per_us = 20\n",
      "[pipeline]\ntokens = 10\n[stage a]\ndevices = any\nwork = 8\n"
      "[stage b]\ndevices = any\nwork = 8\n"
      "[stage c]\ndevices = any\nwork = 8\ncpu_us = 1\ngpu_us = 3\n",
      NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (c);
  CU_ASSERT_TRUE (near (c->ns[0][0], 8000) && near (c->ns[0][1], 800));
  CU_ASSERT_TRUE (near (c->ns[1][0], 2000) && near (c->ns[1][1], 400));
  CU_ASSERT_TRUE (near (c->ns[2][0], 1000) && near (c->ns[2][1], 3000));
}

HASS_TEST_SUITE (
    pipe_files, { "every key of a pipeline file is read", reads_every_key },
    { "a broken pipeline file is refused with line and reason",
      refuses_broken_files },
    { "the shipped pipelines run on their machines", loads_what_is_shipped },
    { "a stage that no device can run is named", names_what_nothing_can_run },
    { "a stage hands on as many tokens and bytes as it emits",
      counts_what_is_emitted },
    { "a stage's own rate goes before the platform's",
      prefers_the_nearest_rate })
