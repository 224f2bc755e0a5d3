/* SPDX-License-Identifier: MIT */
/* test_losses.c: each loss is put down to what caused it.

   DESIGN. Callbacks note when they begin and end. The farm waited for a cause
   while a callback that stands for it slept and no worker computed, however
   long that took: most of this time must be in the loss of that name. As all
   losses add up to what was lost, and none is negative, no other name has it.

   Thread safety: one farm at a time. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define MS 1000

/* When callbacks ran, in us. */
typedef struct
{
  gint64 begin, end;
} Span;

#define MOST_SPANS 512

typedef struct
{
  Span spans[MOST_SPANS];
  _Atomic guint n;
} Spans;

static Spans computed, caused;

static void
note (Spans *spans, gint64 begin)
{
  guint i = atomic_fetch_add (&spans->n, 1);
  if (i < MOST_SPANS)
    spans->spans[i] = (Span){ begin, g_get_monotonic_time () };
}

static void
sleep_as (Spans *spans, guint us)
{
  gint64 begin = g_get_monotonic_time ();
  g_usleep (us);
  note (spans, begin);
}

/* Seconds for which a cause lasted while nothing was computed, at least. */
static double
alone_s (void)
{
  gint64 us = 0;
  for (guint i = 0; i < MIN (caused.n, MOST_SPANS); i++)
    {
      const Span *c = &caused.spans[i];
      gint64 rest = c->end - c->begin;
      for (guint k = 0; k < MIN (computed.n, MOST_SPANS); k++)
        {
          const Span *w = &computed.spans[k];
          rest -= MAX (MIN (c->end, w->end) - MAX (c->begin, w->begin), 0);
        }
      us += MAX (rest, 0);
    }
  return us * 1e-6;
}

static void
check_sum (const HassReport *r)
{
  CU_ASSERT_TRUE (fabs (trial_lost (r) - r->makespan_s + r->bound_s) < 1e-9);
  CU_ASSERT_TRUE (r->lost_startup_s >= 0 && r->lost_generator_s >= 0);
  CU_ASSERT_TRUE (r->lost_collector_s >= 0 && r->lost_reduce_s >= 0);
  CU_ASSERT_TRUE (r->lost_teardown_s >= 0 && r->lost_imbalance_s >= 0);
  CU_ASSERT_TRUE (r->lost_copies_s >= 0 && r->lost_halo_s >= 0);
}

/* @lost: the loss whose cause lasted for @cause_s. A fifth may be the engine's,
   which may itself have to wait for a CPU. */
static void
check_cause (const HassReport *r, double lost, double cause_s, const char *what)
{
  check_sum (r);
  CU_ASSERT_TRUE (r->lost_overhead_s > -0.2 * cause_s);
  if (lost < 0.8 * cause_s || lost > r->makespan_s
      || r->lost_overhead_s <= -0.2 * cause_s)
    {
      g_autofree char *text = hass_report_to_string (r);
      printf ("\n%s: %g s of %g s\n%s", what, lost, cause_s, text);
      CU_FAIL ("a loss has another name than its cause");
    }
}

/* -- Callbacks ---------------------------------------------------------- */

static gboolean
nap (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  const guint *us = data;
  (void)block, (void)worker, (void)error;
  sleep_as (&computed, us ? *us : 1 * MS);
  return TRUE;
}

