/* SPDX-License-Identifier: MIT */
/* end.c: how tasks end, and those that waited for them begin: the end of step 4
   of the DESIGN paragraph in graph.h.
   Thread safety: who has computed the task. */
#include "place.h"

/* Returns: a thread's worker as strategies see it (hass/flow.h). */
static gint
maker_of (const HassGraph *graph, guint worker)
{
  const HassJob *job = graph->job;
  if (worker < graph->n_queues)
    return HASS_FLOW_CORES;
  const HassGraphDevice *device
      = hass_placing_device (graph, worker - (job->n_workers - job->n_devices));
  return device ? (gint)device->index : HASS_FLOW_NO_WORKER;
}

static inline void
made_ready (HassGraph *graph, guint worker, HassGraphTask *task, HassHand *hand)
{
  if (G_UNLIKELY (graph->placing != NULL)
      && !hass_place_ready (graph, task, maker_of (graph, worker)))
    return;
  /* A core that keeps a long task could keep it from one of lower rank. */
  if (!hand->own && !hass_task_is_ranked (graph, task))
    {
      hand->own = task;
      return;
    }
  hass_task_to_cores (graph, worker, task);
  hand->n_given++;
}

/* Returns: TRUE if the task waited for one access only, which is over. */
static inline gboolean
is_released (HassGraphTask *task)
{
  /* Release: what this core has written; acquire, for the last: what all
     have. */
  return atomic_fetch_sub_explicit (&task->pending, 1, memory_order_acq_rel)
         == 1;
}

/* @before: the task whose access is over; its slot is still its own. */
static inline void
count_down (HassGraph *graph, guint worker, HassGraphTask *task,
            const HassGraphTask *before, HassHand *hand)
{
  if (!is_released (task))
    return;
  if (G_UNLIKELY (graph->lasts != NULL))
    hass_graph_note_last (graph, task, before);
  made_ready (graph, worker, task, hand);
}

/* Returns: TRUE if a device has closed the outputs of a recorded task. Relaxed:
   it did so under HassPlacing.lock, before the task was settled or handed out
   again. */
static inline gboolean
is_closed (HassGraphTask *task)
{
  return atomic_load_explicit (&task->ended, memory_order_relaxed)
         == HASS_TASK_CLOSED;
}

/* A recorded task of which a device has closed the outputs is settled. */
static void
end_late (HassGraph *graph, guint worker, const HassGraphTask *task,
          HassHand *hand)
{
  const HassEdges *edges = &graph->edges;
  guint32 t = hass_task_index (graph, task);
  for (guint32 i = edges->first[t]; i < edges->first[t + 1]; i++)
    if (edges->late[i])
      count_down (graph, worker, &graph->tasks[edges->next[i]], task, hand);
}

/* Closes the list of an access. Returns: those that wait for it. */
static inline HassTaskAccess *
close_list (HassGraph *graph, guint worker, HassTaskAccess *access)
{
  if (worker > 0 || graph->placing)
    return atomic_exchange_explicit (&access->waiting, HASS_ACCESS_OVER,
                                     memory_order_acq_rel);
  /* The submitting thread: it alone lets accesses wait, and no device closes
     lists. */
  HassTaskAccess *first
      = atomic_load_explicit (&access->waiting, memory_order_relaxed);
  atomic_store_explicit (&access->waiting, HASS_ACCESS_OVER,
                         memory_order_relaxed);
  return first;
}

