/* SPDX-License-Identifier: MIT */
/* wait.c: which tasks have ended, and what the submitting thread does until
   they have: step 1 of the DESIGN paragraph in graph.h.
   Thread safety: the submitting thread, except where stated. */
#include "place.h"

/* Frees the slots of tasks that have ended and before which all have. */
void
hass_graph_retire (HassGraph *graph)
{
  guint64 t = graph->n_retired;
  while (t < graph->n_submitted
         && atomic_load_explicit (&graph->tasks[t & graph->mask].ended,
                                  memory_order_acquire))
    t++;
  graph->n_retired = t;
}

/* Any thread. Returns: TRUE if no task is in flight. */
gboolean
hass_graph_drained (const HassGraph *graph)
{
  guint64 ended = 0;
  for (guint w = 0; w < graph->n_workers; w++)
    ended += atomic_load_explicit (&graph->workers[w].n_ended,
                                   memory_order_acquire);
  return ended
         == atomic_load_explicit (&graph->published, memory_order_relaxed);
}

static gboolean
is_over (const HassGraph *graph, HassRef ref)
{
  return !hass_ref_lives (graph, ref)
         || atomic_load_explicit (&hass_ref_access (graph, ref)->waiting,
                                  memory_order_acquire)
                == HASS_ACCESS_OVER;
}

/* Returns: TRUE if all accesses to the datum that were submitted are over. */
gboolean
hass_graph_all_over (const HassGraph *graph, const HassData *data)
{
  for (HassRef ref = data->group; hass_ref_lives (graph, ref);
       ref = hass_ref_access (graph, ref)->older)
    if (!is_over (graph, ref))
      return FALSE;
  return is_over (graph, data->writer);
}

/* Has the task of an access settled, if it is only that which is missing. */
static void
settle (HassGraph *graph, HassRef ref)
{
  if (graph->placing && !is_over (graph, ref))
    hass_place_send_home (graph, hass_task_of (graph, ref));
}

/* Returns: TRUE if all accesses to the datum that the calling thread waits for
   are over and it is at home. */
static gboolean
is_there (HassGraph *graph, const HassData *data)
{
  if (hass_graph_all_over (graph, data))
    return hass_place_await (graph, data);
  settle (graph, data->writer);
  for (HassRef ref = data->group; hass_ref_lives (graph, ref);
       ref = hass_ref_access (graph, ref)->older)
    settle (graph, ref);
  return FALSE;
}

/* Returns: TRUE if the calling thread need not wait any longer: what it waits
   for has happened. */
gboolean
hass_graph_has_room (HassJob *job)
{
  HassGraph *graph = job->flow;
  if (graph->waits_for == HASS_WAIT_ALL)
    return hass_graph_drained (graph);
  if (graph->waits_for == HASS_WAIT_DATUM)
    return is_there (graph, graph->awaited);
  hass_graph_retire (graph);
  if (graph->n_submitted - graph->n_retired < graph->most)
    return TRUE;
  if (graph->placing)
    hass_place_send_home (graph, &graph->tasks[graph->n_retired & graph->mask]);
  return FALSE;
}

/* Computes until what is awaited has happened. Returns: FALSE if the dataflow
   is stopping. */
gboolean
hass_graph_await (HassGraph *graph, HassGraphWait what, const HassData *data)
{
  HassJob *job = graph->job;
  graph->building = FALSE;
  graph->waits_for = what;
  graph->awaited = data;
  atomic_store_explicit (&graph->caller_waits, 1 + (guint)what,
                         memory_order_seq_cst);
  gboolean ok
      = hass_graph_has_room (job) || hass_emitter_make_room (graph->emitter);
  atomic_store_explicit (&graph->caller_waits, 0, memory_order_relaxed);
  if (graph->workers[0].idle_since_ns > 0)
    hass_graph_busy (&graph->workers[0], job->engine->now (job));
  graph->building = TRUE;
  return ok;
}
