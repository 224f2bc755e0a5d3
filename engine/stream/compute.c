/* SPDX-License-Identifier: MIT */
/* compute.c: runs a stage's CPU worker on the tokens of a batch.
   Thread safety: the thread that owns the batch and the worker's context. */
#include "stream-private.h"

#include "pool/callback_error.h"

/* Gives the token the output that the stage promises. Returns: FALSE if there
   is no memory for it; the pipeline is stopped. */
static gboolean
give_output (HassStream *stream, HassStreamWorker *sw,
             const HassStageState *stage, HassItem *item)
{
  gsize bytes
      = hass_device_stage_output (&stage->sizes, item->token.input_bytes);
  if (bytes == G_MAXSIZE)
    hass_job_stop (stream->job,
                   g_error_new (HASS_ERROR, HASS_ERROR_OVERFLOW,
                                "pipeline '%s', token %" G_GUINT64_FORMAT
                                ", %s: the promised size of its output, for "
                                "an input of %zu bytes, is too large",
                                stream->job->farm->name, item->token.seq,
                                stage->label, item->token.input_bytes));
  else
    item->fresh = hass_chunk_new (stream, sw, bytes);
  if (!item->fresh)
    return FALSE;
  sw->most_output = bytes;
  item->token.output = item->fresh->data;
  item->token.output_bytes = bytes;
  return TRUE;
}

/* Drops what the token of this index in its batch, the last that was computed,
   has emitted. */
static void
drop_parts (HassStream *stream, HassStreamWorker *sw, guint32 index)
{
  GArray *parts = sw->parts;
  HassPart *last;
  while (parts->len > 0
         && (last = &g_array_index (parts, HassPart, parts->len - 1))->index
                == index)
    {
      hass_part_discard (stream, sw, last);
      g_array_set_size (parts, parts->len - 1);
    }
  sw->has_parts = parts->len > 0;
}

/* Buffers of hass_token_buffer() that no part was emitted with are free. */
static void
drop_buffers (HassStream *stream, HassStreamWorker *sw)
{
  for (guint i = 0; i < sw->buffers->len; i++)
    hass_chunk_unref (stream, sw, g_ptr_array_index (sw->buffers, i));
  g_ptr_array_set_size (sw->buffers, 0);
  sw->has_buffers = FALSE;
}

/* Returns an error if the stage has made its output larger than it was. */
static GError *
check_output (const HassStreamWorker *sw, const HassItem *item)
{
  gsize most = item->fresh ? sw->most_output : 0;
  if (item->token.output_bytes <= most)
    return NULL;
  return g_error_new (HASS_ERROR, HASS_ERROR_INVALID,
                      "output_bytes was set to %zu, but the output has %zu",
                      item->token.output_bytes, most);
}

/* What follows the stage's call for a token that has an output, has emitted or
   has failed. Takes over @error. */
static void
settle (HassStream *stream, HassStreamWorker *sw, const HassStageState *stage,
        HassItem *item, GError *error)
{
  sw->item = NULL;
  if (!error)
    error = check_output (sw, item);
  if (!error && item->state == HASS_ITEM_AGAIN
      && item->agains > HASS_MOST_AGAINS)
    error
        = g_error_new (HASS_ERROR, HASS_ERROR_OVERFLOW,
                       "it was sent back more than %d times", HASS_MOST_AGAINS);
  if (error && sw->stand_in && !hass_stand_in_claim (stream, sw->stand_in))
    {
      g_error_free (error);
      item->state = HASS_ITEM_FAILED;
    }
  else if (error)
    {
      drop_parts (stream, sw, (guint32)(item - sw->items));
      hass_item_fail (stream, stage, item, error);
    }
  else
    hass_item_advance (stream, sw, item);
  if (sw->has_buffers)
    drop_buffers (stream, sw);
}

/* Runs a stage's worker on one token of the batch in @sw->items. */
static inline void
compute (HassStream *stream, HassStreamWorker *sw, HassWorker *worker,
         const HassStageState *stage, HassItem *item)
{
  GError *error = NULL;
  if (stage->promises && !give_output (stream, sw, stage, item))
    return;
  sw->item = item;
  gpointer tag = item->token.tag;
  gboolean ok
      = stage->compute (&item->token, worker, stage->public.user_data, &error);
  hass_callback_ok (ok, &error, HASS_ERROR_WORKER);
  if (G_UNLIKELY (stage->public.pure && item->token.tag != tag))
    hass_stream_misuse (stream, sw, "it has set the token's tag, but is pure");
  if (error || item->fresh || item->token.output_bytes > 0 || sw->has_buffers
      || item->state == HASS_ITEM_AGAIN)
    settle (stream, sw, stage, item, error);
}

/* Claims the batch for a stand-in that a core has computed. If another device
   was first, the tokens do not count, and their time says nothing of a token's.
 */
static void
claim (HassStream *stream, HassStreamWorker *sw, const HassBatch *batch)
{
  if (hass_stand_in_claim (stream, sw->stand_in))
    return;
  _Atomic guint64 *lost = &sw->stages[batch->stage].lost;
  atomic_store_explicit (
      lost, atomic_load_explicit (lost, memory_order_relaxed) + batch->n,
      memory_order_relaxed);
  sw->n_done = sw->n_stay = 0;
  sw->n_bytes = 0;
  sw->n_resting = batch->n;
}

