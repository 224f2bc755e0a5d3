/* SPDX-License-Identifier: MIT */
/* admit.c: makes batches of the loads that wait.

   DESIGN. One core admits at a time; another one that finds it at work looks
   elsewhere.
   1. Under admit_lock a core is given the next loads, which are counted in the
      bounds, and the last batch of the order, which is always there and has no
      tokens; it makes the batch's successor, so that a turn can be passed on
      before the next batch exists.
   2. Without the lock it copies its loads out of the load pool, while others
      are given theirs. The loads lie in an intake, a span of the pool; its last
      copier makes the span free for the generator.

   Thread safety: any worker. */
#include "stream-private.h"

/* Loads that are taken from the pool at once. A guess: more, and the generator
   gets room late; fewer, and the pool's lock is taken more often. */
#define SPAN_LOADS 256

/* Returns an intake of which all loads are copied: one that was used before, or
   a new one. */
static HassIntake *
free_intake (HassStream *stream)
{
  for (guint i = 0; i < stream->intakes->len; i++)
    {
      HassIntake *intake = stream->intakes->pdata[i];
      /* Acquire pairs with the release in copy(): the last copier has read the
         span before it is written again. */
      if (atomic_load_explicit (&intake->left, memory_order_acquire) == 0)
        return intake;
    }
  HassIntake *intake
      = g_aligned_alloc0 (1, sizeof (HassIntake), HASS_CACHE_LINE);
  g_ptr_array_add (stream->intakes, intake);
  return intake;
}

void
hass_stream_admit_init (HassStream *stream)
{
  pthread_mutex_init (&stream->admit_lock, NULL);
  stream->intakes
      = g_ptr_array_new_with_free_func ((GDestroyNotify)g_aligned_free);
  stream->intake = free_intake (stream);
}

void
hass_stream_admit_clear (HassStream *stream)
{
  g_ptr_array_unref (stream->intakes);
  pthread_mutex_destroy (&stream->admit_lock);
}

/* Returns the work that a batch should have, in ns. */
double
hass_stream_batch_ns (const HassStream *stream)
{
  return MAX (HASS_BATCH_NS, (double)stream->job->n_cores * HASS_CORE_BATCH_NS);
}

/* Returns the time of a token from @stage on, in ns, by this worker's
   measurements; 0: it has none. */
static double
own_token_ns (const HassStream *stream, const HassStreamWorker *sw, guint stage)
{
  double ns = 0;
  for (guint s = stage; s < stream->n_stages; s++)
    ns += atomic_load_explicit (&sw->stages[s].token_ns, memory_order_relaxed);
  return ns;
}

/* Returns how many tokens of @token_ns a batch of so much @work, in ns, has. */
static guint32
tokens_of_work (double work, double token_ns)
{
  return token_ns > 0 ? (guint32)CLAMP (work / token_ns, 1, HASS_BATCH_TOKENS)
                      : 1;
}

/* Returns how many tokens a batch should have that begins at @stage, by this
   worker's measurements. */
guint32
hass_stream_batch_size (const HassStream *stream, const HassStreamWorker *sw,
                        guint stage)
{
  return tokens_of_work (hass_stream_batch_ns (stream),
                         own_token_ns (stream, sw, stage));
}

/* Returns how many loads are not admitted yet. Any thread. */
guint64
hass_stream_n_waiting (const HassStream *stream)
{
  return hass_load_pool_waiting (stream->job->pool)
         + atomic_load_explicit (&stream->n_pending, memory_order_relaxed);
}

/* Returns the time of a token at a stage, in ns, that this worker, or else
   another core, has measured; 0: none has. Any thread. */
double
hass_stream_stage_ns (const HassStream *stream, const HassWorker *worker,
                      guint s)
{
  guint n = MAX (stream->job->n_cores, 1);
  double ns = 0;
  for (guint i = 0; i < n && ns <= 0; i++)
    ns = atomic_load_explicit (
        &stream->workers[(worker->index + i) % n].stages[s].token_ns,
        memory_order_relaxed);
  return ns;
}

