/* SPDX-License-Identifier: MIT */
/* test_null_handles.c: emitters, workers, graphs and recorded graphs that are
   NULL. Thread safety: one thread beside those of the farms. */
#include "hass/hass.h"
#include "hass_test.h"

typedef void (*Use) (void);

static HassLoad one = { .size = 1 };
static guint8 memory[64];

/* -- What is called with NULL ------------------------------------------- */

static void
emit (void)
{
  CU_ASSERT_FALSE (hass_emitter_emit (NULL, &one));
}

static void
emit_array (void)
{
  CU_ASSERT_FALSE (hass_emitter_emit_array (NULL, &one, 1));
}

static void
emit_task (void)
{
  HassTask task = { .input = NULL };
  CU_ASSERT_FALSE (hass_emitter_emit_task (NULL, &task));
}

static void
buffer (void)
{
  CU_ASSERT_PTR_NULL (hass_emitter_buffer (NULL, 8));
}

static void
emitter_stopping (void)
{
  CU_ASSERT_TRUE (hass_emitter_stopping (NULL));
}

static void
index_of (void)
{
  CU_ASSERT_EQUAL (hass_worker_index (NULL), 0);
}

static void
count (void)
{
  CU_ASSERT_EQUAL (hass_worker_count (NULL), 0);
}

static void
result (void)
{
  CU_ASSERT_FALSE (hass_worker_result (NULL, memory, 1));
}

static void
nest (void)
{
  CU_ASSERT_FALSE (hass_worker_emit (NULL, &one));
}

static void
nest_task (void)
{
  HassTask task = { .input = NULL };
  CU_ASSERT_FALSE (hass_worker_emit_task (NULL, &task));
}

static void
accumulator (void)
{
  CU_ASSERT_PTR_NULL (hass_worker_accumulator (NULL));
}

static void
constant (void)
{
  CU_ASSERT_PTR_NULL (hass_worker_constant (NULL, 0));
}

static void
stopping (void)
{
  CU_ASSERT_TRUE (hass_worker_stopping (NULL));
}

static void
loop (void)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_FALSE (hass_worker_parallel_for (NULL, 1, 1, NULL, NULL, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_MISUSE));
}

static void
output (void)
{
  CU_ASSERT_PTR_NULL (hass_token_output (NULL, NULL, 8));
}

static void
drop (void)
{
  hass_token_drop (NULL, NULL);
}

static void
data (void)
{
  CU_ASSERT_PTR_NULL (hass_graph_data (NULL, memory, 8, 1, 0));
}

static void
scratch (void)
{
  CU_ASSERT_PTR_NULL (hass_graph_scratch (NULL, 8));
}

static void
name (void)
{
  hass_graph_name (NULL, NULL, "name");
}

static void
wait_for (void)
{
  CU_ASSERT_FALSE (hass_graph_wait (NULL, NULL));
}

static void
forget (void)
{
  hass_graph_forget (NULL, NULL);
}

static void
bind (void)
{
  hass_recorded_bind (NULL, NULL, memory);
}

static const struct
{
  Use use;
  const char *function;
} cases[] = { { emit, "hass_emitter_emit" },
              { emit_array, "hass_emitter_emit_array" },
              { emit_task, "hass_emitter_emit_task" },
              { buffer, "hass_emitter_buffer" },
              { emitter_stopping, "hass_emitter_stopping" },
              { index_of, "hass_worker_index" },
              { count, "hass_worker_count" },
              { result, "hass_worker_result" },
              { nest, "hass_worker_emit" },
              { nest_task, "hass_worker_emit_task" },
              { accumulator, "hass_worker_accumulator" },
              { constant, "hass_worker_constant" },
              { stopping, "hass_worker_stopping" },
              { loop, "hass_worker_parallel_for" },
              { output, "hass_token_output" },
              { drop, "hass_token_drop" },
              { data, "hass_graph_data" },
              { scratch, "hass_graph_scratch" },
              { name, "hass_graph_name" },
              { wait_for, "hass_graph_wait" },
              { forget, "hass_graph_forget" },
              { bind, "hass_recorded_bind" } };

/* -- Where it is called ------------------------------------------------- */

static gboolean
in_generator (HassEmitter *emitter, gpointer use, GError **error)
{
  (void)emitter, (void)error;
  (*(const Use *)use) ();
  return TRUE;
}

static gboolean
in_build (HassGraph *graph, gpointer use, GError **error)
{
  (void)graph, (void)error;
  (*(const Use *)use) ();
  return TRUE;
}

