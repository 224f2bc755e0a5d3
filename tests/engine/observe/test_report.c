/* SPDX-License-Identifier: MIT */
/* test_report.c: numbers, table, JSON, progress and traces.
   Thread safety: one thread. */
#include <json-glib/json-glib.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

static gboolean
spin (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  (void)worker, (void)data;
  gint64 until = g_get_monotonic_time () + 50;
  while (g_get_monotonic_time () < until)
    ;
  if (block->seq % 10 == 3)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "a \"quoted\"\nreason");
      return FALSE;
    }
  return TRUE;
}

static HassReport *
some_report (const char *platform)
{
  static guint8 bytes[100];
  HassLoad loads[200];
  HassReport *report = NULL;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  for (guint i = 0; i < 200; i++)
    loads[i] = (HassLoad){
      .size = 10, .input = bytes, .input_bytes = 100, .cost = 1 + i % 7
    };
  f.name = "a \"farm\"";
  f.loads = loads;
  f.n_loads = 200;
  f.round_loads = 70;
  f.cost = HASS_COST_SIZED;
  f.cpu_worker = spin;
  f.run.n_cores = 2;
  f.run.platform = platform;
  f.run.on_error = HASS_ON_ERROR_CONTINUE;
  watchdog (20, "a report");
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, NULL));
  watchdog (0, NULL);
  return report;
}

static void
check_numbers (const HassReport *r)
{
  guint64 units = 0, bytes = 0, failures = 0;
  double work = 0;
  for (guint d = 0; d < r->n_devices; d++)
    {
      const HassDeviceReport *v = &r->devices[d];
      units += v->units;
      bytes += v->bytes;
      work += v->work;
      failures += v->failures;
      CU_ASSERT_TRUE (v->busy_s >= 0 && v->busy_s <= r->makespan_s * 1.0001);
      CU_ASSERT_TRUE (fabs (v->waiting_s + v->busy_s - r->makespan_s) < 1e-9);
      CU_ASSERT_TRUE (v->tail_s >= 0 && v->tail_s <= r->makespan_s * 1.0001);
      CU_ASSERT_TRUE (v->kernel_s <= v->busy_s * 1.0001);
    }
  CU_ASSERT_EQUAL (r->loads, 200);
  CU_ASSERT_EQUAL (r->units, 180);
  CU_ASSERT_EQUAL (units, r->units);
  CU_ASSERT_EQUAL (bytes, r->bytes);
  CU_ASSERT_EQUAL (r->n_unfinished, 20);
  CU_ASSERT_EQUAL (r->rounds, 3);
  CU_ASSERT_TRUE (failures >= 1 && failures <= 20);
  CU_ASSERT_TRUE (fabs (work - r->work) < 1e-6 * work);
  CU_ASSERT_TRUE (r->efficiency > 0 && r->efficiency <= 1.0001);
  CU_ASSERT_TRUE (fabs (r->efficiency - r->bound_s / r->makespan_s) < 1e-9);
  CU_ASSERT_TRUE (fabs (trial_lost (r) - r->makespan_s + r->bound_s) < 1e-9);
  CU_ASSERT_TRUE (r->lost_copies_s >= 0 && r->lost_imbalance_s >= 0);
  for (guint i = 0; i < r->n_unfinished; i++)
    CU_ASSERT_EQUAL (r->unfinished[i].seq, 10 * i + 3);
}

static char *
toy (void)
{
  return trial_file ("[platform]\nname = toy\n[cpu]\ncores = 2\n"
                     "work_per_us = 1\n[gpu0]\nmultiprocessors = 2\n"
                     "width = 20\nwork_per_us = 2\nh2d_gbps = 1\n");
}

static void
numbers_live (void)
{
  g_autoptr (HassReport) report = some_report ("");
  check_numbers (report);
}

static void
numbers_virtual (void)
{
  g_autofree char *platform = toy ();
  g_autoptr (HassReport) report = some_report (platform);
  check_numbers (report);
  CU_ASSERT_TRUE (report->virtual_time);
  unlink (platform);
}

static double
json_number (JsonObject *o, const char *name)
{
  CU_ASSERT_TRUE (json_object_has_member (o, name));
  return json_object_get_double_member_with_default (o, name, -1);
}

static void
as_json (void)
{
  g_autofree char *platform = toy ();
  g_autoptr (HassReport) r = some_report (platform);
  g_autofree char *text = hass_report_to_json (r);
  g_autoptr (JsonParser) parser = json_parser_new ();
  unlink (platform);
  CU_ASSERT_TRUE_FATAL (json_parser_load_from_data (parser, text, -1, NULL));
  JsonObject *o = json_node_get_object (json_parser_get_root (parser));
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (o, "farm"),
                          "a \"farm\"");
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (o, "platform"), "toy");
  CU_ASSERT_TRUE (fabs (json_number (o, "makespan_s") - r->makespan_s) < 1e-9);
  CU_ASSERT_EQUAL (json_number (o, "units"), 180);
  CU_ASSERT_TRUE (fabs (json_number (o, "efficiency") - r->efficiency) < 1e-9);
  JsonArray *devices = json_object_get_array_member (o, "devices");
  CU_ASSERT_EQUAL (json_array_get_length (devices), 2);
  CU_ASSERT_STRING_EQUAL (
      json_object_get_string_member (json_array_get_object_element (devices, 1),
                                     "kind"),
      "gpu");
  JsonArray *unfinished = json_object_get_array_member (o, "unfinished");
  CU_ASSERT_EQUAL (json_array_get_length (unfinished), 20);
  CU_ASSERT_PTR_NOT_NULL (
      strstr (json_object_get_string_member (
                  json_array_get_object_element (unfinished, 0), "message"),
              "a \"quoted\"\nreason"));
}

