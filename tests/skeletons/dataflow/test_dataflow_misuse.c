/* SPDX-License-Identifier: MIT */
/* test_dataflow_misuse.c: graphs and data that are used where or when they must
   not be: each time an error says so.
   Thread safety: one thread beside those of the dataflows. */
#include "flow.h"

/* What the builds of this file use. */
static guint8 memory[4096];

/* -- Data that are not used any more ------------------------------------ */

static gboolean
forgotten (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = hass_graph_data (graph, memory, 8, 1, 0);
  HassAccess access = { data, HASS_UPDATE };
  (void)error;
  hass_graph_name (graph, data, "gone");
  CU_ASSERT_TRUE (hass_graph_task (graph, &flow_idle, &access, 1, NULL));
  hass_graph_forget (graph, data);
  switch (*(guint *)user_data)
    {
    case 0:
      CU_ASSERT_FALSE (hass_graph_task (graph, &flow_idle, &access, 1, NULL));
      break;
    case 1:
      hass_graph_forget (graph, data);
      break;
    case 2:
      hass_graph_name (graph, data, "again");
      break;
    default:
      hass_graph_reduction (graph, data, NULL, NULL, NULL);
    }
  return TRUE;
}

static gboolean
hold (const HassCall *call, HassWorker *worker, GError **error)
{
  gint *go = call->user_data;
  (void)worker, (void)error;
  while (!g_atomic_int_get (go))
    g_usleep (100);
  return TRUE;
}

/* A task holds a datum that is forgotten; other data come to its place. */
static gboolean
in_flight (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet holds = HASS_CODELET (.name = "hold", .cpu = hold);
  gint *go = user_data;
  HassData *data = hass_graph_data (graph, memory, 8, 1, 0);
  (void)error;
  hass_graph_name (graph, data, "held");
  hass_graph_task (graph, &holds, &(HassAccess){ data, HASS_UPDATE }, 1, NULL);
  hass_graph_forget (graph, data);
  CU_ASSERT_PTR_NULL (hass_graph_data (graph, memory + 4, 8, 1, 0));
  g_atomic_int_set (go, 1);
  return TRUE;
}

static gboolean
memory_again (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  for (guint i = 0; i < 200; i++)
    {
      HassData *data = hass_graph_data (graph, memory + i % 7, 8, 1, 0);
      CU_ASSERT_PTR_NOT_NULL_FATAL (data);
      hass_graph_task (graph, &flow_idle, &(HassAccess){ data, HASS_UPDATE }, 1,
                       NULL);
      CU_ASSERT_TRUE (hass_graph_wait (graph, data));
      hass_graph_forget (graph, data);
    }
  return TRUE;
}

static void
wrong_after_forget (void)
{
  const char *words[] = { "access 1", "hass_graph_forget", "hass_graph_name",
                          "hass_graph_reduction" };
  for (guint i = 0; i < 4; i++)
    FLOW_REFUSED (forgotten, &i, HASS_ERROR_INVALID, "'flow'", "gone",
                  "hass_graph_forget", words[i]);
  gint go = 0;
  g_autoptr (GError) held = flow_failure (in_flight, &go);
  CU_ASSERT_TRUE (flow_says (held, HASS_ERROR_INVALID, "'flow'", "held",
                             "datum 2", "8 bytes", "tasks still use", NULL));
  HassDataflow d = flow_of (memory_again, NULL);
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (hass_dataflow (&d, NULL, &error));
}

/* -- Other graphs, threads and times ------------------------------------ */

static HassGraph *old_graph;
static HassData *old_data;

static gboolean
keep_handles (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  old_graph = graph;
  old_data = hass_graph_data (graph, memory, 8, 1, 0);
  hass_graph_task (graph, &flow_idle, &(HassAccess){ old_data, HASS_UPDATE }, 1,
                   NULL);
  return TRUE;
}

static gboolean
use_foreign (HassGraph *graph, gpointer user_data, GError **error)
{
  HassAccess access = { old_data, HASS_READ };
  (void)error;
  CU_ASSERT_FALSE (user_data
                       ? hass_graph_wait (graph, old_data)
                       : hass_graph_task (graph, &flow_idle, &access, 1, NULL));
  return TRUE;
}

