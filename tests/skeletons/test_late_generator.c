/* SPDX-License-Identifier: MIT */
/* test_late_generator.c: generators that return after the deadline, when all
   that they have emitted is computed.
   Thread safety: one thread beside those of the farms. */
#include "hass/hass.h"
#include "hass_test.h"

#define DEADLINE_MS 20

static HassLoad one = { .size = 1 };

/* Returns when the deadline has passed, which begins when the farm does, before
   this is called. Where the load is not computed by then, on a busy machine,
   the farm ends by the deadline as well. */
static void
be_late (void)
{
  g_usleep (2 * DEADLINE_MS * 1000);
}

static gboolean
emit_and_be_late (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  hass_emitter_emit (emitter, &one);
  be_late ();
  return TRUE;
}

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

static gboolean
pass_token (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  return TRUE;
}

static gboolean
run_task (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  return TRUE;
}

static const HassCodelet codelet
    = HASS_CODELET (.name = "work", .cpu = run_task);

static gboolean
build_and_be_late (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  hass_graph_task (graph, &codelet, NULL, 0, NULL);
  hass_graph_wait (graph, NULL);
  be_late ();
  return TRUE;
}

static void
begin (HassRunOptions *run)
{
  run->deadline_ms = DEADLINE_MS;
  run->n_cores = 2;
  run->n_gpus = -1;
}

static void
must_be_late (gboolean ok, GError **failure)
{
  g_autoptr (GError) error = g_steal_pointer (failure);
  CU_ASSERT_FALSE (ok);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEADLINE));
}

static void
late_farm (void)
{
  HassDataFarm f = HASS_DATA_FARM_INIT;
  GError *error = NULL;
  f.generate = emit_and_be_late;
  f.cpu_worker = work;
  begin (&f.run);
  must_be_late (hass_data_farm_combine (&f, NULL, &error), &error);
}

static void
late_pipeline (void)
{
  HassStage stage = HASS_STAGE_INIT;
  HassPipeline p = HASS_PIPELINE_INIT;
  GError *error = NULL;
  stage.cpu = pass_token;
  p.generate = emit_and_be_late;
  p.stages = &stage;
  p.n_stages = 1;
  begin (&p.run);
  must_be_late (hass_pipeline (&p, NULL, &error), &error);
}

static void
late_dataflow (void)
{
  HassDataflow d = HASS_DATAFLOW_INIT;
  GError *error = NULL;
  d.build = build_and_be_late;
  begin (&d.run);
  must_be_late (hass_dataflow (&d, NULL, &error), &error);
}

HASS_TEST_SUITE (late_generator,
                 { "a farm whose generator ends after the deadline says so",
                   late_farm },
                 { "a pipeline whose generator ends after the deadline says so",
                   late_pipeline },
                 { "a dataflow whose build ends after the deadline says so",
                   late_dataflow })
