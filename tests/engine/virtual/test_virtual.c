/* SPDX-License-Identifier: MIT */
/* test_virtual.c: the virtual engine: the same seed gives the same trace,
   modelled links and cores take the time they should, and stopping works.
   Thread safety: one thread. */
#include <gio/gio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "sched/registry.h"
#include "tests/engine/rogue.h"
#include "tests/engine/trial.h"

static gboolean
nothing (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

/* A farm of n equal loads; the caller changes what the test is about. */
static void
farm_of (HassDataFarm *f, HassLoad *loads, gsize n, const char *platform)
{
  *f = (HassDataFarm)HASS_DATA_FARM_INIT;
  for (gsize i = 0; i < n; i++)
    loads[i] = (HassLoad){ .size = 10, .cost = 10 };
  f->loads = loads;
  f->n_loads = n;
  f->cpu_worker = nothing;
  f->run.platform = platform;
}

static char *
trace_of (const char *strategy, const char *noise, guint64 seed)
{
  g_autofree char *platform = trial_two_gpus (noise);
  g_autofree char *trace = trial_file ("");
  HassLoad loads[300];
  HassDataFarm f;
  char *got = NULL;
  farm_of (&f, loads, G_N_ELEMENTS (loads), platform);
  f.round_loads = 100;
  f.run.strategy = strategy;
  f.run.seed = seed;
  f.run.trace = trace;
  watchdog (20, "trace");
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, NULL, NULL));
  watchdog (0, NULL);
  g_file_get_contents (trace, &got, NULL, NULL);
  unlink (platform);
  unlink (trace);
  return got;
}

static void
same_seed_same_trace (void)
{
  const HassStrategyOps *const *list = hass_builtin_strategies;
  for (guint s = 0; list[s]; s++)
    if (list[s]->farms & HASS_FARM_COMBINE)
      {
        g_autofree char *a = trace_of (list[s]->name, "0.1", 7);
        g_autofree char *b = trace_of (list[s]->name, "0.1", 7);
        CU_ASSERT_TRUE (strlen (a) > 100);
        CU_ASSERT_STRING_EQUAL (a, b);
      }
}

static void
noise_comes_from_the_seed (void)
{
  g_autofree char *a = trace_of ("naive-greedy", "0.1", 7);
  g_autofree char *b = trace_of ("naive-greedy", "0.1", 8);
  g_autofree char *c = trace_of ("naive-greedy", "0.1", 7 + (1ull << 32));
  g_autofree char *d = trace_of ("naive-greedy", "0", 7);
  g_autofree char *e = trace_of ("naive-greedy", "0", 8);
  CU_ASSERT_STRING_NOT_EQUAL (a, b);
  CU_ASSERT_STRING_NOT_EQUAL (a, c);
  CU_ASSERT_STRING_EQUAL (d, e);
}

static double
makespan (const char *strategy, const char *text, const HassLoad *load, gsize n)
{
  g_autofree char *platform = trial_file (text);
  g_autofree HassLoad *loads = g_new0 (HassLoad, n);
  g_autoptr (HassReport) report = NULL;
  HassDataFarm f;
  farm_of (&f, loads, n, platform);
  for (gsize i = 0; i < n; i++)
    loads[i] = *load;
  f.run.strategy = strategy;
  f.run.dry = TRUE;
  watchdog (20, "makespan");
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, NULL));
  watchdog (0, NULL);
  unlink (platform);
  return report ? report->makespan_s : 0;
}

/* 40 loads of 1000 work on 4 cores at 1 a us: 10 rounds of 1 ms. */
static void
cores_take_their_time (void)
{
  HassLoad load = { .size = 1000, .cost = 1000 };
  double s = makespan ("naive-greedy",
                       "[platform]\n[cpu]\ncores = 4\nwork_per_us = 1\n"
                       "pull_us = 0\n",
                       &load, 40);
  CU_ASSERT_TRUE (fabs (s - 0.010) < 1e-6);
}

static void
links_are_shared (void)
{
  static const char text[]
      = "[platform]\n[gpu0]\nmultiprocessors = 1\nwidth = 1\n"
        "work_per_us = 1e6\nh2d_gbps = 1\nlaunch_us = 0\nlink_us = 0\n"
        "link = a\n[gpu1]\nmultiprocessors = 1\nwidth = 1\n"
        "work_per_us = 1e6\nh2d_gbps = 1\nlaunch_us = 0\nlink_us = 0\n"
        "link = %s\n";
  HassLoad load = { .size = 1, .cost = 1, .input = "", .input_bytes = 1000000 };
  g_autofree char *one = g_strdup_printf (text, "a");
  g_autofree char *two = g_strdup_printf (text, "b");
  double shared = makespan ("naive-greedy", one, &load, 100);
  double own = makespan ("naive-greedy", two, &load, 100);
  CU_ASSERT_TRUE (fabs (shared - 0.100) < 0.001);
  CU_ASSERT_TRUE (fabs (own - 0.050) < 0.001);
}