/* Returns the time that a core takes for a token at the stages from @first on,
   in ns, by hass_stream_stage_ns(); stages without a measurement count as
   nothing. Any thread. */
double
hass_stream_token_ns (const HassStream *stream, const HassWorker *worker,
                      guint first)
{
  double ns = 0;
  for (guint s = first; s < stream->n_stages; s++)
    ns += hass_stream_stage_ns (stream, worker, s);
  return ns;
}

/* Returns the time that a core other than the generating thread's would take
   for the loads that wait, in ns, to the first stage that only that thread can
   compute; < 0: it is unknown, or stages run on other devices as well. Any
   thread. */
double
hass_stream_waiting_ns (const HassStream *stream, const HassWorker *worker)
{
  double ns = 0;
  guint s = 0;
  for (; s < stream->n_stages
         && stream->stages[s].public.mode != HASS_STAGE_CALLER;
       s++)
    ns += hass_stream_stage_ns (stream, worker, s);
  return stream->linked || (s > 0 && ns <= 0)
             ? -1
             : ns * (double)hass_stream_n_waiting (stream);
}

/* Returns the most tokens that this worker's next batch may have while
   @n_waiting loads are not admitted yet: half of this worker's share of them,
   but no less than HASS_LEAST_BATCH_NS of work. */
guint32
hass_stream_batch_limit (const HassStream *stream, const HassStreamWorker *sw,
                         guint64 n_waiting)
{
  guint64 fair = n_waiting / (2 * MAX (stream->job->n_cores, 1));
  double ns = own_token_ns (stream, sw, 0);
  guint32 least = tokens_of_work (HASS_LEAST_BATCH_NS, ns);
  guint32 size = tokens_of_work (hass_stream_batch_ns (stream), ns);
  size = MIN (size, 8 * sw->last_batch);
  return (guint32)MAX (MIN (size, MAX (fair, least)), 1);
}

static void
note_pending (HassStream *stream)
{
  atomic_store_explicit (&stream->n_pending,
                         stream->intake->span.n - stream->intake->at,
                         memory_order_relaxed);
}

/* Takes loads from the pool if all that were taken are admitted. Returns: FALSE
   if none waits. */
static gboolean
refill (HassStream *stream)
{
  HassJob *job = stream->job;
  HassSpan span;
  if (hass_intake_has_loads (stream->intake))
    return TRUE;
  if (!hass_load_pool_next (job->pool, SPAN_LOADS, &span))
    return FALSE;
  HassIntake *intake = stream->intake = free_intake (stream);
  intake->span = span;
  intake->at = 0;
  intake->seq = job->n_loads;
  atomic_store_explicit (&intake->left, span.n, memory_order_relaxed);
  job->n_loads += span.n;
  note_pending (stream);
  return TRUE;
}

/* Loads that a core has been given: from the @first of an intake on. */
typedef struct
{
  HassIntake *intake;
  guint32 first, n;
  gsize asked;     /* HassStream.asked_bytes when they were counted */
  guint64 charged; /* bytes that count for them in the bound */
} Admitted;

/* Counts how many of the next loads, at most @most, the bound on bytes leaves
   room for, given @bytes of tokens in flight if there are any. Unless as many
   loads of the largest size so far could exceed it, none of them is read here,
   under the lock. */
static void
count_bytes (HassStream *stream, Admitted *a, guint32 most, guint64 bytes,
             gboolean any)
{
  const HassSpan *span = &a->intake->span;
  gsize largest = hass_item_charge (
      stream, hass_load_pool_largest (stream->job->pool), a->asked);
  hass_stream_note_size (stream, largest);
  gsize bound
      = atomic_load_explicit (&stream->most_bytes, memory_order_relaxed);
  if (span->from_ring && bytes < bound && largest <= (bound - bytes) / most)
    {
      a->n = most;
      a->charged = (guint64)most * largest;
      return;
    }
  for (; a->n < most; a->n++)
    {
      const HassLoad *load = hass_intake_load (a->intake, a->first + a->n);
      gsize charge = hass_item_charge (stream, load->input_bytes, a->asked);
      hass_stream_note_size (stream, charge);
      bound = atomic_load_explicit (&stream->most_bytes, memory_order_relaxed);
      if ((any || a->n > 0) && bytes + a->charged + charge > bound)
        {
          atomic_store_explicit (&stream->next_charge, charge,
                                 memory_order_relaxed);
          return;
        }
      a->charged += charge;
    }
}

