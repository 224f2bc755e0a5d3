/* SPDX-License-Identifier: MIT */
/* wait.c: waiting for bundles on a GPU, and draining them; steps 2 and 4 of
   cuda.c.

   DESIGN. The proxy thread polls for bundles, with pauses of a sixteenth of
   what a bundle takes, 20 to 200 us, to which Linux adds up to 50; it spins
   only if one is expected within 60 us. A blocking wait of the CUDA runtime
   would cost less, but where all cores compute it returns as late as 2 ms after
   the bundle, and the GPU is idle meanwhile. It is for rare waits without a
   deadline: for a GPU that hangs it never returns.

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

#include <time.h>

#include "hass/error.h"

#define SPIN_FOR_NS 60000
#define POLL_NS 20000
#define MOST_POLL_NS 200000
/* Looks during a bundle: it is found late by as much of its time. A guess:
   fewer, and the device waits for longer; more, and they cost the cores more.
 */
#define LOOKS 16
#define DRAIN_TRIES 3

static void
sleep_ns (gint64 ns)
{
  struct timespec t = { ns / 1000000000, ns % 1000000000 };
  nanosleep (&t, NULL);
}

/* Returns: whether the event has completed; FALSE with an error if the device
   is broken. */
gboolean
hass_cuda_passed (HassCudaDevice *d, gpointer event, const char *what,
                  GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  int code = cuda->event_query (event);
  if (cuda->classify (code) == HASS_CUDA_NOT_READY)
    {
      cuda->last_error ();
      return FALSE;
    }
  return hass_gpu_check (d->gpu, code, what, error);
}

/* Polls the event, with pauses that double from POLL_NS to MOST_POLL_NS, until
   it has completed or the time is @until_ns. Returns: FALSE without an error
   if it has not completed in time, with one if the device is broken. */
static gboolean
poll_until (HassCudaDevice *d, gpointer event, gint64 until_ns, GError **error)
{
  GError *inner = NULL;
  gint64 pause = POLL_NS;
  while (!hass_cuda_passed (d, event, "wait for a bundle", &inner))
    {
      if (inner)
        {
          g_propagate_error (error, inner);
          return FALSE;
        }
      if (hass_clock_ns () >= until_ns)
        return FALSE;
      sleep_ns (pause);
      pause = MIN (2 * pause, MOST_POLL_NS);
    }
  return TRUE;
}

gboolean
hass_cuda_past_deadline (HassCudaDevice *d, gint64 since_ns)
{
  gint64 deadline = d->farm->bundle_deadline_ns;
  return deadline > 0 && hass_clock_ns () >= since_ns + deadline;
}

/* Marks the GPU as hanging and sets @error, which names @what has exceeded the
   deadline. */
void
hass_cuda_note_hung (HassCudaDevice *d, const char *what, GError **error)
{
  hass_gpu_note_hung (d->gpu);
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
               "%s: %s took longer than %" G_GINT64_FORMAT " ms", d->gpu->name,
               what, d->farm->bundle_deadline_ns / 1000000);
}

/* Returns: whether to poll events instead of blocking in CUDA: with a
   deadline, or on a GPU that is known to hang, a blocking wait might never
   return. */
static gboolean
must_poll (const HassCudaDevice *d)
{
  return d->farm->bundle_deadline_ns > 0 || hass_gpu_hangs (d->gpu);
}

static gint64
until (const HassCudaDevice *d, gint64 since_ns)
{
  gint64 deadline = d->farm->bundle_deadline_ns;
  return deadline > 0 ? since_ns + deadline : G_MAXINT64;
}

/* Waits until the event has completed, at most until the deadline of a bundle
   that began at @since_ns. Returns: FALSE with an error if the deadline
   passed, which marks the GPU as hanging, or if the device is broken. */
gboolean
hass_cuda_await (HassCudaDevice *d, gpointer event, gint64 since_ns,
                 const char *what, GError **error)
{
  GError *inner = NULL;
  if (!must_poll (d))
    return hass_gpu_check (d->gpu, hass_cudart ()->event_wait (event), what,
                           error);
  if (poll_until (d, event, until (d, since_ns), &inner))
    return TRUE;
  if (inner)
    g_propagate_error (error, inner);
  else
    hass_cuda_note_hung (d, what, error);
  return FALSE;
}