/* Runs the stage's worker on the tokens of a batch that are due there; at an
   ordered stage up to and including one that is sent back, since the others
   wait until that one has come again. */
void
hass_stream_compute (HassStream *stream, HassWorker *worker, HassBatch *batch)
{
  HassJob *job = stream->job;
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  const HassStageState *stage = &stream->stages[batch->stage];
  sw->stage = batch->stage;
  sw->n_computed = sw->n_resting = sw->n_again = 0;
  sw->n_done = job->dry ? batch->n_alive : 0;
  sw->n_stay = 0;
  sw->n_bytes = 0;
  sw->items = batch->items;
  sw->stand_in = batch->original ? batch : NULL;
  hass_stream_note_running (stream, worker, batch);
  if (batch->n_alive > 0 && !job->dry)
    {
      if (stage->accumulators)
        worker->accumulator = stage->accumulators[worker->index];
      worker->unneeded = sw->stand_in ? &batch->lost : NULL;
      HassCallback before
          = hass_engine_enter_callback (stage->label, job, worker);
      for (guint32 i = 0; i < batch->n && !hass_job_stopping (job); i++)
        {
          HassItem *item = &batch->items[i];
          sw->n_computed = i + 1;
          if (item->state != HASS_ITEM_ALIVE)
            continue;
          if (item->due > batch->stage)
            {
              sw->n_resting++;
              continue;
            }
          sw->n_done++;
          sw->n_bytes += item->token.input_bytes;
          compute (stream, sw, worker, stage, item);
          if (item->state == HASS_ITEM_ALIVE)
            continue;
          batch->n_alive--;
          sw->n_stay++;
          if (item->state != HASS_ITEM_AGAIN)
            continue;
          sw->n_again++;
          if (!stage->ordered)
            continue;
          sw->n_resting += batch->n - sw->n_computed;
          break;
        }
      sw->item = NULL;
      hass_engine_leave_callback (before);
      worker->accumulator = NULL;
      worker->unneeded = NULL;
    }
  if (sw->stand_in)
    claim (stream, sw, batch);
}

/* Computes a token at a stage in the place of a device, which can neither emit
   parts nor send a token back. */
void
hass_item_compute (HassStream *stream, HassWorker *worker, guint s,
                   HassItem *item, HassBatch *stand_in)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  const HassStageState *stage = &stream->stages[s];
  sw->stage = s;
  HassCallback before
      = hass_engine_enter_callback (stage->label, stream->job, worker);
  sw->items = item;
  sw->stand_in = stand_in;
  compute (stream, sw, worker, stage, item);
  sw->item = NULL;
  hass_engine_leave_callback (before);
  drop_parts (stream, sw, 0);
  if (item->state == HASS_ITEM_AGAIN)
    item->state = HASS_ITEM_ALIVE;
}

/* Publishes what the worker computes, for strategies. */
void
hass_stream_note_running (HassStream *stream, const HassWorker *worker,
                          const HassBatch *batch)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  atomic_store_explicit (&sw->at_stage, batch->stage + 1, memory_order_relaxed);
  atomic_store_explicit (&sw->n_running, batch->n_alive, memory_order_relaxed);
}

/* Books the time that a batch took at its stage, and announces it; from now on
   the worker is not at the stage any more. Time is counted first, with release:
   who sees a token, or a helper's time, sees the time that holds it. */
void
hass_stream_count (HassStream *stream, HassWorker *worker,
                   const HassBatch *batch, gint64 begin_ns, gint64 end_ns)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  atomic_store_explicit (&sw->at_stage, 0, memory_order_relaxed);
  HassStageCount *c = &sw->stages[batch->stage];
  guint32 n = batch->n - sw->n_resting;
  gint64 helped_ns = hass_worker_take_helped (worker);
  gint64 busy_ns = end_ns - begin_ns + helped_ns;
  double one = (double)MAX (busy_ns, 1) / MAX (n, 1);
  double before = atomic_load_explicit (&c->token_ns, memory_order_relaxed);
  if (n > 0)
    atomic_store_explicit (&c->token_ns,
                           before > 0 ? 0.75 * before + 0.25 * one : one,
                           memory_order_relaxed);
#define ADD(field, value)                                                      \
  atomic_store_explicit (                                                      \
      &c->field,                                                               \
      atomic_load_explicit (&c->field, memory_order_relaxed) + (value),        \
      memory_order_release)
  ADD (busy_ns, busy_ns);
  ADD (helped_ns, helped_ns);
  ADD (bytes, sw->n_bytes);
  ADD (batches, 1);
  ADD (tokens, sw->n_done);
  if (batch->since_ns > 0 && !hass_batch_is_second (batch))
    ADD (waited_ns, MAX (begin_ns - batch->since_ns, 0) * (gint64)batch->n);
#undef ADD
  if (batch->n > 0)
    HASS_ANNOUNCE (stream->job, staged,
                   &(HassStaged){ .stage = batch->stage,
                                  .worker = worker->index,
                                  .first = batch->items[0].token.seq,
                                  .bytes = sw->n_bytes,
                                  .n_taken = sw->n_done,
                                  .n = sw->n_done - sw->n_stay,
                                  .begin_ns = begin_ns,
                                  .end_ns = end_ns });
}