static gboolean
kernel (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

static gboolean
slowly (HassEmitter *emitter, gpointer data, GError **error)
{
  HassLoad load = { .size = 1 };
  (void)data, (void)error;
  for (guint i = 0; i < 5; i++)
    {
      sleep_as (&caused, 40 * MS);
      if (!hass_emitter_emit (emitter, &load))
        return TRUE;
    }
  return TRUE;
}

static gboolean
quickly (HassEmitter *emitter, gpointer data, GError **error)
{
  HassLoad load = { .size = 1 };
  (void)data, (void)error;
  for (guint i = 0; i < 200; i++)
    if (!hass_emitter_emit (emitter, &load))
      return TRUE;
  return TRUE;
}

static gboolean
collect (const HassResult *result, gpointer data, GError **error)
{
  (void)result, (void)data, (void)error;
  sleep_as (&caused, 20 * MS);
  return TRUE;
}

static void
reduce (gpointer into, gconstpointer from, gpointer data)
{
  (void)into, (void)from, (void)data;
  sleep_as (&caused, 100 * MS);
}

static HassReport *
run (HassDataFarm *f, guint cores, const char *what)
{
  HassReport *report = NULL;
  f->run.n_cores = cores;
  f->run.n_gpus = -1;
  f->run.platform = "";
  computed.n = caused.n = 0;
  watchdog (30, what);
  CU_ASSERT_TRUE (hass_data_farm_combine (f, &report, NULL));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (report);
  return report;
}

/* -- Live --------------------------------------------------------------- */

static void
slow_generator (void)
{
  for (guint cores = 1; cores <= 2; cores++)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.generate = slowly;
      f.cpu_worker = nap;
      g_autoptr (HassReport) r = run (&f, cores, "a slow generator");
      check_cause (r, r->lost_generator_s, alone_s (), "generator");
    }
}

/* The same with a device whose rounds do not overlap. Until it is open, what it
   waits for is its start. */
static void
slow_generator_beside_gpu (void)
{
  StandInPlan plan = { 0 };
  HassDevice *device = stand_in_new (&plan);
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.generate = slowly;
  f.cpu_worker = nap;
  f.gpu_worker = kernel;
  f.run.devices = &device;
  f.run.n_devices = 1;
  g_autoptr (HassReport) r = run (&f, 2, "a slow generator beside a GPU");
  check_cause (r, r->lost_generator_s, MAX (alone_s () - r->lost_startup_s, 0),
               "generator");
  stand_in_free (device);
}

/* Emitting costs nothing while cores have work and the pool is full; nor is it
   the generator's that one core idles where the pool holds one load. */
static void
busy_generator (void)
{
  for (guint loads = 1; loads <= 16; loads += 15)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.generate = quickly;
      f.cpu_worker = nap;
      f.pool_loads = loads;
      g_autoptr (HassReport) r = run (&f, 2, "a generator that waits for room");
      check_sum (r);
      CU_ASSERT_TRUE (r->makespan_s > 0.1);
      CU_ASSERT_TRUE (r->lost_generator_s < 0.2 * r->makespan_s);
    }
}

static void
slow_collector (void)
{
  static guint8 out[10];
  HassLoad loads[10];
  for (guint i = 0; i < 10; i++)
    loads[i] = (HassLoad){ .size = 1, .output = out + i, .output_bytes = 1 };
  for (guint i = 0; i < 4; i++)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.loads = loads;
      f.n_loads = 10;
      f.cpu_worker = nap;
      f.collect = collect;
      f.order = i / 2 ? HASS_RESULTS_ORDERED : HASS_RESULTS_UNORDERED;
      g_autoptr (HassReport) r = run (&f, 1 + i % 2, "a slow collector");
      check_cause (r, r->lost_collector_s, alone_s (), "collector");
      CU_ASSERT_TRUE (r->bound_s <= r->makespan_s - 0.8 * alone_s ());
      CU_ASSERT_TRUE (r->devices[0].busy_s <= r->makespan_s - 0.8 * alone_s ());
    }
}

static void
slow_reduce (void)
{
  for (guint cores = 1; cores <= 2; cores++)
    {
      guint64 sum = 0;
      HassLoad loads[8] = { { .size = 1 } };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.loads = loads;
      f.n_loads = 8;
      f.cpu_worker = nap;
      f.reduce = reduce;
      f.accumulator = &sum;
      f.accumulator_bytes = sizeof sum;
      g_autoptr (HassReport) r = run (&f, cores, "a slow reduce");
      check_cause (r, r->lost_reduce_s, alone_s (), "reduce");
    }
}

/* One unit of 200 ms keeps one of two cores: what the other misses. */
static void
one_long_unit (void)
{
  guint us = 200 * MS;
  HassLoad load = { .size = 1 };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.loads = &load;
  f.n_loads = 1;
  f.cpu_worker = nap;
  f.user_data = &us;
  g_autoptr (HassReport) r = run (&f, 2, "one long unit");
  double unit_s = 1e-6 * (computed.spans[0].end - computed.spans[0].begin);
  check_cause (r, r->lost_imbalance_s, unit_s / 2, "imbalance");
}

