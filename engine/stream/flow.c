/* SPDX-License-Identifier: MIT */
/* flow.c: where a batch goes, and which one a core takes.
   Thread safety: the thread that owns the batch and the worker's context. */
#include "stream-private.h"

/* -- The end of a batch ------------------------------------------------- */

/* Ends the tokens of a batch, all of them or those that have been dropped or
   have failed; the others stay in the batch. */
void
hass_batch_end (HassStream *stream, HassStreamWorker *sw, HassBatch *batch,
                gboolean all)
{
  HassJob *job = stream->job;
  guint64 charge = 0, bytes = 0;
  guint32 kept = 0, loads = 0;
  for (guint32 i = 0; i < batch->n; i++)
    {
      HassItem *item = &batch->items[i];
      if (!all && item->state == HASS_ITEM_ALIVE)
        {
          if (kept++ != i)
            hass_item_move (&batch->items[kept - 1], item);
          continue;
        }
      charge += item->charge;
      bytes += item->load.input_bytes;
      loads += (guint32)hass_item_end (stream, sw, item);
    }
  guint32 n = batch->n - kept;
  batch->n = kept;
  if (charge > 0)
    atomic_fetch_sub_explicit (&stream->bytes, charge, memory_order_relaxed);
  if (job->farm->run->progress)
    {
      atomic_fetch_add_explicit (&job->units_done, n, memory_order_relaxed);
      atomic_fetch_add_explicit (&job->bytes_done, bytes, memory_order_relaxed);
      atomic_fetch_add_explicit (&job->loads_done, loads, memory_order_relaxed);
    }
  if (n > 0
      && atomic_fetch_sub_explicit (&stream->n_tokens, n, memory_order_seq_cst)
             == n
      && atomic_load_explicit (&job->generated, memory_order_seq_cst))
    job->engine->changed (job);
}

/* -- The way of a batch ------------------------------------------------- */

static gboolean
is_for_caller (const HassStream *stream, const HassBatch *batch)
{
  return stream->stages[batch->stage].public.mode == HASS_STAGE_CALLER
         && batch->n_alive > 0;
}

/* Carries a batch, which has just come to its stage, on as far as nobody need
   compute it. Returns: the batch, if this worker may compute it now at its
   stage; NULL if it has ended or waits somewhere. */
static HassBatch *
carry (HassStream *stream, HassWorker *worker, HassBatch *batch)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  for (;; batch->stage++)
    {
      batch->entered = FALSE;
      if (batch->stage == stream->n_stages)
        {
          hass_batch_end (stream, sw, batch, TRUE);
          hass_batch_free (stream, sw, batch);
          return NULL;
        }
      const HassStageState *stage = &stream->stages[batch->stage];
      if (!stage->ordered && batch->n_alive == 0)
        continue;
      batch->since_ns = worker->now_ns;
      if (stage->linked)
        {
          if (batch->n_alive < batch->n)
            hass_batch_end (stream, sw, batch, FALSE);
          hass_ready_push (stream, batch);
          return NULL;
        }
      if (!hass_stage_enter (stream, batch))
        return NULL;
      batch->entered = TRUE;
      if (!is_for_caller (stream, batch) || worker->index == 0)
        return batch;
      hass_ready_push (stream, batch);
      return NULL;
    }
}

/* Carries a batch on and leaves it to whoever may compute it. */
void
hass_batch_dispatch (HassStream *stream, HassWorker *worker, HassBatch *batch)
{
  batch = carry (stream, worker, batch);
  if (batch)
    hass_ready_push (stream, batch);
}

/* -- After a stage ------------------------------------------------------ */

/* Divides a batch that parts have made long, so that other cores can compute
   them: all but its front are dispatched to the stage that follows. */
static void
divide (HassStream *stream, HassWorker *worker, HassBatch *batch)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  guint32 most = hass_stream_batch_size (stream, sw, batch->stage);
  while (batch->n > most)
    {
      /* The last batch is split off first, so each goes in front of the one
         before. */
      guint32 at = (batch->n - 1) / most * most;
      hass_batch_dispatch (stream, worker,
                           hass_batch_split (stream, sw, batch, at));
    }
}

/* In a pipeline that stops, counts the tokens that the last stage has computed
   as finished. */
