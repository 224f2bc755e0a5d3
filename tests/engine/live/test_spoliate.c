/* SPDX-License-Identifier: MIT */
/* test_spoliate.c: units that cores have begun and that a device gets instead,
   since their workers ask whether they should stop.

   DESIGN. The strategy is the test's own: cores get a unit each, a device the
   rest, and what cores have begun is taken from them or not, as the test says.
   Cores do not end their units before that is decided, so what is counted does
   not depend on time.

   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

enum
{
  CORES = 2,
  UNITS = 8
};

/* What a worker does with a unit on a core. */
typedef enum
{
  LEAVES,    /* asks until it is to stop, then fails; the second time, not */
  STAYS,     /* asks until it is to stop, then ends the unit */
  IN_LOOPS,  /* as LEAVES, in the bodies of a loop */
  IS_SILENT, /* ends its unit when the device has computed the others */
  FAILS      /* asks, and fails although it is not to stop */
} Way;

static struct
{
  Way way;
  gboolean takes;       /* the strategy does */
  guint after;          /* at the so manyth question */
  guint n_asked;        /* the strategy, with something to take */
  gboolean bad;         /* what it was shown was not what cores had begun */
  _Atomic guint n_left; /* for the device before cores leave, if silent */
  _Atomic guint begun[UNITS]; /* by cores */
  _Atomic guint on_core[UNITS], on_device[UNITS], delivered[UNITS];
  _Atomic guint left; /* workers that left */
} now;

/* -- The strategy ------------------------------------------------------- */

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)env, (void)error;
  return &now;
}

/* The device waits until each core has a unit, or it would take all. */
static HassAnswer
one_each (gpointer self, HassRound *round, guint device, gboolean force,
          HassGrant *grant)
{
  (void)self;
  guint64 waiting = hass_round_waiting (round);
  grant->chunk = 1;
  if (device == 0)
    {
      grant->units = 1;
      return waiting > UNITS - CORES || force ? HASS_TAKE : HASS_WAIT;
    }
  grant->source = HASS_FROM_BACK;
  grant->within_ns = 100000;
  return waiting <= UNITS - CORES ? HASS_TAKE : HASS_WAIT;
}

static gint64
spoliate (gpointer self, HassRound *round, guint device, HassBegun *begun,
          guint n)
{
  (void)self, (void)round;
  now.bad |= device != 1 || n < 1 || n > CORES;
  for (guint i = 0; i < n; i++)
    now.bad |= begun[i].units != 1 || begun[i].work != 1 || begun[i].ns <= 0;
  if (++now.n_asked < now.after)
    return 10000;
  for (guint i = 0; i < n; i++)
    begun[i].take = now.takes;
  return n < CORES ? 10000 : 0;
}

static const HassStrategyOps takes = { .struct_size = sizeof (HassStrategyOps),
                                       .name = "test-spoliates",
                                       .summary = "takes what cores began",
                                       .source = "tests",
                                       .farms = HASS_FARM_ANY,
                                       .create = create,
                                       .grant = one_each,
                                       .spoliate = spoliate };

/* -- The farm ----------------------------------------------------------- */

static guint
index_of (const HassBlock *block)
{
  return GPOINTER_TO_UINT (block->load->tag);
}

static gboolean
body (gsize first, gsize count, HassWorker *worker, gpointer data,
      GError **error)
{
  (void)first, (void)count, (void)data, (void)error;
  while (!hass_worker_stopping (worker))
    g_usleep (100);
  return FALSE;
}

/* Returns whether the unit is computed. */
static gboolean
go (HassWorker *worker, guint unit)
{
  if (now.begun[unit]++ > 0)
    return TRUE;
  switch (now.way)
    {
    case IN_LOOPS:
      return hass_worker_parallel_for (worker, 1, 1, body, NULL, NULL);
    case IS_SILENT:
      while (now.n_left > 0)
        g_usleep (100);
      return TRUE;
    case FAILS:
      return hass_worker_stopping (worker);
    default:
      while (!hass_worker_stopping (worker))
        g_usleep (100);
      return now.way == STAYS;
    }
}

static gboolean
cpu_worker (const HassBlock *block, HassWorker *worker, gpointer data,
            GError **error)
{
  guint unit = index_of (block);
  (void)data, (void)error;
  hass_worker_result (worker, &unit, sizeof unit);
  if (!go (worker, unit))
    {
      now.left++;
      return FALSE;
    }
  now.on_core[unit]++;
  return TRUE;
}

static void
kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      now.on_device[index_of (&bundle->blocks[i])]++;
      now.n_left -= now.n_left > 0;
    }
}

STAND_IN_WORKER (gpu_worker, kernel)

static gboolean
gpu_result (const HassBlock *block, gconstpointer records, gsize n_records,
            HassWorker *worker, gpointer data, GError **error)
{
  guint unit = index_of (block);
  (void)records, (void)n_records, (void)data, (void)error;
  return hass_worker_result (worker, &unit, sizeof unit);
}

static gboolean
collect (const HassResult *result, gpointer data, GError **error)
{
  (void)data, (void)error;
  now.delivered[*(const guint *)result->data]++;
  return TRUE;
}

/* Runs the farm; the device is lost with its bundle @lose_at. Returns: its
   report; free with hass_report_free(). */
