/* SPDX-License-Identifier: MIT */
/* test_losses.c: each loss is put down to what caused it.

   Sleeps are long beside what a loaded machine adds, and every bound is loose:
   a loss must reach most of its cause, and no other loss may take it.

   Thread safety: one thread. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define MS 1000

static void
check_sum (const HassReport *r)
{
  CU_ASSERT_TRUE (fabs (trial_lost (r) - r->makespan_s + r->bound_s) < 1e-9);
  CU_ASSERT_TRUE (r->lost_startup_s >= 0 && r->lost_generator_s >= 0);
  CU_ASSERT_TRUE (r->lost_collector_s >= 0 && r->lost_reduce_s >= 0);
  CU_ASSERT_TRUE (r->lost_teardown_s >= 0 && r->lost_imbalance_s >= 0);
}

/* @lost: of this at least @least_s; no other cause has half of it. */
static void
check_cause (const HassReport *r, double lost, double least_s, const char *what)
{
  const double all[]
      = { r->lost_startup_s, r->lost_generator_s, r->lost_copies_s,
          r->lost_halo_s,    r->lost_imbalance_s, r->lost_collector_s,
          r->lost_reduce_s,  r->lost_teardown_s,  r->lost_overhead_s };
  guint n = 0;
  check_sum (r);
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    n += all[i] > 0.5 * least_s;
  if (lost < least_s || lost > r->makespan_s || n > 1)
    {
      g_autofree char *text = hass_report_to_string (r);
      printf ("\n%s: %g s of at least %g s\n%s", what, lost, least_s, text);
      CU_FAIL ("a loss has another name than its cause");
    }
}

/* -- Callbacks ---------------------------------------------------------- */

static gboolean
nap (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  const guint *us = data;
  (void)block, (void)worker, (void)error;
  g_usleep (us ? *us : 1 * MS);
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
      g_usleep (40 * MS);
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
  g_usleep (20 * MS);
  return TRUE;
}

static void
reduce (gpointer into, gconstpointer from, gpointer data)
{
  (void)into, (void)from, (void)data;
  g_usleep (100 * MS);
}

static HassReport *
run (HassDataFarm *f, guint cores, const char *what)
{
  HassReport *report = NULL;
  f->run.n_cores = cores;
  f->run.n_gpus = -1;
  f->run.platform = "";
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
      check_cause (r, r->lost_generator_s, 0.15, "generator");
    }
}

/* The same with a device whose rounds do not overlap. */
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
  check_cause (r, r->lost_generator_s, 0.12, "generator");
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
      check_cause (r, r->lost_collector_s, 0.15, "collector");
      CU_ASSERT_TRUE (r->efficiency < 0.2);
      CU_ASSERT_TRUE (r->devices[0].busy_s < 0.5 * r->makespan_s);
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
      check_cause (r, r->lost_reduce_s, 0.09, "reduce");
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
  check_cause (r, r->lost_imbalance_s, 0.08, "imbalance");
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
