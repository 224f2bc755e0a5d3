/* SPDX-License-Identifier: MIT */
/* test_pipeline_report.c: what users see of a pipeline: its report, its trace
   and its record.

   DESIGN. What binds is known from when callbacks ran: a stage that shall bind
   computes for so long that the time that others keep the process from the CPUs
   is negligible beside it, and losses are compared with sleeps that the
   generator has measured.

   Thread safety: one pipeline at a time. */
#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

#include "hass/error.h"
#include "hass/pipeline.h"
#include "hass_test.h"
#include "tests/engine/trial.h"
#include "tests/count.h"

#define N 150
#define SLOW_US 2000 /* of a token in a slow stage, at least */

/* Times of a pipeline, in us. */
static gint64 run_begin, slow_busy, generator_slept;
static HassErrorPolicy on_error; /* of the runs that follow */
static guint n_cores = 2;        /* of those */
static guint tenths = 9;         /* of the time for which slow() computes */

static gboolean
brief (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  return TRUE;
}

/* For an ordered stage: computes until the stage has computed for so many
   tenths of the pipeline's time. */
static gboolean
slow (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  gint64 begin = g_get_monotonic_time (), now;
  (void)token, (void)worker, (void)data, (void)error;
  do
    {
      g_usleep (SLOW_US / 2);
      now = g_get_monotonic_time ();
    }
  while (now < begin + SLOW_US
         || 10 * (slow_busy + now - begin) < tenths * (now - run_begin));
  slow_busy += now - begin;
  return TRUE;
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  static guint8 bytes[100];
  gint64 us = *(const gint64 *)data;
  (void)error;
  for (guint i = 0; i < N; i++)
    {
      const HassLoad load = { .input = bytes, .input_bytes = sizeof bytes };
      gint64 begin = g_get_monotonic_time ();
      if (us > 0)
        g_usleep (us);
      generator_slept += g_get_monotonic_time () - begin;
      if (!hass_emitter_emit (emitter, &load))
        break;
    }
  return TRUE;
}

/* Runs N tokens of 100 bytes through a brief parallel stage and @last, on two
   cores, or n_cores, at most @tokens in flight; 0: the default. The generator
   sleeps for
   @us before each. */
static gboolean
run_stage (HassStage last, gsize tokens, gint64 us, HassReport **report,
           GError **error)
{
  const HassStage stages[]
      = { HASS_STAGE (.name = "take", .cpu = brief), last };
  HassPipeline p = HASS_PIPELINE_INIT;
  p.name = "some";
  p.user_data = &us;
  p.generate = generate;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.tokens = tokens;
  p.run.n_cores = n_cores;
  p.run.platform = "";
  p.run.on_error = on_error;
  slow_busy = generator_slept = 0;
  run_begin = g_get_monotonic_time ();
  watchdog (20, "a pipeline's report");
  gboolean ok = hass_pipeline (&p, report, error);
  watchdog (0, NULL);
  return ok;
}

/* The last stage is ordered and does @work. */
static gboolean
run (HassStageFunc work, gint64 us, HassReport **report, GError **error)
{
  const HassStage last = HASS_STAGE (.name = "a \"write\"",
                                     .mode = HASS_STAGE_ORDERED, .cpu = work);
  return run_stage (last, 0, us, report, error);
}

static gboolean
binds (const HassReport *r, const char *what)
{
  gboolean right = r && r->binding && g_str_has_prefix (r->binding, what);
  if (!right)
    printf ("\n    %s", r && r->binding ? r->binding : "no report");
  return right;
}

static void
check_losses (const HassReport *r)
{
  const double losses[]
      = { r->lost_startup_s, r->lost_generator_s, r->lost_copies_s,
          r->lost_halo_s,    r->lost_imbalance_s, r->lost_collector_s,
          r->lost_reduce_s,  r->lost_teardown_s,  r->lost_overhead_s };
  for (guint i = 0; i < G_N_ELEMENTS (losses); i++)
    CU_ASSERT_TRUE (losses[i] >= 0);
  CU_ASSERT_TRUE (r->bound_s > 0 && r->bound_s <= r->makespan_s);
  CU_ASSERT_DOUBLE_EQUAL (trial_lost (r), r->makespan_s - r->bound_s, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (r->efficiency, r->bound_s / r->makespan_s, 1e-9);
}

/* Drops every third token, and fails at every fifth. */
static gboolean
pick (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)data;
  if (token->seq % 3 == 0)
    hass_token_drop (token, worker);
  else if (token->seq % 5 == 0)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID, "every fifth");
      return FALSE;
    }
  return TRUE;
}

