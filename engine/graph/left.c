/* SPDX-License-Identifier: MIT */
/* left.c: finds out that no worker will take the tasks that wait, as the
   strategy leaves them, and ends the dataflow.

   DESIGN. A dataflow stands still for ever if
   1. the build callback has returned, or waits for tasks;
   2. no proxy has anything in hand (HassPlacing.n_busy), nothing is on its way
      home or will be, and no core computes (HassGraphWorker.busy);
   3. no device is still to open that can compute one of these tasks or that
      opens soon;
   4. each worker, asked about all that it finds, leaves it.
   The strategy's answers depend on what it sees, so without an event they
   remain the same. The calling thread looks for this before it sleeps. A proxy
   or a core that has nothing in hand any more wakes it.

   Thread safety: the calling thread, or that of the virtual engine, except
   where stated. */
#include "place.h"

#include "hass/error.h"

/* The worker's own thread. @busy: it looks for tasks, or computes. */
void
hass_graph_set_busy (HassGraph *graph, guint worker, gboolean busy)
{
  if (graph->placing)
    atomic_store_explicit (&graph->workers[worker].busy, busy,
                           memory_order_seq_cst);
}

/* The worker's own thread has found no task. Sequentially consistent: either
   this core reads that the calling thread awaits its rest; or that thread,
   which announces this before it looks, reads that this core is not busy. */
void
hass_graph_found_none (HassGraph *graph, guint worker)
{
  hass_graph_set_busy (graph, worker, FALSE);
  if (worker > 0
      && atomic_load_explicit (&graph->awaits_rest, memory_order_seq_cst)
      && atomic_exchange_explicit (&graph->awaits_rest, FALSE,
                                   memory_order_seq_cst))
    hass_event_notify (&graph->job->event);
}

static gboolean
any_core_computes (HassGraph *graph)
{
  for (guint w = 0; w < graph->n_queues; w++)
    if (graph->workers[w].own
        || atomic_load_explicit (&graph->workers[w].busy, memory_order_seq_cst))
      return TRUE;
  return hass_ready_any (graph);
}

static gboolean
is_generated (const HassGraph *graph)
{
  return atomic_load_explicit (&graph->job->generated, memory_order_acquire);
}

/* Returns: TRUE if data that a device alone has come home without a further
   event. */
static gboolean
all_come_home (const HassGraph *graph)
{
  return is_generated (graph)
         || atomic_load_explicit (&graph->caller_waits, memory_order_relaxed)
                == 1 + HASS_WAIT_ALL;
}

/* Returns: TRUE if nothing is in flight on devices or on its way from them. */
static gboolean
devices_rest_locked (const HassGraph *graph)
{
  const HassPlacing *p = graph->placing;
  gboolean home = all_come_home (graph);
  for (guint i = 0; i < p->n_devices; i++)
    {
      const HassGraphDevice *d = &p->devices[i];
      guint only_here = d->only_here[0].length + d->only_here[1].length;
      if (d->state != HASS_GRAPH_DEVICE_LOST
          && (d->n_held > 0 || d->going_bytes > 0 || d->leavers.length > 0
              || (home && only_here > 0)))
        return FALSE;
    }
  return atomic_load_explicit (&p->n_busy, memory_order_seq_cst) == 0;
}

/* Returns: TRUE if the strategy may count on a device that is not open yet. */
static gboolean
any_opens_locked (HassGraph *graph)
{
  const HassPlacing *p = graph->placing;
  guint32 shut = hass_place_devices_that_are (p, HASS_GRAPH_DEVICE_SHUT);
  if (hass_choice_counting_locked (graph) & shut)
    return TRUE;
  for (guint q = 0; shut != 0 && q < p->n_queues; q++)
    for (guint i = 0; p->queues[q] && i < p->queues[q]->len; i++)
      {
        guint32 t = g_array_index (p->queues[q], HassRanked, i).task;
        if (hass_place_able_locked (graph, &graph->tasks[t]) & shut)
          return TRUE;
      }
  return FALSE;
}

/* Returns: TRUE if the worker does something with a task if it finds it. */
static gboolean
takes_locked (HassChoice *c, HassGraphTask *task)
{
  HassFlowVerdict verdict = { .score = 0 };
  if (hass_place_is_poisoned (c->graph, task))
    return TRUE;
  HassFlowTask shown = hass_choice_show_locked (c, task);
  if (c->asker >= 0 ? !(shown.devices >> c->asker & 1) : !shown.cores)
    return FALSE;
  HassFlowAnswer answer = hass_choice_ask_locked (c, &shown, &verdict);
  if (answer != HASS_FLOW_IF_HOME || c->asker >= 0)
    return answer != HASS_FLOW_LEAVE;
  return shown.devices == 0 || hass_place_is_home_locked (c->graph, task, NULL);
}

