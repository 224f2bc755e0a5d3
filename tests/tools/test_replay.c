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
#include "tools/hass-sim/replay/replay.h"

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
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#  define ONE_OF 10
#else
#  define ONE_OF 2
#endif

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

/* -- Records by hand ---------------------------------------------------- */

#define HEADER                                                                 \
  "{\"hass_record\":1,\"farm\":\"f\",\"kind\":\"combine\",\"cost\":\"equal\"," \
  "\"engine\":\"live\",\"platform\":null,\"strategy\":\"naive-greedy\","       \
  "\"seed\":0,\"date\":\"d\",\"host\":\"h\",\"round_loads\":9,"                \
  "\"constants\":[],\"devices\":[{\"name\":\"cpu\",\"kind\":\"cpu\","          \
  "\"model\":null,\"cores\":1,\"width\":1,\"latency_ns\":0,"                   \
  "\"link_bytes_per_ns\":0,\"work_per_ns\":0,\"max_in_flight\":1,\"link\":0,"  \
  "\"memory_bytes\":0,\"part_bytes\":0},{\"name\":\"gpu0\",\"kind\":\"gpu\","  \
  "\"model\":null,\"cores\":4,\"width\":64,\"latency_ns\":1000,"               \
  "\"link_bytes_per_ns\":10,\"work_per_ns\":0,\"max_in_flight\":2,"            \
  "\"link\":0,\"memory_bytes\":0,\"part_bytes\":0}]}\n"
#define ROUND(units)                                                           \
  "{\"event\":\"round\",\"round\":0,\"rounds\":1,\"first\":0,\"span\":" units  \
  ",\"units\":" units ",\"loads\":" units ",\"block\":0,\"begin\":100,"        \
  "\"end\":5100,\"work\":" units "}\n"
#define PULLS(rows) "{\"event\":\"pulls\",\"core\":0,\"rows\":[" rows "]}\n"
#define PARTS(rows) "{\"event\":\"parts\",\"device\":1,\"rows\":[" rows "]}\n"
#define FOUR "[0,4,4,4,100,4100,4000,4,4,0,0,1]"
#define END(units)                                                             \
  "{\"event\":\"end\",\"at\":6000,\"rounds\":1,\"units\":" units               \
  ",\"unfinished\":0,\"ok\":true}\n"

typedef struct
{
  const char *text, *line, *says;
} Broken;

static const Broken broken[] = {
  { "", "line 1", "no record" },
  { "what\n", "line 1", "no JSON" },
  { "[1]\n", "line 1", "no JSON object" },
  { ROUND ("4"), "line 1", "no header" },
  { "{\"hass_record\":2}\n", "line 1", "version 2" },
  { "{\"hass_record\":1}\n", "line 1", "'farm' is missing" },
  { HEADER HEADER, "line 2", "before the end of the farm of line 1" },
  { HEADER "{\"event\":\"jump\"}\n", "line 2", "known are open, round" },
  { HEADER "{\"event\":\"round\",\"round\":-1}\n", "line 2", "'round' is -1" },
  { HEADER "{\"event\":\"open\",\"device\":7}\n", "line 2", "'device' is 7" },
  { HEADER "{\"event\":\"pulls\",\"core\":1,\"rows\":[]}\n", "line 2",
    "'core' is 1" },
  { HEADER "{\"event\":\"parts\",\"device\":0,\"rows\":[]}\n", "line 2",
    "device 0 computes no parts" },
  { HEADER ROUND ("4") PULLS ("[1,2]"), "line 3", "2 numbers, not 12" },
  { HEADER ROUND ("4") PULLS (FOUR ",[0,1,1,1,0,1,1,1,1,0,0,\"x\"]"), "line 3",
    "row 1, number 11" },
  { HEADER ROUND ("4") PULLS ("[0,2,4,4,100,4100,4000,4,4,0,0,1]"), "line 3",
    "over a span of 2" },
  { HEADER ROUND ("4") PULLS ("[0,4,4,4,4100,100,4000,4,4,0,0,1]"), "line 3",
    "before its begin" },
  { HEADER ROUND ("4") PARTS (FOUR), "line 3", "12 numbers, not 17" },
  { HEADER ROUND ("4") PULLS (FOUR), "line 4", "line 1 has no end" },
  { HEADER ROUND ("4") PULLS (FOUR) END ("5"), "line 4",
    "the rounds have 4 units, but the farm 5" },
  { HEADER ROUND ("3") PULLS (FOUR) END ("3"), "line 4", "has only 3" },
  { HEADER ROUND ("4") "{\"event\":\"units\",\"first\":1}\n", "line 3",
    "follow no round" },
  { HEADER ROUND ("2") "{\"event\":\"units\",\"first\":0,\"order\":[1,1]}\n",
    "line 3", "not there, or twice" },
  { HEADER ROUND ("2") "{\"event\":\"units\",\"first\":0,\"work\":[1]}\n",
    "line 3", "not an array of 2" },
};

