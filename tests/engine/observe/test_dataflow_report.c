/* SPDX-License-Identifier: MIT */
/* test_dataflow_report.c: what a dataflow's report, trace and description in
   the DOT language say. Thread safety: one thread. */
#include "hass/dataflow.h"
#include "hass_test.h"
#include "tests/count.h"

#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

#define US 300

static gboolean
spin (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  gint64 until = g_get_monotonic_time () + US;
  while (g_get_monotonic_time () < until)
    ;
  return TRUE;
}

static const HassCodelet make = HASS_CODELET (.name = "make", .cpu = spin),
                         use = HASS_CODELET (.name = "a \"use\"", .cpu = spin);

/* make 0 writes x, which two tasks read; the second also writes y; then x is
   written again. */
static gboolean
build_small (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *x = hass_graph_scratch (graph, 8);
  HassData *y = hass_graph_scratch (graph, 8);
  const HassAccess make_x[] = { { x, HASS_WRITE } };
  const HassAccess use_x[] = { { x, HASS_READ } };
  const HassAccess use_both[] = { { x, HASS_READ }, { y, HASS_WRITE } };
  const HassAccess change_both[] = { { x, HASS_WRITE }, { y, HASS_UPDATE } };
  (void)user_data, (void)error;
  hass_graph_name (graph, x, "x");
  return hass_graph_task (graph, &make, make_x, 1, NULL)
         && hass_graph_task (graph, &use, use_x, 1, NULL)
         && hass_graph_task (graph, &use, use_both, 2, NULL)
         && hass_graph_task (graph, &make, change_both, 2, NULL);
}

static void
merge (const HassDataView *into, const HassDataView *copy, gpointer user_data)
{
  (void)into, (void)copy, (void)user_data;
}

/* Two tasks reduce into a datum, and one follows both: the library puts a task
   of its own between. */
static gboolean
build_reduced (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *x = hass_graph_scratch (graph, 8);
  const HassAccess write_x = { x, HASS_WRITE }, reduce = { x, HASS_REDUCE };
  (void)user_data, (void)error;
  hass_graph_reduction (graph, x, NULL, merge, NULL);
  return hass_graph_task (graph, &make, &write_x, 1, NULL)
         && hass_graph_task (graph, &use, &reduce, 1, NULL)
         && hass_graph_task (graph, &use, &reduce, 1, NULL)
         && hass_graph_task (graph, &make, &write_x, 1, NULL);
}

static gboolean
build_chain (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *x = hass_graph_scratch (graph, 8);
  const HassAccess first[] = { { x, HASS_WRITE } };
  const HassAccess next[] = { { x, HASS_UPDATE } };
  gboolean ok = hass_graph_task (graph, &make, first, 1, NULL);
  (void)user_data, (void)error;
  for (guint i = 0; i < 40 && ok; i++)
    ok = hass_graph_task (graph, &use, next, 1, NULL);
  return ok;
}

/* Submits tasks that take less time than submitting the next one. */
static gboolean
build_slowly (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  for (guint i = 0; i < 20; i++)
    {
      HassData *x = hass_graph_scratch (graph, 8);
      const HassAccess a[] = { { x, HASS_WRITE } };
      g_usleep (20 * US);
      if (!hass_graph_task (graph, &make, a, 1, NULL))
        return FALSE;
    }
  return TRUE;
}

static HassReport *
run (HassBuildFunc build, guint n_cores, gboolean recorded)
{
  HassReport *report = NULL;
  HassDataflow d = HASS_DATAFLOW_INIT;
  d.name = "small";
  d.build = build;
  d.run.n_cores = n_cores;
  g_autoptr (HassRecorded) graph
      = recorded ? hass_dataflow_record (&d, NULL) : NULL;
  CU_ASSERT_TRUE (graph ? hass_recorded_run (graph, 2, NULL, &report, NULL)
                        : hass_dataflow (&d, &report, NULL));
  CU_ASSERT_PTR_NOT_NULL_FATAL (report);
  return report;
}

