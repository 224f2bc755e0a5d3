/* SPDX-License-Identifier: MIT */
/* test_lost_gpu_tasks.c: tasks that only GPUs can run, in a function farm whose
   GPUs are lost: under every strategy the farm ends and names them, and cores
   do not spin while such tasks wait for a healthy GPU.
   Thread safety: one thread, beside the engine's and the stand-ins'. */
#include <string.h>
#include <unistd.h>

#include "device/model/model.h"
#include "engine/virtual/virtual.h"
#include "hass_test.h"
#include "tests/cpu_time.h"
#include "tests/engine/rogue.h"
#include "sched/registry.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N_TASKS 60

/* -- Live --------------------------------------------------------------- */

/* Both GPUs are lost, the second some bundles later. */
static void
live_under (const char *strategy)
{
  for (guint lose_at = 1; lose_at <= 3; lose_at++)
    {
      Trial t = { .kind = HASS_FARM_FUNCTION,
                  .strategy = strategy,
                  .n_cores = 2,
                  .seed = lose_at,
                  .cost = HASS_COST_SIZED,
                  .n_loads = N_TASKS,
                  .most_elements = 20,
                  .collect = TRUE,
                  .odd_tasks = TRUE,
                  .may_fail_device = TRUE,
                  .n_devices = 2 };
      for (guint d = 0; d < t.n_devices; d++)
        t.devices[d]
            = stand_in_new (&(StandInPlan){ .name = d ? "gpu1" : "gpu0",
                                            .depth = lose_at,
                                            .lose_at = d ? lose_at : 1 });
      g_autoptr (HassReport) r = NULL;
      g_autofree char *wrong = trial_run (&t, &r);
      if (wrong)
        g_printerr ("\n    %s", wrong);
      CU_ASSERT_PTR_NULL (wrong);
      CU_ASSERT_TRUE (r && (r->n_unfinished > 0 || lose_at > 1));
      for (guint d = 0; d < t.n_devices; d++)
        stand_in_free (t.devices[d]);
    }
}

static void
live (void)
{
  const HassStrategyOps *const *list = hass_builtin_strategies;
  for (guint s = 0; list[s]; s++)
    if (list[s]->farms & HASS_FARM_FUNCTION)
      live_under (list[s]->name);
  for (const char *const *name = rogue_strategies (); *name; name++)
    live_under (*name);
}

/* -- In virtual time ---------------------------------------------------- */

#define MACHINE                                                                \
  "[platform]\n[cpu]\ncores = 2\nwork_per_us = 1\n[gpu0]\nmultiprocessors = "  \
  "2\nwidth = 16\nwork_per_us = 5\nh2d_gbps = 1\ndepth = 2\n"                  \
  "[gpu1]\nmultiprocessors = 2\nwidth = 16\nwork_per_us = 5\nh2d_gbps = 1\n"

static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

static void
virtually_under (const char *strategy)
{
  static const gint64 lost_ns[] = { 1, 2000, 9000, 30000 };
  g_autofree char *path = trial_file (MACHINE);
  for (guint i = 0; i < G_N_ELEMENTS (lost_ns); i++)
    {
      HassLoad loads[N_TASKS];
      for (guint k = 0; k < N_TASKS; k++)
        loads[k] = (HassLoad){ .size = k % 3 ? 1 : 16,
                               .cost = 10 + k % 7,
                               .flags = k % 4   ? 0
                                        : k % 8 ? HASS_LOAD_CPU
                                                : HASS_LOAD_GPU };
      HassVirtualEvent events[] = { { .device = 1, .at_ns = lost_ns[i] },
                                    { .device = 2, .at_ns = lost_ns[i] + 1 } };
      HassVirtualModel model = { .events = events, .n_events = 2 };
      HassRunOptions options
          = { .dry = TRUE, .trace = "", .record = "", .explain = "" };
      HassFarm farm = { .name = "lost",
                        .kind = HASS_FARM_FUNCTION,
                        .cost = HASS_COST_SIZED,
                        .loads = loads,
                        .n_loads = N_TASKS,
                        .cpu_worker = never,
                        .pool_loads = N_TASKS,
                        .pool_bytes = G_MAXSIZE,
                        .round_loads = N_TASKS,
                        .window = G_MAXUINT32,
                        .strategy = strategy,
                        .run = &options };
      g_autoptr (GError) error = NULL;
      g_autoptr (HassReport) r = NULL;
      HassPlatform *platform = hass_platform_load (path, "lost", NULL);
      watchdog (20, strategy);
      gboolean ok
          = hass_virtual_run_model (&farm, platform, &model, &r, &error);
      watchdog (0, NULL);
      CU_ASSERT_TRUE (
          ok || g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
      CU_ASSERT_TRUE (ok == (r->n_unfinished == 0));
      CU_ASSERT_TRUE (i > 0 || !ok);
      CU_ASSERT_TRUE (ok || strstr (error->message, "task "));
      hass_platform_free (platform);
    }
  unlink (path);
}

static void
virtually (void)
{
  const HassStrategyOps *const *list = hass_builtin_strategies;
  for (guint s = 0; list[s]; s++)
    if (list[s]->farms & HASS_FARM_FUNCTION)
      virtually_under (list[s]->name);
}

/* -- Spinning ----------------------------------------------------------- */

#define BUNDLE_US 150000

static void
kernel (const HassBundle *bundle, gpointer data)
{
  (void)bundle, (void)data;
}

STAND_IN_WORKER (launch, kernel)

static gboolean
on_core (const HassTask *task, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)task, (void)worker, (void)data, (void)error;
  return TRUE;
}

/* One GPU gives a task back and is lost, the other computes for a while and
   then takes that task, too. */
static void
cores_sleep_once (void)
{
  HassTask tasks[4];
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  HassDevice *devices[] = {
    stand_in_new (&(StandInPlan){ .name = "gpu0", .lose_at = 1 }),
    stand_in_new (&(StandInPlan){ .name = "gpu1", .delay_us = BUNDLE_US })
  };
  for (guint i = 0; i < G_N_ELEMENTS (tasks); i++)
    tasks[i] = (HassTask){ .gpu = launch, .expected_time = 1 };
  tasks[0] = (HassTask){ .cpu = on_core, .expected_time = 1 };
  f.name = "waits";
  f.tasks = tasks;
  f.n_tasks = G_N_ELEMENTS (tasks);
  f.run = (HassRunOptions){ .strategy = "naive-greedy",
                            .platform = "",
                            .n_cores = 2,
                            .devices = devices,
                            .n_devices = 2 };
  watchdog (60, "cores sleep");
  cpu_time_await_rest ();
  double before_s = cpu_time_s ();
  CU_ASSERT_TRUE (hass_function_farm (&f, NULL, NULL));
  double used_s = cpu_time_s () - before_s;
  watchdog (0, NULL);
  CU_ASSERT_TRUE (used_s < 1e-6 * BUNDLE_US / 2);
  for (guint d = 0; d < 2; d++)
    stand_in_free (devices[d]);
}

/* Where the other GPU was first, what is given back lies in its range. */
static void
cores_sleep (void)
{
  for (guint i = 0; i < 3; i++)
    cores_sleep_once ();
}

HASS_TEST_SUITE (lost_gpu_tasks,
                 { "a farm whose GPUs are lost ends and names GPU-only tasks",
                   live },
                 { "a farm whose GPUs are lost ends and names GPU-only tasks "
                   "in virtual time",
                   virtually },
                 { "cores sleep while such tasks wait for a healthy GPU",
                   cores_sleep })
