/* SPDX-License-Identifier: MIT */
/* test_loops.c: loops within a unit: what their bodies may do, and how they
   fail.
   Thread safety: farms on several cores; counts are atomic. */
#include <gio/gio.h>
#include <stdatomic.h>
#include <string.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "pool/clock.h"
#include "tests/engine/trial.h"

#define N 10000

typedef struct
{
  HassLoopFunc body;
  gsize fail_at;    /* iteration */
  gboolean silent;  /* it fails without an error */
  HassWorker *unit; /* the worker that runs the loop */
  GCancellable *cancellable;
  _Atomic gsize n_begun, n_ended;
  _Atomic guint n_wrong;
  gboolean went_well;
  GError *error; /* of the loop */
} Loop;

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  Loop *l = data;
  (void)block, (void)error;
  l->unit = worker;
  l->went_well
      = hass_worker_parallel_for (worker, N, 1, l->body, data, &l->error);
  return TRUE;
}

static void
ignore (gpointer accumulator, gconstpointer part, gpointer data)
{
  (void)accumulator, (void)part, (void)data;
}

/* The farm's error, or NULL. */
static GError *
run (Loop *l, guint n_cores)
{
  static const guint64 constant = 7;
  const HassConstant constants[] = { { &constant, sizeof constant } };
  HassLoad load = { .size = 1 };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  GError *error = NULL;
  guint64 sum = 0;
  f.name = "loops";
  f.user_data = l;
  f.loads = &load;
  f.n_loads = 1;
  f.cpu_worker = work;
  f.constants = constants;
  f.n_constants = 1;
  f.run.n_cores = n_cores;
  f.run.cancellable = l->cancellable;
  f.reduce = ignore;
  f.accumulator = &sum;
  f.accumulator_bytes = sizeof sum;
  watchdog (20, "a farm with a loop");
  hass_data_farm_combine (&f, NULL, &error);
  watchdog (0, NULL);
  return error;
}

/* -- Failing ------------------------------------------------------------ */

static gboolean
fail_at (gsize first, gsize count, HassWorker *worker, gpointer data,
         GError **error)
{
  Loop *l = data;
  (void)worker;
  l->n_begun++;
  gboolean ok = l->fail_at < first || l->fail_at >= first + count;
  if (!ok && !l->silent)
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "iteration %zu",
                 l->fail_at);
  l->n_ended++;
  return ok;
}

static void
first_failure (void)
{
  for (guint cores = 1; cores <= 4; cores++)
    for (guint i = 0; i < 4; i++)
      {
        Loop l = { .body = fail_at, .fail_at = i * N / 4, .silent = i % 2 };
        CU_ASSERT_PTR_NULL (run (&l, cores));
        CU_ASSERT_FALSE (l.went_well);
        CU_ASSERT_EQUAL (l.n_begun, l.n_ended);
        if (l.silent)
          CU_ASSERT_TRUE (
              g_error_matches (l.error, HASS_ERROR, HASS_ERROR_WORKER))
        else
          CU_ASSERT_TRUE (
              g_error_matches (l.error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        if (i == 0 && cores == 1)
          CU_ASSERT_TRUE (l.n_begun < N);
        g_clear_error (&l.error);
      }
}

static gboolean
fail_all (gsize first, gsize count, HassWorker *worker, gpointer data,
          GError **error)
{
  Loop *l = data;
  (void)count, (void)worker;
  l->n_begun++;
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "iteration %zu", first);
  return TRUE; /* an error is a failure all the same */
}

static void
all_fail (void)
{
  Loop l = { .body = fail_all };
  CU_ASSERT_PTR_NULL (run (&l, 4));
  CU_ASSERT_FALSE (l.went_well);
  CU_ASSERT_TRUE (g_error_matches (l.error, G_FILE_ERROR, G_FILE_ERROR_NOENT));
  CU_ASSERT_TRUE (l.n_begun <= 4); /* a core each, and no other was begun */
  g_clear_error (&l.error);
}

/* -- What a body may do ------------------------------------------------- */

static gboolean
inner (gsize first, gsize count, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)first, (void)worker, (void)error;
  ((Loop *)data)->n_ended += count;
  return TRUE;
}

static gboolean
ask (gsize first, gsize count, HassWorker *worker, gpointer data,
     GError **error)
{
  Loop *l = data;
  const guint64 *constant = hass_worker_constant (worker, 0);
  l->n_begun += count;
  l->n_wrong += worker == l->unit;
  l->n_wrong += hass_worker_index (worker) != hass_worker_index (l->unit);
  l->n_wrong += hass_worker_count (worker) != hass_worker_count (l->unit);
  l->n_wrong += !constant || *constant != 7;
  l->n_wrong += hass_worker_stopping (worker);
  l->n_wrong += hass_worker_accumulator (worker) != NULL;
  return first % 1000 > 0
         || hass_worker_parallel_for (worker, 10, 0, inner, data, error);
}

