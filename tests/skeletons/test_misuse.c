/* SPDX-License-Identifier: MIT */
/* test_misuse.c: callbacks that call what they must not call.
   Thread safety: one thread. */
#include <string.h>

#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

typedef struct
{
  const char *from;
  guint n_tried, n_refused;
  HassWorker *worker;
  HassEmitter *emitter;
  gboolean accepted, stolen;
} Misuse;

static gboolean
idle_worker (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

/* Starts a farm where the trial wants it started. */
static void
start_inner (Misuse *m, const char *here)
{
  HassLoad load = { .size = 1 };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  GError *error = NULL;
  if (strcmp (m->from, here) != 0)
    return;
  f.name = "inner";
  f.loads = &load;
  f.n_loads = 1;
  f.cpu_worker = idle_worker;
  m->n_tried++;
  gboolean ok = hass_data_farm_combine (&f, NULL, &error);
  m->n_refused += !ok && g_error_matches (error, HASS_ERROR, HASS_ERROR_MISUSE)
                  && strstr (error->message, "outer");
  g_clear_error (&error);
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)emitter, (void)error;
  start_inner (data, "generator");
  return TRUE;
}

static gboolean
worker (const HassBlock *block, HassWorker *w, gpointer data, GError **error)
{
  (void)error;
  start_inner (data, "worker");
  return hass_worker_result (w, &block->seq, sizeof block->seq);
}

static gboolean
collect (const HassResult *result, gpointer data, GError **error)
{
  (void)result, (void)error;
  start_inner (data, "collector");
  return TRUE;
}

static gboolean
partition (const HassLoad *load, gsize first, gsize count, HassBlock *block,
           gpointer data, GError **error)
{
  (void)load, (void)first, (void)count, (void)block, (void)error;
  start_inner (data, "partitioner");
  return TRUE;
}

static void
release (const HassLoad *load, gboolean committed, gpointer data)
{
  (void)load, (void)committed;
  start_inner (data, "release");
}

static void
reduce (gpointer accumulator, gconstpointer part, gpointer data)
{
  (void)accumulator, (void)part;
  start_inner (data, "reduce");
}

static void
reduce_init (gpointer accumulator, gpointer data)
{
  (void)accumulator;
  start_inner (data, "reduce_init");
}

static void
farms_in_callbacks (void)
{
  static const char *const from[]
      = { "generator", "worker", "collector",  "partitioner",
          "release",   "reduce", "reduce_init" };
  for (guint i = 0; i < G_N_ELEMENTS (from); i++)
    {
      Misuse m = { .from = from[i] };
      guint64 sum = 0;
      HassLoad load = { .size = 10 };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.name = "outer";
      f.loads = &load;
      f.n_loads = 1;
      f.generate = generate;
      f.cpu_worker = worker;
      f.collect = collect;
      f.partition = partition;
      f.release = release;
      f.reduce = reduce;
      f.reduce_init = reduce_init;
      f.accumulator = &sum;
      f.accumulator_bytes = sizeof sum;
      f.user_data = &m;
      f.run.n_cores = 1;
      watchdog (20, from[i]);
      CU_ASSERT_TRUE (hass_data_farm_partition (&f, NULL, NULL));
      watchdog (0, NULL);
      CU_ASSERT_TRUE (m.n_tried > 0);
      CU_ASSERT_EQUAL (m.n_refused, m.n_tried);
    }
}

/* -- Contexts that are over --------------------------------------------- */

static gboolean
expect_misuse (HassDataFarm *f, const char *text)
{
  GError *error = NULL;
  HassLoad load = { .size = 1 };
  if (!f->generate)
    {
      f->loads = &load;
      f->n_loads = 1;
    }
  f->run.n_cores = 1;
  watchdog (20, text);
  gboolean ok = hass_data_farm_combine (f, NULL, &error);
  watchdog (0, NULL);
  gboolean right = !ok && g_error_matches (error, HASS_ERROR, HASS_ERROR_MISUSE)
                   && strstr (error->message, text);
  if (!right)
    g_printerr ("\n    '%s' was due, got: %s", text,
                error ? error->message : "success");
  g_clear_error (&error);
  return right;
}

