/* SPDX-License-Identifier: MIT */
/* proxy.c: the thread that stands for a device in the live engine.

   DESIGN.
   1. The thread (proxies.c) opens the device, which may take a while, and
      meanwhile the other devices work; where it takes long, not before that
      can pay (proxy_need.c).
   2. While the device has room it asks the strategy for a grant. A large
      grant is handed over in parts, so that copies overlap kernels whatever
      the strategy granted (proxy_parts.c); the strategy hears of the grant
      as a whole, when its last part has left. Where large inputs take far
      longer than all else of a part, two parts at a time keep the link busy,
      and more that share it make it slower by 0.7 % each.
   3. It waits on the device, never by spinning.
   4. A part that does not fit in the device's memory waits until it is alone
      there, then is halved, and what follows is cut no larger. A single unit
      that does not fit is left to the CPU, or fails with its sizes.
   5. A part whose inputs are still on the host is given back when it fails;
      after three failures in a row the device is given up, and what it held
      runs elsewhere. The first reason is kept for the report
      (proxy_settle.c).

   Rounds are begun by cores; where there is none beside the calling thread,
   which may sit in its generator, the proxies begin them.

   Thread safety: one thread a device; it alone calls the device's ops. */
#include "proxy-private.h"

#define WAIT_NS 50000000
#define LARGE_BYTES ((guint64)8 << 20) /* inputs; smaller ones leave gaps */
#define FAR_LONGER 4

/* -- Handing over ------------------------------------------------------- */

/* For the farm's own error, should the device be lost by this. */
static void
remember (HassProxy *p, const GError *error)
{
  p->error_domain = error ? error->domain : 0;
  p->error_code = error ? error->code : 0;
}

static gboolean
check_blocks (HassJob *job, const HassProxyPart *part)
{
  for (gsize i = 0; i < part->n_blocks; i++)
    if (G_UNLIKELY (hass_block_is_nowhere (&part->blocks[i]))
        && !hass_execute_check (job, &part->blocks[i]))
      return FALSE;
  return TRUE;
}

static void
submit (HassProxy *p, HassProxyBundle *b, guint index)
{
  GError *error = NULL;
  HassProxyPart *part = &p->parts[index];
  hass_proxy_cut (p, b, part);
  part->submit_ns = hass_live_now (p->job);
  if (!check_blocks (p->job, part))
    {
      HassBundleDone none = { .slot = index, .failed = TRUE };
      hass_proxy_settle (p, part, &none, "a load's input or output is NULL");
      return;
    }
  const char *before = hass_engine_enter_callback ("gpu_worker", p->job);
  gboolean ok
      = p->ops.submit (p->device, index, part->blocks, part->n_blocks, &error);
  hass_engine_leave_callback (before);
  if (ok)
    {
      g_clear_error (&error);
      p->n_in_flight++;
      p->alone = FALSE;
      return;
    }
  const char *why = error ? error->message : "it did not say why";
  remember (p, error);
  HassBundleDone done = { .slot = index, .failed = TRUE };
  if (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY))
    hass_proxy_make_smaller (p, part, why);
  else
    hass_proxy_settle (p, part, &done, why);
  g_clear_error (&error);
}

/* The oldest bundle with something to hand over, or none. */
static HassProxyBundle *
bundle_with_rest (HassProxy *p)
{
  HassProxyBundle *oldest = NULL;
  for (guint i = 0; i < p->depth; i++)
    {
      HassProxyBundle *b = &p->bundles[i];
      if (b->busy && b->rest.n > 0
          && (!oldest || b->grant_ns < oldest->grant_ns))
        oldest = b;
    }
  return oldest;
}

static HassProxyBundle *
free_bundle (HassProxy *p)
{
  for (guint i = 0; i < p->depth; i++)
    if (!p->bundles[i].busy)
      return &p->bundles[i];
  return NULL;
}

static gboolean
free_slot (HassProxy *p, guint *slot)
{
  for (guint i = 0; i < p->depth; i++)
    if (!p->parts[i].bundle)
      {
        *slot = i;
        return TRUE;
      }
  return FALSE;
}