/* -- Which one is done ------------------------------------------------- */

/* Returns: the index in the queue of a bundle that is done, without waiting;
   n_queued if there is none, also after an error. */
static guint
look (HassCudaDevice *d, GError **error)
{
  GError *inner = NULL;
  for (guint i = 0; i < d->n_queued && !inner; i++)
    if (hass_cuda_passed (d, d->slots[d->queue[i]].kit->done,
                          "wait for a bundle", &inner))
      return i;
  if (inner)
    g_propagate_error (error, inner);
  return d->n_queued;
}

/* Returns: the index in the queue of a bundle that is done. If none is done
   yet, waits for one, at most @timeout_ns. Returns n_queued if none is done by
   then, or with an error. */
guint
hass_cuda_find_done (HassCudaDevice *d, gint64 timeout_ns, GError **error)
{
  gint64 submit_ns = d->slots[d->queue[0]].submit_ns; /* of the oldest */
  gint64 begin_ns = hass_clock_ns ();
  gint64 spin_ns = d->expected_ns < SPIN_FOR_NS ? SPIN_FOR_NS : 0;
  gint64 until_ns = MIN (begin_ns + timeout_ns, until (d, submit_ns));
  for (;;)
    {
      GError *inner = NULL;
      guint at = look (d, &inner);
      gint64 now = hass_clock_ns ();
      if (!inner && at == d->n_queued && now >= until_ns
          && hass_cuda_past_deadline (d, submit_ns))
        hass_cuda_note_hung (d, "a bundle", &inner);
      if (inner)
        g_propagate_error (error, inner);
      if (inner || at < d->n_queued || now >= until_ns)
        return at;
      if (now - begin_ns < spin_ns)
        continue;
      gint64 expected_ns = MAX ((gint64)d->expected_ns, now - begin_ns);
      gint64 pause = CLAMP (expected_ns / LOOKS, POLL_NS, MOST_POLL_NS);
      sleep_ns (MIN (pause, until_ns - now));
    }
}

/* -- Draining ------------------------------------------------------------ */

/* Waits until all work of the stream has ended, successful or not: records
   @event behind this work and waits for the event. Tries again after an error,
   up to DRAIN_TRIES times. Returns: FALSE if the event does not complete in
   time. */
gboolean
hass_cuda_drain_stream (HassCudaDevice *d, gint64 since_ns, gpointer stream,
                        gpointer event)
{
  const HassCudart *cuda = hass_cudart ();
  for (guint i = 0; i < DRAIN_TRIES; i++)
    {
      if (!hass_gpu_check (d->gpu, cuda->event_record (event, stream),
                           "record an event", NULL))
        continue;
      if (hass_cuda_await (d, event, since_ns, "a bundle", NULL))
        return TRUE;
      if (hass_cuda_past_deadline (d, since_ns))
        return FALSE;
    }
  return FALSE;
}

/* Step 4, drain: waits until everything that the slot's bundle has enqueued,
   on its main stream, its side streams and those of its copies, has ended;
   called after a failure, before buffers are used again. Then unpins the pages
   of the inputs. Returns: FALSE if the work does not end; the device is lost
   then. */
gboolean
hass_cuda_drain (HassCudaDevice *d, HassCudaSlot *slot)
{
  HassGpuKit *kit = slot->kit;
  gboolean ok
      = hass_cuda_drain_stream (d, slot->submit_ns, kit->stream, kit->done);
  for (guint i = 0; i < kit->n_side && ok; i++)
    ok = hass_cuda_drain_stream (d, slot->submit_ns, kit->side[i],
                                 kit->joined[i]);
  gpointer links[] = { slot->in_stream, slot->out_stream };
  for (guint i = 0; i < G_N_ELEMENTS (links) && ok; i++)
    ok = links[i] == kit->stream
         || hass_cuda_drain_stream (d, slot->submit_ns, links[i], kit->done);
  if (ok)
    hass_cuda_sent (d, slot);
  d->lost |= !ok;
  return ok;
}