/* Returns: TRUE if a worker takes a task. @worker: as HassChoice.asker. */
static gboolean
finds_one_locked (HassGraph *graph, gint worker)
{
  HassChoice c;
  HassFlowLook look;
  const GArray *heap;
  hass_choice_begin_locked (&c, graph, worker);
  c.state.core_free_ns = 0; /* whatever was expected, no core computes */
  for (guint k = 0; (heap = hass_choice_queue_locked (&c, k, &look)); k++)
    {
      guint n = worker < 0 ? MIN (heap->len, HASS_MOST_LOOKED) : heap->len;
      for (guint i = 0; i < n; i++)
        {
          guint at = look.from_end ? heap->len - 1 - i : i;
          guint32 t = g_array_index (heap, HassRanked, at).task;
          if (takes_locked (&c, &graph->tasks[t]))
            return TRUE;
        }
    }
  return FALSE;
}

static gboolean
any_worker_takes_locked (HassGraph *graph)
{
  const HassPlacing *p = graph->placing;
  guint32 open = hass_place_devices_that_are (p, HASS_GRAPH_DEVICE_OPEN);
  if (finds_one_locked (graph, HASS_FLOW_CORES))
    return TRUE;
  for (guint i = 0; i < p->n_devices; i++)
    if (open >> i & 1 && finds_one_locked (graph, (gint)i))
      return TRUE;
  return FALSE;
}

static GError *
why_locked (HassGraph *graph)
{
  const HassPlacing *p = graph->placing;
  guint q = 0;
  while (!p->queues[q] || p->queues[q]->len == 0)
    q++;
  const HassGraphTask *first
      = &graph->tasks[g_array_index (p->queues[q], HassRanked, 0).task];
  return g_error_new (
      HASS_ERROR, HASS_ERROR_STRATEGY,
      "strategy \"%s\" has each worker leave all tasks that are ready (%u), "
      "and nothing is in flight; the first is task %" G_GUINT64_FORMAT
      " of codelet '%s'",
      graph->job->strategy->ops->name,
      atomic_load_explicit (&p->n_shared, memory_order_relaxed),
      hass_task_number (graph, first), first->codelet->name);
}

/* Returns (transfer full): why nothing will happen any more; or NULL. */
static GError *
look_locked (HassGraph *graph)
{
  if (atomic_load_explicit (&graph->placing->n_shared, memory_order_relaxed)
          == 0
      || !devices_rest_locked (graph) || any_opens_locked (graph))
    return NULL;
  atomic_store_explicit (&graph->awaits_rest, TRUE, memory_order_seq_cst);
  if (any_core_computes (graph) || any_worker_takes_locked (graph))
    return NULL;
  return why_locked (graph);
}

static GError *
look (HassGraph *graph)
{
  pthread_mutex_lock (&graph->placing->lock);
  GError *why = look_locked (graph);
  pthread_mutex_unlock (&graph->placing->lock);
  return why;
}

/* Returns: TRUE if only tasks that are ready can lead on: there are some, no
   device is busy, and the calling thread submits none, as it has submitted all
   or waits for some to end. */
static gboolean
all_hangs_on_ready (HassGraph *graph)
{
  const HassPlacing *p = graph->placing;
  return p && atomic_load_explicit (&p->n_shared, memory_order_seq_cst) > 0
         && atomic_load_explicit (&p->n_busy, memory_order_seq_cst) == 0
         && (is_generated (graph)
             || atomic_load_explicit (&graph->caller_waits,
                                      memory_order_relaxed)
                    != 0);
}

/* The calling thread has found no task and is about to sleep: ends the dataflow
   if the strategy leaves all that wait. */
void
hass_graph_look_left (HassGraph *graph)
{
  HassJob *job = graph->job;
  if (!all_hangs_on_ready (graph) || hass_job_stopping (job))
    return;
  guint64 epoch
      = atomic_load_explicit (&job->event.epoch, memory_order_seq_cst);
  GError *why = look (graph);
  if (why && !is_generated (graph))
    {
      /* What the build callback waits for may have happened, or may only now be
         sent home, which raises the epoch. */
      g_clear_error (&why);
      if (!hass_graph_has_room (job)
          && atomic_load_explicit (&job->event.epoch, memory_order_seq_cst)
                 == epoch)
        why = look (graph);
    }
  if (why)
    hass_job_stop (job, why);
}