static void
questions (void)
{
  for (guint cores = 1; cores <= 4; cores++)
    {
      Loop l = { .body = ask };
      CU_ASSERT_PTR_NULL (run (&l, cores));
      CU_ASSERT_TRUE (l.went_well);
      CU_ASSERT_PTR_NULL (l.error);
      CU_ASSERT_EQUAL (l.n_begun, N);
      CU_ASSERT_EQUAL (l.n_ended % 10, 0);
      CU_ASSERT_TRUE (l.n_ended > 0);
      CU_ASSERT_EQUAL (l.n_wrong, 0);
    }
}

static gboolean
stop (gsize first, gsize count, HassWorker *worker, gpointer data,
      GError **error)
{
  Loop *l = data;
  l->n_begun++;
  if (first + count > N / 2)
    g_cancellable_cancel (l->cancellable);
  if (!hass_worker_stopping (worker))
    return TRUE;
  g_set_error_literal (error, HASS_ERROR, HASS_ERROR_CANCELLED, "stopping");
  return FALSE;
}

static void
stopping (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Loop l = { .body = stop, .cancellable = cancellable };
  g_autoptr (GError) error = run (&l, 2);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED));
  CU_ASSERT_TRUE (g_error_matches (l.error, HASS_ERROR, HASS_ERROR_CANCELLED));
  CU_ASSERT_TRUE (l.n_begun < N);
  g_clear_error (&l.error);
}

/* -- What a body must not do -------------------------------------------- */

static gboolean
emit_result (gsize first, gsize count, HassWorker *worker, gpointer data,
             GError **error)
{
  (void)count, (void)data, (void)error;
  return !hass_worker_result (worker, &first, sizeof first);
}

static gboolean
emit_load (gsize first, gsize count, HassWorker *worker, gpointer data,
           GError **error)
{
  HassLoad load = { .size = 1 };
  (void)first, (void)count, (void)data, (void)error;
  return !hass_worker_emit (worker, &load);
}

static gboolean
run_farm (gsize first, gsize count, HassWorker *worker, gpointer data,
          GError **error)
{
  HassLoad load = { .size = 1 };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  GError *refusal = NULL;
  (void)first, (void)count, (void)worker, (void)error;
  f.loads = &load;
  f.n_loads = 1;
  f.cpu_worker = work;
  gboolean ok = !hass_data_farm_combine (&f, NULL, &refusal)
                && g_error_matches (refusal, HASS_ERROR, HASS_ERROR_MISUSE)
                && strstr (refusal->message, "loop");
  ((Loop *)data)->n_wrong += !ok;
  g_clear_error (&refusal);
  return TRUE;
}

static void
misuse (void)
{
  const HassLoopFunc bodies[] = { emit_result, emit_load };
  for (guint i = 0; i < G_N_ELEMENTS (bodies); i++)
    {
      Loop l = { .body = bodies[i] };
      g_autoptr (GError) error = run (&l, 4);
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_MISUSE));
      CU_ASSERT_TRUE (l.went_well);
    }
  Loop l = { .body = run_farm };
  CU_ASSERT_PTR_NULL (run (&l, 4));
  CU_ASSERT_EQUAL (l.n_wrong, 0);
}

/* -- Whose time a loop takes --------------------------------------------- */

#define CORES 4
#define PIECE_NS 2000000

typedef struct
{
  _Atomic guint n_begun;
  _Atomic gint64 body_ns; /* time within bodies, summed */
} Time;

/* Begins when another thread has begun a piece, and lasts PIECE_NS. */
static gboolean
meet (gsize first, gsize count, HassWorker *worker, gpointer data,
      GError **error)
{
  Time *t = data;
  gint64 begin = hass_clock_ns ();
  (void)first, (void)count, (void)worker, (void)error;
  t->n_begun++;
  while (t->n_begun < 2)
    g_thread_yield ();
  gint64 met = hass_clock_ns (), now = met;
  while ((now = hass_clock_ns ()) < met + PIECE_NS)
    ;
  t->body_ns += now - begin;
  return TRUE;
}

/* Two units; the first one's thread waits for a piece of its loop while the
   second one's loop runs. */
typedef struct
{
  GThread *_Atomic first;
  _Atomic gboolean held, over;
  _Atomic guint n_wrong;
} Pair;