static gboolean
in_worker (const HassBlock *block, HassWorker *worker, gpointer use,
           GError **error)
{
  (void)block, (void)worker, (void)error;
  (*(const Use *)use) ();
  return TRUE;
}

static gboolean
in_stage (HassToken *token, HassWorker *worker, gpointer use, GError **error)
{
  (void)token, (void)worker, (void)error;
  (*(const Use *)use) ();
  return TRUE;
}

static void
must_name (gboolean ok, GError **failure, const char *function)
{
  g_autoptr (GError) error = g_steal_pointer (failure);
  CU_ASSERT_FALSE (ok);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_MISUSE));
  CU_ASSERT_TRUE (error && strstr (error->message, function)
                  && strstr (error->message, "is NULL"));
}

static void
in_farms (void)
{
  GError *error = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.user_data = (gpointer)&cases[i].use;
      f.cpu_worker = in_worker;
      f.run.n_gpus = -1;
      f.generate = in_generator;
      must_name (hass_data_farm_combine (&f, NULL, &error), &error,
                 cases[i].function);
      f.generate = NULL;
      f.loads = &one;
      f.n_loads = 1;
      must_name (hass_data_farm_combine (&f, NULL, &error), &error,
                 cases[i].function);
    }
}

static void
in_pipelines (void)
{
  GError *error = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      HassStage stage = HASS_STAGE_INIT;
      HassPipeline p = HASS_PIPELINE_INIT;
      stage.cpu = in_stage;
      p.user_data = (gpointer)&cases[i].use;
      p.loads = &one;
      p.n_loads = 1;
      p.stages = &stage;
      p.n_stages = 1;
      p.run.n_gpus = -1;
      must_name (hass_pipeline (&p, NULL, &error), &error, cases[i].function);
    }
}

static void
in_dataflows (void)
{
  GError *error = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      HassDataflow d = HASS_DATAFLOW_INIT;
      d.build = in_build;
      d.user_data = (gpointer)&cases[i].use;
      d.run.n_gpus = -1;
      must_name (hass_dataflow (&d, NULL, &error), &error, cases[i].function);
      must_name (hass_dataflow_record (&d, &error) != NULL, &error,
                 cases[i].function);
    }
}

static void
recorded (void)
{
  GError *error = NULL;
  g_autoptr (HassReport) report = NULL;
  must_name (hass_recorded_run (NULL, 1, NULL, &report, &error), &error,
             "hass_recorded_run");
  CU_ASSERT_PTR_NOT_NULL (report);
  hass_recorded_free (NULL);
}

/* -- Handles that are not NULL ------------------------------------------ */

static gboolean
pass (const HassBlock *block, HassWorker *worker, gpointer user_data,
      GError **error)
{
  (void)block, (void)worker, (void)user_data, (void)error;
  return TRUE;
}

static gboolean
emit_nothing (HassEmitter *emitter, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  return hass_emitter_emit (emitter, &one) && hass_emitter_emit (emitter, NULL);
}

static gboolean
emit_no_array (HassEmitter *emitter, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  return hass_emitter_emit_array (emitter, NULL, 0)
         && hass_emitter_emit_array (emitter, NULL, 5);
}

static gboolean
loop_without_body (const HassBlock *block, HassWorker *worker,
                   gpointer user_data, GError **error)
{
  (void)block, (void)user_data;
  return hass_worker_parallel_for (worker, 7, 1, NULL, NULL, error);
}

static void
null_contents (void)
{
  const struct
  {
    HassGenerateFunc generate;
    HassCpuWorkerFunc worker;
    const char *says;
  } wrong[] = { { emit_nothing, pass, "load 1 is NULL" },
                { emit_no_array, pass, "loads is NULL, n_loads 5" },
                { NULL, loop_without_body, "body is NULL, n 7" } };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      g_autoptr (GError) error = NULL;
      f.cpu_worker = wrong[i].worker;
      f.generate = wrong[i].generate;
      f.loads = wrong[i].generate ? NULL : &one;
      f.n_loads = wrong[i].generate ? 0 : 1;
      f.run.n_gpus = -1;
      CU_ASSERT_FALSE (hass_data_farm_combine (&f, NULL, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      CU_ASSERT_TRUE (error && strstr (error->message, wrong[i].says));
    }
}

HASS_TEST_SUITE (null_handles,
                 { "a farm's callback that uses NULL stops the farm",
                   in_farms },
                 { "a stage that uses NULL stops the pipeline", in_pipelines },
                 { "a build callback that uses NULL stops the dataflow, or "
                   "fails its recording",
                   in_dataflows },
                 { "a recorded graph that is NULL is an error", recorded },
                 { "loads and loops that are NULL are named with numbers",
                   null_contents })
