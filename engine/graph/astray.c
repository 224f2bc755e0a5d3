/* SPDX-License-Identifier: MIT */
/* astray.c: a task in a queue into which no worker looks that can compute it:
   it would wait for ever.

   A core that finds no task looks at the first task of each queue. Which
   workers have looked into the queue is known (HassPlacing.looked_into), so the
   strategy is asked only if none of those that can compute the task has.

   Thread safety: HassPlacing.lock. */
#include "place.h"

#include "hass/error.h"

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
