/* SPDX-License-Identifier: MIT */
/* admit.c: makes batches of the loads that wait.

   DESIGN. One core admits at a time; another one that finds it at work looks
   elsewhere. Loads are copied out of the load pool, which is free for the
   generator at once. The last batch of the order is always there and has no
   tokens: admitting fills it and makes its successor, so that a turn can be
   passed on before its next batch exists.

   Thread safety: any worker; under admit_lock. */
#include "stream-private.h"

/* Loads that are taken from the pool at once. A guess: more, and the generator
   gets room late; fewer, and the pool's lock is taken more often. */
#define SPAN_LOADS 256

/* Returns how many tokens a batch should have that begins at @stage, by this
   worker's measurements of the stages from there on. */
guint32
hass_stream_batch_size (HassStream *stream, const HassStreamWorker *sw,
                        guint stage)
{
  double ns = 0;
  for (guint s = stage; s < stream->n_stages; s++)
    ns += atomic_load_explicit (&sw->stages[s].token_ns, memory_order_relaxed);
  if (ns <= 0)
    return 1;
  return (guint32)CLAMP (HASS_BATCH_NS / ns, 1, HASS_BATCH_TOKENS);
}

/* Returns how many loads are not admitted yet. Any thread. */
guint64
hass_stream_n_waiting (const HassStream *stream)
{
  return hass_load_pool_waiting (stream->job->pool)
         + atomic_load_explicit (&stream->n_pending, memory_order_relaxed);
}

/* Returns the time that a core takes for a token at the stages from @first on,
   in ns, by the times that this worker, or else another one, has measured at
   each. Stages that nobody has measured count as nothing. Any thread. */
double
hass_stream_token_ns (const HassStream *stream, const HassWorker *worker,
                      guint first)
{
  double ns = 0;
  for (guint s = first; s < stream->n_stages; s++)
    {
      double one = 0;
      for (guint i = 0; i < stream->job->n_workers && one <= 0; i++)
        {
          guint w = (worker->index + i) % stream->job->n_workers;
          one = atomic_load_explicit (&stream->workers[w].stages[s].token_ns,
                                      memory_order_relaxed);
        }
      ns += one;
    }
  return ns;
}

/* Returns the time that a core takes for the loads that wait, in ns; 0: it is
   unknown, or stages run on other devices as well. Any thread. */
double
hass_stream_waiting_ns (const HassStream *stream, const HassWorker *worker)
{
  return stream->linked ? 0
                        : hass_stream_token_ns (stream, worker, 0)
                              * (double)hass_stream_n_waiting (stream);
}

/* Returns the most tokens that this worker's next batch may have. */
static guint32
batch_limit (HassStream *stream, const HassStreamWorker *sw)
{
  guint32 size = hass_stream_batch_size (stream, sw, 0);
  guint64 fair
      = hass_stream_n_waiting (stream) / (2 * MAX (stream->job->n_cores, 1));
  guint64 least = (guint64)size * HASS_LEAST_BATCH_NS / HASS_BATCH_NS;
  size = MIN (size, 8 * sw->last_batch);
  return (guint32)MAX (MIN (size, MAX (fair, least)), 1);
}

static void
note_pending (HassStream *stream)
{
  atomic_store_explicit (&stream->n_pending,
                         stream->pending.n - stream->pending_at,
                         memory_order_relaxed);
}

/* Takes loads from the pool if all that were taken are admitted. Returns: FALSE
   if none waits. */
static gboolean
refill (HassStream *stream)
{
  HassJob *job = stream->job;
  if (stream->pending_at < stream->pending.n)
    return TRUE;
  if (!hass_load_pool_next (job->pool, SPAN_LOADS, &stream->pending))
    {
      stream->pending.n = stream->pending_at = 0;
      return FALSE;
    }
  stream->pending_at = 0;
  stream->pending_seq = job->n_loads;
  job->n_loads += stream->pending.n;
  note_pending (stream);
  return TRUE;
}

/* Copies up to @most loads into @batch, as many as the bounds leave room for.
 */
static void
fill (HassStream *stream, HassStreamWorker *sw, HassBatch *batch, guint32 most)
{
  const HassSpan *span = &stream->pending;
  guint64 in_flight
      = atomic_load_explicit (&stream->n_tokens, memory_order_relaxed);
  guint64 bytes = atomic_load_explicit (&stream->bytes, memory_order_relaxed);
  guint64 charged = 0;
  gsize most_tokens
      = atomic_load_explicit (&stream->most_tokens, memory_order_relaxed);
  if (in_flight >= most_tokens)
    return;
  most = (guint32)MIN (most, most_tokens - in_flight);
  most = MIN (most, span->n - stream->pending_at);
  hass_batch_reserve (stream, sw, batch, most);
  while (batch->n < most)
    {
      const HassLoad *load
          = &span->loads[(span->base + stream->pending_at) & span->mask];
      gsize charge = hass_item_charge (stream, load->input_bytes);
      if (in_flight + batch->n > 0
          && bytes + charged + charge > stream->most_bytes)
        {
          atomic_store_explicit (&stream->next_charge, charge,
                                 memory_order_relaxed);
          break;
        }
      HassItem *item = &batch->items[batch->n++];
      hass_item_begin (item, load, stream->pending_seq + stream->pending_at++);
      item->charge = charge;
      charged += charge;
    }
  batch->n_alive = batch->n;
  note_pending (stream);
  atomic_fetch_add_explicit (&stream->n_tokens, batch->n, memory_order_seq_cst);
  if (charged > 0)
    atomic_fetch_add_explicit (&stream->bytes, charged, memory_order_relaxed);
}

/* Gives the pool its place back when all loads taken from it are copied. */
static void
give_place (HassStream *stream)
{
  HassJob *job = stream->job;
  if (stream->pending_at < stream->pending.n)
    return;
  hass_load_pool_release (job->pool, &stream->pending);
  stream->pending.n = stream->pending_at = 0;
  /* An addition, not a load: see hass_emitter_make_room(). */
  if (atomic_fetch_add_explicit (&job->full, 0, memory_order_acq_rel))
    hass_event_notify (&job->event);
}

/* Makes a batch of waiting loads. Returns: a batch at stage 0 that the caller
   owns; NULL if no load waits, there is no room, or another thread admits. */
HassBatch *
hass_stream_admit (HassStream *stream, HassWorker *worker)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  HassBatch *batch = NULL;
  if (hass_job_stopping (stream->job) || hass_stream_backed_up (stream)
      || pthread_mutex_trylock (&stream->admit_lock) != 0)
    return NULL;
  if (refill (stream))
    {
      batch = stream->open;
      fill (stream, sw, batch, batch_limit (stream, sw));
      if (batch->n > 0)
        {
          sw->last_batch = batch->n;
          stream->open = batch->next = hass_batch_new (stream, sw);
          give_place (stream);
        }
      else
        batch = NULL;
    }
  pthread_mutex_unlock (&stream->admit_lock);
  return batch;
}
