/* SPDX-License-Identifier: MIT */
/* proxy.c: the thread that stands for a device in the live engine.

   DESIGN.
   1. Opening. The thread (proxies.c) opens the device, while the other devices
      work. An opening that takes long begins when it can pay (proxy_need.c).
   2. Handing over. While the device has room, the thread asks the strategy for
      a grant and submits it in parts (pieces that fit the device), so that
      copies overlap kernels whatever the size of the grant. How a grant is cut,
      what happens to a part that fails or does not fit in the device's memory,
      and when the strategy is told, is decided by the feeder:
      engine/core/feeder.h.
   3. Waiting. The thread waits on the device, never by spinning.

   Cores begin rounds. Where the calling thread is the only core, and may be in
   its generator, the proxies begin them.

   Thread safety: one thread a device; it alone calls the device's ops. */
#include "proxy-private.h"

/* Longest time that a proxy waits on its device before it looks at the farm
   again, in ns. A guess: shorter, and idle proxies wake up in vain; longer, and
   a farm that is stopped ends late. */
#define WAIT_NS 50000000

/* -- 2. Handing over ---------------------------------------------------- */

/* Wakes the threads that may wait for the end of a part of a grant. Where this
   is the only device and its round goes on, the only thread that sleeps is the
   calling thread; it waits for the farm's end or for room in the load pool and
   is not woken for each part. */
static void
tell_others (HassJob *job, gboolean failed)
{
  if (job->n_devices > 1 || failed
      || !atomic_load_explicit (&job->current, memory_order_acquire))
    hass_live_changed (job);
}

/* Takes over the results of a part of a grant that has left the device, or that
   was refused, and counts its units or gives them back. */
static void
settle (HassProxy *p, HassFeederPart *part, const HassBundleDone *done,
        const char *message)
{
  HassJob *job = p->job;
  HassSlot *round = part->grant->round;
  gint64 end_ns = hass_live_now (job);
  HassFeederBack back = { .done = done,
                          .message = message,
                          .left_ns = MAX (end_ns - (gint64)done->late_us * 1000,
                                          part->submit_ns),
                          .end_ns = end_ns };
  if (!done->failed)
    back.counted = hass_feeder_results (&p->feeder, part, done);
  back.settled_ns = job->listeners ? hass_live_now (job) : end_ns;
  hass_feeder_settle (&p->feeder, part, &back);
  if (!done->failed)
    hass_job_units_finished (job, round, back.counted.n);
  tell_others (job, done->failed);
}

static gboolean
check_blocks (HassJob *job, const HassFeederPart *part)
{
  for (gsize i = 0; i < part->n_blocks; i++)
    if (G_UNLIKELY (hass_block_is_nowhere (&part->blocks[i]))
        && !hass_results_check (job, &part->blocks[i]))
      return FALSE;
  return TRUE;
}

static void
submit (HassProxy *p, HassFeederPart *part)
{
  g_autoptr (GError) error = NULL;
  HassBundleDone refused = { .slot = part->index, .failed = TRUE };
  part->submit_ns = hass_live_now (p->job);
  if (p->live->course->complete && !p->live->course->complete (p, part))
    {
      settle (p, part, &refused, NULL);
      return;
    }
  if (!check_blocks (p->job, part))
    {
      settle (p, part, &refused, "a load's input or output is NULL");
      return;
    }
  HassCallback before = hass_engine_enter_callback ("gpu_worker", p->job, NULL);
  gboolean ok = p->ops.submit (p->device, part->index, part->blocks,
                               part->n_blocks, &error);
  hass_engine_leave_callback (before);
  if (ok)
    {
      hass_feeder_submitted (&p->feeder);
      return;
    }
  const char *why = error ? error->message : "it did not say why";
  hass_feeder_remember (&p->feeder, error);
  if (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY))
    hass_feeder_too_large (&p->feeder, part, why, hass_live_now (p->job));
  else
    settle (p, part, &refused, why);
}

/* Submits one part (what the device is given at once). Returns: FALSE if there
   is nothing to do now. */
static gboolean
feed (HassProxy *p)
{
  const HassLiveCourse *course = p->live->course;
  HassFeederPart *part;
  if (course->collect)
    course->collect (p);
  HassFeed feed = hass_feeder_next (&p->feeder, hass_live_now (p->job), &part);
  if (feed == HASS_FEED_ASK && course->ask (p))
    feed = hass_feeder_next (&p->feeder, hass_live_now (p->job), &part);
  if (feed == HASS_FEED_PART)
    submit (p, part);
  return feed == HASS_FEED_PART || feed == HASS_FEED_DROPPED;
}

/* -- 3. Waiting --------------------------------------------------------- */

static void
left_device (HassProxy *p, const HassBundleDone *done, HassFeederPart *part,
             const char *message)
{
  if (done->failed && done->too_large && !done->lost)
    hass_feeder_too_large (&p->feeder, part, message, hass_live_now (p->job));
  else
    settle (p, part, done, message);
}

/* Makes all parts of grants that are on the device fail and gives the device
   up, because it reported an error without a part or a part that it did not
   have. */
static void
all_fail (HassProxy *p, const char *message)
{
  HassFeeder *f = &p->feeder;
  hass_feeder_give_up (
      f, NULL, message ? message : "it returned a bundle it did not have");
  for (guint i = 0; i < f->depth; i++)
    {
      HassBundleDone done = { .slot = i, .failed = TRUE, .lost = TRUE };
      HassFeederPart *part = hass_feeder_left (f, &done);
      if (part)
        left_device (p, &done, part, message);
    }
}

static void
wait_for_part (HassProxy *p)
{
  HassBundleDone done = { 0 };
  g_autoptr (GError) error = NULL;
  HassCallback before = hass_engine_enter_callback ("unbundle", p->job, NULL);
  gboolean left = p->ops.wait (p->device, WAIT_NS, &done, &error);
  hass_engine_leave_callback (before);
  const char *message = error ? error->message : NULL;
  hass_feeder_remember (&p->feeder, error);
  HassFeederPart *part = left ? hass_feeder_left (&p->feeder, &done) : NULL;
  if (part)
    left_device (p, &done, part, message);
  else if (left || error)
    all_fail (p, message);
}

/* Returns: TRUE if the farm has no more work: then the proxy ends at once,
   which is before the calling thread has woken up and waits for it. */
static gboolean
all_done (HassJob *job)
{
  return atomic_load_explicit (&job->generated, memory_order_seq_cst)
         && job->source->idle (job);
}

void
hass_proxy_serve (HassProxy *p)
{
  HassJob *job = p->job;
  for (;;)
    {
      guint64 epoch = hass_event_prepare (&job->event);
      if (feed (p))
        {
          hass_event_cancel (&job->event);
          continue;
        }
      gboolean over
          = atomic_load_explicit (&p->live->over, memory_order_seq_cst);
      if (p->feeder.n_in_flight > 0)
        {
          hass_event_cancel (&job->event);
          wait_for_part (p);
        }
      else if (over || all_done (job))
        {
          hass_event_cancel (&job->event);
          return;
        }
      else
        hass_event_wait (&job->event, epoch, p->live->course->patience_ns (p));
    }
}
