/* SPDX-License-Identifier: MIT */
/* idle.c: how long cores found no task, and why.

   DESIGN. A core that looks for a task in vain notes the time and the reason;
   its next look, or one AGAIN_NS later, adds the time between the two to that
   reason. So idle time is measured where a core has nothing else to do, and
   tasks cost nothing more.

   Thread safety: the thread that has the worker's seat. */
#include "graph-private.h"

/* Time between two notes, in ns. A guess: a note reads a cache line of each
   core, which that one then waits for; longer, and the reason is an old one. */
#define AGAIN_NS 5000

/* Returns: why there is no task that a core could compute. */
static HassIdle
reason (const HassGraph *graph)
{
  guint waits
      = atomic_load_explicit (&graph->caller_waits, memory_order_relaxed);
  guint64 ended = 0;
  if (graph->run->tape
      || atomic_load_explicit (&graph->job->generated, memory_order_relaxed))
    return HASS_IDLE_DEPEND;
  if (waits == 1 + HASS_WAIT_SLOT)
    return HASS_IDLE_WINDOW;
  if (waits > 0)
    return HASS_IDLE_WAIT;
  for (guint w = 0; w < graph->n_workers; w++)
    ended += atomic_load_explicit (&graph->workers[w].n_ended,
                                   memory_order_relaxed);
  /* More tasks are in flight than cores can be computing, so some wait. */
  return atomic_load_explicit (&graph->published, memory_order_relaxed)
                 > ended + graph->n_queues
             ? HASS_IDLE_DEPEND
             : HASS_IDLE_SUBMIT;
}

/* A worker has found a task, at @now_ns, or need not look for one any more. */
void
hass_graph_busy (HassGraphWorker *worker, gint64 now_ns)
{
  if (worker->idle_since_ns > 0)
    worker->idle_ns[worker->idle] += MAX (now_ns - worker->idle_since_ns, 0);
  worker->idle_since_ns = 0;
}

/* A worker has found no task. */
void
hass_graph_idle (HassGraph *graph, guint worker)
{
  HassGraphWorker *w = &graph->workers[worker];
  gint64 now_ns = graph->job->engine->now (graph->job);
  if (w->idle_since_ns > 0 && now_ns - w->idle_since_ns < AGAIN_NS)
    return;
  hass_graph_busy (w, now_ns);
  w->idle_since_ns = MAX (now_ns, 1); /* virtual time begins at 0 */
  w->idle = reason (graph);
}
