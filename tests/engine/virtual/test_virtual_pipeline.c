/* SPDX-License-Identifier: MIT */
/* test_virtual_pipeline.c: pipelines on modelled machines: results, times,
   devices that get slower or are lost.
   Thread safety: single-threaded. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define N 400

typedef struct
{
  guint64 sum, seen, next, bad;
} Seen;

static gboolean
square (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  const guint64 *in = (const guint64 *)token->input;
  guint64 *out = (guint64 *)token->output;
  (void)worker, (void)data, (void)error;
  *out = *in * *in;
  return TRUE;
}

/* The modelled GPU runs no code. */
static gboolean
on_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

static gboolean
add (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Seen *seen = data;
  guint64 v = *(const guint64 *)token->input;
  (void)worker, (void)error;
  seen->bad += token->seq < seen->next || v != token->seq * token->seq;
  seen->next = token->seq + 1;
  seen->sum += v;
  seen->seen++;
  return TRUE;
}

static const char machine[] = "[platform]\n"
                              "name = test\n"
                              "[cpu]\n"
                              "cores = 4\n"
                              "work_per_us = 1\n"
                              "%s"
                              "[stage add]\n"
                              "cpu_work_per_us = 1000\n";

/* Runs the pipeline on a machine; @gpus is added to its file. Returns: the
   makespan, in us. */
static double
run (const char *gpus, const char *strategy, gsize tokens, HassReport **kept)
{
  static guint64 input[N];
  HassLoad loads[N];
  Seen seen = { 0 };
  for (guint i = 0; i < N; i++)
    {
      input[i] = i;
      loads[i] = (HassLoad){ .input = &input[i], .input_bytes = 8, .cost = 10 };
    }
  const HassStage stages[] = {
    HASS_STAGE (.name = "square", .cpu = square, .gpu = on_gpu,
                .output_ratio = 1),
    HASS_STAGE (.name = "add", .mode = HASS_STAGE_ORDERED, .cpu = add),
  };
  g_autofree char *text = g_strdup_printf (machine, gpus);
  g_autofree char *path = trial_file (text);
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = loads;
  p.n_loads = N;
  p.user_data = &seen;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.tokens = tokens;
  p.run.platform = path;
  p.run.strategy = strategy;
  GError *error = NULL;
  HassReport *report = NULL;
  CU_ASSERT_TRUE (hass_pipeline (&p, &report, &error));
  if (error)
    g_printerr ("\n    %s", error->message);
  g_clear_error (&error);
  unlink (path);
  CU_ASSERT_EQUAL (seen.seen, N);
  CU_ASSERT_EQUAL (seen.bad, 0);
  CU_ASSERT_EQUAL (seen.sum, (guint64)N * (N - 1) * (2 * N - 1) / 6);
  CU_ASSERT_PTR_NOT_NULL_FATAL (report);
  double us = report->makespan_s * 1e6;
  if (kept)
    *kept = report;
  else
    hass_report_free (report);
  return us;
}

static const char gpu[] = "[gpu0]\n"
                          "multiprocessors = 16\n"
                          "width = 64\n"
                          "work_per_us = 8\n"
                          "launch_us = 5\n"
                          "link_us = 5\n"
                          "h2d_gbps = 10\n"
                          "d2h_gbps = 10\n";

static void
cores (void)
{
  /* 400 tokens of 10 us on four cores; "add" takes 0.01 us */
  double us = run ("", NULL, 0, NULL);
  CU_ASSERT_TRUE (us >= 1000 && us < 1060);
  double narrow = run ("", NULL, 2, NULL);
  CU_ASSERT_TRUE (narrow >= 2000 && narrow < 2120);
}

static void
with_gpu (void)
{
  static const char *const strategies[]
      = { "pipe-auto", "pipe-greedy", "pipe-lp", "aspara-pipe" };
  for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
    {
      HassReport *report = NULL;
      double us = run (gpu, strategies[i], 0, &report);
      CU_ASSERT_EQUAL (report->stages[0].tokens, N);
      CU_ASSERT_EQUAL (us, run (gpu, strategies[i], 0, NULL));
      hass_report_free (report);
    }
  /* Cores and GPU together have three times the cores' rate; of the 400 tokens
     the GPU's first and last bundle of 64 overlap nothing, the cores wait for
     the first, of 80 us, and then for one of them that is measured for 10. */
  double us = run (gpu, "pipe-auto", 0, NULL);
  CU_ASSERT_TRUE (us < 650);
  if (us >= 650)
    g_printerr ("\n    %.0f us", us);
}

/* Eight tokens are in flight until the last ones; the GPU computes one at a
   time, and the cores take 0.01 us for each. So seven wait for the GPU. */
static void
waits_for_gpu (void)
{
  g_autoptr (HassReport) r = NULL;
  run (gpu, "pipe-fixed:s1=1,units=1", 8, &r);
  const HassStageReport *square = &r->stages[0];
  CU_ASSERT_DOUBLE_EQUAL (square->device_s, r->makespan_s,
                          0.02 * r->makespan_s);
  CU_ASSERT_DOUBLE_EQUAL (square->waiting_s, 7 * r->makespan_s,
                          0.05 * 7 * r->makespan_s);
}