static void
note_finished (const HassStream *stream, const HassStreamWorker *sw,
               HassBatch *batch)
{
  for (guint32 i = 0;
       i < sw->n_computed && batch->stage == stream->n_stages - 1; i++)
    if (batch->items[i].state == HASS_ITEM_ALIVE)
      batch->items[i].state = HASS_ITEM_DROPPED;
}

/* Returns which of two batches that this worker may compute it goes on with:
   @first, unless it has none. The other one goes to its ready set. */
static HassBatch *
choose (HassStream *stream, HassBatch *first, HassBatch *second)
{
  if (!first)
    return second;
  if (second)
    hass_ready_push (stream, second);
  return first;
}

/* Sends a batch whose time of going round is over to the stage where it is due.
   Returns: the batch that this worker goes on with: what goes back makes room
   for others, and for @mine, a batch that the worker may compute, or NULL. */
static HassBatch *
send (HassStream *stream, HassWorker *worker, HassBatch *batch, HassBatch *mine)
{
  guint from = batch->stage;
  batch->stage = hass_again_due (stream, batch);
  gboolean is_back = batch->stage <= from;
  if (batch->n > HASS_BATCH_TOKENS)
    divide (stream, worker, batch);
  batch = carry (stream, worker, batch);
  if (!is_back)
    return choose (stream, batch, mine);
  if (batch)
    hass_ready_push (stream, batch);
  return mine;
}

/* Ends the stay of a batch, of which some tokens have been sent back, at its
   stage. Returns: as hass_stream_next(), but for @freed: the batch that may run
   at the stage now, or NULL. */
static HassBatch *
go_back (HassStream *stream, HassWorker *worker, HassBatch *batch,
         HassBatch **freed)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  const HassStageState *stage = &stream->stages[batch->stage];
  HassBatch *mine = NULL, *rest;
  hass_again_set_due (stream, batch);
  gboolean together = hass_again_together (stream, worker, batch);
  guint due = hass_again_due (stream, batch);
  if (together && due == batch->stage)
    {
      batch->since_ns = worker->now_ns;
      return batch; /* it has its turn or place already */
    }
  if (!together)
    /* The last part first, so each goes in front of the one before. */
    for (gboolean halve = TRUE;
         (rest = hass_again_divide (stream, sw, batch, halve)); halve = FALSE)
      mine = send (stream, worker, rest, mine);
  if (stage->ordered && hass_again_due (stream, batch) <= batch->stage)
    hass_stage_keep_turn (batch);
  else
    *freed = hass_stage_leave (stream, sw, batch);
  if (!together)
    return send (stream, worker, batch, mine);
  batch->stage = due;
  return carry (stream, worker, batch);
}

/* Returns: TRUE if it takes this worker less time to compute a batch at the
   stages that are left than to have another core do it. */
static gboolean
is_cheap (HassStream *stream, const HassWorker *worker, const HassBatch *batch)
{
  const HassJob *job = stream->job;
  if (!job->engine->waking_ns || stream->linked)
    return FALSE;
  double one = hass_stream_token_ns (stream, worker, batch->stage);
  return one > 0
         && one * batch->n_alive
                < (double)job->engine->waking_ns (stream->job, worker);
}

/* Returns: TRUE if this is the first batch that a core has computed at a stage
   that devices share: the strategy learns what it took before the core's place
   there is free, since another core may take that at once. */
static gboolean
is_news (const HassStream *stream, const HassStreamWorker *sw,
         const HassBatch *batch)
{
  return stream->stages[batch->stage].linked
         && atomic_load_explicit (&sw->stages[batch->stage].batches,
                                  memory_order_relaxed)
                == 1;
}

/* As hass_stream_next(), of the batch alone. */
static HassBatch *
go_on (HassStream *stream, HassWorker *worker, HassBatch *batch)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  HassBatch *mine, *freed = NULL;
  gboolean parts = sw->has_parts;
  if (is_news (stream, sw, batch))
    hass_stream_consult (stream, worker->now_ns, FALSE, TRUE);
  if (batch->original)
    {
      guint s = batch->stage;
      if (!(batch = hass_stand_in_end (stream, sw, batch, TRUE)))
        {
          hass_stage_give_place (stream, &stream->stages[s]);
          return NULL;
        }
    }
  if (hass_job_stopping (stream->job))
    {
      note_finished (stream, sw, batch);
      return NULL; /* its tokens are found when the pipeline is over */
    }
  if (parts)
    hass_batch_insert_parts (stream, sw, batch);
  if (sw->n_again > 0)
    mine = go_back (stream, worker, batch, &freed);
  else
    {
      freed = hass_stage_leave (stream, sw, batch);
      batch->stage++;
      if (parts)
        divide (stream, worker, batch);
      mine = carry (stream, worker, batch);
    }
  if (!freed)
    return mine;
  freed->entered = TRUE;
  if (is_for_caller (stream, freed) && worker->index != 0)
    {
      hass_ready_push (stream, freed);
      return mine;
    }
  if (!mine || sw->later || !is_cheap (stream, worker, mine))
    return choose (stream, freed, mine);
  sw->later = freed;
  return mine;
}