/* Notes what a strategy is told of links, and takes all. */
static guint links_told[5];

static gpointer
note_links (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  for (guint d = 0; d < env->n_devices && d < G_N_ELEMENTS (links_told); d++)
    links_told[d] = env->devices[d].link;
  return links_told;
}

static HassAnswer
take_all (gpointer self, HassRound *round, guint device, gboolean force,
          HassGrant *grant)
{
  (void)self, (void)round, (void)device, (void)force, (void)grant;
  return HASS_TAKE;
}

static void
links_are_told (void)
{
  static const HassStrategyOps ops = { .struct_size = sizeof ops,
                                       .name = "test-links",
                                       .summary = "notes the links",
                                       .farms = HASS_FARM_ANY,
                                       .create = note_links,
                                       .grant = take_all };
#define ON(gpu, link)                                                          \
  "[gpu" gpu "]\nmultiprocessors = 1\nwidth = 1\nwork_per_us = 1\n"            \
  "h2d_gbps = 1\n" link
  static const char text[]
      = "[platform]\n[cpu]\ncores = 1\nwork_per_us = 1\n" ON ("0", "")
          ON ("1", "link = a\n") ON ("2", "link = b\n") ON ("3", "link = a\n");
#undef ON
  HassLoad load = { .size = 1, .cost = 1 };
  CU_ASSERT_TRUE (hass_strategy_register (&ops, NULL));
  makespan ("test-links", text, &load, 10);
  CU_ASSERT_EQUAL (links_told[0], 0);
  CU_ASSERT_EQUAL (links_told[1], 0);
  CU_ASSERT_NOT_EQUAL (links_told[2], 0);
  CU_ASSERT_EQUAL (links_told[3], 0);
  CU_ASSERT_EQUAL (links_told[4], links_told[2]);
}

static void
half_duplex (void)
{
  static const char text[]
      = "[platform]\n[gpu0]\nmultiprocessors = 1\nwidth = 1\ndepth = 2\n"
        "work_per_us = 1e6\nh2d_gbps = 1\nd2h_gbps = 0.5\nlaunch_us = 0\n"
        "link_us = 0\nduplex = %s\n";
  static char out[1];
  HassLoad load = { .size = 1,
                    .cost = 1,
                    .input = "",
                    .input_bytes = 100000,
                    .output = out,
                    .output_bytes = 100000 };
  g_autofree char *half = g_strdup_printf (text, "no");
  g_autofree char *full = g_strdup_printf (text, "yes");
  rogue_strategies ();
  /* Two bundles of 0.5 ms in and 1 ms out. */
  double one_way = makespan ("rogue-deep", half, &load, 10);
  double both = makespan ("rogue-deep", full, &load, 10);
  CU_ASSERT_TRUE (fabs (one_way - 0.0030) < 1e-5);
  CU_ASSERT_TRUE (fabs (both - 0.0025) < 1e-5);
}

/* All wait for each other: before the engine gives the CPU a unit it must
   have asked once more. */
static void
asked_with_force (void)
{
  g_autofree char *platform = trial_two_gpus ("0");
  g_autoptr (HassReport) report = NULL;
  HassLoad loads[100];
  HassDataFarm f;
  rogue_strategies ();
  farm_of (&f, loads, G_N_ELEMENTS (loads), platform);
  f.run.strategy = "rogue-forced";
  watchdog (20, "force");
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, NULL));
  watchdog (0, NULL);
  CU_ASSERT_EQUAL (report->devices[0].units, 0);
  CU_ASSERT_EQUAL (report->units, 100);
  unlink (platform);
}

/* -- Stopping ----------------------------------------------------------- */

typedef struct
{
  GCancellable *cancellable;
  guint at, n;
  guint64 emitted;
} Stop;

static gboolean
cancelling (const HassBlock *block, HassWorker *worker, gpointer data,
            GError **error)
{
  Stop *s = data;
  (void)block, (void)worker, (void)error;
  if (++s->n == s->at)
    g_cancellable_cancel (s->cancellable);
  return TRUE;
}

static gboolean
endless (HassEmitter *emitter, gpointer data, GError **error)
{
  Stop *s = data;
  HassLoad load = { .size = 1, .cost = 1000 };
  (void)error;
  while (hass_emitter_emit (emitter, &load))
    s->emitted++;
  CU_ASSERT_TRUE (hass_emitter_stopping (emitter));
  return TRUE;
}

