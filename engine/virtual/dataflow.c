/* SPDX-License-Identifier: MIT */
/* dataflow.c: a dataflow on a modelled machine, in the course of course.c.

   DESIGN. The tasks wait where those of a live dataflow do (engine/graph). A
   modelled core computes one at a time, for the time of a pull and the cost of
   the task at the core's rate; when that time is over, the codelet is called.
   A modelled GPU (gpu_data.c) is served as a live device is, step by step.
   Submitting takes no time, and neither do tasks that compute nothing.

   Thread safety: by the world's thread. */
#include "virtual-private.h"

#include "engine/graph/graph.h"

/* Returns: TRUE if a core has begun a task. */
static gboolean
feed_cores (HassVirtualWorld *w)
{
  HassJob *job = w->job;
  gboolean any = FALSE, look = TRUE;
  for (guint c = 0; c < job->n_cores && !hass_job_stopping (job); c++)
    {
      double cost;
      if (w->core_busy[c])
        continue;
      const char *codelet
          = hass_graph_begin_task (job, &job->workers[c], look, &cost);
      look &= codelet != NULL;
      if (!codelet)
        continue;
      double rate
          = w->platform->core_work_per_ns
            * hass_platform_codelet_factor (w->platform, codelet, "cpu");
      double ns = w->platform->pull_ns
                  + cost / rate * hass_virtual_noise (w) * w->slower[job->cpu];
      hass_virtual_occupy (w, c);
      hass_virtual_push (w, (HassVirtualDue){ .t = hass_virtual_later (
                                                  w, w->clock, MAX (ns, 1)),
                                              .core = (gint)c,
                                              .begin = w->clock });
      any = TRUE;
    }
  return any;
}

/* Opens the GPU if its time has come and a task for it was submitted. */
static void
open_gpu (HassVirtualWorld *w, HassVirtualGpu *gpu)
{
  HassJob *job = w->job;
  if (gpu->serving || job->totals[gpu->d].lost
      || !hass_virtual_is_open (w, gpu->d) || !job->source->wants (job, gpu->d))
    return;
  job->devices[gpu->d].opening = FALSE;
  gpu->serving = hass_serving_new (job, gpu->d);
}

/* Returns: TRUE if something has happened on a GPU. */
static gboolean
feed_gpus (HassVirtualWorld *w)
{
  gboolean any = FALSE;
  for (guint g = 0; g < w->n_gpus; g++)
    open_gpu (w, &w->gpus[g]);
  for (guint g = 0; g < w->n_gpus; g++)
    while (w->gpus[g].serving && hass_serving_step (&w->gpus[g].serving))
      any = TRUE;
  return any;
}

static void
feed (HassVirtualWorld *w)
{
  gboolean any = TRUE;
  while (any)
    {
      w->changed = FALSE;
      any = feed_gpus (w);
      any |= feed_cores (w);
      any |= w->changed;
    }
}

static void
gpu_done (HassVirtualWorld *w, const HassVirtualDue *event)
{
  (void)w;
  hass_virtual_gpu_op_over (event->gpu, event->op);
}

static void
core_done (HassVirtualWorld *w, const HassVirtualDue *event)
{
  HassWorker *worker = &w->job->workers[event->core];
  hass_virtual_vacate (w, (guint)event->core);
  worker->now_ns = w->clock;
  hass_graph_end_task (w->job, worker, event->begin);
}

/* What is awaited may have to be copied home first. */
static gboolean
has_room (HassJob *job)
{
  if (job->source->has_room (job))
    return TRUE;
  feed (job->driver);
  return job->source->has_room (job);
}

static void
finish (HassVirtualWorld *w)
{
  for (guint g = 0; g < w->n_gpus; g++)
    g_clear_pointer (&w->gpus[g].serving, hass_serving_free);
}

const HassVirtualCourse hass_virtual_dataflow = { .feed = feed,
                                                  .core_done = core_done,
                                                  .gpu_done = gpu_done,
                                                  .has_room = has_room,
                                                  .finish = finish };
