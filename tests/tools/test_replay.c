/* SPDX-License-Identifier: MIT */
/* test_replay.c: replays of records: under the recorded strategy the replay
   takes as long as what was recorded took.

   DESIGN. The farms are recorded in virtual time, where the true machine is
   known, on machines with several GPUs, links that are shared, noise, costs
   that nobody is told of, and several rounds.

   Thread safety: one thread. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "engine/trial.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "sched/registry.h"
#include "tools/hass-sim/replay/replay.h"
#include "tests/trials.h"

#define MACHINE                                                                \
  "[platform]\nnoise = %s\n[cpu]\ncores = 4\nwork_per_us = 1\n"                \
  "pull_us = 0.3\n"
#define GPU0                                                                   \
  "[gpu0]\nmultiprocessors = 4\nwidth = 16\nwork_per_us = 10\n"                \
  "h2d_gbps = 1\nlink = a\nlaunch_us = 8\n"
#define GPU1                                                                   \
  "[gpu1]\nmultiprocessors = 8\nwidth = 64\nwork_per_us = 25\n"                \
  "h2d_gbps = 2\nlink = a\ndepth = 3\n"
#define WIDE                                                                   \
  "[gpu0]\nmultiprocessors = 4\nwidth = 512\nwork_per_us = 10\n"               \
  "h2d_gbps = 10\nlaunch_us = 8\nkernels = 4\ndepth = 4\npart_bytes = 128\n"
#define GPU2                                                                   \
  "[gpu2]\nmultiprocessors = 2\nwidth = 8\nwork_per_us = 3\n"                  \
  "h2d_gbps = 4\nlink = b\ncurve = saturating\n"

static const char *const machines[]
    = { MACHINE, MACHINE GPU0, MACHINE GPU0 GPU1, MACHINE GPU0 GPU1 GPU2 };

static gboolean
nothing (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

typedef struct
{
  HassFarmKind kind;
  HassCostClass cost;
  const char *strategy, *machine, *noise;
  guint64 seed;
} Case;

#define UNITS 1500
#define LOADS 4 /* of a partition farm */

/* Records a farm in virtual time. Returns the file, to be unlinked and
   freed. */
static char *
recorded (const Case *c, gboolean *ok)
{
  g_autofree char *text = g_strdup_printf (c->machine, c->noise);
  g_autofree char *platform = trial_file (text);
  char *record = trial_file ("");
  g_autofree HassLoad *loads = g_new0 (HassLoad, UNITS);
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32)c->seed);
  g_autoptr (GError) error = NULL;
  gboolean partition = c->kind == HASS_FARM_PARTITION;
  for (guint i = 0; i < UNITS; i++)
    {
      double spread
          = c->cost == HASS_COST_EQUAL ? 1 : exp (2 * g_rand_double (rand) - 1);
      loads[i] = (HassLoad){ .size = partition ? 50000 : 16,
                             .input_bytes = partition ? 50000 : 160,
                             .cost = partition ? 0 : (float)(40 * spread) };
    }
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "recorded";
  f.cost = c->cost;
  f.loads = loads;
  f.n_loads = partition ? LOADS : UNITS;
  f.block_elements = partition ? 64 : 0;
  f.round_loads = partition ? 0 : UNITS / 5;
  f.cpu_worker = nothing;
  f.run.dry = TRUE;
  f.run.seed = c->seed;
  f.run.platform = platform;
  f.run.strategy = c->strategy;
  f.run.record = record;
  *ok = partition ? hass_data_farm_partition (&f, NULL, &error)
        : c->kind == HASS_FARM_COMBINE
            ? hass_data_farm_combine (&f, NULL, &error)
            : hass_data_farm_indivisible (&f, NULL, &error);
  if (!*ok)
    printf ("\n    %s: %s", c->strategy, error->message);
  unlink (platform);
  return record;
}

/* Predicted by recorded makespan, less 1; NAN when something failed. */
static double
replayed (const char *record, const char *strategy, const char *change,
          HassReport **report)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) mine = NULL;
  double off = NAN;
  GPtrArray *farms = record_read (record, &error);
  RecordFarm *farm = farms ? farms->pdata[0] : NULL;
  Replay *replay = farm ? replay_fit (farm, &error) : NULL;
  ReplayMachine *m = replay ? replay_machine (replay) : NULL;
  if (m && (!change || replay_change (m, change, &error))
      && replay_run (m, strategy, 1, &mine, &error))
    off = mine->makespan_s * 1e9 / farm->makespan - 1;
  else
    printf ("\n    %s", error ? error->message : "no message");
  if (m)
    replay_machine_free (m);
  if (replay)
    replay_free (replay);
  if (farms)
    g_ptr_array_unref (farms);
  if (report)
    *report = g_steal_pointer (&mine);
  return off;
}

static void
expect_within (const Case *c, double most)
{
  gboolean ok;
  g_autofree char *what
      = g_strdup_printf ("%s, kind %u, cost %u, noise %s, seed %u", c->strategy,
                         (guint)c->kind, c->cost, c->noise, (guint)c->seed);
  watchdog (20, what);
  g_autofree char *record = recorded (c, &ok);
  CU_ASSERT_TRUE (ok);
  double off = replayed (record, NULL, NULL, NULL);
  watchdog (0, NULL);
  CU_ASSERT_TRUE (fabs (off) <= most);
  if (!(fabs (off) <= most))
    printf ("\n    %s: %.2f %% off on\n%s", what, 100 * off, c->machine);
  unlink (record);
}

/* Every second case of each strategy, with and without noise in turn; fewer
   under a sanitizer, where virtual time takes ten times as long. */
#define ONE_OF TRIALS (2, 10, 10)

