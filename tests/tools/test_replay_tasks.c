/* SPDX-License-Identifier: MIT */
/* test_replay_tasks.c: a function farm's tasks run where their functions say,
   on a modelled machine and in the replay of a record, and the bound counts a
   device for such work only as it may run.
   Thread safety: one thread. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/trial.h"
#include "tools/hass-sim/replay/replay.h"

/* A core does 1000 work a ms, a GPU 3000 when it is full. */
#define MACHINE                                                                \
  "[platform]\nname = both\n[cpu]\ncores = 1\nwork_per_us = 1\npull_us = 0\n"  \
  "[gpu0]\nmultiprocessors = 1\nwidth = 1\nwork_per_us = 3\n"                  \
  "h2d_gbps = 10\nlaunch_us = 0\nlink_us = 0\n"

static gboolean
on_cpu (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  (void)task, (void)worker, (void)data, (void)error;
  return TRUE;
}

static gboolean
on_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

/* Tasks of 1000 work each: @c for the CPU, @g for GPUs, @e for either. */
static HassReport *
run (guint c, guint g, guint e, const char *record)
{
  guint n = c + g + e;
  g_autofree HassTask *tasks = g_new0 (HassTask, n);
  g_autofree char *platform = trial_file (MACHINE);
  g_autoptr (GError) error = NULL;
  HassReport *r = NULL;
  for (guint i = 0; i < n; i++)
    {
      tasks[i].expected_time = 1000;
      tasks[i].cpu = i < c || i >= c + g ? on_cpu : NULL;
      tasks[i].gpu = i >= c ? on_gpu : NULL;
    }
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  f.tasks = tasks;
  f.n_tasks = n;
  f.run.platform = platform;
  f.run.dry = TRUE;
  f.run.record = record ? record : "";
  watchdog (30, "tasks on a modelled machine");
  CU_ASSERT_TRUE (hass_function_farm (&f, &r, &error));
  watchdog (0, NULL);
  unlink (platform);
  CU_ASSERT_PTR_NOT_NULL_FATAL (r);
  return r;
}

static void
bounds (void)
{
  static const struct
  {
    guint c, g, e;
    double bound_ms;
  } farms[] = { { 12, 0, 0, 12 }, { 0, 12, 0, 4 },   { 0, 0, 12, 3 },
                { 12, 3, 0, 12 }, { 3, 12, 0, 4 },   { 4, 4, 4, 4 },
                { 4, 12, 0, 4 },  { 2, 2, 8, 3 },    { 12, 0, 12, 12 },
                { 1, 30, 2, 10 }, { 10, 12, 18, 10 } };
  for (guint i = 0; i < G_N_ELEMENTS (farms); i++)
    {
      g_autoptr (HassReport) r = run (farms[i].c, farms[i].g, farms[i].e, NULL);
      CU_ASSERT_DOUBLE_EQUAL (r->bound_s, farms[i].bound_ms * 1e-3, 1e-9);
      CU_ASSERT_TRUE (r->efficiency <= 1 + 1e-5);
      CU_ASSERT_TRUE (r->makespan_s >= r->bound_s - 1e-7);
      CU_ASSERT_TRUE (r->devices[0].units >= farms[i].c);
      CU_ASSERT_DOUBLE_EQUAL (trial_lost (r), r->makespan_s - r->bound_s, 1e-9);
      CU_ASSERT_TRUE (r->lost_imbalance_s > -1e-9);
    }
}

/* Nothing is lost where all cores compute to the end, whatever else there
   is. */
static void
cpu_only_is_no_loss (void)
{
  g_autoptr (HassReport) r = run (12, 0, 0, NULL);
  CU_ASSERT_EQUAL (r->n_devices, 1);
  CU_ASSERT_DOUBLE_EQUAL (r->efficiency, 1, 1e-9);
  g_autoptr (HassReport) beside = run (12, 1, 0, NULL);
  CU_ASSERT_EQUAL (beside->n_devices, 2);
  CU_ASSERT_DOUBLE_EQUAL (beside->efficiency, 1, 1e-9);
}

/* -- Replays ------------------------------------------------------------ */

static HassReport *
replayed (const char *record, const char *strategy)
{
  g_autoptr (GError) error = NULL;
  HassReport *report = NULL;
  GPtrArray *farms = record_read (record, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
  Replay *replay = replay_fit (farms->pdata[0], &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (replay);
  ReplayMachine *m = replay_machine (replay);
  watchdog (30, "a replay of tasks");
  CU_ASSERT_TRUE (replay_run (m, strategy, 1, &report, &error));
  watchdog (0, NULL);
  replay_machine_free (m);
  replay_free (replay);
  g_ptr_array_unref (farms);
  CU_ASSERT_PTR_NOT_NULL_FATAL (report);
  return report;
}

static void
kinds_are_replayed (void)
{
  static const char *const strategies[]
      = { "hass-f", "naive-greedy", "auto", "min-min", "gpu-only" };
  g_autofree char *path = trial_file ("");
  g_autoptr (HassReport) recorded = run (20, 7, 1, path);
  CU_ASSERT_TRUE (recorded->devices[1].units >= 7);
  for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
    {
      g_autoptr (HassReport) r = replayed (path, strategies[i]);
      CU_ASSERT_EQUAL (r->units, 28);
      CU_ASSERT_TRUE (r->devices[0].units == 20 || r->devices[0].units == 21);
      CU_ASSERT_EQUAL (r->devices[0].units + r->devices[1].units, 28);
      CU_ASSERT_TRUE (r->makespan_s > 19.99e-3 && r->makespan_s < 23e-3);
    }
  unlink (path);
}

HASS_TEST_SUITE (
    replay_tasks,
    { "the bound counts devices for the work they may run", bounds },
    { "a GPU that can run nothing is no loss", cpu_only_is_no_loss },
    { "a replay gives tasks to the devices they have functions for",
      kinds_are_replayed })
