/* SPDX-License-Identifier: MIT */
/* failure.c: step 5 of the DESIGN paragraph in graph.h: tasks whose codelets
   fail, and those that fail with them.
   Thread safety: who computes the task, or would. */
#include "graph-private.h"

/* Returns: 1 + the index of the failure that has made a datum of the task
   invalid; 0: none that it reads. */
guint
hass_task_is_poisoned (HassGraphTask *task)
{
  for (guint i = 0; i < task->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      guint cause = atomic_load_explicit (&hass_access_data (a)->invalid,
                                          memory_order_relaxed);
      if (cause > 0 && hass_access_mode (a) != HASS_WRITE)
        return cause;
    }
  return 0;
}

/* Marks what a task should have written as invalid, or as valid if @cause is 0.
 */
void
hass_task_mark (HassGraphTask *task, guint cause)
{
  for (guint i = 0; i < task->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      HassAccessMode mode = hass_access_mode (a);
      if (mode == HASS_WRITE || (cause > 0 && mode != HASS_READ))
        atomic_store_explicit (&hass_access_data (a)->invalid, cause,
                               memory_order_relaxed);
    }
}

/* The number of a task, from its slot. */
guint64
hass_task_number (HassGraph *graph, const HassGraphTask *task)
{
  guint64 n = atomic_load_explicit (&graph->published, memory_order_relaxed);
  guint32 index = hass_task_index (graph, task);
  return hass_graph_number (
      graph, graph->edges.first
                 ? index
                 : n - 1 - (((guint32)(n - 1) - index) & graph->mask));
}

/* A codelet has failed. Takes over @error. Returns: 1 + the index of the
   failure. */
guint
hass_task_note_failure (HassGraph *graph, HassGraphTask *task, GError *error)
{
  HassJob *job = graph->job;
  guint64 number = hass_task_number (graph, task);
  HassTaskFailure failure
      = { .number = number,
          .message = g_strdup_printf ("codelet '%s': %s", task->codelet->name,
                                      error->message) };
  pthread_mutex_lock (&graph->lock);
  g_array_append_val (graph->failures, failure);
  guint n = graph->failures->len;
  pthread_mutex_unlock (&graph->lock);
  atomic_fetch_add_explicit (&graph->n_failures, 1, memory_order_relaxed);
  if (job->farm->run->on_error == HASS_ON_ERROR_CONTINUE)
    g_error_free (error);
  else
    {
      g_prefix_error (
          &error, "dataflow '%s', task %" G_GUINT64_FORMAT ", codelet '%s': ",
          graph->name, number, task->codelet->name);
      hass_job_stop (job, error);
    }
  return n;
}

void
hass_task_note_poisoned (HassGraph *graph, HassGraphTask *task, guint cause)
{
  pthread_mutex_lock (&graph->lock);
  g_array_index (graph->failures, HassTaskFailure, cause - 1).took++;
  pthread_mutex_unlock (&graph->lock);
  hass_job_add_unfinished (graph->job, hass_task_number (graph, task), 1, 0, 0,
                           NULL);
}
