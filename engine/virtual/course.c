/* SPDX-License-Identifier: MIT */
/* course.c: the course of events of a pipeline or a dataflow on a modelled
   machine.
   Thread safety: by the world's thread. */
#include "virtual-private.h"

/* While work is ready and every device waits, the clock goes on by this, in ns,
   so that the pipeline's rules for liveness apply (engine/stream/ask.c). As
   there. */
#define WAKE_NS 5000000
/* A run in which the clock has gone on so often without an event is stopped.
   Pipelines overrule their strategy before, and dataflows end before
   (engine/graph/left.c), unless a strategy's answers change without an event.
 */
#define MOST_WAKES 1000

/* Serves the next event. Returns: FALSE if there is none and nothing is left to
   do. */
static gboolean
step (HassVirtualWorld *w)
{
  HassJob *job = w->job;
  if (w->heap->len == 0)
    {
      if (hass_job_stopping (job) || job->source->idle (job))
        return FALSE;
      hass_virtual_push (
          w, (HassVirtualDue){ .t = hass_virtual_later (w, w->clock, WAKE_NS),
                               .core = -1 });
      if (++w->n_wakes > MOST_WAKES)
        hass_job_fail (job, HASS_ERROR_STRATEGY,
                       "strategy \"%s\" keeps all devices waiting while work "
                       "waits",
                       job->strategy->ops->name);
    }
  HassVirtualDue event = hass_virtual_pop (w);
  /* A wake-up after the last token or task is not the end. */
  if (event.core < 0 && !event.gpu
      && (hass_job_stopping (job) || job->source->idle (job)))
    return TRUE;
  w->clock = event.t;
  hass_virtual_check_stop (w);
  if (event.core >= 0 || event.gpu)
    w->n_wakes = 0;
  if (event.core >= 0)
    w->course->core_done (w, &event);
  else if (event.gpu)
    w->course->gpu_done (w, &event);
  hass_virtual_let_happen (w, NULL);
  w->course->feed (w);
  return TRUE;
}

/* Computes until the generator need not wait any longer. */
gboolean
hass_virtual_course_room (HassJob *job)
{
  HassVirtualWorld *w = job->driver;
  w->course->feed (w);
  while (!w->course->has_room (job) && !hass_job_stopping (job))
    if (!step (w) && !w->course->has_room (job))
      return FALSE;
  return !hass_job_stopping (job);
}

void
hass_virtual_drive_course (HassVirtualWorld *w)
{
  HassJob *job = w->job;
  for (guint d = hass_virtual_first_gpu (w); d < job->n_devices; d++)
    {
      job->devices[d].opening = !hass_virtual_is_open (w, d);
      job->devices[d].opens_at_ns = w->open_ns[d];
      if (job->devices[d].opening)
        hass_virtual_push (w,
                           (HassVirtualDue){ .t = w->open_ns[d], .core = -1 });
    }
  hass_virtual_announce_times (w);
  hass_job_begin (job);
  hass_job_generate (job);
  w->course->feed (w);
  while (step (w))
    ;
  hass_virtual_check_stop (w);
  if (w->course->finish)
    w->course->finish (w);
}
