/* SPDX-License-Identifier: MIT */
/* place.c: where tasks wait: step 2 of the DESIGN paragraph in place.h.
   Thread safety: see place.h. */
#include "place.h"

#include "hass/error.h"

/* -- Ready tasks -------------------------------------------------------- */

static gboolean
has_places (HassGraphTask *task)
{
  for (guint i = 0; i < task->n; i++)
    if (hass_data_places (hass_access_data (hass_task_access (task, i))))
      return TRUE;
  return FALSE;
}

static void
note_length_locked (HassPlacing *p, gint change)
{
  atomic_store_explicit (
      &p->n_shared,
      atomic_load_explicit (&p->n_shared, memory_order_relaxed) + (guint)change,
      memory_order_seq_cst);
}

/* Makes a task available, in the queue that the strategy says. */
void
hass_place_share_locked (HassGraph *graph, HassGraphTask *task, gint maker)
{
  HassPlacing *p = graph->placing;
  HassFlowSpot spot = { .priority = task->priority, .level = task->level };
  hass_choice_place_locked (graph, task, maker, &spot);
  guint q = spot.queue < HASS_FLOW_QUEUES ? spot.queue : 0;
  pthread_mutex_lock (&graph->lock);
  guint64 order = graph->order++;
  pthread_mutex_unlock (&graph->lock);
  task->codelet->n_waiting++;
  if (!p->queues[q])
    p->queues[q] = g_array_new (FALSE, FALSE, sizeof (HassRanked));
  hass_heap_push (p->queues[q],
                  &(HassRanked){ .priority = spot.priority,
                                 .level = spot.level,
                                 .task = hass_task_index (graph, task),
                                 .ns = spot.ns,
                                 .order = order });
  p->n_queues = MAX (p->n_queues, q + 1);
  p->queue_ns[q] += spot.ns;
  note_length_locked (p, 1);
}

/* Takes the task at position @i of a queue. */
HassGraphTask *
hass_place_unshare_locked (HassGraph *graph, guint queue, guint i)
{
  HassPlacing *p = graph->placing;
  GArray *heap = p->queues[queue];
  const HassRanked *r = &g_array_index (heap, HassRanked, i);
  HassGraphTask *task = &graph->tasks[r->task];
  p->queue_ns[queue] = heap->len > 1 ? p->queue_ns[queue] - r->ns : 0;
  hass_heap_remove (heap, i);
  task->codelet->n_waiting--;
  note_length_locked (p, -1);
  return task;
}

/* A task may begin. Returns: TRUE if the caller gives it to the cores: it is
   for them, or it will not be computed, and its data are at home. What is not
   computed waits for them, too: it makes data invalid, which tasks before it
   may have to compute again. */
gboolean
hass_place_ready (HassGraph *graph, HassGraphTask *task, gint maker)
{
  HassPlacing *p = graph->placing;
  const HassCodeletState *codelet = task->codelet;
  if ((task->flags & (HASS_TASK_INTERNAL | HASS_TASK_REDUCES))
          == HASS_TASK_INTERNAL
      || (codelet->devices == 0 && !has_places (task)))
    return TRUE;
  HassPlaces *away = NULL;
  gboolean for_cores = FALSE;
  pthread_mutex_lock (&p->lock);
  if (hass_place_able_locked (graph, task)
      && !hass_place_is_poisoned (graph, task))
    {
      hass_place_share_locked (graph, task, maker);
      p->n_entered++;
      task->codelet->n_entered++;
    }
  else
    for_cores = hass_place_is_home_locked (graph, task, &away);
  if (away)
    {
      guint32 t = hass_task_index (graph, task);
      g_array_append_val (away->parked, t);
    }
  pthread_mutex_unlock (&p->lock);
  if (!for_cores)
    graph->job->engine->changed (graph->job);
  return for_cores;
}

/* A task may begin that has waited for no other: makes it available to those
   that can compute it. */
void
hass_task_ready (HassGraph *graph, guint worker, HassGraphTask *task)
{
  if (G_LIKELY (!graph->placing)
      || hass_place_ready (graph, task, HASS_FLOW_NO_WORKER))
    hass_task_to_cores (graph, worker, task);
}

