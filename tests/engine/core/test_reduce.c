/* SPDX-License-Identifier: MIT */
/* test_reduce.c: in what order accumulators are merged, on how many cores, and
   that each is cleared once, however the farm ends.

   An accumulator owns a text that says of what it was merged: those of worker
   0 and 1 become "(0 1)".

   Thread safety: farms on several cores; counts are atomic. */
#include <gio/gio.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define MOST 64
/* Merges that shall run at once, and for how long each waits for the others if
   they do not. */
#define TOGETHER 6
#define PATIENCE_US (60 * G_USEC_PER_SEC)

typedef struct
{
  guint number; /* in the order in which they were made */
  char *text;
} Accumulator;

typedef struct
{
  gulong merge_us;
  guint n_made;                /* the calling thread's */
  _Atomic guint cleared[MOST]; /* by number */
  _Atomic guint n_merging, most_merging;
  gboolean together; /* merges wait until TOGETHER have run at once */
  _Atomic gboolean gave_up;
  GThread *caller;
  _Atomic guint n_elsewhere; /* merges on other threads */
  gboolean fail;
} Farm;

static void
make (gpointer accumulator, gpointer data)
{
  Farm *f = data;
  Accumulator *a = accumulator;
  a->number = f->n_made++;
  a->text = g_strdup_printf ("%u", a->number);
}

/* Until so many merges are there that at least TOGETHER - 1 of them are on
   other threads than the caller's. */
static void
await_others (Farm *f)
{
  gint64 end = g_get_monotonic_time () + PATIENCE_US;
  while (f->most_merging < TOGETHER && !f->gave_up)
    if (g_get_monotonic_time () > end)
      f->gave_up = TRUE;
    else
      g_usleep (100);
}

static void
merge (gpointer accumulator, gconstpointer part, gpointer data)
{
  Farm *f = data;
  Accumulator *a = accumulator;
  const Accumulator *b = part;
  guint now = ++f->n_merging;
  for (guint most = f->most_merging; now > most;)
    if (atomic_compare_exchange_weak (&f->most_merging, &most, now))
      break;
  if (g_thread_self () != f->caller)
    f->n_elsewhere++;
  if (f->merge_us > 0)
    g_usleep (f->merge_us);
  /* The first one shows how long merges take. */
  if (f->together && a->number + b->number > 1)
    await_others (f);
  char *both = g_strdup_printf ("(%s %s)", a->text, b->text);
  g_free (a->text);
  a->text = both;
  f->n_merging--;
}

static void
clear (gpointer accumulator, gpointer data)
{
  Farm *f = data;
  Accumulator *a = accumulator;
  f->cleared[a->number]++;
  g_free (a->text);
}

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  Farm *f = data;
  (void)block, (void)worker;
  if (f->fail)
    g_set_error_literal (error, HASS_ERROR, HASS_ERROR_WORKER, "as wanted");
  return !f->fail;
}

static HassLoad loads[10];

static HassDataFarm
farm_of (Farm *f, Accumulator *all, guint n_cores)
{
  HassDataFarm d = HASS_DATA_FARM_INIT;
  f->caller = g_thread_self ();
  all->text = g_strdup ("all");
  d.user_data = f;
  d.loads = loads;
  d.n_loads = G_N_ELEMENTS (loads);
  d.cpu_worker = work;
  d.reduce = merge;
  d.reduce_init = make;
  d.reduce_clear = clear;
  d.accumulator = all;
  d.accumulator_bytes = sizeof *all;
  d.run.n_cores = n_cores;
  return d;
}

static gboolean
run (HassDataFarm *d, GError **error)
{
  watchdog (60, "a farm that reduces");
  gboolean ok = hass_data_farm_combine (d, NULL, error);
  watchdog (0, NULL);
  return ok;
}

static gboolean
each_cleared_once (const Farm *f)
{
  for (guint i = 0; i < MOST; i++)
    if (f->cleared[i] != (i < f->n_made))
      return FALSE;
  return TRUE;
}

/* -- The order ---------------------------------------------------------- */

/* What so many workers' accumulators become, with merges as @f says; free with
   g_free(). */
static char *
merged (guint n_cores, Farm *f)
{
  Accumulator all = { 0 };
  HassDataFarm d = farm_of (f, &all, n_cores);
  CU_ASSERT_TRUE (run (&d, NULL));
  CU_ASSERT_EQUAL (f->n_made, n_cores);
  CU_ASSERT_TRUE (each_cleared_once (f));
  return all.text;
}

static void
order (void)
{
  static const char *const trees[]
      = { "(all 0)",
          "(all (0 1))",
          "(all ((0 1) 2))",
          "(all ((0 1) (2 3)))",
          "(all (((0 1) (2 3)) 4))",
          "(all (((0 1) (2 3)) (4 5)))",
          "(all (((0 1) (2 3)) ((4 5) 6)))",
          "(all (((0 1) (2 3)) ((4 5) (6 7))))",
          "(all ((((0 1) (2 3)) ((4 5) (6 7))) 8))" };
  for (guint n = 1; n <= G_N_ELEMENTS (trees); n++)
    {
      Farm quick = { 0 }, slow = { .merge_us = 1000 };
      g_autofree char *a = merged (n, &quick);
      g_autofree char *b = merged (n, &slow);
      CU_ASSERT_STRING_EQUAL (a, trees[n - 1]);
      CU_ASSERT_STRING_EQUAL (b, trees[n - 1]);
      CU_ASSERT_TRUE (n > 3 || slow.n_elsewhere == 0);
    }
}

