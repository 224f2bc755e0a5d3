/* SPDX-License-Identifier: MIT */
/* test_pipe_run.c: modelled pipelines in the virtual engine.
   Thread safety: one thread. */

#include <json-glib/json-glib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hass/error.h"
#include "hass_test.h"
#include "pipe_test.h"
#include "tests/engine/trial.h"
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
        for (guint d = c->first_gpu; d < c->n_devices; d++)
          CU_ASSERT_TRUE (r.report->devices[d].busy_s
                          <= 1.000001 * r.report->makespan_s);
        hass_report_free (r.report);
      }
}

/* 1000 loads become 2500 tokens, half of which stage b drops; only the GPU runs
   c, in 2 us a token, and four cores take 10 us for each load in a. */
static void
takes_the_model_time (void)
{
  g_autoptr (SimPipeCase) c
      = pipe_test_case (PIPE_CPU PIPE_GPU ("0"),
                        "[pipeline]\ntokens = 1000\nbytes = 10\n"
                        "[stage a]\ncpu_us = 10\nemits = 2.5\n"
                        "[stage b]\ncpu_us = 0.1\nemits = 0.5\n"
                        "[stage c]\ndevices = gpu\ngpu_us = 2\n"
                        "[stage d]\nmode = ordered\ncpu_us = 0.1\n",
                        NULL);
  SimPipeOptions options = { .strategy = "pipe-auto" };
  SimPipeResult r;
  CU_ASSERT_PTR_NOT_NULL_FATAL (c);
  CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &options, &r, NULL));
  CU_ASSERT_TRUE (r.in_order && r.through == 1250);
  CU_ASSERT_TRUE (r.makespan_ns >= 2.5e6 && r.makespan_ns < 4.5e6);
  hass_report_free (r.report);
}

/* Returns: the makespan in us of 40 tokens; b: lines of stage b, which takes a
   core 100 us. @busy_us: of cores at b. */
static double
with_loops (const char *b, double *busy_us)
{
  g_autofree char *pipe
      = g_strdup_printf ("[pipeline]\ntokens = 40\nbytes = 10\n"
                         "[stage a]\nmode = ordered\ncpu_us = 5\n"
                         "[stage b]\ncpu_us = 100\n%s"
                         "[stage c]\nmode = ordered\ncpu_us = 5\n",
                         b);
  g_autoptr (SimPipeCase) c = pipe_test_case (PIPE_CPU, pipe, NULL);
  SimPipeOptions options = { .strategy = "pipe-auto" };
  SimPipeResult r;
  CU_ASSERT_PTR_NOT_NULL_FATAL (c);
  CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &options, &r, NULL));
  CU_ASSERT_TRUE (r.in_order && r.through == 40);
  *busy_us = r.report->stages[1].busy_s * 1e6;
  hass_report_free (r.report);
  return r.makespan_ns * 1e-3;
}

/* Four cores. With one token at a time at b, all of them take 25 us for it if
   they lose nothing; what is to be done at a and c comes first. */
static void
helps_inside_tokens (void)
{
  double busy_us = 0;
  double alone = with_loops ("at_once = 1\n", &busy_us);
  CU_ASSERT_TRUE (alone >= 4000);
  CU_ASSERT_DOUBLE_EQUAL (busy_us, 4000, 1);
  double all = with_loops ("at_once = 1\nloops = 1\n", &busy_us);
  CU_ASSERT_TRUE (all >= 1100 && all < 1250);
  CU_ASSERT_DOUBLE_EQUAL (busy_us, 4000, 1);
  double half = with_loops ("at_once = 1\nloops = 0.5\n", &busy_us);
  CU_ASSERT_TRUE (half > 1.6 * all && half < 2.1 * all);
  CU_ASSERT_TRUE (busy_us > 5000);
  /* Only the last of many tokens leave cores idle. */
  double many = with_loops ("loops = 1\n", &busy_us);
  CU_ASSERT_TRUE (many >= 1100 && many < 1200);
  CU_ASSERT_DOUBLE_EQUAL (busy_us, 4000, 1);
}

/* One core may compute stage a, in 1 ms a token; the GPU does so in 10 us. */
static void
leaves_tokens_to_the_gpu (void)
{
  g_autoptr (SimPipeCase) c
      = pipe_test_case (PIPE_CPU PIPE_GPU ("0"),
                        "[pipeline]\ntokens = 2000\nbytes = 10\n"
                        "[stage a]\ndevices = any\nat_once = 1\n"
                        "cpu_us = 1000\ngpu_us = 10\n",
                        NULL);
  SimPipeOptions options = { .strategy = "pipe-greedy" };
  SimPipeResult r;
  CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &options, &r, NULL));
  CU_ASSERT_TRUE (r.through == 2000 && r.makespan_ns < 30e6);
  hass_report_free (r.report);
}