static void
replays_the_recorded_strategy (void)
{
  const HassStrategyOps *const *list = hass_builtin_strategies;
  static const char *const noises[] = { "0", "0.1" };
  guint seed = 0;
  for (guint s = 0; list[s]; s++)
    for (guint k = 0; k < 3; k++)
      for (guint m = 0; m < G_N_ELEMENTS (machines); m++)
        for (guint i = 0; i < G_N_ELEMENTS (noises); i++)
          for (guint cost = 0; cost < (k == 0 ? 1 : 3); cost++)
            /* The first machine has no GPU. */
            if (list[s]->farms & (1u << k)
                && (m > 0 || strcmp (list[s]->name, "gpu-only") != 0))
              {
                Case c = { .kind = 1 << k,
                           .cost = (HassCostClass)cost,
                           .strategy = list[s]->name,
                           .machine = machines[m],
                           .noise = noises[i],
                           .seed = ++seed };
                if ((s + m + i + cost) % ONE_OF == 0)
                  expect_within (&c, 0.05);
              }
}

/* The parts of a grant do not fill the GPU, so four kernels run at once. */
static void
kernels_side_by_side (void)
{
  static const char *const strategies[] = { "auto", "gpu-only" };
  for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
    for (guint k = 0; k < 2; k++)
      expect_within (&(Case){ .kind = 1 << k,
                              .cost = HASS_COST_EQUAL,
                              .strategy = strategies[i],
                              .machine = MACHINE WIDE,
                              .noise = "0" },
                     0.05);
}

/* Recorded under one strategy, run under another: the prediction against a
   real run of the other, on the same machine and loads. */
static void
predicts_another_strategy (void)
{
  static const char *const others[]
      = { "naive-greedy", "auto", "modified-greedy", "hass-cd" };
  Case base = { .kind = HASS_FARM_COMBINE,
                .cost = HASS_COST_SIZED,
                .strategy = "hass-ce",
                .machine = machines[2],
                .noise = "0.05",
                .seed = 5 };
  gboolean ok;
  g_autofree char *from = recorded (&base, &ok);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    {
      Case other = base;
      g_autoptr (HassReport) report = NULL;
      other.strategy = others[i];
      g_autofree char *real = recorded (&other, &ok);
      GPtrArray *farms = record_read (real, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
      double took = ((RecordFarm *)farms->pdata[0])->makespan;
      CU_ASSERT_TRUE (isfinite (replayed (from, others[i], NULL, &report)));
      double off = report->makespan_s * 1e9 / took - 1;
      CU_ASSERT_TRUE (fabs (off) < 0.10);
      if (!(fabs (off) < 0.10))
        printf ("\n    %s: %.2f %% off", others[i], 100 * off);
      g_ptr_array_unref (farms);
      unlink (real);
    }
  unlink (from);
}

static void
changes_of_the_platform (void)
{
  Case c = { .kind = HASS_FARM_PARTITION,
             .cost = HASS_COST_EQUAL,
             .strategy = "auto",
             .machine = machines[1],
             .noise = "0",
             .seed = 9 };
  gboolean ok;
  g_autofree char *record = recorded (&c, &ok);
  CU_ASSERT_TRUE (ok);
  double faster = replayed (record, NULL, "gpu1.rate=2x", NULL);
  CU_ASSERT_TRUE (isnan (faster)); /* there is none */
  faster = replayed (record, NULL, "gpu0.rate=2x", NULL);
  double cores = replayed (record, NULL, "cpu.cores=32", NULL);
  double more = replayed (record, NULL, "gpus=3", NULL);
  double none = replayed (record, NULL, "gpus=0", NULL);
  double late = replayed (record, NULL, "gpu0.open=1000", NULL);
  CU_ASSERT_TRUE (faster < -0.15 && faster > -0.5);
  CU_ASSERT_TRUE (cores < -0.2);
  CU_ASSERT_TRUE (more < -0.4 && more > -0.67);
  CU_ASSERT_TRUE (none > 1);
  CU_ASSERT_TRUE (late > 0.5);
  unlink (record);
}

/* The same cost on a machine from a file as in the record's own. */
static void
another_machine (void)
{
  Case c = { .kind = HASS_FARM_COMBINE,
             .cost = HASS_COST_SIZED,
             .strategy = "modified-greedy",
             .machine = machines[1],
             .noise = "0",
             .seed = 11 };
  gboolean ok;
  g_autofree char *record = recorded (&c, &ok);
  g_autofree char *text = g_strdup_printf (machines[1], "0");
  g_autofree char *platform = trial_file (text);
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  GPtrArray *farms = record_read (record, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
  const RecordFarm *farm = farms->pdata[0];
  Replay *replay = replay_fit (farm, NULL);
  ReplayMachine *m = replay_machine_of (replay, platform, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (m);
  CU_ASSERT_TRUE (replay_run (m, NULL, 1, &report, &error));
  double off = report->makespan_s * 1e9 / farm->makespan - 1;
  CU_ASSERT_TRUE (fabs (off) < 0.05);
  replay_machine_free (m);
  CU_ASSERT_PTR_NULL (replay_machine_of (replay, "/nowhere/p", &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
  replay_free (replay);
  g_ptr_array_unref (farms);
  unlink (record);
  unlink (platform);
}

HASS_TEST_SUITE (
    replay,
    { "a replay takes as long as what was recorded took",
      replays_the_recorded_strategy },
    { "a replay of kernels that ran side by side takes as long as they took",
      kernels_side_by_side },
    { "a record of one strategy predicts others", predicts_another_strategy },
    { "changes of the platform have their effect", changes_of_the_platform },
    { "a platform from a file keeps the relative costs", another_machine })