static gboolean
no_work (const HassTask *task, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)task, (void)worker, (void)data, (void)error;
  return TRUE;
}

/* Reading 300,000 tasks takes some ms before the engine is called. Returns the
   makespan as a part of the time that the caller sees. */
static double
part_of_call (void)
{
  guint n = 300000;
  g_autofree HassTask *tasks = g_new0 (HassTask, n);
  g_autoptr (HassReport) r = NULL;
  for (guint i = 0; i < n; i++)
    tasks[i].cpu = no_work;
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  f.tasks = tasks;
  f.n_tasks = n;
  f.run.n_cores = 2;
  f.run.platform = "";
  watchdog (30, "many tasks");
  gint64 begin = g_get_monotonic_time ();
  CU_ASSERT_TRUE (hass_function_farm (&f, &r, NULL));
  double wall = (g_get_monotonic_time () - begin) * 1e-6;
  watchdog (0, NULL);
  CU_ASSERT_TRUE (r->makespan_s <= wall + 1e-6);
  CU_ASSERT_TRUE (r->lost_startup_s > 0);
  check_sum (r);
  return r->makespan_s / wall;
}

/* The caller may lose its core to another process before or after the farm, so
   one call of ten must show it. */
static void
waited (void)
{
  double most = 0;
  for (guint i = 0; i < 10 && most <= 0.8; i++)
    most = MAX (most, part_of_call ());
  CU_ASSERT_TRUE (most > 0.8);
}

/* -- Virtual time, exactly ---------------------------------------------- */

static char *
two_cores (void)
{
  return trial_file ("[platform]\nname = two\n[cpu]\ncores = 2\n"
                     "work_per_us = 1\npull_us = 0\n");
}

static void
no_time_in_the_model (void)
{
  g_autofree char *platform = two_cores ();
  guint64 sum = 0;
  HassReport *r = NULL;
  HassLoad loads[3] = { { .cost = 1000 }, { .cost = 1000 }, { .cost = 1000 } };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  guint us = 0;
  f.generate = slowly;
  f.loads = loads;
  f.n_loads = 3;
  f.cost = HASS_COST_SIZED;
  f.cpu_worker = nap;
  f.user_data = &us;
  f.collect = collect;
  f.reduce = reduce;
  f.accumulator = &sum;
  f.accumulator_bytes = sizeof sum;
  f.round_loads = 3;
  f.run.platform = platform;
  watchdog (30, "virtual losses");
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &r, NULL));
  watchdog (0, NULL);
  unlink (platform);
  /* 2 ms for three units of 1 ms; five of 1 us in rounds of 3 and 2. */
  CU_ASSERT_DOUBLE_EQUAL (r->makespan_s, 2.003e-3, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (r->bound_s, 1.5025e-3, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (r->lost_imbalance_s, 0.5005e-3, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (r->lost_overhead_s, 0, 1e-12);
  CU_ASSERT_EQUAL (r->lost_startup_s, 0);
  CU_ASSERT_EQUAL (r->lost_generator_s, 0);
  CU_ASSERT_EQUAL (r->lost_collector_s, 0);
  CU_ASSERT_EQUAL (r->lost_reduce_s, 0);
  CU_ASSERT_EQUAL (r->lost_teardown_s, 0);
  check_sum (r);
  hass_report_free (r);
}

HASS_TEST_SUITE (
    losses, { "a slow generator is what time was lost to", slow_generator },
    { "a slow generator beside a GPU, too", slow_generator_beside_gpu },
    { "a generator that waits for room loses nothing", busy_generator },
    { "a slow collector is what time was lost to", slow_collector },
    { "a slow reduce is what time was lost to", slow_reduce },
    { "a core without work at the end is imbalance", one_long_unit },
    { "the makespan is what the caller waited", waited },
    { "virtual losses are exact", no_time_in_the_model })
