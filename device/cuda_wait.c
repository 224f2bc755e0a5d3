/* SPDX-License-Identifier: MIT */
/* cuda_wait.c: waiting for bundles on a GPU; step 2 of cuda.c.

   DESIGN. A blocking wait of the CUDA runtime costs some 65 us of a core and
   wakes up 50 us late (doc/results/h200.md), so:
   1. A bundle that is expected within microseconds is spun for.
   2. Where the last two bundles tell when this one is due, the thread naps
      for most of the time that is left, looks, and so on; a bundle that is
      early is so seen before long.
   3. One that is overdue, or that nothing is known of, is waited for by a
      blocking wait; with a deadline by looking now and then, since a blocking
      wait for a GPU that hangs never returns.

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

#include <time.h>

#include "hass/error.h"

#define SPIN_FOR_NS 60000
#define POLL_NS 20000
#define MOST_POLL_NS 200000
#define NAP_PART 0.7 /* of the time that is left */
#define WORTH_A_NAP_NS 200000
#define LATE_LOOKS 8 /* before a blocking wait */
#define DRAIN_TRIES 3

gint64
hass_cuda_now (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
sleep_ns (gint64 ns)
{
  struct timespec t = { ns / 1000000000, ns % 1000000000 };
  nanosleep (&t, NULL);
}

/* Whether the event has passed; FALSE with an error when the device is
   broken. */
static gboolean
passed (HassCudaDevice *d, gpointer event, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  int code = cuda->event_query (event);
  if (cuda->classify (code) == HASS_CUDA_NOT_READY)
    {
      cuda->last_error ();
      return FALSE;
    }
  return hass_gpu_check (d->gpu, code, "wait for a bundle", error);
}

/* With a deadline: looks now and then. FALSE: not yet, or an error. */
static gboolean
poll_until (HassCudaDevice *d, gpointer event, gint64 until_ns, GError **error)
{
  GError *inner = NULL;
  gint64 pause = POLL_NS;
  while (!passed (d, event, &inner))
    {
      if (inner)
        {
          g_propagate_error (error, inner);
          return FALSE;
        }
      if (hass_cuda_now () >= until_ns)
        return FALSE;
      sleep_ns (pause);
      pause = MIN (2 * pause, MOST_POLL_NS);
    }
  return TRUE;
}

static gboolean
past_deadline (HassCudaDevice *d, const HassCudaSlot *slot)
{
  gint64 deadline = d->farm->bundle_deadline_ns;
  return deadline > 0 && hass_cuda_now () >= slot->submit_ns + deadline;
}

/* The GPU does not come back from a bundle. */
static void
note_hung (HassCudaDevice *d, GError **error)
{
  pthread_mutex_lock (&d->gpu->lock);
  d->gpu->hung = TRUE;
  pthread_mutex_unlock (&d->gpu->lock);
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
               "%s: a bundle took longer than %" G_GINT64_FORMAT " ms",
               d->gpu->name, d->farm->bundle_deadline_ns / 1000000);
}

/* Waits for all that a stream has been given. What failed there is no matter
   here, if only it has ended: an event recorded anew says so. */
static gboolean
drain_stream (HassCudaDevice *d, const HassCudaSlot *slot, gpointer stream,
              gpointer event)
{
  const HassCudart *cuda = hass_cudart ();
  gint64 deadline = d->farm->bundle_deadline_ns;
  for (guint i = 0; i < DRAIN_TRIES; i++)
    {
      if (!hass_gpu_check (d->gpu, cuda->event_record (event, stream),
                           "record an event", NULL))
        continue;
      if (deadline == 0
              ? hass_gpu_check (d->gpu, cuda->event_wait (event),
                                "wait for the device", NULL)
              : poll_until (d, event, slot->submit_ns + deadline, NULL))
        return TRUE;
      if (past_deadline (d, slot))
        return FALSE;
    }
  return FALSE;
}

/* 4. Waits for whatever was enqueued before something failed. FALSE: the
   device does not come back. */