static gboolean
result_without_collector (const HassBlock *block, HassWorker *w, gpointer data,
                          GError **error)
{
  Misuse *m = data;
  (void)error;
  m->accepted = hass_worker_result (w, &block->seq, 8);
  return TRUE;
}

static gboolean
keep_worker (const HassBlock *block, HassWorker *w, gpointer data,
             GError **error)
{
  (void)block, (void)error;
  ((Misuse *)data)->worker = w;
  return TRUE;
}

static void
late_result (const HassLoad *load, gboolean committed, gpointer data)
{
  Misuse *m = data;
  (void)load, (void)committed;
  if (m->worker)
    m->accepted = hass_worker_result (m->worker, "", 1);
}

static void
late_emit (const HassLoad *load, gboolean committed, gpointer data)
{
  Misuse *m = data;
  (void)committed;
  if (m->worker)
    m->accepted = hass_worker_emit (m->worker, load);
}

static void
workers_outside (void)
{
  Misuse m = { .accepted = TRUE };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.user_data = &m;
  f.cpu_worker = result_without_collector;
  CU_ASSERT_TRUE (expect_misuse (&f, "has no collector"));
  CU_ASSERT_FALSE (m.accepted);
  m.accepted = TRUE;
  f.cpu_worker = keep_worker;
  f.collect = collect;
  m.from = "";
  f.release = late_result;
  CU_ASSERT_TRUE (expect_misuse (&f, "hass_worker_result called outside"));
  CU_ASSERT_FALSE (m.accepted);
  m.accepted = TRUE;
  f.release = late_emit;
  CU_ASSERT_TRUE (expect_misuse (&f, "hass_worker_emit called outside"));
  CU_ASSERT_FALSE (m.accepted);
}

static gboolean
keep_emitter (HassEmitter *emitter, gpointer data, GError **error)
{
  HassLoad load = { .size = 1 };
  (void)error;
  ((Misuse *)data)->emitter = emitter;
  return hass_emitter_emit (emitter, &load);
}

static gboolean
emit_in_worker (const HassBlock *block, HassWorker *w, gpointer data,
                GError **error)
{
  Misuse *m = data;
  (void)w, (void)error;
  m->accepted = hass_emitter_emit (m->emitter, block->load);
  return TRUE;
}

static gpointer
emit_in_thread (gpointer data)
{
  Misuse *m = data;
  HassLoad load = { .size = 1 };
  m->stolen = hass_emitter_emit (m->emitter, &load);
  return NULL;
}

static gboolean
lend_emitter (HassEmitter *emitter, gpointer data, GError **error)
{
  ((Misuse *)data)->emitter = emitter;
  (void)error;
  g_thread_join (g_thread_new ("thief", emit_in_thread, data));
  return TRUE;
}

/* The pool is full, so this thread computes inside emit. */
static gboolean
emit_many (HassEmitter *emitter, gpointer data, GError **error)
{
  HassLoad load = { .size = 1 };
  ((Misuse *)data)->emitter = emitter;
  (void)error;
  for (guint i = 0; i < 10 && hass_emitter_emit (emitter, &load); i++)
    ;
  return TRUE;
}

static void
emitters_outside (void)
{
  HassGenerateFunc generators[] = { keep_emitter, lend_emitter, emit_many };
  for (guint i = 0; i < G_N_ELEMENTS (generators); i++)
    {
      Misuse m = { .accepted = TRUE };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.user_data = &m;
      f.generate = generators[i];
      f.cpu_worker = emit_in_worker;
      f.pool_loads = 2;
      CU_ASSERT_TRUE (expect_misuse (&f, "outside its generator"));
      CU_ASSERT_FALSE (m.stolen);
      CU_ASSERT_TRUE (i == 1 || !m.accepted);
    }
}

HASS_TEST_SUITE (misuse, { "no callback can start a farm", farms_in_callbacks },
                 { "a worker context serves only inside its worker",
                   workers_outside },
                 { "an emitter serves only its generator, in its thread",
                   emitters_outside })
