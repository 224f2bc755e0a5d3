/* SPDX-License-Identifier: MIT */
/* test_trace.c: what the files of HASS_TRACE and HASS_REPORT tell of a run.
   Thread safety: one thread. */
#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

/* The lines of a file, each a JSON object; removes it. */
static GPtrArray *
lines_of (const char *path)
{
  g_autofree char *text = NULL;
  GPtrArray *lines
      = g_ptr_array_new_with_free_func ((GDestroyNotify)json_node_unref);
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  unlink (path);
  g_auto (GStrv) parts = g_strsplit (text, "\n", -1);
  for (char **p = parts; *p && **p; p++)
    {
      JsonNode *node = json_from_string (*p, NULL);
      CU_ASSERT_TRUE_FATAL (node && JSON_NODE_HOLDS_OBJECT (node));
      g_ptr_array_add (lines, node);
    }
  return lines;
}

static JsonObject *
line (GPtrArray *lines, guint i)
{
  return json_node_get_object (lines->pdata[i]);
}

static gboolean
is (JsonObject *o, const char *event)
{
  return !strcmp (json_object_get_string_member (o, "event"), event);
}

/* begin <= end, after `*at`, which moves to the end. */
static gboolean
follows (JsonObject *o, const char *stage, gint64 *at)
{
  JsonArray *a = json_object_get_array_member (o, stage);
  gint64 begin = json_array_get_int_element (a, 0);
  gint64 end = json_array_get_int_element (a, 1);
  gboolean ok = begin >= *at && end >= begin;
  *at = end;
  return ok;
}

/* Pulls and bundles together are all units once. */
static void
complete (GPtrArray *lines, guint64 n_units, guint least_bundles)
{
  guint64 units = 0;
  guint bundles = 0, wrong = 0;
  for (guint i = 0; i < lines->len; i++)
    {
      JsonObject *o = line (lines, i);
      gint64 t = json_object_get_int_member (o, "t"), at = 0;
      if (is (o, "bundle"))
        {
          bundles++;
          wrong += !follows (o, "in", &at) || !follows (o, "kernel", &at)
                   || !follows (o, "out", &at) || at > t;
        }
      if (is (o, "pull"))
        wrong += json_object_get_int_member (o, "begin") > t;
      if (is (o, "pull") || is (o, "bundle"))
        units += json_object_get_int_member (o, "units");
    }
  CU_ASSERT_EQUAL (units, n_units);
  CU_ASSERT_EQUAL (wrong, 0);
  CU_ASSERT_TRUE (bundles >= least_bundles);
  CU_ASSERT_TRUE (is (line (lines, 0), "farm"));
}

static char *
toy (void)
{
  return trial_file ("[platform]\nname = a \"toy\"\n[cpu]\ncores = 2\n"
                     "work_per_us = 1\n[gpu0]\nmultiprocessors = 2\n"
                     "width = 20\nwork_per_us = 2\nh2d_gbps = 1\n");
}

static void
virtual_trace (void)
{
  g_autofree char *path = trial_file (""), *platform = toy ();
  Trial t = { .kind = HASS_FARM_INDIVISIBLE,
              .strategy = "naive-greedy",
              .platform = platform,
              .n_loads = 100,
              .most_elements = 1 };
  g_setenv ("HASS_TRACE", path, TRUE);
  trial_expect (&t);
  g_unsetenv ("HASS_TRACE");
  unlink (platform);
  g_autoptr (GPtrArray) lines = lines_of (path);
  complete (lines, 100, 1);
  JsonObject *first = line (lines, 0);
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (first, "platform"),
                          "a \"toy\"");
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (first, "strategy"),
                          "naive-greedy");
  CU_ASSERT_EQUAL (
      json_array_get_length (json_object_get_array_member (first, "devices")),
      2);
}

/* The trace of 100 loads on a core and a device with such a plan. */
static GPtrArray *
traced_live (const StandInPlan *plan, const char *strategy, gboolean gpu_only)
{
  g_autofree char *path = trial_file ("");
  HassDevice *device = stand_in_new (plan);
  Trial t = { .kind = HASS_FARM_INDIVISIBLE,
              .strategy = strategy,
              .platform = "",
              .n_cores = 1,
              .n_loads = 100,
              .most_elements = 1,
              .spin_us = 50,
              .gpu_only = gpu_only,
              .devices = { device },
              .n_devices = 1 };
  g_setenv ("HASS_TRACE", path, TRUE);
  trial_expect (&t);
  g_unsetenv ("HASS_TRACE");
  stand_in_free (device);
  return lines_of (path);
}

static void
live_trace (void)
{
  StandInPlan plan = { 0 };
  g_autoptr (GPtrArray) lines = traced_live (&plan, "static:cpu=0.5", FALSE);
  complete (lines, 100, 1);
  CU_ASSERT_TRUE (json_object_get_null_member (line (lines, 0), "platform"));
}

/* Bundles that fail have lines of their own, and their units are computed all
   the same. The device runs all of them, so it has a second and a fourth bundle
   however slowly its thread begins. */
static void
failed (void)
{
  StandInPlan plan = { .fail_bundle_at = 2, .fail_submit_at = 4 };
  g_autoptr (GPtrArray) lines = traced_live (&plan, "naive-greedy", TRUE);
  guint n = 0, done = 0;
  complete (lines, 100, 1);
  for (guint i = 0; i < lines->len; i++)
    {
      JsonObject *o = line (lines, i);
      if (is (o, "done"))
        done += json_object_get_boolean_member (o, "failed");
      if (!is (o, "failed"))
        continue;
      n++;
      CU_ASSERT_STRING_EQUAL (json_object_get_string_member (o, "device"),
                              "gpu0");
      CU_ASSERT_EQUAL (json_object_get_int_member (o, "units"), 1);
      CU_ASSERT_TRUE (json_object_get_int_member (o, "begin")
                      <= json_object_get_int_member (o, "t"));
    }
  CU_ASSERT_EQUAL (n, 2);
  CU_ASSERT_EQUAL (done, 2);
}

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