/* Tokens that wait for the GPU while cores and the GPU compute for hours of
   virtual time; the makespan is that of tokens of 1 s, in proportion. */
static void
long_tokens (void)
{
  static const char *const strategies[] = { "pipe-auto", "aspara-pipe" };
  g_autoptr (SimPipeCase) c
      = pipe_test_case (PIPE_CPU PIPE_GPU ("0"),
                        "[pipeline]\ntokens = 20\nbytes = 10\n"
                        "[stage a]\ndevices = any\nwork = 2e10\n"
                        "[stage b]\nwork = 2e10\n",
                        NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (c);
  for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
    {
      SimPipeOptions options = { .strategy = strategies[i] };
      SimPipeResult r;
      clock_t begin = clock ();
      CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &options, &r, NULL));
      CU_ASSERT_TRUE (clock () - begin < 2 * CLOCKS_PER_SEC);
      CU_ASSERT_TRUE (r.through == 20 && r.makespan_ns > 1e14);
      hass_report_free (r.report);
    }
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

/* A case is the same one alone and among others. */
static void
one_of_many (void)
{
  g_autofree char *all = NULL, *one = NULL, *none = NULL, *err = NULL,
                  *why = NULL, *no = NULL;
  CU_ASSERT_EQUAL (program_run_words (&all, &err, "hass-sim",
                                      "--pipeline random:2 --csv --seed 3"),
                   0);
  CU_ASSERT_EQUAL (program_run_words (&one, &why, "hass-sim",
                                      "--pipeline random:1+1 --csv --seed 3"),
                   0);
  program_says (one, "\n\"random-1\",");
  CU_ASSERT_PTR_NULL (strstr (one, "random-0"));
  program_says (all, strchr (one, '\n'));
  CU_ASSERT_EQUAL (
      program_run_words (&none, &no, "hass-sim", "--pipeline random:x+1"), 2);
}

/* Likewise of a family, beside the best fixed mapping. */
static void
families (void)
{
  g_autofree char *all = NULL, *one = NULL, *none = NULL, *table = NULL,
                  *err = NULL, *why = NULL, *no = NULL, *not = NULL;
  const char *list = "-s pipe-auto,mappings";
  g_autofree char *both = g_strdup_printf ("--pipeline chain:2 --csv %s", list);
  g_autofree char *second
      = g_strdup_printf ("--pipeline chain:1+1 --csv %s", list);
  g_autofree char *summary
      = g_strdup_printf ("--pipeline cores:2 --summary %s", list);
  CU_ASSERT_EQUAL (program_run_words (&all, &err, "hass-sim", both), 0);
  CU_ASSERT_EQUAL (program_run_words (&one, &why, "hass-sim", second), 0);
  program_says (one, "\n\"chain-1\",\"chain-1\",\"pipe-auto\",");
  program_says (one, "\n\"chain-1\",\"chain-1\",\"mappings\",");
  program_says (all, strchr (one, '\n'));
  /* cores alone have one mapping */
  CU_ASSERT_EQUAL (program_run_words (&table, &no, "hass-sim", summary), 0);
  program_says (table, "   100.0    100.0        0        0\nmappings");
  CU_ASSERT_EQUAL (
      program_run_words (&none, &not, "hass-sim", "--pipeline nobody:2"), 2);
}

/* What earlier runs have measured reaches the strategies that use it. */
static void
known_rates (void)
{
  static const struct
  {
    const char *strategy;
    gboolean uses;
  } cases[] = { { "pipe-auto", TRUE }, { "pipe-lp", FALSE } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *unknown = NULL, *known = NULL, *err = NULL, *why = NULL;
      g_autofree char *words = g_strdup_printf (
          "--pipeline one-stage:37+1 --csv -s %s", cases[i].strategy);
      g_autofree char *more = g_strconcat (words, " --known", NULL);
      CU_ASSERT_EQUAL (program_run_words (&unknown, &err, "hass-sim", words),
                       0);
      CU_ASSERT_EQUAL (program_run_words (&known, &why, "hass-sim", more), 0);
      CU_ASSERT_EQUAL (strcmp (unknown, known) != 0, cases[i].uses);
    }
  g_autofree char *none = NULL, *refused = NULL;
  CU_ASSERT_EQUAL (program_run_words (&none, &refused, "hass-sim",
                                      "--workload equal --known"),
                   2);
  program_says (refused, "--known, --pure and --loops belong to --pipeline");
}

/* A token takes the GPU 2 us and its link 100 us, and four cores 25 us
   together: 20 us in all, but 100 if what is known were the GPU's 2 us, beside
   which the measured 100 make all devices seem fifty times as slow. */