/* Ends the accesses of a task. */
void
hass_task_end_accesses (HassGraph *graph, guint worker, HassGraphTask *task,
                        HassHand *hand)
{
  const HassEdges *edges = &graph->edges;
  if (edges->first)
    {
      guint32 t = hass_task_index (graph, task);
      if (G_UNLIKELY (graph->placing != NULL) && is_closed (task))
        end_late (graph, worker, task, hand);
      else if (!graph->in_order)
        for (guint32 i = edges->first[t]; i < edges->first[t + 1]; i++)
          count_down (graph, worker, &graph->tasks[edges->next[i]], task, hand);
      atomic_store_explicit (&task->ended, TRUE, memory_order_relaxed);
      return;
    }
  for (guint i = 0; i < task->n; i++)
    {
      HassTaskAccess *a
          = close_list (graph, worker, hass_task_access (task, i));
      /* a device has closed those of its outputs before */
      while (a && a != HASS_ACCESS_OVER)
        {
          HassTaskAccess *next = a->next;
          count_down (graph, worker, hass_access_task (a), task, hand);
          a = next;
        }
    }
  /* Release: the submitting thread writes the slot again. */
  atomic_store_explicit (&task->ended, TRUE, memory_order_release);
}

/* Tells other threads of the tasks that the worker has ended. */
void
hass_task_say_ended (HassGraphWorker *w)
{
  atomic_store_explicit (
      &w->n_ended,
      atomic_load_explicit (&w->n_ended, memory_order_relaxed) + w->n_unsaid,
      memory_order_release);
  w->n_unsaid = 0;
}

/* A task is over that a device has computed. Others may begin, on any core or
   device but for what the calling worker would keep. */
void
hass_task_end (HassGraph *graph, guint worker, HassGraphTask *task)
{
  HassHand hand = { task, 0 };
  hass_task_end_accesses (graph, worker, task, &hand);
  graph->workers[worker].n_unsaid++;
  hass_task_say_ended (&graph->workers[worker]);
}

/* Returns: TRUE if a recorded task changes a datum that an earlier one does. */
static gboolean
changes_output (HassGraphTask *task, HassGraphTask *earlier)
{
  for (guint i = 0; i < earlier->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (earlier, i);
      for (guint k = 0; k < task->n && hass_access_changes (a); k++)
        {
          const HassTaskAccess *b = hass_task_access (task, k);
          if (hass_access_data (b) == hass_access_data (a)
              && hass_access_mode (b) != HASS_READ)
            return TRUE;
        }
    }
  return FALSE;
}

/* hass_task_close_outputs() of a recorded task. */
static gboolean
close_recorded (HassGraph *graph, HassGraphTask *task, GPtrArray *woken)
{
  const HassEdges *edges = &graph->edges;
  guint32 t = hass_task_index (graph, task);
  gboolean changes = FALSE;
  if (is_closed (task))
    return FALSE;
  atomic_store_explicit (&task->ended, HASS_TASK_CLOSED, memory_order_relaxed);
  for (guint32 i = edges->first[t]; i < edges->first[t + 1]; i++)
    if (!edges->late[i])
      {
        HassGraphTask *next = &graph->tasks[edges->next[i]];
        changes = changes || changes_output (next, task);
        g_ptr_array_add (woken, next);
      }
  return changes;
}

/* What a task has changed is there. Appends to @woken the tasks that waited for
   it. Returns: TRUE if one of them will change it. */
gboolean
hass_task_close_outputs (HassGraph *graph, HassGraphTask *task,
                         GPtrArray *woken)
{
  gboolean changes = FALSE;
  if (graph->edges.first)
    return close_recorded (graph, task, woken);
  for (guint i = 0; i < task->n; i++)
    {
      HassTaskAccess *a = hass_task_access (task, i);
      if (!hass_access_changes (a))
        continue;
      a = atomic_exchange_explicit (&a->waiting, HASS_ACCESS_OVER,
                                    memory_order_acq_rel);
      for (; a && a != HASS_ACCESS_OVER; a = a->next)
        {
          changes |= hass_access_mode (a) != HASS_READ;
          g_ptr_array_add (woken, hass_access_task (a));
        }
    }
  return changes;
}

void
hass_task_count_down (HassGraph *graph, guint worker, const GPtrArray *woken,
                      guint64 last)
{
  for (guint i = 0; i < woken->len; i++)
    {
      HassGraphTask *task = woken->pdata[i];
      if (!is_released (task))
        continue;
      if (graph->lasts)
        graph->lasts[hass_task_index (graph, task)] = last;
      made_ready (graph, worker, task, &(HassHand){ task, 0 });
    }
}