static void
foreign_data (void)
{
  HassDataflow d = flow_of (keep_handles, NULL);
  g_autoptr (HassRecorded) other = hass_dataflow_record (&d, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (other);
  FLOW_REFUSED (use_foreign, NULL, HASS_ERROR_INVALID, "task 0", "'idle'",
                "access 1", "another graph");
  g_autoptr (GError) error = flow_failure (use_foreign, memory);
  CU_ASSERT_TRUE (flow_says (error, HASS_ERROR_INVALID, "hass_graph_wait",
                             "another graph", NULL));
}

static gboolean
use_old (const HassCall *call, HassWorker *worker, GError **error)
{
  HassAccess access = { old_data, HASS_UPDATE };
  (void)call, (void)worker, (void)error;
  hass_graph_task (old_graph, &flow_idle, &access, 1, NULL);
  return TRUE;
}

/* A task, or another thread, uses the graph that it is in. */
static gboolean
use_from_task (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet user = HASS_CODELET (.name = "user", .cpu = use_old);
  (void)user_data, (void)error;
  old_graph = graph;
  old_data = hass_graph_data (graph, memory, 8, 1, 0);
  hass_graph_task (graph, &user, NULL, 0, NULL);
  return TRUE;
}

static gpointer
use_on_thread (gpointer none)
{
  use_old (NULL, NULL, NULL);
  return none;
}

static gboolean
use_from_thread (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  old_graph = graph;
  old_data = hass_graph_data (graph, memory, 8, 1, 0);
  g_thread_join (g_thread_new ("other", use_on_thread, NULL));
  return TRUE;
}

static gboolean
wait_while_recorded (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  CU_ASSERT_FALSE (hass_graph_wait (graph, NULL));
  return TRUE;
}

static gboolean
build_with (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)graph, (void)error;
  return hass_graph_task (user_data, &flow_idle, NULL, 0, NULL);
}

static void
wrong_callers (void)
{
  g_autoptr (GError) task = flow_failure (use_from_task, NULL);
  CU_ASSERT_TRUE (flow_says (task, HASS_ERROR_MISUSE, "'flow'",
                             "hass_graph_task", "a task cannot submit", NULL));
  FLOW_REFUSED (use_from_thread, NULL, HASS_ERROR_MISUSE, "'flow'",
                "hass_graph_task", "thread");
  g_autoptr (GError) wait = flow_failed_recording (wait_while_recorded, NULL);
  CU_ASSERT_TRUE (flow_says (wait, HASS_ERROR_MISUSE, "'flow'",
                             "hass_graph_wait", "recorded", NULL));
}

/* Two graphs are freed; the next one takes the memory of the second. */
static void
used_after_its_end (void)
{
  HassDataflow d = flow_of (keep_handles, NULL);
  HassRecorded *first = hass_dataflow_record (&d, NULL);
  HassGraph *ended = old_graph;
  HassRecorded *next = hass_dataflow_record (&d, NULL);
  hass_recorded_free (first);
  hass_recorded_free (next);
  g_autoptr (GError) error = flow_failure (build_with, ended);
  CU_ASSERT_TRUE (flow_says (error, HASS_ERROR_MISUSE, "'flow'",
                             "hass_graph_task", "has ended", NULL));
}

static gboolean
build_nothing (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)graph, (void)user_data, (void)error;
  return TRUE;
}

/* @record: (nullable): the inner dataflow is recorded. */
static gboolean
nest (HassGraph *graph, gpointer record, GError **error)
{
  HassDataflow inner = flow_of (build_nothing, NULL);
  (void)graph;
  if (!record)
    return hass_dataflow (&inner, NULL, error);
  g_autoptr (HassRecorded) recorded = hass_dataflow_record (&inner, error);
  return recorded != NULL;
}

static gboolean
nest_in_task (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker;
  return nest (NULL, call->user_data, error);
}

static gboolean
submit_nest (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet nests
      = HASS_CODELET (.name = "nests", .cpu = nest_in_task);
  (void)user_data, (void)error;
  hass_graph_task (graph, &nests, NULL, 0, NULL);
  return TRUE;
}

static void
nested (void)
{
  static const char *const functions[]
      = { "hass_dataflow called", "hass_dataflow_record called" };
  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    {
      gpointer record = GUINT_TO_POINTER (i);
      FLOW_REFUSED (nest, record, HASS_ERROR_MISUSE, "'flow'", functions[i],
                    "from the build callback of dataflow 'flow'", "cannot run");
      g_autoptr (GError) in_task = flow_failure (submit_nest, record);
      CU_ASSERT_TRUE (flow_says (in_task, HASS_ERROR_MISUSE, "'flow'",
                                 "'nests'", functions[i], "cannot run", NULL));
    }
}

/* -- Recorded graphs ---------------------------------------------------- */

static HassData *scratch_data;

