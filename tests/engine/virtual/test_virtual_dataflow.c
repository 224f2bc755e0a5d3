/* SPDX-License-Identifier: MIT */
/* test_virtual_dataflow.c: dataflows on modelled machines: results, times of
   cores, failures.
   Thread safety: single-threaded. */
#include <gio/gio.h>
#include <unistd.h>

#include "tests/skeletons/dataflow/graph_run.h"
#include "virtual_flow.h"

/* -- Results ------------------------------------------------------------- */

static void
must_be_right (guint32 seed, guint flags, gsize window)
{
  g_autoptr (GraphPlan) p = graph_plan_new (seed, 30 + seed % 170, flags);
  gsize bytes = graph_plan_need (p, FALSE) * (seed / 4 % 4);
  guint n_gpus = flags & PLAN_GPU ? seed % 4 : 0;
  g_autofree char *path = virtual_flow_machine (1 + seed % 8, n_gpus, bytes, 0);
  GraphSettings settings = { .window = window, .platform = path };
  g_autofree char *wrong = flags & PLAN_RECORDS
                               ? graph_run_recorded (p, &settings)
                               : graph_run (p, &settings);
  CU_ASSERT_PTR_NULL (wrong);
  if (wrong)
    g_printerr ("\n    seed %u: %s\n", seed, wrong);
  unlink (path);
}

static void
random_graphs (void)
{
  static const gsize windows[] = { 2, 16, 0 };
  for (guint32 seed = 1; seed <= 100; seed++)
    must_be_right (seed, 0, windows[seed % 3]);
}

static void
graphs_on_gpus (void)
{
  static const gsize windows[] = { 2, 16, 0 };
  for (guint32 seed = 1; seed <= 300; seed++)
    must_be_right (seed, seed % 5 ? PLAN_GPU : PLAN_GPU | PLAN_FAILS,
                   windows[seed % 3]);
}

static void
failing_graphs (void)
{
  for (guint32 seed = 1; seed <= 100; seed++)
    must_be_right (seed, PLAN_FAILS, seed % 2 == 0 ? 8 : 0);
}

static void
recorded_graphs (void)
{
  for (guint32 seed = 1; seed <= 50; seed++)
    must_be_right (seed, seed % 2 ? PLAN_RECORDS : PLAN_RECORDS | PLAN_GPU, 0);
}

/* -- Times --------------------------------------------------------------- */

static gboolean
fail (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker;
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "as planned");
  return FALSE;
}

static const HassCodelet fails = HASS_CODELET (.name = "fail", .cpu = fail);

static gboolean
chain (HassGraph *graph, gpointer data, GError **error)
{
  HassData *token = hass_graph_scratch (graph, 0);
  (void)data, (void)error;
  virtual_flow_submit (graph, &virtual_flow_counts, token, HASS_WRITE, 1);
  for (guint i = 2; i <= 4; i++)
    virtual_flow_submit (graph, &virtual_flow_counts, token, HASS_UPDATE, i);
  return TRUE;
}

static gboolean
two_alone (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  virtual_flow_submit (graph, &virtual_flow_counts, NULL, HASS_READ, 3);
  virtual_flow_submit (graph, &virtual_flow_counts, NULL, HASS_READ, 7);
  return TRUE;
}

static gboolean
four_commute (HassGraph *graph, gpointer data, GError **error)
{
  HassData *token = hass_graph_scratch (graph, 0);
  (void)data, (void)error;
  virtual_flow_submit (graph, &virtual_flow_counts, token, HASS_WRITE, 1);
  for (guint i = 0; i < 4; i++)
    virtual_flow_submit (graph, &virtual_flow_counts, token, HASS_COMMUTE, 5);
  return TRUE;
}

static gboolean
eighty (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (guint i = 0; i < 80; i++)
    virtual_flow_submit (graph, &virtual_flow_counts, NULL, HASS_READ, 2);
  return TRUE;
}

/* Its tasks name no work. */
static gboolean
by_bytes (HassGraph *graph, gpointer data, GError **error)
{
  static guint8 bytes[6];
  (void)data, (void)error;
  virtual_flow_submit (graph, &virtual_flow_counts,
                       hass_graph_data (graph, bytes, 6, 1, 0), HASS_READ, 0);
  hass_graph_wait (graph, NULL);
  virtual_flow_submit (graph, &virtual_flow_counts, NULL, HASS_READ, 0);
  return TRUE;
}

static void
exact_times (void)
{
  VirtualFlow flow = { .n_cores = 1 };
  virtual_flow_takes (&flow, chain, 10);
  virtual_flow_takes (&flow, two_alone, 10);
  virtual_flow_takes (&flow, by_bytes, 7);
  CU_ASSERT_EQUAL (flow.n_computed, 2);
  flow.n_cores = 2;
  virtual_flow_takes (&flow, chain, 10);
  virtual_flow_takes (&flow, two_alone, 7);
  flow.n_cores = 4;
  virtual_flow_takes (&flow, four_commute, 21);
  virtual_flow_takes (&flow, eighty, 40);
  flow.window = 2;
  virtual_flow_takes (&flow, eighty, 80);
  hass_report_free (flow.report);
}

