/* SPDX-License-Identifier: MIT */
/* graph_hass.c: hass's dataflow, as one of the peers.
   Thread safety: one run at a time. */
#include <hass/dataflow.h>
#include <hass/hass.h>
#include <stdlib.h>

#include "graphs.h"

static gboolean
compute (const HassCall *call, HassWorker *worker, GError **error)
{
  const GraphTask *task = *(GraphTask *const *)call->arguments;
  (void)worker, (void)error;
  graph_task (call->user_data, task);
  return TRUE;
}

static const HassCodelet codelet
    = HASS_CODELET (.name = "task", .cpu = compute);

/* Of the data; no task touches it. */
static guint8 memory[4096];

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  const Graph *g = user_data;
  HassData **data = g_new (HassData *, g->n_data);
  gboolean ok = TRUE;
  (void)error;
  g_assert (g->n_data <= sizeof memory);
  for (guint d = 0; d < g->n_data; d++)
    data[d] = hass_graph_data (graph, &memory[d], 1, 1, 0);
  for (gsize t = 0; t < g->n_tasks && ok; t++)
    {
      const GraphTask *task = &g->tasks[t];
      HassTaskHints hints
          = { .arguments = &task, .argument_bytes = sizeof task };
      HassAccess accesses[GRAPH_ACCESSES];
      for (guint i = 0; i < task->n; i++)
        accesses[i] = (HassAccess){ data[task->data[i]],
                                    i + 1 < task->n ? HASS_READ : HASS_UPDATE };
      ok = hass_graph_task (graph, &codelet, accesses, task->n, &hints);
    }
  g_free (data);
  return ok;
}

static HassDataflow
dataflow_of (Graph *graph)
{
  HassDataflow d = HASS_DATAFLOW_INIT;
  d.name = "bench";
  d.user_data = graph;
  d.build = build;
  return d;
}

static void
must (gboolean ok, GError *error)
{
  if (ok)
    return;
  g_printerr ("hass: %s\n", error->message);
  exit (1);
}

static void
run (Graph *graph)
{
  HassDataflow d = dataflow_of (graph);
  GError *error = NULL;
  must (hass_dataflow (&d, NULL, &error), error);
}

static gpointer
keep (Graph *graph)
{
  HassDataflow d = dataflow_of (graph);
  GError *error = NULL;
  HassRecorded *recorded = hass_dataflow_record (&d, &error);
  must (recorded != NULL, error);
  return recorded;
}

static void
again (gpointer kept, guint times)
{
  GError *error = NULL;
  must (hass_recorded_run (kept, times, NULL, NULL, &error), error);
}

static void
drop (gpointer kept)
{
  hass_recorded_free (kept);
}

const GraphPeer graph_hass = {
  .name = "hass", .run = run, .keep = keep, .again = again, .drop = drop
};
