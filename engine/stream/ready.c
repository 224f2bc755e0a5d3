/* SPDX-License-Identifier: MIT */
/* ready.c: queues of batches, and the ready sets of the stages.
   Thread safety: any thread, under a queue's lock where the name says so. */
#include "stream-private.h"

void
hass_queue_init (HassBatchQueue *queue)
{
  pthread_mutex_init (&queue->lock, NULL);
}

void
hass_queue_clear (HassBatchQueue *queue)
{
  pthread_mutex_destroy (&queue->lock);
}

static void
note_oldest (HassBatchQueue *queue)
{
  atomic_store_explicit (&queue->oldest_ns,
                         queue->head ? queue->head->since_ns : 0,
                         memory_order_relaxed);
}

void
hass_queue_push_locked (HassBatchQueue *queue, HassBatch *batch)
{
  batch->link = NULL;
  if (queue->tail)
    queue->tail->link = batch;
  else
    queue->head = batch;
  queue->tail = batch;
  note_oldest (queue);
  atomic_fetch_add_explicit (&queue->n_tokens, MAX (batch->n, 1),
                             memory_order_relaxed);
}

/* Returns the first batch of the queue, NULL if it is empty. */
HassBatch *
hass_queue_pop_locked (HassBatchQueue *queue)
{
  HassBatch *batch = queue->head;
  if (!batch)
    return NULL;
  queue->head = batch->link;
  if (!queue->head)
    queue->tail = NULL;
  note_oldest (queue);
  atomic_fetch_sub_explicit (&queue->n_tokens, MAX (batch->n, 1),
                             memory_order_relaxed);
  return batch;
}

void
hass_queue_push_front_locked (HassBatchQueue *queue, HassBatch *batch)
{
  batch->link = queue->head;
  queue->head = batch;
  if (!queue->tail)
    queue->tail = batch;
  note_oldest (queue);
  atomic_fetch_add_explicit (&queue->n_tokens, MAX (batch->n, 1),
                             memory_order_relaxed);
}

static void
push (HassStream *stream, HassBatchQueue *queue, HassBatch *batch)
{
  pthread_mutex_lock (&queue->lock);
  hass_queue_push_locked (queue, batch);
  pthread_mutex_unlock (&queue->lock);
  atomic_fetch_add_explicit (&stream->n_ready, 1, memory_order_seq_cst);
}

/* Takes the first batch of a ready set, or its first @most tokens. Under the
   queue's lock. Returns: NULL if it is empty. */
HassBatch *
hass_ready_take_locked (HassStream *stream, HassStreamWorker *sw,
                        HassBatchQueue *queue, guint64 most)
{
  HassBatch *batch = hass_queue_pop_locked (queue);
  if (!batch)
    return NULL;
  if (batch->n > most)
    hass_queue_push_front_locked (
        queue, hass_batch_split (stream, sw, batch, (guint32)most));
  else
    atomic_fetch_sub_explicit (&stream->n_ready, 1, memory_order_relaxed);
  return batch;
}

/* Puts a batch that is too large for other devices where only cores take it. */
void
hass_cores_push (HassStream *stream, HassStageState *stage, HassBatch *batch)
{
  push (stream, &stage->cores, batch);
  stream->job->engine->changed (stream->job);
}

/* Puts a batch into the ready set of its stage and wakes those that may take
   it. */
void
hass_ready_push (HassStream *stream, HassBatch *batch)
{
  HassStageState *stage = &stream->stages[batch->stage];
  gboolean caller = stage->public.mode == HASS_STAGE_CALLER;
  push (stream, &stage->ready, batch);
  if (caller)
    atomic_store_explicit (&stream->job->caller_wanted, TRUE,
                           memory_order_seq_cst);
  stream->job->engine->changed (stream->job);
}