/* Has the strategy place all tasks that wait anew. Appends to @others those
   that no device can compute any more. */
void
hass_place_turn_away_locked (HassGraph *graph, GArray *others)
{
  HassPlacing *p = graph->placing;
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint q = 0; q < p->n_queues; q++)
    while (p->queues[q] && p->queues[q]->len > 0)
      {
        guint32 t
            = hass_task_index (graph, hass_place_unshare_locked (graph, q, 0));
        g_array_append_val (all, t);
      }
  for (guint i = 0; i < all->len; i++)
    {
      guint32 t = g_array_index (all, guint32, i);
      if (hass_place_able_locked (graph, &graph->tasks[t]))
        hass_place_share_locked (graph, &graph->tasks[t], HASS_FLOW_NO_WORKER);
      else
        g_array_append_val (others, t);
    }
}

/* -- Tasks that no worker finds ------------------------------------------ */

/* A task would wait for ever in a queue into which no worker looks that can
   compute it. A core that finds no task looks at the first one of each queue.
   Which workers have looked there is known (HassPlacing.looked_into), so the
   strategy is asked only if none of those has. */

/* Of masks of workers: a bit for the cores and for each device. */
static guint64
bit_of (gint worker)
{
  return (guint64)1 << (worker - HASS_FLOW_CORES);
}

/* A worker looks into a queue. */
void
hass_place_note_look_locked (HassPlacing *p, guint queue, gint worker)
{
  p->looked_into[queue] |= bit_of (worker);
}

/* Returns: a mask of the workers that can compute a task; 0: one of them is not
   open, so the task will be placed anew. */
static guint64
workers_for_locked (const HassGraph *graph, const HassGraphTask *task)
{
  guint64 devices = hass_place_able_locked (graph, task);
  if (devices
      & ~hass_place_devices_that_are (graph->placing, HASS_GRAPH_DEVICE_OPEN))
    return 0;
  return devices << 1 | (task->codelet->public.cpu ? bit_of (-1) : 0);
}

/* Returns: TRUE if a worker would look into a queue now. */
static gboolean
would_look_locked (HassChoice *c, guint queue, gint worker)
{
  const HassStrategy *s = c->graph->job->strategy;
  HassFlowLook look = { .queue = 0 };
  if (!s->ops->look)
    return queue == 0;
  for (guint n = 0; n < HASS_FLOW_QUEUES; n++)
    {
      look = (HassFlowLook){ .queue = 0 };
      if (!s->ops->look (s->self, &c->state, worker, n, &look))
        return FALSE;
      if (look.queue == queue || (look.queue >= HASS_FLOW_QUEUES && queue == 0))
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_astray_locked (HassChoice *c, guint queue, guint64 workers)
{
  if (workers == 0 || c->graph->placing->looked_into[queue] & workers)
    return FALSE;
  for (; workers != 0; workers &= workers - 1)
    if (would_look_locked (c, queue,
                           __builtin_ctzll (workers) + HASS_FLOW_CORES))
      return FALSE;
  return TRUE;
}

/* A core has found no task. Returns (transfer full): why one will wait for
   ever; or NULL. */
GError *
hass_place_find_astray_locked (HassChoice *c)
{
  HassGraph *graph = c->graph;
  const HassPlacing *p = graph->placing;
  for (guint q = 0; q < p->n_queues; q++)
    {
      if (!p->queues[q] || p->queues[q]->len == 0)
        continue;
      HassGraphTask *task
          = &graph->tasks[g_array_index (p->queues[q], HassRanked, 0).task];
      if (is_astray_locked (c, q, workers_for_locked (graph, task)))
        return g_error_new (
            HASS_ERROR, HASS_ERROR_STRATEGY,
            "strategy \"%s\" has task %" G_GUINT64_FORMAT
            " of codelet '%s' wait in queue %u, into which no worker looks "
            "that can compute it",
            graph->job->strategy->ops->name, hass_task_number (graph, task),
            task->codelet->name, q);
    }
  return NULL;
}