static void
known_rates_of_a_link (void)
{
  g_autoptr (SimPipeCase) c = pipe_test_case (
      PIPE_CPU PIPE_GPU ("0"),
      "[pipeline]\ntokens = 2000\nbytes = 100000\nin_flight = 20\n"
      "[stage r]\nmode = ordered\ncpu_us = 20\noutput_bytes = 100000\n"
      "[stage a]\ndevices = any\ncpu_us = 100\ngpu_us = 2\n"
      "output_bytes = 8\n"
      "[stage b]\nmode = ordered\ncpu_us = 0.1\n",
      NULL);
  SimPipeOptions options = { .strategy = "pipe-auto", .known = TRUE };
  SimPipeResult r;
  CU_ASSERT_PTR_NOT_NULL_FATAL (c);
  CU_ASSERT_TRUE_FATAL (sim_pipe_run (c, &options, &r, NULL));
  CU_ASSERT_TRUE (r.makespan_ns < 100e6);
  hass_report_free (r.report);
}

static void
other_options (void)
{
  static const char *const refused[]
      = { "--rounds 3",  "--slow gpu0:2:3", "--no-static",
          "--parts 4",   "--start 1",       "--lose gpu0:1",
          "--kernels 2", "--loops 1.5",     "--stoppable" };
  g_autofree char *csv = NULL, *text = NULL, *err = NULL, *more = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      g_autofree char *out = NULL, *why = NULL, *name = NULL;
      g_autofree char *words
          = g_strdup_printf ("--pipeline ferret %s", refused[i]);
      CU_ASSERT_EQUAL (program_run_words (&out, &why, "hass-sim", words), 2);
      name = g_strndup (refused[i], strcspn (refused[i], " "));
      program_says (why, name);
    }
  CU_ASSERT_EQUAL (
      program_run_words (&csv, &err, "hass-sim", "--pipeline ferret --csv"), 0);
  program_says (csv, "pipeline,platform,strategy,bound_ns,makespan_ns\n"
                     "\"ferret\",\"box\",\"pipe-auto\",");
  CU_ASSERT_EQUAL (
      program_run_words (&text, &more, "hass-sim", "--pipeline ferret --json"),
      0);
  g_autoptr (JsonParser) parser = json_parser_new ();
  CU_ASSERT_TRUE_FATAL (json_parser_load_from_data (parser, text, -1, NULL));
  JsonArray *runs = json_node_get_array (json_parser_get_root (parser));
  JsonObject *run = json_array_get_object_element (runs, 0);
  CU_ASSERT_EQUAL (json_array_get_length (runs), 1);
  CU_ASSERT_EQUAL (
      json_array_get_length (json_object_get_array_member (run, "stages")), 6);
}

/* All strategies run, of which there is no best static split, and the events of
   the last one are in the file. */
static void
traced (void)
{
  g_autofree char *path = trial_file (""), *text = NULL;
  g_autofree char *out = NULL, *err = NULL;
  g_autofree char *words
      = g_strdup_printf ("--pipeline video:1 --csv -s all,pipe-auto --trace %s "
                         "--explain -",
                         path);
  CU_ASSERT_EQUAL (program_run_words (&out, &err, "hass-sim", words), 0);
  CU_ASSERT_PTR_NULL (strstr (err, "oracle"));
  program_says (err, "units of compute1");
  CU_ASSERT_TRUE (g_file_get_contents (path, &text, NULL, NULL));
  program_says (text, "\"strategy\":\"pipe-auto\"");
  program_says (text, "\"event\":\"stage\"");
  unlink (path);
}

HASS_TEST_SUITE (
    pipe_run,
    { "a modelled pipeline passes each token once and in order in the engine",
      passes_every_token },
    { "what a stage with at_once has no place for on cores waits for GPUs, too",
      leaves_tokens_to_the_gpu },
    { "the time that a modelled pipeline takes to compute does not grow with "
      "its virtual time",
      long_tokens },
    { "idle modelled cores help inside tokens of stages with loops",
      helps_inside_tokens },
    { "hass-sim prints pipelines as CSV and JSON and refuses other options",
      other_options },
    { "hass-sim runs all strategies on one, traces it and explains", traced },
    { "stages that drop and emit beside a GPU take the time of the model",
      takes_the_model_time },
    { "hass-sim runs one of many random pipelines", one_of_many },
    { "hass-sim runs families of pipelines beside the best fixed mapping",
      families },
    { "strategies that use rates of earlier runs get them with --known",
      known_rates },
    { "the known rate of a GPU counts its link where that takes longest",
      known_rates_of_a_link },
    { "hass-sim prints makespan, bound and stages of a pipeline", program })
