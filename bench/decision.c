/* SPDX-License-Identifier: MIT */
/* decision.c: measures the time of a decision of auto for a CPU pool and eight
   GPUs, in virtual time, without influence of the machine.
   Thread safety: one thread. */
#include "bench.h"

#include <hass/hass.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 20
#define N_LOADS 4096 /* in a round */
#define LOAD_BYTES 65536

static const HassStrategyOps *wrapped;
static HassStrategyOps timed;
static HassLoad *loads; /* [ROUNDS * N_LOADS] */
static const char *platform;
static gint64 spent_ns, clock_ns;
static guint64 n_asked;

/* Adds up the time of all ops of auto, to be divided by the calls of grant. */
static HassAnswer
grant (gpointer self, HassRound *round, guint device, gboolean force,
       HassGrant *grant)
{
  gint64 begin = bench_now_ns ();
  HassAnswer answer = wrapped->grant (self, round, device, force, grant);
  spent_ns += bench_now_ns () - begin - clock_ns;
  n_asked++;
  return answer;
}

static void
granted (gpointer self, HassRound *round, guint device, const HassGrant *grant)
{
  gint64 begin = bench_now_ns ();
  wrapped->granted (self, round, device, grant);
  spent_ns += bench_now_ns () - begin - clock_ns;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  gint64 begin = bench_now_ns ();
  wrapped->observe (self, round, done);
  spent_ns += bench_now_ns () - begin - clock_ns;
}

/* A dry run does not call it. */
static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return FALSE;
}

/* ns a decision */
static double
measure (gconstpointer arg)
{
  const HassCostClass *cost = arg;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  GError *error = NULL;
  for (gsize i = 0; i < ROUNDS * N_LOADS; i++)
    {
      gsize size = LOAD_BYTES / 2 + LOAD_BYTES * (i % 1000) / 1000;
      loads[i] = (HassLoad){ .size = size, .input_bytes = size };
    }
  farm.loads = loads;
  farm.n_loads = ROUNDS * N_LOADS;
  farm.round_loads = N_LOADS;
  farm.cost = *cost;
  farm.cpu_worker = never;
  farm.run.strategy = timed.name;
  farm.run.platform = platform;
  farm.run.dry = TRUE;
  spent_ns = 0;
  n_asked = 0;
  if (!hass_data_farm_combine (&farm, NULL, &error))
    {
      fprintf (stderr, "hass: %s\n", error->message);
      exit (1);
    }
  return (double)spent_ns / n_asked;
}

static void
measure_clock (void)
{
  gint64 begin = bench_now_ns ();
  for (guint i = 0; i < 10000; i++)
    bench_now_ns ();
  clock_ns = (bench_now_ns () - begin) / 10000;
}

int
main (int argc, char **argv)
{
  static const HassCostClass costs[]
      = { HASS_COST_EQUAL, HASS_COST_SIZED, HASS_COST_UNKNOWN };
  static const char *const names[] = { "equal", "sized", "unknown" };
  platform = argc > 1 ? argv[1] : "doc/platforms/h200x8.platform";
  printf ("\n== Decisions\n");
  if (!g_file_test (platform, G_FILE_TEST_EXISTS))
    {
      printf ("  left out: there is no %s\n", platform);
      return 0;
    }
  wrapped = hass_strategy_find ("auto", NULL);
  timed = *wrapped;
  timed.name = "auto-timed";
  timed.grant = grant;
  timed.granted = granted;
  timed.observe = observe;
  hass_strategy_register (&timed, NULL);
  loads = g_new0 (HassLoad, ROUNDS * N_LOADS);
  measure_clock ();
  BenchGroup *group = bench_group_new (BENCH_LESS_IS_BETTER, "ns a decision",
                                       "j. auto, %d rounds of %d loads, %s",
                                       ROUNDS, N_LOADS, platform);
  for (guint i = 0; i < G_N_ELEMENTS (costs); i++)
    bench_group_add (group, 2000, measure, &costs[i], "costs %s", names[i]);
  bench_group_run (group, bench_rounds (7));
  g_free (loads);
  return 0;
}
