/* SPDX-License-Identifier: MIT */
/* test_data_farm.c: what the callbacks of a data farm may do and what becomes
   of their failures.
   Thread safety: one thread. */
#include <gio/gio.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guarded.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

/* -- The generator ------------------------------------------------------ */

static gboolean
broken_generator (HassEmitter *emitter, gpointer data, GError **error)
{
  HassLoad load = { .size = 1 };
  (void)data;
  for (int i = 0; i < 10; i++)
    CU_ASSERT_TRUE (hass_emitter_emit (emitter, &load));
  g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "disk on fire");
  return FALSE;
}

static void
generator_stops (void)
{
  _Atomic guint64 n = 0;
  g_autoptr (HassReport) report = NULL;
  GError *error = NULL;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.generate = broken_generator;
  f.cpu_worker = count_elements;
  f.user_data = &n;
  f.run.n_cores = 1;
  CU_ASSERT_FALSE (guarded (hass_data_farm_combine, &f, &report, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
  CU_ASSERT_PTR_NOT_NULL (
      strstr (error->message, "after 10 loads: disk on fire"));
  CU_ASSERT_EQUAL (n, 0); /* one core: it was still generating */
  CU_ASSERT_EQUAL (report->n_unfinished, 1);
  CU_ASSERT_EQUAL (report->unfinished[0].seq, 0);
  CU_ASSERT_EQUAL (report->unfinished[0].n_loads, 10);
  g_clear_error (&error);
}

static void
generator_continues (void)
{
  _Atomic guint64 n = 0;
  g_autoptr (HassReport) report = NULL;
  GError *error = NULL;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.generate = broken_generator;
  f.cpu_worker = count_elements;
  f.user_data = &n;
  f.run.on_error = HASS_ON_ERROR_CONTINUE;
  CU_ASSERT_FALSE (guarded (hass_data_farm_combine, &f, &report, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
  CU_ASSERT_EQUAL (n, 10);
  CU_ASSERT_EQUAL (report->n_unfinished, 0);
  g_clear_error (&error);
}

/* -- Results ------------------------------------------------------------ */

typedef struct
{
  guint n, fail_at;
  guint64 sum;
  GCancellable *cancellable;
} Collected;

static gboolean
collect (const HassResult *result, gpointer data, GError **error)
{
  Collected *c = data;
  (void)result;
  c->n++;
  if (c->fail_at > 0 && c->n >= c->fail_at)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "no more paper");
      return FALSE;
    }
  return TRUE;
}

static gboolean
result_each (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  (void)data, (void)error;
  return hass_worker_result (worker, &block->seq, sizeof block->seq);
}

static void
collector_fails (void)
{
  static HassLoad loads[1000];
  for (HassResultOrder order = 0; order <= HASS_RESULTS_ORDERED; order++)
    {
      Collected c = { .fail_at = 5 };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.loads = loads;
      f.n_loads = G_N_ELEMENTS (loads);
      f.cpu_worker = result_each;
      f.collect = collect;
      f.order = order;
      f.user_data = &c;
      CU_ASSERT_TRUE (fails_with (hass_data_farm_combine, &f, HASS_ERROR_IO,
                                  "no more paper"));
      CU_ASSERT_EQUAL (c.n, 5);
    }
}

/* The first unit is slow and fails, so that results of later ones wait for
   the end, where the collector refuses them. */
static gboolean
first_fails (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  if (block->seq > 0)
    return result_each (block, worker, data, error);
  usleep (3000);
  return FALSE;
}

static void
collector_fails_at_the_end (void)
{
  static HassLoad loads[2000];
  for (guint i = 0; i < 20; i++)
    {
      Collected c = { .fail_at = 1 };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.loads = loads;
      f.n_loads = G_N_ELEMENTS (loads);
      f.cpu_worker = first_fails;
      f.collect = collect;
      f.order = HASS_RESULTS_ORDERED;
      f.round_loads = 100;
      f.user_data = &c;
      f.run.n_cores = 4;
      CU_ASSERT_TRUE (fails_with (hass_data_farm_combine, &f, HASS_ERROR_WORKER,
                                  "without saying why"));
      CU_ASSERT_TRUE (c.n <= 1);
    }
}

typedef struct
{
  _Atomic guint begun[4000];
  _Atomic guint finished[4000];
  _Atomic guint most;
} Window;

static gboolean
spread (const HassBlock *block, HassWorker *worker, gpointer data,
        GError **error)
{
  Window *w = data;
  guint first = 0;
  (void)worker, (void)error;
  w->begun[block->seq] = 1;
  while (first < block->seq && w->finished[first])
    first++;
  guint ahead = (guint)block->seq - first, most = w->most;
  while (ahead > most && !atomic_compare_exchange_weak (&w->most, &most, ahead))
    ;
  if (block->seq % 500 == 0)
    usleep (20000);
  w->finished[block->seq] = 1;
  return TRUE;
}

static gboolean
ignore (const HassResult *result, gpointer data, GError **error)
{
  (void)result, (void)data, (void)error;
  return TRUE;
}

static void
window_holds (void)
{
  static HassLoad loads[4000];
  g_autofree Window *w = g_new0 (Window, 1);
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.loads = loads;
  f.n_loads = G_N_ELEMENTS (loads);
  f.cpu_worker = spread;
  f.collect = ignore;
  f.order = HASS_RESULTS_ORDERED;
  f.window_loads = 64;
  f.user_data = w;
  f.run.n_cores = 3;
  CU_ASSERT_TRUE (guarded (hass_data_farm_combine, &f, NULL, NULL));
  CU_ASSERT_TRUE (w->most <= 64);
}

/* -- Reducing and constants --------------------------------------------- */

static void
one (gpointer accumulator, gpointer data)
{
  (void)data;
  *(double *)accumulator = 1;
}

static void
times (gpointer accumulator, gconstpointer part, gpointer data)
{
  (void)data;
  *(double *)accumulator *= *(const double *)part;
}

static gboolean
twice (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  const double *factor = hass_worker_constant (worker, 1);
  (void)block, (void)data, (void)error;
  if (hass_worker_constant (worker, 2) || !factor)
    return FALSE;
  *(double *)hass_worker_accumulator (worker) *= *factor;
  return TRUE;
}

static void
reduced (void)
{
  static const double factor = 2;
  HassConstant constants[] = { { "unused", 6 }, { &factor, sizeof factor } };
  HassLoad loads[20] = { { 0 } };
  double product = 3;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.loads = loads;
  f.n_loads = G_N_ELEMENTS (loads);
  f.cpu_worker = twice;
  f.reduce = times;
  f.reduce_init = one;
  f.accumulator = &product;
  f.accumulator_bytes = sizeof product;
  f.constants = constants;
  f.n_constants = 2;
  f.run.n_cores = 3;
  CU_ASSERT_TRUE (guarded (hass_data_farm_indivisible, &f, NULL, NULL));
  CU_ASSERT_EQUAL (product, 3.0 * (1 << 20));
}

HASS_TEST_SUITE (
    data_farm,
    { "a generator that fails stops the farm and names what it emitted",
      generator_stops },
    { "with CONTINUE what it emitted is finished and the error returned",
      generator_continues },
    { "a collector that fails stops the farm and is not called again",
      collector_fails },
    { "a collector is not called again when results are delivered after the "
      "stop",
      collector_fails_at_the_end },
    { "no unit begins further ahead than the ordered window", window_holds },
    { "accumulators begin neutral and are reduced into the user's", reduced })
