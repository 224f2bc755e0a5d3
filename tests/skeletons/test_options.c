/* SPDX-License-Identifier: MIT */
/* test_options.c: every field's limits, the environment, strategies by
   name.
   Thread safety: one thread; it sets environment variables. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "program.h"
#include "tests/engine/trial.h"

static HassLoad loads[100];

static gboolean
count (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)error;
  if (data)
    atomic_fetch_add ((_Atomic guint *)data, 1);
  return TRUE;
}

static gboolean
no_kernel (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
           GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

static void
unused_reduce (gpointer accumulator, gconstpointer part, gpointer data)
{
  (void)accumulator, (void)part, (void)data;
}

static gboolean
unused_unbundle (const HassBlock *blocks, gsize n, const HassStaging *staging,
                 gpointer data, GError **error)
{
  (void)blocks, (void)n, (void)staging, (void)data, (void)error;
  return TRUE;
}

static HassDataFarm
good_farm (void)
{
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.loads = loads;
  f.n_loads = G_N_ELEMENTS (loads);
  f.cpu_worker = count;
  f.run.n_cores = 2;
  return f;
}

static gboolean
fails_with (const HassDataFarm *f, HassError code, const char *text)
{
  GError *error = NULL;
  watchdog (20, text);
  gboolean ok = hass_data_farm_combine (f, NULL, &error);
  watchdog (0, NULL);
  gboolean right = !ok && g_error_matches (error, HASS_ERROR, code)
                   && strstr (error->message, text);
  if (!right)
    g_printerr ("\n    '%s' was due, got: %s", text,
                error ? error->message : "success");
  g_clear_error (&error);
  return right;
}

/* -- Fields ------------------------------------------------------------- */

static void
wrong_fields (void)
{
  HassDataFarm f = good_farm ();
  f.loads = NULL;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "neither a generator"));
  f = good_farm ();
  f.cost = 7;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "cost"));
  f = good_farm ();
  f.order = -1;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "order"));
  f = good_farm ();
  f.run.on_error = 2;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "on_error"));
  f = good_farm ();
  f.reduce = unused_reduce;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "accumulator"));
  f = good_farm ();
  f.n_constants = 1;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "n_constants"));
  f = good_farm ();
  f.join_tiles = TRUE;
  f.unbundle = unused_unbundle;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "join_tiles"));
  f = good_farm ();
  f.run.n_devices = 1;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "n_devices"));
  f = good_farm ();
  f.run.deadline_ms = -1;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "deadline_ms"));
  f.run.deadline_ms = G_MAXINT64;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "deadline_ms"));
  f = good_farm ();
  f.run.n_cores = 4097;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "4097 cores"));
}

static void
no_worker (void)
{
  HassDataFarm f = good_farm ();
  f.cpu_worker = NULL;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_NO_DEVICE, "neither a CPU"));
  f.gpu_worker = no_kernel;
  f.run.n_gpus = -1;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_NO_DEVICE, "no GPU is present"));
  static const HassKindWorker mine[]
      = { { "no-kind", no_kernel }, { NULL, NULL } };
  f.gpu_worker = NULL;
  f.workers = mine;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_NO_DEVICE,
                              "workers for no-kind only, and no such device"));
}

static void
empty_farm (void)
{
  g_autoptr (HassReport) report = NULL;
  HassDataFarm f = good_farm ();
  f.n_loads = 0;
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, NULL));
  CU_ASSERT_EQUAL (report->units, 0);
  CU_ASSERT_EQUAL (report->efficiency, 0);
}

/* -- Strategies and the environment ------------------------------------- */

static void
strategies_by_name (void)
{
  HassDataFarm f = good_farm ();
  g_autoptr (HassReport) report = NULL;
  f.run.strategy = "no-such";
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_STRATEGY, "naive-greedy"));
  f.run.strategy = "hass-f";
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_STRATEGY, "does not serve"));
  f.run.strategy = NULL;
  g_setenv ("HASS_STRATEGY", "naive-greedy", TRUE);
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, NULL));
  CU_ASSERT_STRING_EQUAL (report->strategy, "naive-greedy");
  g_clear_pointer (&report, hass_report_free);
  f.run.strategy = "hass-ce";
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, NULL));
  CU_ASSERT_STRING_EQUAL (report->strategy, "hass-ce");
  g_unsetenv ("HASS_STRATEGY");
}