gboolean
hass_cuda_drain (HassCudaDevice *d, HassCudaSlot *slot)
{
  HassGpuKit *kit = slot->kit;
  gboolean ok = drain_stream (d, slot, kit->stream, kit->done);
  for (guint i = 0; i < kit->n_side && ok; i++)
    ok = drain_stream (d, slot, kit->side[i], kit->joined[i]);
  if (!ok && past_deadline (d, slot))
    note_hung (d, NULL);
  if (ok)
    hass_cuda_sent (d, slot);
  d->lost |= !ok;
  return ok;
}

/* -- When it is due ---------------------------------------------------- */

static double
size_of (const HassCudaSlot *slot)
{
  double n = 0;
  for (guint i = 0; i < slot->groups->len; i++)
    {
      const HassLayout *l
          = &g_array_index (slot->groups, HassCudaGroup, i).layout;
      n += MAX (l->n_elements, l->n);
    }
  return MAX (n, 1);
}

/* A bundle has just left. */
void
hass_cuda_note_pace (HassCudaDevice *d, const HassCudaSlot *slot)
{
  gint64 now = hass_cuda_now ();
  d->pace[1] = d->pace[0];
  d->pace[0] = (now - MAX (slot->submit_ns, d->last_end_ns)) / size_of (slot);
  d->last_end_ns = now;
}

/* When the oldest bundle is due; 0: nobody knows. */
static gint64
due_ns (const HassCudaDevice *d)
{
  const HassCudaSlot *oldest = &d->slots[d->queue[0]];
  double pace = MIN (d->pace[0], d->pace[1]);
  return pace > 0 ? MAX (oldest->submit_ns, d->last_end_ns)
                        + (gint64)(pace * size_of (oldest))
                  : 0;
}

/* A bundle that is done: its index in the queue; or n_queued. */
static guint
look (HassCudaDevice *d, GError **error)
{
  GError *inner = NULL;
  for (guint i = 0; i < d->n_queued && !inner; i++)
    if (passed (d, d->slots[d->queue[i]].kit->done, &inner))
      return i;
  if (inner)
    g_propagate_error (error, inner);
  return d->n_queued;
}

/* 2. Naps, with a look after each, until the bundle is overdue. */
static guint
nap (HassCudaDevice *d, GError **error)
{
  GError *inner = NULL;
  gint64 due = due_ns (d), left = due - hass_cuda_now ();
  gint64 late = CLAMP (left / 32, POLL_NS, MOST_POLL_NS);
  guint at = d->n_queued;
  if (due == 0 || left < WORTH_A_NAP_NS)
    return at;
  for (guint looks = 0; at == d->n_queued && !inner && looks < LATE_LOOKS;)
    {
      looks += left < late;
      sleep_ns (MAX ((gint64)(NAP_PART * left), late));
      at = look (d, &inner);
      left = due - hass_cuda_now ();
    }
  if (inner)
    g_propagate_error (error, inner);
  return at;
}

/* Which bundle is done: one that is, without waiting, or the oldest. Index
   into the queue, or n_queued: none yet, or an error. */
guint
hass_cuda_find_done (HassCudaDevice *d, gint64 timeout_ns, GError **error)
{
  GError *inner = NULL;
  HassCudaSlot *oldest = &d->slots[d->queue[0]];
  gint64 begin_ns = hass_cuda_now ();
  gint64 deadline = d->farm->bundle_deadline_ns;
  gint64 spin_ns = d->expected_ns < SPIN_FOR_NS ? SPIN_FOR_NS : 0;
  guint at;
  do
    at = look (d, &inner);
  while (at == d->n_queued && !inner && hass_cuda_now () - begin_ns < spin_ns);
  if (at == d->n_queued && !inner && deadline == 0)
    at = nap (d, &inner);
  if (inner)
    g_propagate_error (error, inner);
  if (at < d->n_queued || inner)
    return at;
  if (deadline == 0)
    return hass_gpu_check (d->gpu,
                           hass_cudart ()->event_wait (oldest->kit->done),
                           "wait for a bundle", error)
               ? 0
               : d->n_queued;
  gint64 until = MIN (begin_ns + timeout_ns, oldest->submit_ns + deadline);
  if (poll_until (d, oldest->kit->done, until, error))
    return 0;
  if ((!error || !*error) && past_deadline (d, oldest))
    note_hung (d, error);
  return d->n_queued;
}