static void
broken_records (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (broken); i++)
    {
      const Broken *b = &broken[i];
      g_autofree char *path = trial_file (b->text);
      g_autoptr (GError) error = NULL;
      GPtrArray *farms = record_read (path, &error);
      CU_ASSERT_PTR_NULL (farms);
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      gboolean told = error && strstr (error->message, path)
                      && strstr (error->message, b->line)
                      && strstr (error->message, b->says);
      CU_ASSERT_TRUE (told);
      if (!told)
        printf ("\n    %u: %s", i, error ? error->message : "no error");
      if (farms)
        g_ptr_array_unref (farms);
      unlink (path);
    }
  g_autoptr (GError) error = NULL;
  CU_ASSERT_PTR_NULL (record_read ("/nowhere/r", &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
}

static void
nothing_to_replay (void)
{
  static const char *const ends[]
      = { "\"units\":0,\"ok\":true}\n", "\"units\":0,\"ok\":false}\n" };
  static const char *const says[] = { "0 units", "failed" };
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      g_autofree char *text = g_strconcat (
          HEADER "{\"event\":\"end\",\"at\":9,\"rounds\":0,", ends[i], NULL);
      g_autofree char *path = trial_file (text);
      g_autoptr (GError) error = NULL;
      GPtrArray *farms = record_read (path, &error);
      CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
      CU_ASSERT_PTR_NULL (replay_fit (farms->pdata[0], &error));
      CU_ASSERT_TRUE (error && strstr (error->message, "line 1")
                      && strstr (error->message, says[i]));
      g_ptr_array_unref (farms);
      unlink (path);
    }
}

/* One core: 1000 ns a unit, 100 ns before the round and 900 after it, 1000 in
   which it did nothing. The GPU computed nothing and nothing is known of it. */
