/* SPDX-License-Identifier: MIT */
/* dataflow.c: a dataflow on a modelled machine, in the course of course.c.

   DESIGN. The tasks wait where those of a live dataflow do (engine/graph). A
   modelled core computes one at a time, for the time of a pull and the cost of
   the task at the core's rate; when that time is over, the codelet is called.
   Submitting takes no time, and neither do tasks that compute nothing.

   Thread safety: by the world's thread. */
#include "virtual-private.h"

#include "engine/graph/graph.h"

static void
feed (HassVirtualWorld *w)
{
  HassJob *job = w->job;
  for (guint c = 0; c < job->n_cores && !hass_job_stopping (job); c++)
    {
      double cost = w->core_busy[c]
                        ? -1
                        : hass_graph_begin_task (job, &job->workers[c]);
      if (cost < 0)
        continue;
      double ns = w->platform->pull_ns
                  + cost / w->platform->core_work_per_ns
                        * hass_virtual_noise (w) * w->slower[job->cpu];
      w->core_busy[c] = TRUE;
      hass_virtual_push (w, (HassVirtualDue){ .t = hass_virtual_later (
                                                  w, w->clock, MAX (ns, 1)),
                                              .core = (gint)c,
                                              .begin = w->clock });
    }
}

static void
core_done (HassVirtualWorld *w, const HassVirtualDue *event)
{
  HassWorker *worker = &w->job->workers[event->core];
  w->core_busy[event->core] = FALSE;
  worker->now_ns = w->clock;
  hass_graph_end_task (w->job, worker, event->begin);
}

static gboolean
has_room (HassJob *job)
{
  return job->source->has_room (job);
}

const HassVirtualCourse hass_virtual_dataflow
    = { .feed = feed, .core_done = core_done, .has_room = has_room };
