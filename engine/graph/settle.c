/* SPDX-License-Identifier: MIT */
/* settle.c: tasks whose data are home, on machines with devices: steps 3 and 5
   of the DESIGN paragraph in place.h.
   Thread safety: without HassPlacing.lock. */
#include "place.h"

/* Places tasks, which may begin. */
void
hass_place_hand_out (HassGraph *graph, guint worker, const GArray *tasks)
{
  for (guint i = 0; i < tasks->len; i++)
    {
      HassGraphTask *task = &graph->tasks[g_array_index (tasks, guint32, i)];
      if (hass_place_ready (graph, task, HASS_FLOW_NO_WORKER))
        {
          hass_task_to_cores (graph, worker, task);
          graph->job->engine->changed (graph->job);
        }
    }
}

/* Ends tasks whose data are home. */
void
hass_place_settle (HassGraph *graph, guint worker, HassGraphDevice *device,
                   const GArray *settled)
{
  if (settled->len == 0)
    return;
  pthread_mutex_lock (&graph->placing->lock);
  for (guint i = 0; i < settled->len; i++)
    {
      const HassGraphTask *task
          = &graph->tasks[g_array_index (settled, guint32, i)];
      device->n_tasks++;
      device->codelets[task->codelet->index].n_tasks++;
      hass_place_forget_locked (graph, task);
    }
  pthread_mutex_unlock (&graph->placing->lock);
  for (guint i = 0; i < settled->len; i++)
    hass_task_end (graph, worker,
                   &graph->tasks[g_array_index (settled, guint32, i)]);
  graph->job->engine->changed (graph->job);
}

/* A core has ended a task. @computed: it has changed its data. */
void
hass_place_written (HassGraph *graph, guint worker, HassGraphTask *task,
                    gboolean computed)
{
  HassPlacing *placing = graph->placing;
  /* relaxed: who refused this task did so before a core took it */
  gboolean any
      = atomic_load_explicit (&placing->n_refusals, memory_order_relaxed) > 0;
  for (guint i = 0; i < task->n && !any; i++)
    any = hass_access_changes (hass_task_access (task, i))
          && hass_data_places (hass_access_data (hass_task_access (task, i)));
  if (!any)
    return;
  g_autoptr (GArray) next = g_array_new (FALSE, FALSE, sizeof (guint32));
  gboolean news = FALSE;
  pthread_mutex_lock (&placing->lock);
  hass_place_forget_locked (graph, task);
  for (guint i = 0; i < task->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      HassPlaces *p = hass_data_places (hass_access_data (a));
      if (p && hass_access_changes (a))
        news |= hass_place_written_locked (
            graph, p, hass_task_index (graph, task), computed, next);
    }
  pthread_mutex_unlock (&placing->lock);
  hass_place_hand_out (graph, worker, next);
  if (news)
    graph->job->engine->changed (graph->job);
}

/* Gives up the memory of a datum that all accesses to are over. Returns: FALSE
   if a device uses it, or will copy it home. */
gboolean
hass_place_drop (HassGraph *graph, guint worker, HassData *data)
{
  HassPlaces *p = hass_data_places (data);
  HassGraphDevice *only = NULL;
  if (!p)
    return TRUE;
  pthread_mutex_lock (&graph->placing->lock);
  gboolean ok = hass_place_drop_locked (graph, p, &only);
  pthread_mutex_unlock (&graph->placing->lock);
  if (!ok)
    return FALSE;
  if (only)
    hass_place_settle (graph, worker, only, p->chain);
  hass_places_free (p);
  return TRUE;
}