/* Ends a batch's stay at the stage that has just computed it. Returns: the
   batch that this worker should compute now, which may be another one; NULL:
   none. */
HassBatch *
hass_stream_next (HassStream *stream, HassWorker *worker, HassBatch *batch)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  batch = go_on (stream, worker, batch);
  return batch ? batch : g_steal_pointer (&sw->later);
}

/* -- What a core takes -------------------------------------------------- */

/* Returns: TRUE if cores may take from a ready set of a stage where they have a
   place. */
static gboolean
is_open (HassStream *stream, guint s, gboolean caller)
{
  HassStageState *stage = &stream->stages[s];
  guint64 n
      = atomic_load_explicit (&stage->ready.n_tokens, memory_order_relaxed);
  if (stage->linked
      && atomic_load_explicit (&stage->cores.n_tokens, memory_order_relaxed)
             > 0)
    return TRUE;
  if (n == 0 || !stage->public.cpu
      || (stage->public.mode == HASS_STAGE_CALLER && !caller))
    return FALSE;
  return !stage->linked
         || (n > atomic_load_explicit (&stage->leave, memory_order_relaxed)
             && !(caller
                  && hass_stream_caller_declines (
                      stream, s, hass_stream_n_waiting (stream) + n)));
}

/* Returns: TRUE if cores may take from a ready set of a stage. */
static gboolean
may_take (HassStream *stream, guint s, gboolean caller)
{
  HassStageState *stage = &stream->stages[s];
  return (!stage->linked || hass_stage_has_place (stage))
         && is_open (stream, s, caller);
}

/* Takes a batch from a ready set of a stage, a single token where the strategy
   bounds the tokens on cores. Returns: what the core computes; NULL if there is
   none. */
static HassBatch *
pop_ready (HassStream *stream, HassWorker *worker, HassStageState *stage)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  HassBatchQueue *queue
      = atomic_load_explicit (&stage->cores.n_tokens, memory_order_relaxed) > 0
            ? &stage->cores
            : &stage->ready;
  gboolean single
      = atomic_load_explicit (&stage->at_once, memory_order_relaxed) > 0;
  pthread_mutex_lock (&queue->lock);
  HassBatch *batch
      = hass_ready_take_locked (stream, sw, queue, single ? 1 : G_MAXUINT32);
  pthread_mutex_unlock (&queue->lock);
  if (batch && stage->restarts && queue == &stage->ready)
    return hass_stand_in_new (stream, worker, batch, (guint)stream->job->cpu);
  return batch;
}

static HassBatch *
take_ready (HassStream *stream, HassWorker *worker, guint s)
{
  HassStageState *stage = &stream->stages[s];
  while (may_take (stream, s, worker->index == 0))
    {
      if (stage->linked && !hass_stage_reserve (stage))
        return NULL;
      /* Another core may have had the place since may_take(), and the strategy
         may have learnt from it that cores should take no more. */
      HassBatch *batch
          = stage->linked && !is_open (stream, s, worker->index == 0)
                ? NULL
                : pop_ready (stream, worker, stage);
      if (!batch)
        {
          if (stage->linked)
            hass_stage_give_place (stream, stage);
          return NULL;
        }
      if (stage->public.mode == HASS_STAGE_CALLER && may_take (stream, s, TRUE))
        atomic_store_explicit (&stream->job->caller_wanted, TRUE,
                               memory_order_relaxed);
      if (batch->entered || hass_stage_enter (stream, batch))
        {
          batch->entered = TRUE;
          return batch;
        }
    }
  return NULL;
}

/* Finds a ready batch, in the stream's order, of the stages before @end and of
   those that compute one token at a time. */