/* Runs with an environment variable that names a file. Returns: the file. */
static char *
file_of (const char *variable, HassBuildFunc build, gboolean recorded)
{
  g_autofree char *path = NULL;
  char *text = NULL;
  int fd = g_file_open_tmp ("hass-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  g_setenv (variable, path, TRUE);
  hass_report_free (run (build, 2, recorded));
  g_unsetenv (variable);
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  unlink (path);
  return text;
}

static void
dot (void)
{
  static const char *const lines[] = {
    "digraph \"small\" {\n",           "t0 [label=\"make 0\" ",
    "t1 [label=\"a \\\"use\\\" 1\" ",  "t0 -> t1 [label=\"x\"];",
    "t0 -> t2 [label=\"x\"];",         "t1 -> t3 [label=\"x\" style=dashed];",
    "t2 -> t3 [label=\"x, datum 2\"];"
  };
  g_autofree char *live = file_of ("HASS_DOT", build_small, FALSE);
  g_autofree char *recorded = file_of ("HASS_DOT", build_small, TRUE);
  CU_ASSERT_STRING_EQUAL (live, recorded);
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    CU_ASSERT_PTR_NOT_NULL (strstr (live, lines[i]));
  CU_ASSERT_EQUAL (count (live, " -> "), 4);
  CU_ASSERT_TRUE (g_str_has_suffix (live, "}\n"));
}

static void
dot_of_the_library (void)
{
  g_autofree char *text = file_of ("HASS_DOT", build_reduced, FALSE);
  static const char *const lines[] = { "t0 [label=\"make 0\" ",
                                       "t3 [label=\"(order)\" style=dashed];",
                                       "t4 [label=\"make 3\" ",
                                       "t1 -> t3 [",
                                       "t2 -> t3 [",
                                       "t3 -> t4 [" };
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    CU_ASSERT_PTR_NOT_NULL (strstr (text, lines[i]));
  CU_ASSERT_EQUAL (count (text, " [label=\"make "), 2);
}

static void
trace (void)
{
  g_autofree char *text = file_of ("HASS_TRACE", build_small, FALSE);
  CU_ASSERT_EQUAL (count (text, "\"kind\":\"dataflow\""), 1);
  CU_ASSERT_EQUAL (count (text, "\"event\":\"task\""), 4);
  for (guint t = 0; t < 4; t++)
    {
      g_autofree char *task = g_strdup_printf ("\"task\":%u,\"codelet\":", t);
      CU_ASSERT_EQUAL (count (text, task), 1);
    }
}

static double
lost (const HassReport *r)
{
  return r->lost_startup_s + r->lost_generator_s + r->lost_copies_s
         + r->lost_halo_s + r->lost_imbalance_s + r->lost_collector_s
         + r->lost_reduce_s + r->lost_teardown_s + r->lost_overhead_s;
}

static void
check_sum (const HassReport *r)
{
  CU_ASSERT_DOUBLE_EQUAL (r->bound_s + lost (r), r->makespan_s, 1e-9);
  CU_ASSERT_TRUE (r->lost_overhead_s >= 0);
  CU_ASSERT_TRUE (r->lost_imbalance_s >= 0);
  CU_ASSERT_EQUAL (r->kind, HASS_FARM_DATAFLOW);
}

static void
report (void)
{
  HassReport *r = run (build_small, 2, FALSE);
  g_autofree char *text = hass_report_to_string (r);
  check_sum (r);
  CU_ASSERT_TRUE (g_str_has_prefix (text, "dataflow small, "));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "4 tasks of 2 codelets\n"));
  CU_ASSERT_PTR_NOT_NULL (r->binding);
  CU_ASSERT_EQUAL (r->critical_path_s, 0);
  hass_report_free (r);
}

static void
chain (void)
{
  HassReport *r = run (build_chain, 2, TRUE);
  check_sum (r);
  CU_ASSERT_EQUAL (r->loads, 82);
  /* spin() reads a clock in whole microseconds */
  CU_ASSERT_TRUE (r->critical_path_s >= 82 * (US - 1) * 1e-6);
  CU_ASSERT_TRUE (r->bound_s >= MIN (r->critical_path_s, r->makespan_s) - 1e-9);
  hass_report_free (r);
}

/* The third of the tasks of a chain fails, or cancels the dataflow. */
typedef struct
{
  GCancellable *cancellable;
  guint calls;
} Stopper;

static gboolean
stop (const HassCall *call, HassWorker *worker, GError **error)
{
  Stopper *stopper = call->user_data;
  gboolean third = ++stopper->calls == 3;
  spin (call, worker, error);
  if (third && stopper->cancellable)
    g_cancellable_cancel (stopper->cancellable);
  return !third || stopper->cancellable;
}

static gboolean
build_stopped (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet codelet = HASS_CODELET (.name = "stop", .cpu = stop);
  HassData *x = hass_graph_scratch (graph, 8);
  HassAccess access = { x, HASS_WRITE };
  gboolean ok = TRUE;
  (void)user_data, (void)error;
  for (guint i = 0; i < 40 && ok; i++, access.mode = HASS_UPDATE)
    ok = hass_graph_task (graph, &codelet, &access, 1, NULL);
  return ok;
}

static void
check_stopped (Stopper *stopper, HassErrorPolicy on_error)
{
  HassReport *r = NULL;
  HassDataflow d = HASS_DATAFLOW_INIT;
  d.build = build_stopped;
  d.user_data = stopper;
  d.run.cancellable = stopper->cancellable;
  d.run.on_error = on_error;
  g_autoptr (HassRecorded) graph = hass_dataflow_record (&d, NULL);
  CU_ASSERT_EQUAL (hass_recorded_run (graph, 1, NULL, &r, NULL),
                   on_error == HASS_ON_ERROR_CONTINUE);
  CU_ASSERT_PTR_NOT_NULL_FATAL (r);
  check_sum (r);
  CU_ASSERT_TRUE (r->n_unfinished > 0);
  CU_ASSERT_EQUAL (r->critical_path_s, 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL (r->binding);
  CU_ASSERT_PTR_NULL (strstr (r->binding, "critical path"));
  hass_report_free (r);
}

static void
stopped (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  check_stopped (&(Stopper){ NULL, 0 }, HASS_ON_ERROR_STOP);
  check_stopped (&(Stopper){ NULL, 0 }, HASS_ON_ERROR_CONTINUE);
  check_stopped (&(Stopper){ cancellable, 0 }, HASS_ON_ERROR_STOP);
}

static void
slow_submission (void)
{
  HassReport *r = run (build_slowly, 2, FALSE);
  check_sum (r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (r->binding);
  CU_ASSERT_TRUE (g_str_has_prefix (r->binding, "submission binds: "));
  CU_ASSERT_TRUE (r->lost_generator_s >= 0.5 * r->makespan_s);
  hass_report_free (r);
}

HASS_TEST_SUITE (
    dataflow_report,
    { "HASS_DOT names each task, and the data that order two", dot },
    { "HASS_DOT names the library's tasks apart from the program's",
      dot_of_the_library },
    { "a trace has each task of a dataflow once", trace },
    { "bound and losses of a dataflow add up to its makespan", report },
    { "a recorded chain is bounded by its critical path", chain },
    { "a recorded graph that is not computed whole has no critical path",
      stopped },
    { "the report says that tasks are submitted too slowly", slow_submission })