/* A piece of the first unit's: on another thread it lasts until the second
   unit's loop is over. */
static gboolean
hold (gsize first, gsize count, HassWorker *worker, gpointer data,
      GError **error)
{
  Pair *p = data;
  (void)first, (void)count, (void)worker, (void)error;
  if (p->first == g_thread_self ())
    return TRUE;
  p->held = TRUE;
  while (!p->over)
    g_thread_yield ();
  return TRUE;
}

static gboolean
note_thread (gsize first, gsize count, HassWorker *worker, gpointer data,
             GError **error)
{
  Pair *p = data;
  gint64 begin = hass_clock_ns ();
  (void)first, (void)count, (void)worker, (void)error;
  p->n_wrong += p->first == g_thread_self ();
  while (hass_clock_ns () < begin + PIECE_NS)
    ;
  return TRUE;
}

static gboolean
first_or_second (HassToken *token, HassWorker *worker, gpointer data,
                 GError **error)
{
  Pair *p = data;
  if (token->seq == 0)
    {
      p->first = g_thread_self ();
      while (!p->held)
        hass_worker_parallel_for (worker, CORES, 1, hold, p, error);
      return TRUE;
    }
  while (!p->held)
    g_thread_yield ();
  gboolean ok
      = hass_worker_parallel_for (worker, 4 * CORES, 1, note_thread, p, error);
  p->over = TRUE;
  return ok;
}

static gboolean
take_time (const HassBlock *block, HassWorker *worker, gpointer data,
           GError **error)
{
  (void)block;
  return hass_worker_parallel_for (worker, 2, 1, meet, data, error);
}

static gboolean
take_token (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token;
  return take_time (NULL, worker, data, error);
}

static HassReport *
run_pipeline (HassStage stage, guint n_loads)
{
  const HassLoad loads[2] = { { .size = 1 }, { .size = 1 } };
  HassReport *report = NULL;
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = loads;
  p.n_loads = n_loads;
  p.stages = &stage;
  p.n_stages = 1;
  p.run.n_cores = CORES;
  watchdog (60, "a pipeline whose loops are timed");
  CU_ASSERT_TRUE (hass_pipeline (&p, &report, NULL));
  watchdog (0, NULL);
  return report;
}

static HassReport *
run_farm_of_one (Time *t)
{
  const HassLoad load = { .size = 1 };
  HassReport *report = NULL;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  guint64 sum = 0;
  f.loads = &load;
  f.n_loads = 1;
  f.cpu_worker = take_time;
  f.user_data = t;
  f.run.n_cores = CORES;
  f.reduce = ignore;
  f.accumulator = &sum;
  f.accumulator_bytes = sizeof sum;
  watchdog (60, "a farm whose loop is timed");
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, NULL));
  watchdog (0, NULL);
  return report;
}

static void
helpers (void)
{
  for (guint i = 0; i < 3; i++)
    {
      Time t = { 0 };
      HassStageMode mode = i == 1 ? HASS_STAGE_SERIAL : HASS_STAGE_PARALLEL;
      HassStage stage
          = HASS_STAGE (.mode = mode, .cpu = take_token, .user_data = &t);
      g_autoptr (HassReport) r
          = i > 0 ? run_pipeline (stage, 1) : run_farm_of_one (&t);
      CU_ASSERT_TRUE (t.body_ns >= 2 * PIECE_NS);
      CU_ASSERT_TRUE (r->devices[0].busy_s * CORES * 1e9
                      >= 0.999 * (double)t.body_ns);
      if (i == 0)
        continue;
      CU_ASSERT_TRUE (r->stages[0].busy_s * 1e9 >= 0.999 * (double)t.body_ns);
      CU_ASSERT_TRUE (r->stages[0].utilisation <= 1);
    }
}

static void
waits_only (void)
{
  Pair pair = { 0 };
  HassStage stage = HASS_STAGE (.cpu = first_or_second, .user_data = &pair);
  g_autoptr (HassReport) r = run_pipeline (stage, 2);
  CU_ASSERT_EQUAL (pair.n_wrong, 0);
  CU_ASSERT_TRUE (r->devices[0].busy_s <= r->makespan_s);
}

HASS_TEST_SUITE (loops, { "a loop ends with its first failure", first_failure },
                 { "where all bodies fail one error is returned", all_fail },
                 { "a body may ask what several threads may", questions },
                 { "a body sees that the farm is stopping", stopping },
                 { "a body can neither emit nor run a farm", misuse },
                 { "pieces that other threads run are the unit's busy time",
                   helpers },
                 { "a thread that waits for its loop computes nothing else",
                   waits_only })