static void
at_once (void)
{
  Farm f = { .merge_us = 5000, .together = TRUE };
  g_free (merged (32, &f));
  CU_ASSERT_TRUE (f.most_merging >= TOGETHER);
  CU_ASSERT_TRUE (f.n_elsewhere >= TOGETHER - 1);
}

static void
in_virtual_time (void)
{
  g_autofree char *path
      = trial_file ("[platform]\nname = toy\n[cpu]\ncores = 5\n"
                    "work_per_us = 1\n");
  Farm f = { .merge_us = 1000 };
  Accumulator all;
  HassDataFarm d = farm_of (&f, &all, 0);
  d.run.platform = path;
  CU_ASSERT_TRUE (run (&d, NULL));
  CU_ASSERT_STRING_EQUAL (all.text, "(all (((0 1) (2 3)) 4))");
  CU_ASSERT_EQUAL (f.n_elsewhere, 0);
  CU_ASSERT_TRUE (each_cleared_once (&f));
  g_free (all.text);
  unlink (path);
}

/* -- Clearing ----------------------------------------------------------- */

static gboolean
fail_to_generate (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)emitter, (void)data;
  g_set_error_literal (error, HASS_ERROR, HASS_ERROR_INVALID, "as wanted");
  return FALSE;
}

static void
farms_that_fail (void)
{
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();
  g_cancellable_cancel (cancelled);
  for (guint i = 0; i < 6; i++)
    {
      Farm f = { .fail = i == 0 };
      Accumulator all;
      HassDataFarm d = farm_of (&f, &all, 3);
      if (i == 1)
        d.run.cancellable = cancelled;
      else if (i == 2)
        d.generate = fail_to_generate;
      else if (i == 3)
        d.run.strategy = "no-such";
      else if (i == 4)
        d.run.trace = "/nowhere/trace";
      else if (i == 5)
        d.run.platform = "/nowhere/platform";
      CU_ASSERT_FALSE (run (&d, NULL));
      CU_ASSERT_TRUE (each_cleared_once (&f));
      CU_ASSERT_EQUAL (f.n_made, i < 5 ? 3 : 0);
      /* What was begun is merged, also where little of it was computed. */
      CU_ASSERT_STRING_EQUAL (all.text, i < 3 ? "(all ((0 1) 2))" : "all");
      g_free (all.text);
    }
}

static gboolean
gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
     GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

static void
devices (void)
{
  const StandInPlan plans[] = { { .name = "good" },
                                { .name = "shut", .fail_open = TRUE },
                                { .name = "lost", .lose_at = 1 } };
  for (guint i = 0; i < G_N_ELEMENTS (plans); i++)
    {
      Farm f = { 0 };
      Accumulator all;
      HassDataFarm d = farm_of (&f, &all, 2);
      HassDevice *device = stand_in_new (&plans[i]);
      d.gpu_worker = gpu;
      d.run.devices = &device;
      d.run.n_devices = 1;
      CU_ASSERT_TRUE (run (&d, NULL));
      /* Two cores, the device, and what its bundles begin with. */
      CU_ASSERT_EQUAL (f.n_made, 4);
      CU_ASSERT_TRUE (each_cleared_once (&f));
      g_free (all.text);
      stand_in_free (device);
    }
}

static void
clear_without_reduce (void)
{
  Farm f = { 0 };
  Accumulator all;
  HassDataFarm d = farm_of (&f, &all, 1);
  GError *error = NULL;
  d.reduce = NULL;
  CU_ASSERT_FALSE (run (&d, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
  CU_ASSERT_TRUE (error && strstr (error->message, "reduce_clear"));
  g_clear_error (&error);
  g_free (all.text);
}

static void
must_want_memory (gboolean ok, GError **failure)
{
  g_autoptr (GError) error = g_steal_pointer (failure);
  CU_ASSERT_FALSE (ok);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY));
  CU_ASSERT_TRUE (error && strstr (error->message, "18446744073709551615"));
}

static gboolean
pass (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  return TRUE;
}

static void
too_large (void)
{
  Farm f = { 0 };
  Accumulator all;
  HassDataFarm d = farm_of (&f, &all, 2);
  HassStage stage = HASS_STAGE_INIT;
  HassPipeline p = HASS_PIPELINE_INIT;
  GError *error = NULL;
  d.accumulator_bytes = G_MAXSIZE;
  must_want_memory (run (&d, &error), &error);
  stage.cpu = pass;
  stage.reduce = d.reduce;
  stage.accumulator = &all;
  stage.accumulator_bytes = G_MAXSIZE;
  p.stages = &stage;
  p.n_stages = 1;
  p.loads = d.loads;
  p.n_loads = d.n_loads;
  p.run.n_gpus = -1;
  must_want_memory (hass_pipeline (&p, NULL, &error), &error);
  CU_ASSERT_EQUAL (f.n_made, 0);
  g_free (all.text);
}

HASS_TEST_SUITE (
    reduce,
    { "neighbours are merged in their order, however long it takes", order },
    { "long merges run on several cores at once", at_once },
    { "in virtual time one thread merges", in_virtual_time },
    { "accumulators of a farm that fails are cleared once", farms_that_fail },
    { "accumulators of devices whose farm fails are cleared once", devices },
    { "clearing without reducing is refused", clear_without_reduce },
    { "accumulators for which there is no memory are named", too_large })
