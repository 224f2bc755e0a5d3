/* SPDX-License-Identifier: MIT */
/* feed.c: feeds modelled GPUs with grants and parts: steps 1 (asking) and 3
   (computing results) of the DESIGN paragraph in virtual-private.h. What the
   live engine's proxies do with threads is done here at the events of the
   virtual clock, with the same feeder and the same device ops.
   Thread safety: by the world's thread. */
#include "virtual-private.h"

#include "engine/stream/stream.h"

/* -- 1. Asking ---------------------------------------------------------- */

/* Marks a GPU that took time to open as ready; called when it is about to get
   its first units. */
static void
note_opened (HassVirtualWorld *w, guint d)
{
  HassJob *job = w->job;
  if (!job->devices[d].opening)
    return;
  job->devices[d].opening = FALSE;
  HASS_ANNOUNCE (job, opened,
                 &(HassOpened){ .device = d,
                                .end_ns = job->devices[d].opens_at_ns,
                                .ok = TRUE });
}

/* Submits a part (what a GPU is given at once) of a grant. */
void
hass_virtual_submit (HassVirtualWorld *w, HassVirtualGpu *gpu,
                     HassFeederPart *part)
{
  HassDevice *device = &gpu->parent;
  HassFeeder *f = &gpu->feeder;
  g_autoptr (GError) error = NULL;
  part->submit_ns = w->clock;
  hass_virtual_gpu_name_units (gpu, part->grant->round, part->extent);
  if (device->ops->submit (device, part->index, part->blocks, part->n_blocks,
                           &error))
    hass_feeder_submitted (f);
  else
    hass_feeder_too_large (f, part, error->message, w->clock);
}

/* Asks the strategy for a grant of units of @slot, which may be NULL. Returns:
   whether it made one, which the feeder then has. */
static gboolean
ask_for (HassVirtualWorld *w, HassFeeder *f, HassSlot *slot)
{
  HassExtent e = { 0, 0 };
  HassGrant unused;
  if (!slot || slot->state != HASS_SLOT_RUNNING
      || !hass_decide_gpu (w->job, slot, f->d, &e, &unused))
    return FALSE;
  hass_feeder_grant (f, slot, e, w->clock);
  return TRUE;
}

/* Submits one part (what a GPU is given at once) to @gpu. Returns: FALSE if
   there is nothing to do now. */
static gboolean
feed_gpu (HassVirtualWorld *w, HassSlot *slot, HassVirtualGpu *gpu)
{
  HassFeeder *f = &gpu->feeder;
  HassFeederPart *part;
  if (!hass_virtual_is_open (w, f->d) || w->clock < gpu->host_free_ns)
    return FALSE;
  HassFeed feed = hass_feeder_next (f, w->clock, &part);
  if (feed != HASS_FEED_NOTHING)
    note_opened (w, f->d);
  guint klass = hass_job_slot (w->job, 0)->round.classes[f->d];
  if (feed == HASS_FEED_ASK
      && (ask_for (w, f, hass_open_slot (w->job, klass))
          || ask_for (w, f, slot)))
    feed = hass_feeder_next (f, w->clock, &part);
  if (feed == HASS_FEED_PART)
    hass_virtual_submit (w, gpu, part);
  return feed == HASS_FEED_PART || feed == HASS_FEED_DROPPED;
}

/* Submits as many parts as the GPUs accept. Returns: FALSE if there was none.
 */
gboolean
hass_virtual_feed_gpus (HassVirtualWorld *w, HassSlot *slot)
{
  gboolean any = FALSE;
  for (guint g = 0; g < w->n_gpus; g++)
    while (feed_gpu (w, slot, &w->gpus[g]))
      any = TRUE;
  return any;
}

/* -- 3. What is back ---------------------------------------------------- */

/* If the farm is stopping, gives the units of grants that were not submitted to
   the GPU back to their rounds. */
static void
drop_if_stopping (HassVirtualWorld *w, HassFeeder *f)
{
  HassFeederPart *unused;
  while (hass_job_stopping (w->job)
         && hass_feeder_next (f, w->clock, &unused) == HASS_FEED_DROPPED)
    ;
}

static void
settle (HassVirtualWorld *w, HassVirtualGpu *gpu, HassFeederPart *part,
        const HassBundleDone *done, const char *message)
{
  HassJob *job = w->job;
  HassFeeder *f = &gpu->feeder;
  HassSlot *slot = part->grant->round;
  const HassVirtualBundle *b = &gpu->bundles[part->index];
  HassFeederBack back = { .done = done,
                          .message = message,
                          .stages = &b->stages,
                          .left_ns = b->left_ns,
                          .end_ns = w->clock,
                          .settled_ns = w->clock };
  if (!done->failed && w->course) /* a pipeline */
    back.counted = hass_ticket_compute (hass_stream_of (job), f->worker, slot,
                                        part->extent);
  else if (!done->failed)
    back.counted = hass_execute (job, f->worker, slot, part->extent, job->dry);
  hass_feeder_settle (f, part, &back);
  drop_if_stopping (w, f);
  if (slot)
    hass_virtual_finished (w, slot, back.counted.n);
}

/* Handles the event that a stage (copy in, kernel, copy out, ...) of a part of
   a grant is over: the part goes on to its next stage; if that was its last
   one, its results are taken over and its units are counted or given back. */
void
hass_virtual_go_on (HassVirtualWorld *w, const HassVirtualDue *event)
{
  HassVirtualGpu *gpu = event->gpu;
  HassDevice *device = &gpu->parent;
  HassBundleDone done = { 0 };
  g_autoptr (GError) error = NULL;
  hass_virtual_gpu_stage_over (gpu, event->bundle);
  if (!device->ops->wait (device, 0, &done, &error))
    return;
  hass_feeder_remember (&gpu->feeder, error);
  HassFeederPart *part = hass_feeder_left (&gpu->feeder, &done);
  settle (w, gpu, part, &done, error ? error->message : NULL);
}
