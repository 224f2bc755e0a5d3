/* SPDX-License-Identifier: MIT */
/* test_replay.c: records and their replays: under the recorded strategy the
   replay takes as long as what was recorded took, and a record that is broken
   is an error with file and line.

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
#include "sched/registry-private.h"
#include "tools/hass-sim/replay.h"

#define MACHINE                                                                \
  "[platform]\nnoise = %s\n[cpu]\ncores = 4\nwork_per_us = 1\n"                \
  "pull_us = 0.3\n"
#define GPU0                                                                   \
  "[gpu0]\nmultiprocessors = 4\nwidth = 16\nwork_per_us = 10\n"                \
  "h2d_gbps = 1\nlink = a\nlaunch_us = 8\n"
#define GPU1                                                                   \
  "[gpu1]\nmultiprocessors = 8\nwidth = 64\nwork_per_us = 25\n"                \
  "h2d_gbps = 2\nlink = a\ndepth = 3\n"
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

#define UNITS 3000
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
      loads[i] = (HassLoad){ .size = partition ? 100000 : 16,
                             .input_bytes = partition ? 100000 : 160,
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
  g_autofree char *record = recorded (c, &ok);
  CU_ASSERT_TRUE (ok);
  double off = replayed (record, NULL, NULL, NULL);
  if (g_getenv ("SHOW"))
    fprintf (stderr, "%s kind %u cost %u noise %s gpus %d: %.2f%%\n",
             c->strategy, c->kind, c->cost, c->noise,
             !!strstr (c->machine, "gpu0") + !!strstr (c->machine, "gpu1")
                 + !!strstr (c->machine, "gpu2"),
             100 * off);
  CU_ASSERT_TRUE (fabs (off) <= most);
  if (!(fabs (off) <= most))
    printf ("\n    %s, kind %u, cost %u, noise %s: %.2f %% off on\n%s",
            c->strategy, (guint)c->kind, c->cost, c->noise, 100 * off,
            c->machine);
  unlink (record);
}

static void
replays_the_recorded_strategy (void)
{
  const HassStrategyOps *const *list = hass_builtin_strategies;
  static const char *const noises[] = { "0", "0.1" };
  guint n = 0;
  watchdog (120, "replays");
  for (guint s = 0; list[s]; s++)
    for (guint k = 0; k < 3; k++)
      for (guint m = 0; m < G_N_ELEMENTS (machines); m++)
        for (guint i = 0; i < G_N_ELEMENTS (noises); i++)
          if (list[s]->farms & (1u << k))
            {
              Case c
                  = { .kind = 1 << k,
                      .cost = k == 0 ? HASS_COST_EQUAL : (HassCostClass)(n % 3),
                      .strategy = list[s]->name,
                      .machine = machines[m],
                      .noise = noises[i],
                      .seed = ++n };
              expect_within (&c, 0.05);
            }
  watchdog (0, NULL);
}

HASS_TEST_SUITE (replay, { "a replay takes as long as what was recorded took",
                           replays_the_recorded_strategy })
