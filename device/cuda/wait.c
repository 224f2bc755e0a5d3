/* SPDX-License-Identifier: MIT */
/* wait.c: waiting for bundles on a GPU, and draining them; steps 2 and 4 of
   cuda.c.

   DESIGN. The proxy thread polls, and sleeps between two looks for half of the
   time until the end that it expects, or since then. So it looks more often the
   nearer that end is. Where bundles are in flight it expects the next one to
   take as long as the last one did, or less, if it has fewer blocks. A blocking
   wait of the CUDA runtime would not need this, but where all cores compute it
   returns as late as 2 ms after the bundle, and the GPU is idle meanwhile; and
   for a GPU that hangs it never returns.

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

#include <time.h>

#include "hass/error.h"

/* It spins instead of sleeping for less than this, in ns: about what it takes
   to sleep and wake. */
#define LEAST_POLL_NS 10000
/* Longest pause between looks for a bundle, in ns. Where bundles differ, or
   several are computed at the same time, the expected end is wrong, and one is
   found late by as much: longer, and the device waits; shorter, and looks take
   more of a core (doc/results/large-loads.md). */
#define MOST_POLL_NS 500000
/* For so long in ns a stream that is drained may answer with errors that are
   not sticky; then nothing is known of it, and the device is lost. A guess. */
#define BLIND_NS 1000000000

/* Calls @look until it returns TRUE or the time is @until_ns. What it looks for
   is expected to end at @end_ns, or at any moment if that has passed. Returns:
   what @look has returned last. */
gboolean
hass_cuda_poll (HassCudaDevice *d, HassCudaLook look, gpointer data,
                gint64 end_ns, gint64 most_pause_ns, gint64 until_ns)
{
  end_ns = MAX (end_ns, hass_clock_ns ());
  while (!look (d, data))
    {
      gint64 now = hass_clock_ns ();
      if (now >= until_ns)
        return FALSE;
      gint64 pause = MIN (ABS (end_ns - now) / 2, most_pause_ns);
      pause = MIN (pause, until_ns - now);
      if (pause < LEAST_POLL_NS)
        continue;
      struct timespec t = { pause / 1000000000, pause % 1000000000 };
      nanosleep (&t, NULL);
    }
  return TRUE;
}

/* -- One event ------------------------------------------------------------- */

typedef struct
{
  gpointer event;
  const char *what;
  GError *error;
} Awaited;

static gboolean
look_at_event (HassCudaDevice *d, gpointer data)
{
  Awaited *a = data;
  return hass_cuda_passed (d, a->event, a->what, &a->error) || a->error;
}

/* Waits until the event has completed, at most until @until_ns. Returns: FALSE
   without an error if it has not completed in time, with one, which begins with
   @what, if the device is broken. */
gboolean
hass_cuda_await_until (HassCudaDevice *d, gpointer event, gint64 until_ns,
                       const char *what, GError **error)
{
  Awaited a = { event, what, NULL };
  gboolean ended
      = hass_cuda_poll (d, look_at_event, &a, 0, MOST_POLL_NS, until_ns);
  if (!a.error)
    return ended;
  g_propagate_error (error, a.error);
  return FALSE;
}

/* Returns: when a bundle that began at @since_ns must have ended. */
static gint64
deadline_ns (const HassCudaDevice *d, gint64 since_ns)
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
  if (hass_cuda_await_until (d, event, deadline_ns (d, since_ns), what, &inner))
    return TRUE;
  if (inner)
    g_propagate_error (error, inner);
  else
    hass_cuda_note_hung (d, what, error);
  return FALSE;
}

/* -- Which one is done ------------------------------------------------- */

typedef struct
{
  guint at; /* index in the queue; n_queued: none */
  guint n_looks;
  GError *error;
} Found;

/* Looks for a bundle that is done. */
static gboolean
look_at_queue (HassCudaDevice *d, gpointer data)
{
  Found *found = data;
  found->n_looks++;
  for (guint i = 0; i < d->n_queued; i++)
    if (hass_cuda_passed (d, d->slots[d->queue[i]].kit->done,
                          "wait for a bundle", &found->error))
      {
        found->at = i;
        return TRUE;
      }
    else if (found->error)
      return TRUE;
  return FALSE;
}