/* The device computed each token at both stages. */
static void
units_are_tokens (void)
{
  g_autoptr (HassReport) r = NULL, few = NULL;
  CU_ASSERT_TRUE_FATAL (run (brief, 0, &r, NULL));
  CU_ASSERT_EQUAL (r->units, N);
  CU_ASSERT_EQUAL (r->devices[0].units, 2 * N);
  g_autofree char *text = hass_report_to_string (r);
  CU_ASSERT_EQUAL (count (text, " waiting "), 1); /* of devices: a time */
  CU_ASSERT_EQUAL (count (text, " queued "), 1);  /* of stages: tokens */
  CU_ASSERT_EQUAL (count (text, " units "), 0);
  CU_ASSERT_EQUAL (count (text, " computed "), 1);
  guint failed = 0;
  for (guint i = 0; i < N; i++)
    failed += i % 3 != 0 && i % 5 == 0;
  on_error = HASS_ON_ERROR_CONTINUE;
  run (pick, 0, &few, NULL);
  on_error = HASS_ON_ERROR_STOP;
  CU_ASSERT_PTR_NOT_NULL_FATAL (few);
  CU_ASSERT_EQUAL (few->n_unfinished, failed);
  CU_ASSERT_EQUAL (few->units, N - failed);
}

static void
ordered_binds (void)
{
  g_autoptr (HassReport) r = NULL;
  CU_ASSERT_TRUE_FATAL (run (slow, 0, &r, NULL));
  check_losses (r);
  CU_ASSERT_TRUE (binds (r, "stage 'a \"write\"' binds"));
  CU_ASSERT_TRUE (r->bound_s >= N * SLOW_US * 1e-6);
}

static void
generator_binds (void)
{
  g_autoptr (HassReport) r = NULL;
  CU_ASSERT_TRUE_FATAL (run (brief, 1000, &r, NULL));
  check_losses (r);
  CU_ASSERT_TRUE (binds (r, "the generator binds"));
  /* At most what the bound, the start-up and the teardown leave. */
  double left_s = r->makespan_s - r->bound_s - r->lost_startup_s
                  - r->lost_reduce_s - r->lost_teardown_s;
  CU_ASSERT_TRUE (r->lost_generator_s
                  >= MIN (generator_slept * 1e-6, left_s) - 1e-6);
}

/* On one core an emission computes; that is not the generator's time. */
static void
generator_binds_alone (void)
{
  g_autoptr (HassReport) r = NULL;
  gint64 begin = g_get_monotonic_time ();
  double percent = 0;
  n_cores = 1;
  tenths = 4;
  CU_ASSERT_TRUE_FATAL (run (slow, 3000, &r, NULL));
  double most = g_get_monotonic_time () - begin - slow_busy;
  n_cores = 2;
  tenths = 9;
  check_losses (r);
  CU_ASSERT_TRUE_FATAL (binds (r, "the generator binds: it took "));
  sscanf (r->binding, "the generator binds: it took %lf", &percent);
  CU_ASSERT_TRUE (percent <= most * 1e-4 / r->makespan_s + 0.5);
}

/* One token at once on two cores: half of the cores' time. */
static void
at_once_binds (void)
{
  g_autoptr (HassReport) r = NULL;
  const HassStage last = HASS_STAGE (.name = "one", .cpu = slow, .at_once = 1);
  CU_ASSERT_TRUE_FATAL (run_stage (last, 0, 0, &r, NULL));
  check_losses (r);
  CU_ASSERT_TRUE (
      binds (r, "stage 'one' binds: at most 1 token at once, busy "));
  /* Of the other stage both cores could compute tokens at once. */
  const HassStageReport *both = &r->stages[0], *one = &r->stages[1];
  CU_ASSERT_DOUBLE_EQUAL (one->utilisation * both->busy_s,
                          2 * both->utilisation * one->busy_s, 1e-9);
}