static guint
cores_used (guint option)
{
  g_autoptr (HassReport) report = NULL;
  HassDataFarm f = good_farm ();
  f.run.n_cores = option;
  return hass_data_farm_combine (&f, &report, NULL) ? report->devices[0].cores
                                                    : 0;
}

static void
number_of_cores (void)
{
  static const char *const wrong[]
      = { "0", "-1", "4097", "two", "1.5", "1 ", "99999999999999999999" };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      HassDataFarm f = good_farm ();
      g_setenv ("HASS_NCPU", wrong[i], TRUE);
      CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, wrong[i]));
    }
  g_setenv ("HASS_NCPU", "3", TRUE);
  CU_ASSERT_EQUAL (cores_used (0), 3);
  CU_ASSERT_EQUAL (cores_used (2), 2);
  g_setenv ("HASS_NCPU", "", TRUE);
  CU_ASSERT_TRUE (cores_used (0) >= 1);
  g_unsetenv ("HASS_NCPU");
}

/* The program that tests lies in the source tree, whose doc has them. */
static void
platform_names (void)
{
  HassDataFarm f = good_farm ();
  g_autoptr (HassReport) report = NULL;
  g_setenv ("HASS_PLATFORM", "thesis", TRUE);
  CU_ASSERT_TRUE_FATAL (hass_data_farm_combine (&f, &report, NULL));
  CU_ASSERT_STRING_EQUAL (report->platform, "thesis");
  g_setenv ("HASS_PLATFORM", "thesis ", TRUE);
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_INVALID, "known are box, "));
  g_unsetenv ("HASS_PLATFORM");
}

static void
platforms (void)
{
  g_autofree char *path
      = trial_file ("[platform]\nname = toy\n[cpu]\ncores = 5\n"
                    "work_per_us = 1\n");
  g_autoptr (HassReport) report = NULL;
  HassDataFarm f = good_farm ();
  g_setenv ("HASS_PLATFORM", path, TRUE);
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, NULL));
  CU_ASSERT_TRUE (report->virtual_time);
  CU_ASSERT_STRING_EQUAL (report->platform, "toy");
  CU_ASSERT_EQUAL (report->devices[0].cores, 5);
  g_clear_pointer (&report, hass_report_free);
  f.run.platform = "";
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, NULL));
  CU_ASSERT_FALSE (report->virtual_time);
  g_unsetenv ("HASS_PLATFORM");
  unlink (path);
  f.run.platform = path;
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_IO, path));
  f.run.platform = "";
  f.run.trace = "/nowhere/trace";
  CU_ASSERT_TRUE (fails_with (&f, HASS_ERROR_IO, "/nowhere/trace"));
}

static void
unknown_variable (void)
{
  const char *argv[]
      = { program_self (), "--here", "--suite", "environment", NULL };
  g_auto (GStrv) env = g_get_environ ();
  g_autofree char *out = NULL, *text = NULL;
  int status = -1;
  env = g_environ_setenv (env, "HASS_NCPUS", "3", TRUE);
  CU_ASSERT_TRUE (g_spawn_sync (NULL, (char **)argv, env, G_SPAWN_DEFAULT, NULL,
                                NULL, &out, &text, &status, NULL));
  CU_ASSERT_EQUAL (status, 0);
  CU_ASSERT_TRUE (text && strstr (text, "HASS_NCPUS is not known"));
  CU_ASSERT_TRUE (text && strstr (text, "HASS_NCPU, "));
}

/* Run by the test above in a process of its own, since warnings come once. */
static void
any_environment (void)
{
  CU_ASSERT_TRUE (cores_used (1) == 1);
}

HASS_TEST_SUITE (
    options, { "each field out of range is refused and named", wrong_fields },
    { "a farm without a worker for any device says so", no_worker },
    { "a farm without loads ends at once", empty_farm },
    { "an unknown strategy lists the known ones; options win",
      strategies_by_name },
    { "HASS_NCPU must be a number of cores; options win", number_of_cores },
    { "HASS_PLATFORM is the default; options win", platforms },
    { "a shipped platform is known by its name", platform_names },
    { "an unknown HASS_ variable is warned of", unknown_variable })

HASS_TEST_SUITE (environment,
                 { "a farm runs whatever else the environment holds",
                   any_environment })