static void
run_endless (guint cancel_at, gint64 deadline_ms, HassError expected)
{
  g_autofree char *platform = trial_two_gpus ("0");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (HassReport) report = NULL;
  GError *error = NULL;
  Stop stop = { .cancellable = cancellable, .at = cancel_at };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.user_data = &stop;
  f.generate = endless;
  f.cpu_worker = cancelling;
  f.run.platform = platform;
  f.run.cancellable = cancellable;
  f.run.deadline_ms = deadline_ms;
  watchdog (20, "endless generator in virtual time");
  CU_ASSERT_FALSE (hass_data_farm_combine (&f, &report, &error));
  watchdog (0, NULL);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, expected));
  CU_ASSERT_TRUE (stop.n >= 100 && stop.n < 50000);
  CU_ASSERT_EQUAL (report->loads, stop.emitted);
  CU_ASSERT_EQUAL (report->units, stop.n);
  g_clear_error (&error);
  unlink (platform);
}

static void
endless_cancelled (void)
{
  run_endless (10000, 0, HASS_ERROR_CANCELLED);
}

static void
endless_deadline (void)
{
  run_endless (0, 200, HASS_ERROR_DEADLINE);
}

/* What is in the cores at that moment is dropped; no further unit is. */
static void
cancelled_in_mid_round (void)
{
  g_autofree char *platform
      = trial_file ("[platform]\n[cpu]\ncores = 4\nwork_per_us = 0.001\n");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Stop stop = { .cancellable = cancellable, .at = 20 };
  static HassLoad loads[1000];
  HassDataFarm f;
  GError *error = NULL;
  farm_of (&f, loads, G_N_ELEMENTS (loads), platform);
  f.cpu_worker = cancelling;
  f.user_data = &stop;
  f.run.cancellable = cancellable;
  CU_ASSERT_FALSE (hass_data_farm_combine (&f, NULL, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED));
  CU_ASSERT_TRUE (stop.n < 30);
  g_clear_error (&error);
  unlink (platform);
}

static void
dry_runs_call_nobody (void)
{
  g_autofree char *platform = trial_two_gpus ("0");
  g_autoptr (HassReport) report = NULL;
  HassLoad loads[50];
  HassDataFarm f;
  Stop stop = { 0 };
  farm_of (&f, loads, G_N_ELEMENTS (loads), platform);
  f.cpu_worker = cancelling;
  f.user_data = &stop;
  f.run.dry = TRUE;
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, NULL));
  CU_ASSERT_EQUAL (stop.n, 0);
  CU_ASSERT_EQUAL (report->units, 50);
  unlink (platform);
}

/* -- Refused loads ------------------------------------------------------ */

static gboolean
bad_and_good (HassEmitter *emitter, gpointer data, GError **error)
{
  guint *accepted = data;
  HassLoad bad = { .size = 0 }, good = { .size = 5 };
  (void)error;
  for (guint i = 0; i < 20; i++)
    *accepted += hass_emitter_emit (emitter, i % 2 ? &good : &bad);
  return TRUE;
}

static void
refused_loads_make_room (void)
{
  g_autofree char *platform = trial_two_gpus ("0");
  g_autoptr (HassReport) report = NULL;
  const char *places[] = { platform, "" };
  for (guint i = 0; i < 2; i++)
    {
      guint accepted = 0;
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.user_data = &accepted;
      f.generate = bad_and_good;
      f.cpu_worker = nothing;
      f.pool_loads = 1;
      f.run.on_error = HASS_ON_ERROR_CONTINUE;
      f.run.platform = places[i];
      watchdog (20, "refused loads");
      CU_ASSERT_TRUE (hass_data_farm_partition (&f, &report, NULL));
      watchdog (0, NULL);
      CU_ASSERT_EQUAL (accepted, 20);
      CU_ASSERT_EQUAL (report->n_unfinished, 10);
      CU_ASSERT_PTR_NOT_NULL (
          strstr (report->unfinished[0].message, "must know its size"));
      g_clear_pointer (&report, hass_report_free);
    }
  unlink (platform);
}

HASS_TEST_SUITE (
    virtual_time,
    { "the same seed gives the same trace, byte for byte",
      same_seed_same_trace },
    { "noise comes from all 64 bits of the seed", noise_comes_from_the_seed },
    { "cores take the time that the model says", cores_take_their_time },
    { "GPUs that name the same link share its bandwidth", links_are_shared },
    { "strategies are told which GPUs share a link", links_are_told },
    { "a half duplex link copies one way at a time", half_duplex },
    { "a strategy that waits is asked with force first", asked_with_force },
    { "an endless generator ends when cancelled", endless_cancelled },
    { "an endless generator ends at the deadline", endless_deadline },
    { "a cancelled round ends in the middle", cancelled_in_mid_round },
    { "a dry run calls no worker", dry_runs_call_nobody },
    { "loads that are refused make room for others", refused_loads_make_room })