/* Returns: what the bundle in a slot is expected to take: as long as the last
   one, or less, if it has fewer blocks. */
static gint64
expected_ns (const HassCudaDevice *d, guint slot)
{
  gsize n = d->slots[slot].n_blocks;
  if (n >= d->expected_blocks)
    return d->expected_ns;
  return (gint64)((double)d->expected_ns * (double)n
                  / (double)d->expected_blocks);
}

/* Returns: the index in the queue of a bundle that is done. If none is done
   yet, waits for one, at most @timeout_ns. Returns n_queued if none is done by
   then, or with an error. */
guint
hass_cuda_find_done (HassCudaDevice *d, gint64 timeout_ns, GError **error)
{
  Found found = { .at = d->n_queued };
  /* The oldest computes since it was submitted, after the bundle before it. */
  gint64 begin_ns = MAX (d->slots[d->queue[0]].submit_ns, d->done_ns);
  gint64 until_ns
      = MIN (hass_clock_ns () + timeout_ns, deadline_ns (d, d->oldest_ns));
  gboolean ended = hass_cuda_poll (d, look_at_queue, &found,
                                   begin_ns + expected_ns (d, d->queue[0]),
                                   MOST_POLL_NS, until_ns);
  if (!ended && hass_cuda_past_deadline (d, d->oldest_ns))
    hass_cuda_note_hung (d, "a bundle", &found.error);
  if (found.error)
    g_propagate_error (error, found.error);
  else if (ended)
    {
      d->done_ns = hass_clock_ns ();
      /* Otherwise it may have been done for a while. */
      d->awaited = found.n_looks > 1;
      if (d->awaited)
        {
          d->expected_ns = d->done_ns - begin_ns;
          d->expected_blocks = d->slots[d->queue[found.at]].n_blocks;
        }
    }
  return found.at;
}

/* -- Draining ------------------------------------------------------------ */

typedef struct
{
  gpointer stream;
  gint64 answer_ns; /* of the last answer; then, of the begin of waiting */
  gboolean empty;
} Draining;

/* An error that is not sticky says nothing about the stream, and another look
   may. Returns: whether waiting is over: it is empty, or no answer will come.
 */
static gboolean
look_at_stream (HassCudaDevice *d, gpointer data)
{
  Draining *s = data;
  GError *error = NULL;
  s->empty = hass_cuda_has_ended (d, hass_cudart ()->stream_query (s->stream),
                                  "drain a stream", &error);
  gint64 now = hass_clock_ns ();
  if (!error)
    s->answer_ns = now;
  g_clear_error (&error);
  return s->empty || hass_gpus_broken () || now >= s->answer_ns + BLIND_NS;
}

/* Waits until all work of the stream has ended, successful or not, at most
   until @until_ns. Returns: FALSE if it has not ended by then, or if nothing
   says so. */
gboolean
hass_cuda_drain_until (HassCudaDevice *d, gpointer stream, gint64 until_ns)
{
  Draining s = { .stream = stream, .answer_ns = hass_clock_ns () };
  hass_cuda_poll (d, look_at_stream, &s, 0, MOST_POLL_NS, until_ns);
  return s.empty;
}

/* The same, until the deadline of a bundle that began at @since_ns, which marks
   the GPU as hanging. */
gboolean
hass_cuda_drain_stream (HassCudaDevice *d, gpointer stream, gint64 since_ns)
{
  if (hass_cuda_drain_until (d, stream, deadline_ns (d, since_ns)))
    return TRUE;
  if (hass_cuda_past_deadline (d, since_ns))
    hass_cuda_note_hung (d, "a bundle", NULL);
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
  /* Other bundles may be on the streams of its copies, too: their time is not
     this one's. */
  gint64 now = hass_clock_ns ();
  gboolean ok = hass_cuda_drain_stream (d, kit->stream, now);
  for (guint i = 0; i < kit->n_side && ok; i++)
    ok = hass_cuda_drain_stream (d, kit->side[i], now);
  gpointer links[] = { slot->in_stream, slot->out_stream };
  for (guint i = 0; i < G_N_ELEMENTS (links) && ok; i++)
    ok = links[i] == kit->stream || hass_cuda_drain_stream (d, links[i], now);
  if (ok)
    hass_cuda_sent (d, slot);
  d->lost |= !ok;
  return ok;
}