static HassReport *
run (Way way, gboolean strategy_takes, guint lose_at, GError **error)
{
  HassLoad loads[UNITS];
  for (guint i = 0; i < UNITS; i++)
    {
      loads[i] = (HassLoad){ .size = 1, .tag = GUINT_TO_POINTER (i) };
      now.on_core[i] = now.on_device[i] = now.delivered[i] = 0;
      now.begun[i] = 0;
    }
  now.way = way;
  now.takes = strategy_takes;
  now.n_asked = now.left = 0;
  now.bad = FALSE;
  now.n_left = UNITS - CORES;
  HassDevice *gpu = stand_in_new (&(StandInPlan){ .lose_at = lose_at });
  HassReport *report = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  hass_strategy_register (&takes, NULL);
  farm.name = "spoliated";
  farm.loads = loads;
  farm.n_loads = UNITS;
  farm.cpu_worker = cpu_worker;
  farm.gpu_worker = gpu_worker;
  farm.gpu_result = gpu_result;
  farm.collect = collect;
  farm.run.n_cores = CORES;
  farm.run.strategy = takes.name;
  farm.run.platform = "";
  farm.run.devices = &gpu;
  farm.run.n_devices = 1;
  farm.run.n_gpus = -1;
  watchdog (60, "a farm in which units are taken from cores");
  hass_data_farm_combine (&farm, &report, error);
  watchdog (0, NULL);
  stand_in_free (gpu);
  CU_ASSERT_FALSE (now.bad);
  if (*error && way != FAILS)
    printf ("\n    %s", (*error)->message);
  return report;
}

/* Asserts that each unit was computed and delivered once, @on_core of them by
   cores. */
static void
expect (const HassReport *r, guint on_core, guint taken)
{
  guint n = 0;
  for (guint i = 0; i < UNITS; i++)
    {
      CU_ASSERT_EQUAL (now.on_core[i] + now.on_device[i], 1);
      CU_ASSERT_EQUAL (now.delivered[i], 1);
      n += now.on_core[i];
    }
  CU_ASSERT_EQUAL (n, on_core);
  CU_ASSERT_EQUAL (r->devices[0].units, on_core);
  CU_ASSERT_EQUAL (r->devices[1].units, UNITS - on_core);
  CU_ASSERT_EQUAL (r->devices[0].failures, 0);
  CU_ASSERT_EQUAL (r->devices[0].taken_back, taken);
  CU_ASSERT_EQUAL (r->devices[0].vain_s > 0, taken > 0);
  CU_ASSERT_EQUAL (r->n_unfinished, 0);
}

/* -- Tests -------------------------------------------------------------- */

static void
leaves (void)
{
  g_autoptr (GError) error = NULL;
  now.after = 1;
  g_autoptr (HassReport) r = run (LEAVES, TRUE, 0, &error);
  CU_ASSERT_PTR_NULL (error);
  expect (r, 0, CORES);
  CU_ASSERT_EQUAL (now.left, CORES);
  g_autofree char *text = hass_report_to_string (r);
  CU_ASSERT_PTR_NOT_NULL (
      strstr (text, "cpu: 2 units that its cores had begun were taken from "));
}

static void
in_loops (void)
{
  g_autoptr (GError) error = NULL;
  now.after = 1;
  g_autoptr (HassReport) r = run (IN_LOOPS, TRUE, 0, &error);
  CU_ASSERT_PTR_NULL (error);
  expect (r, 0, CORES);
}

static void
later (void)
{
  g_autoptr (GError) error = NULL;
  now.after = 5;
  g_autoptr (HassReport) r = run (LEAVES, TRUE, 0, &error);
  CU_ASSERT_PTR_NULL (error);
  expect (r, 0, CORES);
  CU_ASSERT_TRUE (now.n_asked >= 5);
}

static void
stays (void)
{
  g_autoptr (GError) error = NULL;
  now.after = 1;
  g_autoptr (HassReport) r = run (STAYS, TRUE, 0, &error);
  CU_ASSERT_PTR_NULL (error);
  expect (r, CORES, 0);
}

static void
is_silent (void)
{
  g_autoptr (GError) error = NULL;
  now.after = 1;
  g_autoptr (HassReport) r = run (IS_SILENT, TRUE, 0, &error);
  CU_ASSERT_PTR_NULL (error);
  expect (r, CORES, 0);
  CU_ASSERT_EQUAL (now.n_asked, 0);
}

static void
fails (void)
{
  g_autoptr (GError) error = NULL;
  now.after = 1;
  g_autoptr (HassReport) r = run (FAILS, FALSE, 0, &error);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_WORKER));
  CU_ASSERT_EQUAL (r->devices[0].taken_back, 0);
  CU_ASSERT_TRUE (r->devices[0].failures > 0);
}

/* The device fails with what it has got from the cores, which compute that
   after all. */
static void
comes_back (void)
{
  g_autoptr (GError) error = NULL;
  now.after = 1;
  g_autoptr (HassReport) r = run (LEAVES, TRUE, 2, &error);
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_TRUE (r->devices[1].lost);
  expect (r, CORES, CORES);
}

HASS_TEST_SUITE (
    spoliate,
    { "what cores have begun goes to a device, and is computed once", leaves },
    { "bodies of loops are told to stop, too", in_loops },
    { "the strategy is asked again after the time that it says", later },
    { "a worker that goes on keeps its unit", stays },
    { "a unit whose worker does not ask stays with its core", is_silent },
    { "a worker that fails without being told has failed", fails },
    { "a unit returns to the cores if the device is lost", comes_back })