static void
what_is_fitted (void)
{
  g_autofree char *path
      = trial_file (HEADER ROUND ("4") PULLS (FOUR) END ("4"));
  g_autoptr (HassReport) report = NULL;
  GPtrArray *farms = record_read (path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
  Replay *p = replay_fit (farms->pdata[0], NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  CU_ASSERT_EQUAL (p->n_rounds, 1);
  CU_ASSERT_DOUBLE_EQUAL (p->rounds[0].gap, 100, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (p->gap_after, 900, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (p->devices[0].cost[4], 4000, 1e-6);
  CU_ASSERT_TRUE (p->devices[0].present && !p->devices[1].present);
  CU_ASSERT_EQUAL (p->notes->len, 2);
  CU_ASSERT_PTR_NOT_NULL (strstr (p->notes->pdata[0], "gpu0"));
  ReplayMachine *m = replay_machine (p);
  CU_ASSERT_EQUAL (m->n, 1);
  CU_ASSERT_TRUE (replay_run (m, NULL, 1, &report, NULL));
  CU_ASSERT_DOUBLE_EQUAL (report->makespan_s * 1e9, 5000, 2);
  replay_machine_free (m);
  replay_free (p);
  g_ptr_array_unref (farms);
  unlink (path);
}

/* A GPU that is open after 50 us and gets all units at once, in ten parts of
   1000 bytes: the copy of each, 1 us, runs beside the kernel of the one
   before, 2 us. */
static void
parts_overlap_once_the_gpu_is_open (void)
{
  g_autoptr (GString) text = g_string_new (
      "{\"hass_record\":1,\"farm\":\"f\",\"kind\":\"combine\","
      "\"cost\":\"equal\",\"engine\":\"live\",\"platform\":null,"
      "\"strategy\":\"static\",\"seed\":0,\"date\":\"d\",\"host\":\"h\","
      "\"round_loads\":100,\"constants\":[],\"devices\":[{\"name\":\"gpu0\","
      "\"kind\":\"gpu\",\"model\":null,\"cores\":4,\"width\":1,"
      "\"latency_ns\":0,\"link_bytes_per_ns\":1,\"work_per_ns\":0,"
      "\"max_in_flight\":2,\"link\":0,\"memory_bytes\":0,"
      "\"part_bytes\":1000}]}\n"
      "{\"event\":\"open\",\"device\":0,\"begin\":0,\"end\":50000,"
      "\"ok\":true}\n" ROUND ("100"));
  g_autoptr (HassReport) report = NULL;
  for (guint i = 0; i < 10; i++)
    g_string_append_printf (
        text,
        "{\"event\":\"parts\",\"device\":0,\"rows\":[[%u,10,10,1,50000,%u,%u,"
        "2000,1000,2000,0,0,10,10,1000,0,1]]}\n",
        10 * i, 50000 + 2000 * MAX (i, 1) - 2000, 53000 + 2000 * i);
  g_string_append (text, END ("100"));
  g_autofree char *path = trial_file (text->str);
  GPtrArray *farms = record_read (path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
  Replay *p = replay_fit (farms->pdata[0], NULL);
  ReplayMachine *m = replay_machine (p);
  CU_ASSERT_TRUE (replay_run (m, NULL, 1, &report, NULL));
  /* The round is over at 71 us; 900 ns follow its end in the record. */
  CU_ASSERT_DOUBLE_EQUAL (report->makespan_s * 1e9, 71000 + 900, 20);
  CU_ASSERT_EQUAL (report->devices[0].bundles, 1);
  replay_machine_free (m);
  replay_free (p);
  g_ptr_array_unref (farms);
  unlink (path);
}

static void
bad_changes (void)
{
  static const char *const bad[] = { "",
                                     "cpu",
                                     "cpu=2",
                                     "cpu.rate=2",
                                     "cpu.rate=",
                                     "cpu.rate=-1x",
                                     "cpu.cores=0",
                                     "cpu.cores=1.5",
                                     "cpu.link=2x",
                                     "gpu0.rate=2x",
                                     "gpus=2",
                                     "cpu.speed=2x",
                                     "cpu.rate=1e9x" };
  g_autofree char *path
      = trial_file (HEADER ROUND ("4") PULLS (FOUR) END ("4"));
  GPtrArray *farms = record_read (path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
  Replay *p = replay_fit (farms->pdata[0], NULL);
  ReplayMachine *m = replay_machine (p);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      CU_ASSERT_FALSE (replay_change (m, bad[i], &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      CU_ASSERT_TRUE (error && strstr (error->message, bad[i]));
    }
  replay_machine_free (m);
  replay_free (p);
  g_ptr_array_unref (farms);
  unlink (path);
}

HASS_TEST_SUITE (
    replay,
    { "a replay takes as long as what was recorded took",
      replays_the_recorded_strategy },
    { "a record of one strategy predicts others", predicts_another_strategy },
    { "changes of the platform have their effect", changes_of_the_platform },
    { "a platform from a file keeps the relative costs", another_machine },
    { "costs, gaps and absent devices are fitted as they were",
      what_is_fitted },
    { "parts of a grant overlap, once the GPU is open",
      parts_overlap_once_the_gpu_is_open },
    { "a broken record is an error with file and line", broken_records },
    { "a record without units cannot be replayed", nothing_to_replay },
    { "a bad platform change is named", bad_changes })