static HassBatch *
take_before (HassStream *stream, HassWorker *worker, guint end)
{
  HassBatch *batch = NULL;
  if (atomic_load_explicit (&stream->n_ready, memory_order_relaxed) > 0)
    for (guint i = 0; !batch && i < stream->n_stages; i++)
      if (stream->order[i] < end
          || stream->stages[stream->order[i]].public.mode
                 != HASS_STAGE_PARALLEL)
        batch = take_ready (stream, worker, stream->order[i]);
  return batch;
}

/* Returns: TRUE if the generating thread should make no token of a load, which
   it would then compute. */
static gboolean
declines_loads (HassStream *stream)
{
  return !stream->stages[0].linked
         && hass_stream_caller_declines (stream, 0,
                                         hass_stream_n_waiting (stream));
}

/* Makes batches of loads that wait, until one is for this worker. */
static HassBatch *
begin_tokens (HassStream *stream, HassWorker *worker)
{
  HassBatch *batch;
  if (worker->index == 0 && declines_loads (stream))
    return NULL;
  while ((batch = hass_stream_admit (stream, worker)))
    if ((batch = carry (stream, worker, batch)))
      return batch;
  return NULL;
}

/* Makes up to @most batches of loads that wait, if they come to a stage that
   @device can run: for a device that has found nothing, while cores are busy
   and make none. Returns: TRUE if it has made some. */
gboolean
hass_stream_begin_for (HassStream *stream, HassWorker *worker, guint device,
                       guint most)
{
  HassBatch *batch;
  guint n = 0;
  if (!(stream->classes[0].devices >> device & 1))
    return FALSE;
  for (; n < most && (batch = hass_stream_admit (stream, worker)); n++)
    hass_batch_dispatch (stream, worker, batch);
  return n > 0;
}

/* Finds a batch for a core: of what the strategy wants to be fed first, else
   from the first ready set in the stream's order that has one, else of loads
   that wait. Returns: a batch that the worker may compute at its stage and
   owns; NULL if there is nothing to do. */
HassBatch *
hass_stream_take (HassStream *stream, HassWorker *worker)
{
  if (worker->index == 0
      && atomic_load_explicit (&stream->job->caller_wanted,
                               memory_order_relaxed))
    atomic_store_explicit (&stream->job->caller_wanted, FALSE,
                           memory_order_seq_cst);
  HassBatch *batch = NULL;
  guint feed = atomic_load_explicit (&stream->feed, memory_order_relaxed);
  if (feed > 0
      && ((batch = take_before (stream, worker, feed - 1))
          || (batch = begin_tokens (stream, worker))))
    return batch;
  if ((batch = take_before (stream, worker, stream->n_stages)))
    return batch;
  return feed > 0 ? NULL : begin_tokens (stream, worker);
}

/* Returns: TRUE if a core may find something to do beside @others that look for
   work as well. @caller: the core is the calling thread. */
gboolean
hass_stream_has_work (HassJob *job, gboolean caller, guint others)
{
  HassStream *stream = hass_stream_of (job);
  if (atomic_load_explicit (&stream->n_ready, memory_order_seq_cst) > others)
    for (guint s = 0; s < stream->n_stages; s++)
      if (may_take (stream, s, caller))
        return TRUE;
  guint64 tokens
      = atomic_load_explicit (&stream->n_tokens, memory_order_seq_cst);
  if (tokens
          >= atomic_load_explicit (&stream->most_tokens, memory_order_relaxed)
      || (tokens > 0
          && atomic_load_explicit (&stream->bytes, memory_order_relaxed)
                     + atomic_load_explicit (&stream->next_charge,
                                             memory_order_relaxed)
                 > atomic_load_explicit (&stream->most_bytes,
                                         memory_order_relaxed))
      || hass_stream_backed_up (stream) || (caller && declines_loads (stream)))
    return FALSE;
  return hass_stream_n_waiting (stream) > others;
}

/* Returns: TRUE if no load waits and no token is in flight. */
gboolean
hass_stream_idle (HassStream *stream)
{
  if (atomic_load_explicit (&stream->n_tokens, memory_order_seq_cst) > 0)
    return FALSE;
  pthread_mutex_lock (&stream->admit_lock);
  gboolean idle
      = !hass_intake_has_loads (stream->intake)
        && hass_load_pool_waiting (stream->job->pool) == 0
        && atomic_load_explicit (&stream->n_tokens, memory_order_seq_cst) == 0;
  pthread_mutex_unlock (&stream->admit_lock);
  return idle;
}