/* Asks for one bundle. NULL: there is none now. */
static HassProxyBundle *
ask (HassProxy *p)
{
  HassJob *job = p->job;
  HassProxyBundle *b = free_bundle (p);
  HassExtent extent;
  HassGrant grant;
  if (!b)
    return NULL;
  pthread_mutex_lock (&job->decision);
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gboolean begun = !slot && p->live->proxies_begin
                   && hass_job_may_begin (job, slot)
                   && hass_live_begin (job, 0);
  if (begun)
    slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gboolean go = slot && slot->state == HASS_SLOT_RUNNING
                && hass_decide_gpu (job, slot, p->d, &extent, &grant);
  if (!go && slot && p->n_in_flight == 0 && hass_decide_stalled (job, slot))
    hass_live_changed (job);
  pthread_mutex_unlock (&job->decision);
  if (begun)
    hass_live_changed (job);
  if (!go)
    return NULL;
  gint64 now = hass_live_now (job);
  *b = (HassProxyBundle){ .busy = TRUE,
                          .round = slot,
                          .rest = extent,
                          .grant_ns = now,
                          .told = { .device = p->d,
                                    .grant_ns = now,
                                    .start_ns = MAX (now, p->last_end_ns) } };
  return b;
}

/* Units of a lost device's bundle that it never got. */
static void
drop_rest (HassProxy *p, HassProxyBundle *b)
{
  pthread_mutex_lock (&p->job->decision);
  hass_round_give_back (&b->round->round, b->rest);
  pthread_mutex_unlock (&p->job->decision);
  b->rest.n = 0;
  b->failed = TRUE;
  if (b->n_parts == 0)
    hass_proxy_finish_bundle (p, b, hass_live_now (p->job));
  hass_live_changed (p->job);
}

static gboolean
is_lost (HassProxy *p)
{
  pthread_mutex_lock (&p->job->decision);
  gboolean lost = p->job->totals[p->d].lost;
  pthread_mutex_unlock (&p->job->decision);
  return lost;
}

/* Hands one part over. FALSE: nothing to do now. */
static gboolean
feed (HassProxy *p)
{
  guint index;
  HassProxyBundle *b = bundle_with_rest (p);
  if (b && (hass_job_stopping (p->job) || is_lost (p)))
    {
      drop_rest (p, b);
      return TRUE;
    }
  if (hass_job_stopping (p->job) || !free_slot (p, &index)
      || p->n_in_flight >= (p->alone ? 1 : p->enough))
    return FALSE;
  if (!b)
    b = ask (p);
  if (!b)
    return FALSE;
  submit (p, b, index);
  return TRUE;
}

/* 2. By a part that is back: so many are enough, also in the next round. Its
   copy was measured with those of the others there. What the host gathers, or a
   worker takes long for, has to begin early. */
static guint
enough_parts (const HassProxy *p, const HassProxyPart *part,
              const HassBundleDone *done)
{
  double copy_ns = done->h2d_ns / (p->n_in_flight + 1);
  double else_ns
      = done->kernel_ns + done->d2h_ns + done->host_ns + done->worker_ns;
  return part->bytes >= LARGE_BYTES && copy_ns > FAR_LONGER * else_ns
             ? MIN (2, p->depth)
             : p->depth;
}

/* -- 3. Waiting --------------------------------------------------------- */

static void
left_device (HassProxy *p, const HassBundleDone *done, const char *message)
{
  HassProxyPart *part = &p->parts[done->slot];
  p->n_in_flight--;
  p->enough = enough_parts (p, part, done);
  if (done->failed && done->too_large && !done->lost)
    hass_proxy_make_smaller (p, part, message);
  else
    hass_proxy_settle (p, part, done, message);
}

static void
wait_for_part (HassProxy *p)
{
  HassBundleDone done = { 0 };
  GError *error = NULL;
  const char *before = hass_engine_enter_callback ("unbundle", p->job);
  gboolean left = p->ops.wait (p->device, WAIT_NS, &done, &error);
  hass_engine_leave_callback (before);
  const char *message = error ? error->message : NULL;
  remember (p, error);
  if (left && done.slot < p->depth && p->parts[done.slot].bundle)
    left_device (p, &done, message);
  else if (left || error)
    {
      /* The device cannot even say what became of its bundles: all fail. */
      hass_proxy_give_up (p, message ? message
                                     : "it returned a bundle it did not have");
      for (guint i = 0; i < p->depth; i++)
        if (p->parts[i].bundle)
          {
            done = (HassBundleDone){ .slot = i, .failed = TRUE, .lost = TRUE };
            left_device (p, &done, message);
          }
    }
  g_clear_error (&error);
}

/* How long a proxy with nothing to do sleeps: until something changes, or
   until a few loads have waited long enough to be a round, or the device for
   as long as the strategy has said. */
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

/* Nothing waits, nothing runs and nothing will come: a proxy that leaves now
   is gone when the caller, who has yet to wake up, comes to join it. */
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
      if (p->n_in_flight > 0)
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
