/* SPDX-License-Identifier: MIT */
/* proxy.c: the thread that stands for a device in the live engine.

   DESIGN.
   1. The thread (proxies.c) opens the device, while the other devices work.
      An opening that takes long begins when it can pay (proxy_need.c).
   2. While the device has room, the thread asks the strategy for a grant and
      submits it in parts, so that copies overlap kernels whatever the size of
      the grant. How a grant is cut, what becomes of a part that fails or does
      not fit in the device's memory, and when the strategy is told, is the
      feeder's: engine/core/feeder.h.
   3. The thread waits on the device, never by spinning.

   Cores begin rounds. Where the calling thread is the only core, and may be in
   its generator, the proxies begin them.

   Thread safety: one thread a device; it alone calls the device's ops. */
#include "proxy-private.h"

#define WAIT_NS 50000000

/* -- 2. Handing over ---------------------------------------------------- */

/* Wakes the threads that wait for the part. Where this is the only device and
   its round goes on, the sleeping caller waits for something else and is not
   woken for each part. */
static void
tell_others (HassJob *job, gboolean failed)
{
  if (job->n_devices > 1 || failed
      || !atomic_load_explicit (&job->current, memory_order_acquire))
    hass_live_changed (job);
}

/* A part has left the device, or was refused. */
static void
settle (HassProxy *p, HassFeederPart *part, const HassBundleDone *done,
        const char *message)
{
  HassJob *job = p->job;
  HassSlot *round = part->grant->round;
  gint64 end_ns = hass_live_now (job);
  HassFeederBack back = {
    .done = done, .message = message, .left_ns = end_ns, .end_ns = end_ns
  };
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
        && !hass_execute_check (job, &part->blocks[i]))
      return FALSE;
  return TRUE;
}

static void
submit (HassProxy *p, HassFeederPart *part)
{
  g_autoptr (GError) error = NULL;
  HassBundleDone refused = { .slot = part->index, .failed = TRUE };
  part->submit_ns = hass_live_now (p->job);
  if (!check_blocks (p->job, part))
    {
      settle (p, part, &refused, "a load's input or output is NULL");
      return;
    }
  const char *before = hass_engine_enter_callback ("gpu_worker", p->job);
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

/* Asks the strategy for a grant. FALSE: there is none now. */
static gboolean
ask (HassProxy *p)
{
  HassJob *job = p->job;
  HassExtent extent;
  HassGrant grant;
  pthread_mutex_lock (&job->decision);
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gboolean begun = !slot && p->live->proxies_begin
                   && hass_job_may_begin (job, slot)
                   && hass_live_begin (job, 0);
  if (begun)
    slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gboolean go = slot && slot->state == HASS_SLOT_RUNNING
                && hass_decide_gpu (job, slot, p->d, &extent, &grant);
  if (!go && slot && p->feeder.n_in_flight == 0
      && hass_decide_stalled (job, slot))
    hass_live_changed (job);
  pthread_mutex_unlock (&job->decision);
  if (begun)
    hass_live_changed (job);
  if (go)
    hass_feeder_grant (&p->feeder, slot, extent, hass_live_now (job));
  return go;
}

/* Hands one part over. FALSE: there is nothing to do now. */
static gboolean
feed (HassProxy *p)
{
  HassFeederPart *part;
  HassFeed feed = hass_feeder_next (&p->feeder, hass_live_now (p->job), &part);
  if (feed == HASS_FEED_ASK && ask (p))
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

/* The device cannot say what became of its parts: all of them fail. */
static void
all_fail (HassProxy *p, const char *message)
{
  HassFeeder *f = &p->feeder;
  hass_feeder_give_up (f, message ? message
                                  : "it returned a bundle it did not have");
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
  const char *before = hass_engine_enter_callback ("unbundle", p->job);
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

/* How long an idle proxy sleeps if nothing changes: until a few loads have
   waited long enough for a round, or until the end of the strategy's WAIT.
   Returns: ns; < 0: no limit. */
static gint64
patience (HassProxy *p)
{
  HassJob *job = p->job;
  gint64 ns = p->live->proxies_begin && hass_load_pool_waiting (job->pool) > 0
                  ? HASS_FEW_WAIT_NS
                  : -1;
  if (hass_job_stopping (job))
    return ns;
  pthread_mutex_lock (&job->decision);
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gint64 again_ns = slot ? hass_decide_again_ns (slot, p->d) : 0;
  pthread_mutex_unlock (&job->decision);
  if (again_ns == 0)
    return ns;
  gint64 left_ns = MAX (again_ns - hass_live_now (job), 0);
  return ns < 0 || left_ns < ns ? left_ns : ns;
}

/* Whether nothing waits, nothing is in flight and the generator has returned. A
   proxy that ends then has ended before the caller has woken up and waits for
   it. */
static gboolean
all_done (HassJob *job)
{
  if (!atomic_load_explicit (&job->generated, memory_order_seq_cst))
    return FALSE;
  pthread_mutex_lock (&job->decision);
  gboolean idle = hass_job_idle (job);
  pthread_mutex_unlock (&job->decision);
  return idle;
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
        hass_event_wait (&job->event, epoch, patience (p));
    }
}
