/* SPDX-License-Identifier: MIT */
/* test_numbers.c: expected costs that are no numbers stop a farm and name the
   load; times that are too long saturate; what is written is JSON.

   Thread safety: one thread, beside the engine's. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "draw/json_line.h"
#include "engine/observe/json-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define N 40
#define BAD 17

static atomic_uint bad_computed; /* loads or tasks with the cost in question */

/* What a farm's callbacks get. */
typedef struct
{
  const HassLoad *loads;  /* [N], for the generator */
  const HassLoad *nested; /* that load 3's worker emits, or NULL */
} Plan;

static gboolean
compute (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  const Plan *plan = data;
  (void)error;
  if (!(block->load->cost >= 0 && block->load->cost <= G_MAXFLOAT))
    atomic_fetch_add (&bad_computed, 1);
  return !plan->nested || block->seq != 3
         || hass_worker_emit (worker, plan->nested);
}

static gboolean
compute_task (const HassTask *task, HassWorker *worker, gpointer data,
              GError **error)
{
  (void)worker, (void)data, (void)error;
  if (task->expected_time != 1)
    atomic_fetch_add (&bad_computed, 1);
  return TRUE;
}

static gboolean
emit (HassEmitter *emitter, gpointer data, GError **error)
{
  const Plan *plan = data;
  (void)error;
  for (guint i = 0; i < N; i++)
    if (!hass_emitter_emit (emitter, &plan->loads[i]))
      break;
  return TRUE;
}

/* The farm failed, the error names the load, and the report lists it. */
static void
expect (gboolean ok, const GError *error, const HassReport *report, guint64 seq,
        const char *what, const char *number)
{
  g_autofree char *text = g_strdup_printf (
      "%s %" G_GUINT64_FORMAT " has the expected", what, seq);
  gboolean listed = FALSE;
  for (guint i = 0; report && i < report->n_unfinished; i++)
    listed
        |= seq >= report->unfinished[i].seq
           && seq - report->unfinished[i].seq < report->unfinished[i].n_loads;
  gboolean named = error && strstr (error->message, text)
                   && strstr (error->message, number);
  CU_ASSERT_FALSE (ok);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
  CU_ASSERT_TRUE (named);
  CU_ASSERT_TRUE (listed);
  if (!named)
    printf ("\n    '%s ... %s' was due, got: %s", text, number,
            error ? error->message : "success");
}

static const struct
{
  double cost;
  const char *text;
} bad[]
    = { { INFINITY, "inf" }, { NAN, "nan" }, { -1, "-1" }, { 1e300, "inf" } };

/* In what way the load comes. */
enum
{
  ARRAY,
  GENERATED,
  NESTED,
  VIRTUAL, /* where the class says that nothing is known, but models read */
  N_WAYS
};

static void
bad_load (guint way, float cost, const char *number)
{
  g_autofree char *platform
      = trial_file ("[platform]\n[cpu]\ncores = 2\nwork_per_us = 1\n");
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  HassLoad loads[N], nested = { .size = 1, .cost = cost };
  Plan plan = { loads, way == NESTED ? &nested : NULL };
  for (guint k = 0; k < N; k++)
    loads[k] = (HassLoad){ .size = 1, .cost = 1 };
  if (way != NESTED)
    loads[BAD].cost = cost;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "numbers";
  f.cost = way == VIRTUAL ? HASS_COST_UNKNOWN : HASS_COST_SIZED;
  f.user_data = &plan;
  f.cpu_worker = compute;
  f.loads = way == GENERATED ? NULL : loads;
  f.n_loads = way == GENERATED ? 0 : N;
  f.generate = way == GENERATED ? emit : NULL;
  f.run.n_cores = 2;
  f.run.platform = way == VIRTUAL ? platform : NULL;
  atomic_store (&bad_computed, 0);
  gboolean ok = hass_data_farm_combine (&f, &report, &error);
  expect (ok, error, report, way == NESTED ? N : BAD, "load", number);
  CU_ASSERT_EQUAL (atomic_load (&bad_computed), 0);
  unlink (platform);
}

static void
bad_loads (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    for (guint way = 0; way < N_WAYS; way++)
      bad_load (way, (float)bad[i].cost, bad[i].text);
}