static void
as_table (void)
{
  g_autoptr (HassReport) r = some_report ("");
  g_autofree char *text = hass_report_to_string (r);
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "a \"farm\""));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "100.0%"));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "unfinished: load 3: "));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "unfinished: 10 more"));
}

static void
no_report (void)
{
  hass_report_free (NULL);
  CU_PASS ("still here");
}

/* -- Progress ----------------------------------------------------------- */

typedef struct
{
  guint n, wrong;
  HassProgressInfo last;
  _Atomic gboolean enough; /* progress was told */
  _Atomic guint n_dozed;   /* units */
} Watched;

static void
watch (const HassProgressInfo *info, gpointer data)
{
  Watched *w = data;
  w->wrong += info->elapsed_s < w->last.elapsed_s
              || info->units_done < w->last.units_done
              || info->loads_emitted < info->units_done
              || info->loads_emitted < w->last.loads_emitted
              || (w->last.generated && !info->generated);
  w->last = *info;
  w->n++;
  w->enough = w->n >= 4 && info->units_done > 10;
}

/* The last ten units wait until progress was told four times, and of 10. */
static gboolean
doze (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  Watched *w = data;
  (void)block, (void)error;
  do
    usleep (2000);
  while (w->n_dozed >= 50 && !w->enough && !hass_worker_stopping (worker));
  w->n_dozed++;
  return TRUE;
}

static void
progress (void)
{
  static HassLoad loads[60];
  Watched w = { 0 };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.loads = loads;
  f.n_loads = G_N_ELEMENTS (loads);
  f.cpu_worker = doze;
  f.user_data = &w;
  f.run.n_cores = 2;
  f.run.progress = watch;
  f.run.progress_data = &w;
  f.run.progress_interval_ms = 5;
  watchdog (20, "progress");
  gint64 begin_us = g_get_monotonic_time ();
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, NULL, NULL));
  gint64 most = (g_get_monotonic_time () - begin_us) / 5000 + 1;
  watchdog (0, NULL);
  CU_ASSERT_TRUE (w.n >= 4 && w.n <= most);
  CU_ASSERT_EQUAL (w.wrong, 0);
  CU_ASSERT_TRUE (w.last.units_done > 10 && w.last.units_done <= 60);
  CU_ASSERT_TRUE (w.last.generated);
}

/* -- Traces ------------------------------------------------------------- */

static void
trace_lines (void)
{
  g_autofree char *path = trial_file (""), *text = NULL;
  StandInPlan plan = { .fail_bundle_at = 1 };
  HassDevice *device = stand_in_new (&plan);
  Trial t = { .kind = HASS_FARM_COMBINE,
              .strategy = "naive-greedy",
              .n_cores = 1,
              .n_loads = 100,
              .most_elements = 3,
              .spin_us = 50,
              .devices = { device },
              .n_devices = 1 };
  guint n = 0, bad = 0, ends = 0;
  g_setenv ("HASS_TRACE", path, TRUE);
  trial_expect (&t);
  g_unsetenv ("HASS_TRACE");
  g_file_get_contents (path, &text, NULL, NULL);
  unlink (path);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **l = lines; *l && **l; l++, n++)
    {
      g_autoptr (JsonParser) parser = json_parser_new ();
      bad += !json_parser_load_from_data (parser, *l, -1, NULL);
      ends += strstr (*l, "\"event\":\"end\"") != NULL;
    }
  CU_ASSERT_TRUE (n > 5);
  CU_ASSERT_EQUAL (bad, 0);
  CU_ASSERT_EQUAL (ends, 1);
  stand_in_free (device);
}

/* A report of one device whose work of one second has so many bytes. */
static char *
table_of (guint64 bytes, guint64 loads)
{
  HassDeviceReport cpu
      = { .name = "cpu", .bytes = bytes, .work = 10, .busy_s = 1 };
  HassReport r = { .farm = "f",
                   .strategy = "auto",
                   .kind = HASS_FARM_COMBINE,
                   .loads = loads,
                   .units = loads,
                   .rounds = loads,
                   .work = 10,
                   .makespan_s = 1,
                   .n_devices = 1,
                   .devices = &cpu };
  return hass_report_to_string (&r);
}

static void
table_numbers (void)
{
  static const struct
  {
    guint64 bytes, loads;
    const char *rate, *title;
  } wanted[]
      = { { 151234000000, 1, " 151 GB/s\n", "1 unit of 1 load in 1 round\n" },
          { 5440000000, 2, " 5.44 GB/s\n", "2 units of 2 loads in 2 rounds\n" },
          { 19640000, 2, " 19.6 MB/s\n", "2 units" },
          { 1500, 2, " 1.50 kB/s\n", "2 units" },
          { 12, 2, " 12.0 B/s\n", "2 units" },
          { 0, 2, " 10/s\n", "2 units" } };
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    {
      g_autofree char *text = table_of (wanted[i].bytes, wanted[i].loads);
      gboolean there
          = strstr (text, wanted[i].rate) && strstr (text, wanted[i].title);
      CU_ASSERT_TRUE (there);
      if (!there)
        printf ("\n    '%s' or '%s' is not in:\n%s", wanted[i].rate,
                wanted[i].title, text);
    }
}

HASS_TEST_SUITE (report, { "a live report's numbers agree", numbers_live },
                 { "a virtual report's numbers agree", numbers_virtual },
                 { "JSON has every number and quotes what it must", as_json },
                 { "the table names devices and what is unfinished", as_table },
                 { "the table gives rates in units that suit them, and one "
                   "unit as one",
                   table_numbers },
                 { "no report may be freed", no_report },
                 { "progress only grows", progress },
                 { "each line of a trace is JSON", trace_lines })