/* Counts tokens that begin, and what they count in the bound on bytes. Under
   admit_lock, or where no other thread admits: nobody else adds. */
void
hass_stream_count_begun (HassStream *stream, guint32 n, guint64 bytes)
{
  guint64 n_begun
      = atomic_load_explicit (&stream->n_begun, memory_order_relaxed);
  guint64 bytes_begun
      = atomic_load_explicit (&stream->bytes_begun, memory_order_relaxed);
  atomic_store_explicit (&stream->n_begun, n_begun + n, memory_order_relaxed);
  atomic_store_explicit (&stream->bytes_begun, bytes_begun + bytes,
                         memory_order_relaxed);
  atomic_fetch_add_explicit (&stream->n_tokens, n, memory_order_seq_cst);
  if (bytes > 0)
    atomic_fetch_add_explicit (&stream->bytes, bytes, memory_order_relaxed);
}

/* Gives a core up to @most of the next loads, as many as the bounds leave room
   for. */
static Admitted
give (HassStream *stream, guint32 most)
{
  HassIntake *intake = stream->intake;
  Admitted a = { .intake = intake, .first = intake->at };
  guint64 in_flight
      = atomic_load_explicit (&stream->n_tokens, memory_order_relaxed);
  gsize most_tokens
      = atomic_load_explicit (&stream->most_tokens, memory_order_relaxed);
  if (in_flight >= most_tokens)
    return a;
  most = (guint32)MIN (most, most_tokens - in_flight);
  most = MIN (most, intake->span.n - intake->at);
  a.asked = atomic_load_explicit (&stream->asked_bytes, memory_order_relaxed);
  count_bytes (stream, &a, most,
               atomic_load_explicit (&stream->bytes, memory_order_relaxed),
               in_flight > 0);
  intake->at += a.n;
  note_pending (stream);
  hass_stream_count_begun (stream, a.n, a.charged);
  return a;
}

/* Copies the loads that a core was given into its batch. The last copier of an
   intake gives the loads' place back to the pool. */
static void
copy (HassStream *stream, HassStreamWorker *sw, HassBatch *batch,
      const Admitted *a)
{
  HassJob *job = stream->job;
  const HassSpan span = a->intake->span;
  guint64 charged = 0;
  hass_batch_reserve (stream, sw, batch, a->n);
  for (; batch->n < a->n; batch->n++)
    {
      HassItem *item = &batch->items[batch->n];
      const HassLoad *load = hass_intake_load (a->intake, a->first + batch->n);
      hass_item_begin (item, load, a->intake->seq + a->first + batch->n);
      item->charge = hass_item_charge (stream, load->input_bytes, a->asked);
      charged += item->charge;
    }
  batch->n_alive = batch->n;
  if (charged < a->charged)
    atomic_fetch_sub_explicit (&stream->bytes, a->charged - charged,
                               memory_order_relaxed);
  /* Release: the loads are read before their place and the intake are used
     again; acquire: so are those that other cores have copied. */
  if (atomic_fetch_sub_explicit (&a->intake->left, a->n, memory_order_acq_rel)
      != a->n)
    return;
  hass_load_pool_release (job->pool, &span);
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
  Admitted a = { 0 };
  if (hass_job_stopping (stream->job) || hass_stream_backed_up (stream)
      || pthread_mutex_trylock (&stream->admit_lock) != 0)
    return NULL;
  if (refill (stream))
    a = give (stream, hass_stream_batch_limit (stream, sw,
                                               hass_stream_n_waiting (stream)));
  if (a.n > 0)
    {
      batch = stream->open;
      sw->last_batch = a.n;
      stream->open = batch->next = hass_batch_new (stream, sw);
    }
  pthread_mutex_unlock (&stream->admit_lock);
  if (batch)
    copy (stream, sw, batch, &a);
  return batch;
}