static void
tokens_bind (void)
{
  g_autoptr (HassReport) r = NULL;
  const HassStage last = HASS_STAGE (.name = "any", .cpu = slow);
  CU_ASSERT_TRUE_FATAL (run_stage (last, 1, 0, &r, NULL));
  check_losses (r);
  CU_ASSERT_TRUE (binds (r, "the bound on tokens (tokens = 1) binds: "));
}

/* How long the callbacks of a phase sleep, and how long they have, in us. */
static gint64 init_us, reduce_us, phase_slept;

static void
sleep_for (gint64 us)
{
  gint64 begin = g_get_monotonic_time ();
  if (us > 0)
    g_usleep (us);
  phase_slept += us > 0 ? g_get_monotonic_time () - begin : 0;
}

static void
init_long (gpointer accumulator, gpointer data)
{
  (void)accumulator, (void)data;
  sleep_for (init_us);
}

static void
reduce_long (gpointer into, gconstpointer from, gpointer data)
{
  (void)into, (void)from, (void)data;
  sleep_for (reduce_us);
}

/* The phase that sleeps binds. It sleeps for longer if the rest of the run took
   more than a quarter of its time. */
static void
phases_bind (void)
{
  for (guint reduces = 0; reduces < 2; reduces++)
    for (gint64 us = 10000;; us *= 2)
      {
        guint64 sum = 0;
        g_autoptr (HassReport) r = NULL;
        const HassStage last
            = HASS_STAGE (.name = "sum", .cpu = brief, .reduce = reduce_long,
                          .reduce_init = init_long, .accumulator = &sum,
                          .accumulator_bytes = sizeof sum);
        init_us = reduces ? 0 : us;
        reduce_us = reduces ? us : 0;
        phase_slept = 0;
        CU_ASSERT_TRUE_FATAL (run_stage (last, 0, 0, &r, NULL));
        check_losses (r);
        if (us < 4000000 && phase_slept * 1e-6 < 0.8 * r->makespan_s)
          continue;
        CU_ASSERT_TRUE (
            binds (r, reduces ? "reduction binds: " : "start-up binds: "));
        break;
      }
}

static void
table (void)
{
  g_autoptr (HassReport) r = NULL;
  CU_ASSERT_TRUE_FATAL (run (slow, 0, &r, NULL));
  g_autofree char *text = hass_report_to_string (r);
  CU_ASSERT_TRUE (g_str_has_prefix (text, "pipeline some, strategy "));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, ", 150 loads through 2 stages\n"));
  CU_ASSERT_PTR_NOT_NULL (
      strstr (text, "\ntake         parallel          150 "));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "\na \"write\"    ordered  "));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, r->binding));
}

static JsonObject *
object_of (JsonParser *parser, const char *text)
{
  CU_ASSERT_TRUE_FATAL (json_parser_load_from_data (parser, text, -1, NULL));
  return json_node_get_object (json_parser_get_root (parser));
}

static void
as_json (void)
{
  g_autoptr (HassReport) r = NULL;
  g_autoptr (JsonParser) parser = json_parser_new ();
  CU_ASSERT_TRUE_FATAL (run (slow, 0, &r, NULL));
  g_autofree char *text = hass_report_to_json (r);
  JsonObject *o = object_of (parser, text);
  CU_ASSERT_TRUE_FATAL (json_object_has_member (o, "stages"));
  JsonArray *stages = json_object_get_array_member (o, "stages");
  CU_ASSERT_EQUAL_FATAL (json_array_get_length (stages), 2);
  JsonObject *s = json_array_get_object_element (stages, 1);
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (s, "name"),
                          "a \"write\"");
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (s, "mode"), "ordered");
  CU_ASSERT_EQUAL (json_object_get_int_member (s, "tokens"), N);
  CU_ASSERT_EQUAL (json_object_get_int_member (s, "bytes"), 100 * N);
  CU_ASSERT_DOUBLE_EQUAL (json_object_get_double_member (s, "busy_s"),
                          r->stages[1].busy_s, 1e-9);
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (o, "binding"),
                          r->binding);
}