static void
reported (void)
{
  VirtualFlow flow = { .n_cores = 4 };
  virtual_flow_takes (&flow, eighty, 40);
  const HassReport *r = flow.report;
  CU_ASSERT_EQUAL (r->loads, 80);
  CU_ASSERT_EQUAL (r->devices[0].units, 80);
  CU_ASSERT_DOUBLE_EQUAL (r->devices[0].busy_s, 40e-6, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (r->bound_s, 40e-6, 1e-12);
  CU_ASSERT_EQUAL_FATAL (r->n_stages, 1);
  CU_ASSERT_STRING_EQUAL (r->stages[0].name, "count");
  CU_ASSERT_DOUBLE_EQUAL (r->stages[0].busy_s, 160e-6, 1e-12);
  flow.n_cores = 2;
  virtual_flow_takes (&flow, chain, 10);
  r = flow.report;
  CU_ASSERT_DOUBLE_EQUAL (r->devices[0].busy_s, 5e-6, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (r->lost_imbalance_s, 5e-6, 2e-9);
  hass_report_free (flow.report);
}

static void
dry (void)
{
  VirtualFlow flow = { .n_cores = 2, .dry = TRUE };
  virtual_flow_takes (&flow, two_alone, 7);
  CU_ASSERT_EQUAL (flow.n_computed, 0);
  CU_ASSERT_EQUAL (flow.report->loads, 2);
  hass_report_free (flow.report);
}

/* -- Ends ---------------------------------------------------------------- */

static gboolean
one_fails (HassGraph *graph, gpointer data, GError **error)
{
  HassData *token = hass_graph_scratch (graph, 0);
  (void)data, (void)error;
  virtual_flow_submit (graph, &fails, token, HASS_WRITE, 2);
  virtual_flow_submit (graph, &virtual_flow_counts, token, HASS_UPDATE, 3);
  virtual_flow_submit (graph, &virtual_flow_counts, NULL, HASS_READ, 9);
  return TRUE;
}

static gboolean
long_chain (HassGraph *graph, gpointer data, GError **error)
{
  HassData *token = hass_graph_scratch (graph, 0);
  (void)data, (void)error;
  virtual_flow_submit (graph, &virtual_flow_counts, token, HASS_WRITE, 600);
  for (guint i = 1; i < 100; i++)
    virtual_flow_submit (graph, &virtual_flow_counts, token, HASS_UPDATE, 600);
  return TRUE;
}

static void
failures (void)
{
  g_autoptr (GError) error = NULL;
  VirtualFlow flow = { .n_cores = 2, .on_error = HASS_ON_ERROR_CONTINUE };
  virtual_flow_takes (&flow, one_fails, 9);
  flow.n_cores = 1;
  virtual_flow_takes (&flow, one_fails, 11);
  CU_ASSERT_EQUAL (flow.n_computed, 1);
  CU_ASSERT_EQUAL (flow.report->n_unfinished, 2);
  flow.on_error = HASS_ON_ERROR_STOP;
  CU_ASSERT_FALSE (virtual_flow_run (&flow, one_fails, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_WORKER));
  hass_report_free (flow.report);
}

static void
stopped (void)
{
  g_autoptr (GError) late = NULL;
  g_autoptr (GError) cancelled = NULL;
  VirtualFlow flow = { .deadline_ms = 3 };
  CU_ASSERT_FALSE (virtual_flow_run (&flow, long_chain, &late));
  CU_ASSERT_TRUE (g_error_matches (late, HASS_ERROR, HASS_ERROR_DEADLINE));
  CU_ASSERT_TRUE (flow.n_computed >= 4 && flow.n_computed <= 6);
  flow = (VirtualFlow){ .report = flow.report,
                        .cancellable = g_cancellable_new () };
  CU_ASSERT_FALSE (virtual_flow_run (&flow, long_chain, &cancelled));
  CU_ASSERT_TRUE (
      g_error_matches (cancelled, HASS_ERROR, HASS_ERROR_CANCELLED));
  CU_ASSERT_TRUE (flow.n_computed >= 2 && flow.n_computed <= 3);
  g_object_unref (flow.cancellable);
  hass_report_free (flow.report);
}

HASS_TEST_SUITE (
    virtual_dataflow,
    { "random graphs leave the values of the sequential program",
      random_graphs },
    { "the same on modelled GPUs whose memory is small", graphs_on_gpus },
    { "tasks fail with the data that they need, and no others",
      failing_graphs },
    { "a recorded graph does the same each time, on other data too",
      recorded_graphs },
    { "tasks take their work at the core's rate, and wait for each other",
      exact_times },
    { "the report has the tasks and the times of the modelled cores",
      reported },
    { "a dry run takes the same time and calls no codelet", dry },
    { "a failed task fails those after it, or stops the dataflow", failures },
    { "a deadline in virtual time, or the user, stops the dataflow", stopped })
