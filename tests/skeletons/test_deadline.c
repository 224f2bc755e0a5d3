/* SPDX-License-Identifier: MIT */
/* test_deadline.c: user code that asks whether it should stop sees a deadline
   that passes while all threads are in user code.
   Thread safety: one thread beside those of the farms. */
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define DEADLINE_MS 20

/* Without the deadline this never ends. */
static gboolean
until_stopping (HassWorker *worker)
{
  while (!hass_worker_stopping (worker))
    g_usleep (100);
  return TRUE;
}

static gboolean
long_unit (const HassBlock *block, HassWorker *worker, gpointer data,
           GError **error)
{
  (void)block, (void)data, (void)error;
  return until_stopping (worker);
}

static gboolean
long_token (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)data, (void)error;
  return until_stopping (worker);
}

static gboolean
long_task (const HassTask *task, HassWorker *worker, gpointer data,
           GError **error)
{
  (void)task, (void)data, (void)error;
  return until_stopping (worker);
}

static gboolean
long_call (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)error;
  return until_stopping (worker);
}

static const HassCodelet long_codelet
    = HASS_CODELET (.name = "long", .cpu = long_call);

static void
begin (HassRunOptions *run, guint cores, const char *what)
{
  watchdog (60, what);
  run->deadline_ms = DEADLINE_MS;
  run->n_cores = cores;
  run->n_gpus = -1;
}

static void
must_be_over (gboolean ok, GError **failure)
{
  g_autoptr (GError) error = g_steal_pointer (failure);
  watchdog (0, NULL);
  CU_ASSERT_FALSE (ok);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEADLINE));
}

/* -- Units -------------------------------------------------------------- */

static HassLoad four[4]
    = { { .size = 1 }, { .size = 1 }, { .size = 1 }, { .size = 1 } };

static void
farms (void)
{
  for (guint cores = 1; cores <= 2; cores++)
    for (guint n = 1; n <= 4; n++)
      {
        HassDataFarm f = HASS_DATA_FARM_INIT;
        HassFunctionFarm g = HASS_FUNCTION_FARM_INIT;
        HassTask tasks[4];
        GError *error = NULL;
        for (guint i = 0; i < 4; i++)
          tasks[i] = (HassTask){ .cpu = long_task };
        f.loads = four;
        f.n_loads = n;
        f.cpu_worker = long_unit;
        begin (&f.run, cores, "a farm of long units");
        must_be_over (hass_data_farm_combine (&f, NULL, &error), &error);
        g.tasks = tasks;
        g.n_tasks = n;
        begin (&g.run, cores, "a farm of long tasks");
        must_be_over (hass_function_farm (&g, NULL, &error), &error);
      }
}

static void
pipelines (void)
{
  for (guint cores = 1; cores <= 2; cores++)
    for (guint n = 1; n <= 4; n++)
      {
        HassStage stage = HASS_STAGE_INIT;
        HassPipeline p = HASS_PIPELINE_INIT;
        GError *error = NULL;
        stage.cpu = long_token;
        p.loads = four;
        p.n_loads = n;
        p.stages = &stage;
        p.n_stages = 1;
        begin (&p.run, cores, "a pipeline of long tokens");
        must_be_over (hass_pipeline (&p, NULL, &error), &error);
      }
}

/* -- Dataflows ---------------------------------------------------------- */

static gboolean
build_tasks (HassGraph *graph, gpointer data, GError **error)
{
  const guint *n = data;
  gboolean ok = TRUE;
  (void)error;
  for (guint i = 0; i < *n && ok; i++)
    ok = hass_graph_task (graph, &long_codelet, NULL, 0, NULL);
  return ok;
}

static void
dataflows (void)
{
  for (guint cores = 1; cores <= 2; cores++)
    for (guint n = 1; n <= 4; n++)
      {
        HassDataflow d = HASS_DATAFLOW_INIT;
        GError *error = NULL;
        d.build = build_tasks;
        d.user_data = &n;
        begin (&d.run, cores, "a dataflow of long tasks");
        must_be_over (hass_dataflow (&d, NULL, &error), &error);
        HassRecorded *recorded = hass_dataflow_record (&d, &error);
        CU_ASSERT_PTR_NOT_NULL_FATAL (recorded);
        watchdog (60, "a recorded dataflow of long tasks");
        must_be_over (hass_recorded_run (recorded, 1, NULL, NULL, &error),
                      &error);
        hass_recorded_free (recorded);
      }
}

/* What a build callback may ask again and again. */
typedef enum
{
  WAIT_FOR_ALL,
  WAIT_FOR_IDLE,
  MAKE_DATA,
  MAKE_SCRATCH,
  SUBMIT,
  N_ASKS
} Ask;

static gboolean
nothing (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  return TRUE;
}

static const HassCodelet short_codelet
    = HASS_CODELET (.name = "short", .cpu = nothing);

static gboolean
build_for_ever (HassGraph *graph, gpointer data, GError **error)
{
  static guint8 bytes[1 << 20];
  const Ask *ask = data;
  HassData *idle = hass_graph_data (graph, bytes, 1, 1, 0);
  gboolean ok = idle != NULL;
  (void)error;
  for (gsize i = 1; ok && i < sizeof bytes; i++)
    {
      ok = *ask == WAIT_FOR_ALL    ? hass_graph_wait (graph, NULL)
           : *ask == WAIT_FOR_IDLE ? hass_graph_wait (graph, idle)
           : *ask == MAKE_DATA
               ? hass_graph_data (graph, bytes + i, 1, 1, 0) != NULL
           : *ask == MAKE_SCRATCH
               ? hass_graph_scratch (graph, 8) != NULL
               : hass_graph_task (graph, &short_codelet, NULL, 0, NULL);
      g_usleep (100);
    }
  return TRUE;
}

static void
builds (void)
{
  for (guint cores = 1; cores <= 2; cores++)
    for (Ask ask = 0; ask < N_ASKS; ask++)
      {
        HassDataflow d = HASS_DATAFLOW_INIT;
        GError *error = NULL;
        d.build = build_for_ever;
        d.user_data = &ask;
        begin (&d.run, cores, "a build that goes on and on");
        must_be_over (hass_dataflow (&d, NULL, &error), &error);
      }
}

HASS_TEST_SUITE (deadline,
                 { "units of farms see a deadline that passes", farms },
                 { "tokens see it", pipelines },
                 { "tasks of dataflows see it, also of recorded ones",
                   dataflows },
                 { "so do build callbacks, whatever they ask for", builds })