HASS_TEST_SUITE (
    pipeline_report,
    { "units are tokens that left the pipeline, waiting is time",
      units_are_tokens },
    { "losses add up where an ordered stage binds", ordered_binds },
    { "losses add up where the generator binds", generator_binds },
    { "on one core the generator's time is without what emissions compute",
      generator_binds_alone },
    { "a parallel stage with at_once can bind", at_once_binds },
    { "the bound on tokens can bind, not the generator", tokens_bind },
    { "start-up and reduction can bind, not the generator", phases_bind },
    { "the table shows stages and what binds", table },
    { "JSON has each stage and what binds", as_json })

/* -- Trace and record --------------------------------------------------- */

static void
trace (void)
{
  g_autofree char *path = trial_file (""), *text = NULL;
  guint64 tokens[2] = { 0 }, wrong = 0;
  g_setenv ("HASS_TRACE", path, TRUE);
  CU_ASSERT_TRUE (run (slow, 0, NULL, NULL));
  g_unsetenv ("HASS_TRACE");
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  unlink (path);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **l = lines; *l && **l; l++)
    {
      g_autoptr (JsonParser) parser = json_parser_new ();
      JsonObject *o = object_of (parser, *l);
      if (l == lines)
        {
          CU_ASSERT_TRUE_FATAL (json_object_has_member (o, "stages"));
          CU_ASSERT_STRING_EQUAL (
              json_array_get_string_element (
                  json_object_get_array_member (o, "stages"), 1),
              "a \"write\"");
        }
      if (strcmp (json_object_get_string_member (o, "event"), "stage") != 0)
        continue;
      guint64 s = json_object_get_int_member (o, "stage");
      CU_ASSERT_TRUE_FATAL (s < 2);
      tokens[s] += json_object_get_int_member (o, "tokens");
      wrong += json_object_get_int_member (o, "core") > 1
               || json_object_get_int_member (o, "begin")
                      > json_object_get_int_member (o, "t");
    }
  CU_ASSERT_EQUAL (tokens[0], N);
  CU_ASSERT_EQUAL (tokens[1], N);
  CU_ASSERT_EQUAL (wrong, 0);
}

static void
record (void)
{
  g_autofree char *path = trial_file (""), *text = NULL, *machine = NULL;
  g_autofree char *platform = g_strconcat (path, ".platform", NULL);
  g_setenv ("HASS_RECORD", path, TRUE);
  CU_ASSERT_TRUE (run (slow, 0, NULL, NULL));
  g_unsetenv ("HASS_RECORD");
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (platform, &machine, NULL, NULL));
  unlink (path);
  unlink (platform);
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "\nname=some\n"));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "\ntokens=150\nbytes=100\n"));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "[stage take]\nmode=parallel\n"));
  const char *write = strstr (text, "[stage a \"write\"]\nmode=ordered\n");
  CU_ASSERT_PTR_NOT_NULL_FATAL (write);
  const char *work = strstr (write, "\nwork=");
  CU_ASSERT_PTR_NOT_NULL_FATAL (work);
  CU_ASSERT_TRUE (g_ascii_strtod (work + 6, NULL) >= SLOW_US);
  CU_ASSERT_PTR_NOT_NULL (
      strstr (text, "[stage (generator)]\nmode=ordered\nwork="));
  CU_ASSERT_PTR_NOT_NULL (strstr (machine, "[cpu]\ncores=2\n"));
}

static void
no_record (void)
{
  g_autoptr (GError) error = NULL;
  g_setenv ("HASS_RECORD", "/nowhere/at/all", TRUE);
  CU_ASSERT_FALSE (run (brief, 0, NULL, &error));
  g_unsetenv ("HASS_RECORD");
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
}

HASS_TEST_SUITE (pipeline_trace,
                 { "a trace has each token once at each stage", trace },
                 { "a record has the stages and the machine", record },
                 { "a record that cannot be written is an error", no_record })