static gboolean
run_farm (const char *name, const char *strategy, GError **error)
{
  HassLoad loads[20];
  HassDataFarm f = HASS_DATA_FARM_INIT;
  for (guint i = 0; i < 20; i++)
    loads[i] = (HassLoad){ .size = 1 };
  f.name = name;
  f.loads = loads;
  f.n_loads = 20;
  f.cpu_worker = work;
  f.run.strategy = strategy;
  f.run.platform = "";
  f.run.n_cores = 1;
  return hass_data_farm_combine (&f, NULL, error);
}

static void
two_farms (void)
{
  g_autofree char *path = trial_file ("what was there before\n");
  g_setenv ("HASS_TRACE", path, TRUE);
  CU_ASSERT_TRUE (run_farm ("first", "naive-greedy", NULL));
  CU_ASSERT_TRUE (run_farm ("second", "naive-greedy", NULL));
  g_unsetenv ("HASS_TRACE");
  g_autoptr (GPtrArray) lines = lines_of (path);
  guint n = 0;
  for (guint i = 0; i < lines->len; i++)
    if (is (line (lines, i), "farm"))
      CU_ASSERT_STRING_EQUAL (
          json_object_get_string_member (line (lines, i), "farm"),
          n++ == 0 ? "first" : "second");
  CU_ASSERT_EQUAL (n, 2);
}

static void
report_lines (void)
{
  g_autofree char *path = trial_file ("");
  g_autoptr (GError) error = NULL;
  g_setenv ("HASS_REPORT", path, TRUE);
  CU_ASSERT_TRUE (run_farm ("first", "naive-greedy", NULL));
  CU_ASSERT_FALSE (run_farm ("a \"second\"", "no-such", &error));
  g_unsetenv ("HASS_REPORT");
  CU_ASSERT_PTR_NOT_NULL_FATAL (error);
  g_autoptr (GPtrArray) lines = lines_of (path);
  CU_ASSERT_EQUAL_FATAL (lines->len, 2);
  JsonObject *a = line (lines, 0), *b = line (lines, 1);
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (a, "farm"), "first");
  CU_ASSERT_EQUAL (json_object_get_int_member (a, "units"), 20);
  CU_ASSERT_TRUE (json_object_get_double_member (a, "makespan_s") > 0);
  CU_ASSERT_TRUE (json_object_get_null_member (a, "error"));
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (b, "farm"),
                          "a \"second\"");
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (b, "error"),
                          error->message);
}

/* Runs a farm under a wrong environment variable. Returns: how many lines of
   HASS_REPORT say so. */
static guint
refused_line (const char *variable, const char *value)
{
  g_autofree char *path = trial_file ("");
  g_autoptr (GError) error = NULL;
  g_setenv ("HASS_REPORT", path, TRUE);
  g_setenv (variable, value, TRUE);
  CU_ASSERT_FALSE (run_farm ("refused", NULL, &error));
  g_unsetenv (variable);
  g_unsetenv ("HASS_REPORT");
  g_autoptr (GPtrArray) lines = lines_of (path);
  guint n = 0;
  for (guint i = 0; i < lines->len; i++)
    n += g_strcmp0 (json_object_get_string_member (line (lines, i), "error"),
                    error ? error->message : "")
         == 0;
  return n;
}

static void
refused_lines (void)
{
  CU_ASSERT_EQUAL (refused_line ("HASS_STRATEGY", "no-such"), 1);
  CU_ASSERT_EQUAL (refused_line ("HASS_NCPU", "many"), 1);
  CU_ASSERT_EQUAL (refused_line ("HASS_DEVICES", "no-such"), 1);
}

/* A dataflow that is wrong in itself. */
static void
refused_dataflow (void)
{
  g_autofree char *path = trial_file ("");
  HassDataflow d = HASS_DATAFLOW_INIT;
  g_autoptr (GError) error = NULL;
  g_setenv ("HASS_REPORT", path, TRUE);
  CU_ASSERT_FALSE (hass_dataflow (&d, NULL, &error));
  g_unsetenv ("HASS_REPORT");
  g_autoptr (GPtrArray) lines = lines_of (path);
  CU_ASSERT_EQUAL_FATAL (lines->len, 1);
  CU_ASSERT_STRING_EQUAL (
      json_object_get_string_member (line (lines, 0), "error"),
      "dataflow 'dataflow': build is NULL");
}

static void
no_report_file (void)
{
  g_autoptr (GError) error = NULL;
  g_setenv ("HASS_REPORT", "/nowhere/report", TRUE);
  CU_ASSERT_FALSE (run_farm ("first", "naive-greedy", &error));
  g_unsetenv ("HASS_REPORT");
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
  CU_ASSERT_PTR_NOT_NULL_FATAL (error);
  CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "/nowhere/report"));
}

HASS_TEST_SUITE (
    trace,
    { "a virtual trace has each unit once, stages in order", virtual_trace },
    { "a live trace has each unit once, stages in order", live_trace },
    { "a bundle that failed has a line, its units are computed all the same",
      failed },
    { "HASS_TRACE keeps all farms of the process, and only those", two_farms },
    { "HASS_REPORT has a line a farm, and why it failed", report_lines },
    { "HASS_REPORT says why a farm was refused", refused_lines },
    { "so does a dataflow whose settings are wrong", refused_dataflow },
    { "a report file that cannot be written is an error", no_report_file })