static HassAnswer
leave_all (gpointer self, const HassStreamState *state, guint device,
           gboolean force, HassServe *serve)
{
  (void)self, (void)device, (void)force;
  for (guint c = 0; c < state->n_classes; c++)
    serve->leave[c] = G_MAXUINT32;
  return HASS_WAIT;
}

/* Cores must take what the strategy leaves, again and again after the ordered
   stage has computed. */
static void
nothing_served (void)
{
  static const HassStrategyOps idle = { .struct_size = sizeof idle,
                                        .name = "test-leaves-all",
                                        .summary = "serves no device",
                                        .source = "none",
                                        .farms = HASS_FARM_PIPELINE,
                                        .create = trial_env,
                                        .serve = leave_all };
  CU_ASSERT_TRUE (hass_strategy_register (&idle, NULL));
  run (gpu, "test-leaves-all", 2, NULL);
}

/* Returns: the value of a member of a line of a trace; -1: it has none. */
static gint64
member (const char *line, const char *name)
{
  g_autofree char *key = g_strdup_printf ("\"%s\":", name);
  const char *at = strstr (line, key);
  return at ? g_ascii_strtoll (at + strlen (key), NULL, 10) : -1;
}

static void
traced (void)
{
  g_autofree char *path = trial_file (""), *text = NULL;
  gint64 tokens[2] = { 0 }, bundles = 0;
  g_setenv ("HASS_TRACE", path, TRUE);
  run (gpu, "pipe-auto", 0, NULL);
  g_unsetenv ("HASS_TRACE");
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  unlink (path);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **l = lines; *l; l++)
    {
      gboolean bundle = strstr (*l, "\"event\":\"bundle\"") != NULL;
      gint64 s = member (*l, "stage");
      if (!bundle && !strstr (*l, "\"event\":\"stage\""))
        continue;
      bundles += bundle;
      CU_ASSERT_FATAL (s == 0 || s == 1);
      tokens[s] += member (*l, bundle ? "units" : "tokens");
      CU_ASSERT_EQUAL (member (*l, "fused"), bundle ? 0 : -1);
    }
  CU_ASSERT_TRUE (bundles > 0);
  CU_ASSERT_EQUAL (tokens[0], N);
  CU_ASSERT_EQUAL (tokens[1], N);
}

/* Returns what a pipeline on a machine with these devices explains; g_free().
 */
static char *
explanation (const char *devices)
{
  g_autofree char *path = trial_file ("");
  char *text = NULL;
  g_setenv ("HASS_EXPLAIN", path, TRUE);
  run (devices, "pipe-auto", 0, NULL);
  g_unsetenv ("HASS_EXPLAIN");
  CU_ASSERT_TRUE (g_file_get_contents (path, &text, NULL, NULL));
  unlink (path);
  return text;
}

static void
explained (void)
{
  g_autofree char *shared = explanation (gpu), *alone = explanation ("");
  CU_ASSERT_PTR_NOT_NULL (
      strstr (shared, " units of square: not measured yet"));
  CU_ASSERT_PTR_NOT_NULL (strstr (shared, " wait: its part is "));
  CU_ASSERT_PTR_NULL (strstr (shared, "no device beside the cores"));
  CU_ASSERT_PTR_NOT_NULL (strstr (alone, ": no device beside the cores"));
}

static void
no_cpu_worker (void)
{
  const HassStage stage = HASS_STAGE (.name = "only", .gpu = on_gpu);
  HassLoad load = { .input = "", .input_bytes = 1 };
  g_autofree char *text = g_strdup_printf (machine, gpu);
  g_autofree char *path = trial_file (text);
  HassPipeline p = HASS_PIPELINE_INIT;
  GError *error = NULL;
  p.loads = &load;
  p.n_loads = 1;
  p.stages = &stage;
  p.n_stages = 1;
  p.run.platform = path;
  CU_ASSERT_FALSE (hass_pipeline (&p, NULL, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_DEVICE));
  CU_ASSERT_PTR_NOT_NULL (error && strstr (error->message, "stage 1 of 1"));
  g_clear_error (&error);
  unlink (path);
}

HASS_TEST_SUITE (
    virtual_pipeline,
    { "cores compute the results in the model's time, within the bounds",
      cores },
    { "a modelled GPU takes its part under every strategy, and the same seed "
      "gives the same time",
      with_gpu },
    { "tokens that wait for a GPU are counted as waiting", waits_for_gpu },
    { "a pipeline goes on under a strategy that serves no device",
      nothing_served },
    { "a trace names the stage of each bundle and each batch", traced },
    { "pipe-auto explains what GPUs take, or that there are none", explained },
    { "a stage without a CPU worker has no results on a modelled machine",
      no_cpu_worker })