static gboolean
record_two (HassGraph *graph, gpointer user_data, GError **error)
{
  keep_handles (graph, user_data, error);
  hass_graph_name (graph, old_data, "mine");
  scratch_data = hass_graph_scratch (graph, 8);
  hass_graph_name (graph, scratch_data, "inside");
  return TRUE;
}

static void
must_fail_once (HassRecorded *r, HassError code, const char *a, const char *b)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_FALSE (hass_recorded_run (r, 1, NULL, NULL, &error));
  CU_ASSERT_TRUE (flow_says (error, code, "'flow'", a, b, NULL));
  CU_ASSERT_TRUE (hass_recorded_run (r, 1, NULL, NULL, NULL));
}

/* Runs a dataflow between two runs of another one. @data: gets the error. */
static gboolean
run_between (gpointer data)
{
  HassDataflow d = flow_of (record_two, NULL);
  CU_ASSERT_FALSE (hass_dataflow (&d, NULL, data));
  return FALSE;
}

static void
nested_between (void)
{
  g_autoptr (GError) error = NULL;
  HassDataflow d = flow_of (record_two, &error);
  g_autoptr (HassRecorded) r = hass_dataflow_record (&d, NULL);
  CU_ASSERT_TRUE (hass_recorded_run (r, 2, run_between, NULL, NULL));
  CU_ASSERT_TRUE (flow_says (error, HASS_ERROR_MISUSE, "'flow'",
                             "from the callback 'again' of", NULL));
}

static void
wrong_bind (void)
{
  HassDataflow d = flow_of (keep_handles, NULL);
  g_autoptr (HassRecorded) other = hass_dataflow_record (&d, NULL);
  HassData *foreign = old_data;
  d = flow_of (record_two, NULL);
  g_autoptr (HassRecorded) r = hass_dataflow_record (&d, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (other);
  hass_recorded_bind (r, foreign, memory);
  must_fail_once (r, HASS_ERROR_INVALID, "hass_recorded_bind", "another graph");
  hass_recorded_bind (r, NULL, memory);
  must_fail_once (r, HASS_ERROR_INVALID, "hass_recorded_bind", "NULL");
  hass_recorded_bind (r, old_data, NULL);
  must_fail_once (r, HASS_ERROR_INVALID, "mine", "NULL");
  hass_recorded_bind (r, scratch_data, memory);
  must_fail_once (r, HASS_ERROR_INVALID, "inside", "hass_graph_scratch");
  hass_graph_task (old_graph, &flow_idle, NULL, 0, NULL);
  must_fail_once (r, HASS_ERROR_MISUSE, "hass_graph_task", "build callback");
  hass_recorded_bind (r, old_data, memory + 8);
  CU_ASSERT_TRUE (hass_recorded_run (r, 1, NULL, NULL, NULL));
}

static HassRecorded *running;
static GError *second;

static gboolean
run_again_inside (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  hass_recorded_run (running, 1, NULL, NULL, &second);
  hass_recorded_bind (running, old_data, memory + 16);
  return TRUE;
}

static gboolean
build_inside (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet runs
      = HASS_CODELET (.name = "runs", .cpu = run_again_inside);
  record_two (graph, user_data, error);
  hass_graph_task (graph, &runs, NULL, 0, NULL);
  return TRUE;
}

static void
used_while_it_runs (void)
{
  HassDataflow d = flow_of (build_inside, NULL);
  g_autoptr (GError) error = NULL;
  running = hass_dataflow_record (&d, NULL);
  CU_ASSERT_FALSE (hass_recorded_run (running, 1, NULL, NULL, &error));
  CU_ASSERT_TRUE (flow_says (error, HASS_ERROR_MISUSE, "'flow'",
                             "hass_recorded_bind", "mine",
                             "while the graph runs", NULL));
  CU_ASSERT_TRUE (flow_says (second, HASS_ERROR_MISUSE, "'flow'",
                             "hass_recorded_run", "already", NULL));
  g_clear_error (&second);
  hass_recorded_free (running);
}

HASS_TEST_SUITE (
    dataflow_misuse,
    { "a datum that was forgotten is not used again, its memory is",
      wrong_after_forget },
    { "data of another graph are refused", foreign_data },
    { "a graph belongs to its build callback", wrong_callers },
    { "a graph that has ended is not used", used_after_its_end },
    { "graphs within graphs are refused", nested },
    { "graphs between two runs of a graph are refused", nested_between },
    { "a wrong bind fails the next run", wrong_bind },
    { "a recorded graph that runs is left alone", used_while_it_runs })