static void
bad_tasks (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (HassReport) report = NULL;
      HassTask tasks[N];
      for (guint k = 0; k < N; k++)
        tasks[k] = (HassTask){ .cpu = compute_task, .expected_time = 1 };
      tasks[BAD].expected_time = bad[i].cost;
      HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
      f.name = "numbers";
      f.tasks = tasks;
      f.n_tasks = N;
      f.run.n_cores = 2;
      atomic_store (&bad_computed, 0);
      gboolean ok = hass_function_farm (&f, &report, &error);
      expect (ok, error, report, BAD, "task", bad[i].text);
      CU_ASSERT_EQUAL (atomic_load (&bad_computed), 0);
    }
}

/* The largest costs on the slowest machine: 1e53 ns each. */
static void
endless_times (void)
{
  g_autofree char *platform
      = trial_file ("[platform]\n[cpu]\ncores = 1\nwork_per_us = 1e-12\n");
  g_autofree char *record = trial_file ("");
  HassLoad loads[N];
  for (guint k = 0; k < N; k++)
    loads[k] = (HassLoad){ .size = 1, .cost = G_MAXFLOAT };
  for (guint large = 0; large < 2; large++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (HassReport) report = NULL;
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.name = "numbers";
      f.cost = HASS_COST_SIZED;
      f.cpu_worker = compute;
      f.loads = loads;
      f.n_loads = large ? N : 0;
      f.run.dry = TRUE;
      f.run.platform = platform;
      f.run.record = record;
      CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, &error));
      CU_ASSERT_PTR_NOT_NULL_FATAL (report);
      CU_ASSERT_EQUAL (report->saturated, (gboolean)large);
      CU_ASSERT_DOUBLE_EQUAL (report->makespan_s, large ? 1e9 : 0, 1e-3);
      CU_ASSERT_TRUE (isfinite (report->bound_s) && isfinite (report->work));
      g_autofree char *json = hass_report_to_json (report);
      g_autofree char *table = hass_report_to_string (report);
      g_autoptr (JsonNode) node = draw_json_line (json, NULL);
      CU_ASSERT_PTR_NOT_NULL (node);
      CU_ASSERT_EQUAL (strstr (table, "at least these") != NULL, large);
      g_autofree char *text = NULL;
      CU_ASSERT_TRUE (g_file_get_contents (record, &text, NULL, NULL));
      CU_ASSERT_PTR_NULL (strstr (text, "inf"));
      CU_ASSERT_PTR_NULL (strstr (text, "nan"));
    }
  unlink (platform);
  unlink (record);
}

static void
json_numbers (void)
{
  static const struct
  {
    double value;
    const char *text;
  } numbers[]
      = { { INFINITY, "null" }, { -INFINITY, "null" }, { NAN, "null" },
          { 2, "2.0" },         { 0.5, "0.5" },        { 1e22, NULL },
          { -1e23, NULL },      { 5e-324, NULL },      { G_MAXDOUBLE, NULL } };
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      double value = numbers[i].value;
      g_autoptr (JsonBuilder) j = json_builder_new ();
      json_builder_begin_array (j);
      json_put_double (j, value);
      json_builder_end_array (j);
      g_autofree char *text = json_text (j, FALSE);
      g_autofree char *right = g_strdup_printf ("[%s]", numbers[i].text);
      if (numbers[i].text)
        CU_ASSERT_STRING_EQUAL (text, right);
      /* digits, a point, digits, perhaps an exponent */
      CU_ASSERT_TRUE (numbers[i].text
                      || g_regex_match_simple (
                          "^\\[-?\\d+\\.\\d+(e[-+]\\d+)?\\]$", text, 0, 0));
      CU_ASSERT_TRUE (numbers[i].text
                      || fabs (g_ascii_strtod (text + 1, NULL) / value - 1)
                             < 1e-15);
      char short_text[JSON_NUMBER_BYTES];
      const char *shown = json_number (short_text, "%.0f", value);
      CU_ASSERT_EQUAL (strcmp (shown, "null") == 0, !isfinite (value));
    }
}

HASS_TEST_SUITE (
    numbers,
    { "a load with a cost that is no number stops its farm, by name",
      bad_loads },
    { "a task whose time is no number stops its farm, by name", bad_tasks },
    { "times beyond the end of virtual time end there, and the report says so",
      endless_times },
    { "no number is written that JSON does not have", json_numbers })
