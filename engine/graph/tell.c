/* SPDX-License-Identifier: MIT */
/* tell.c: announces the tasks of a dataflow to its listeners (facts.h).
   Thread safety: submitted tasks by the submitting thread; computed ones by the
   thread that computed them. */
#include "engine/core/facts.h"
#include "graph-private.h"

/* Finds out what the listeners want to be told of. */
void
hass_graph_listen (HassGraph *graph)
{
  for (const HassListener *l = graph->job->listeners; l; l = l->next)
    {
      graph->tells_submitted |= l->ops->submitted != NULL;
      graph->tells_computed |= l->ops->computed != NULL;
    }
  graph->tells = graph->tells_submitted || graph->tells_computed;
  if (graph->tells_computed)
    graph->lasts = g_new0 (guint64, graph->most);
}

/* A task of the library, of which no listener is told in virtual time, is
   represented by the task that made it ready. */
guint64
hass_task_as_last (HassGraph *graph, const HassGraphTask *task)
{
  if (!graph->lasts)
    return 0;
  return task->flags & HASS_TASK_INTERNAL
             ? graph->lasts[hass_task_index (graph, task)]
             : hass_task_number (graph, task) + 1;
}

void
hass_graph_note_last (HassGraph *graph, const HassGraphTask *task,
                      const HassGraphTask *before)
{
  graph->lasts[hass_task_index (graph, task)]
      = hass_task_as_last (graph, before);
}

void
hass_graph_tell_submitted (HassGraph *graph, HassGraphTask *task, guint64 node)
{
  if (graph->lasts)
    graph->lasts[hass_task_index (graph, task)] = 0;
  if (!graph->tells_submitted)
    return;
  g_autofree HassUse *uses = g_new (HassUse, MAX (task->n, 1));
  g_autofree char *names = g_malloc (32 * MAX (task->n, 1));
  for (guint i = 0; i < task->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      const HassData *data = hass_access_data (a);
      HassAccessMode mode = hass_access_mode (a);
      uses[i] = (HassUse){ .datum = data->index,
                           .name = hass_data_name (data, names + 32 * i),
                           .bytes = data->view.rows * data->view.row_bytes,
                           .reads = mode != HASS_WRITE,
                           .writes = mode != HASS_READ,
                           .shared = hass_mode_is_shared (mode) };
    }
  HASS_ANNOUNCE (
      graph->job, submitted,
      &(HassSubmitted){ .node = node,
                        .task = hass_graph_number (graph, node),
                        .codelet = task->codelet->name,
                        .internal = (task->flags & HASS_TASK_INTERNAL) != 0,
                        .n = task->n,
                        .uses = uses });
}

void
hass_graph_tell_computed (HassGraph *graph, const HassComputed *fact)
{
  HASS_ANNOUNCE (graph->job, computed, fact);
}
