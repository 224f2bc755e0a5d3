/* SPDX-License-Identifier: MIT */
/* turn.c: who may run at a stage: the turns of ordered stages, the places of
   SERIAL stages and of those with at_once.

   DESIGN. At an ordered stage each batch has a cell with three states: NONE,
   PARKED, HERE. A batch that comes puts PARKED into its cell; if HERE was there
   before, it may run. A batch that leaves puts HERE into the cell of its
   successor; if PARKED was there before, the thread that leaves owns the
   successor from now on and runs it. Each of the two exchanges happens once for
   a batch and stage, so exactly one of the two threads sees the other's value.
   The last batch of the order has no tokens yet: a turn that comes to it waits
   there for the batch that it becomes. tests/model/turn.pml is the model.

   Thread safety: the thread that owns the batch. */
#include "stream-private.h"

/* Returns: the most batches that cores compute at a linked stage at once, by
   its own bound and that of the strategy. */
static guint
most_of (const HassStageState *stage)
{
  guint asked = atomic_load_explicit (&stage->at_once, memory_order_relaxed);
  return MIN (asked > 0 ? asked : G_MAXUINT,
              stage->most > 0 ? stage->most : G_MAXUINT);
}

/* Returns: whether a linked stage has a place for a core. Any thread. */
gboolean
hass_stage_has_place (const HassStageState *stage)
{
  return atomic_load_explicit (&stage->running, memory_order_seq_cst)
         < most_of (stage);
}

/* Takes a place at a linked stage for a core. Any thread. Returns: FALSE if
   there is none. */
gboolean
hass_stage_reserve (HassStageState *stage)
{
  guint most = most_of (stage);
  guint n = atomic_load_explicit (&stage->running, memory_order_relaxed);
  while (n < most)
    if (atomic_compare_exchange_weak_explicit (&stage->running, &n, n + 1,
                                               memory_order_relaxed,
                                               memory_order_relaxed))
      return TRUE;
  return FALSE;
}

/* Gives a place at a linked stage back. */
void
hass_stage_give_place (HassStream *stream, HassStageState *stage)
{
  guint n
      = atomic_fetch_sub_explicit (&stage->running, 1, memory_order_seq_cst);
  if (n >= most_of (stage))
    stream->job->engine->changed (stream->job); /* see may_take() */
}

/* Returns: TRUE if the batch may run at its stage now. FALSE: the batch waits,
   and the thread that leaves the stage next, or passes the turn on, will own
   it. */
gboolean
hass_stage_enter (HassStream *stream, HassBatch *batch)
{
  HassStageState *stage = &stream->stages[batch->stage];
  if (stage->ordered)
    /* Release hands the batch to the thread that passes the turn; acquire
       gives this thread what the batches before have written. */
    return atomic_exchange_explicit (&batch->turn[batch->stage],
                                     HASS_TURN_PARKED, memory_order_acq_rel)
           == HASS_TURN_HERE;
  if (stage->most == 0 || stage->linked) /* take_ready() has a place */
    return TRUE;
  pthread_mutex_lock (&stage->waiting.lock);
  gboolean go = stage->running < stage->most;
  if (go)
    stage->running++;
  else
    hass_queue_push_locked (&stage->waiting, batch);
  pthread_mutex_unlock (&stage->waiting.lock);
  return go;
}

/* Ends the batch's stay at its stage. Returns: a batch that may run there now
   and that the caller owns, or NULL. */
HassBatch *
hass_stage_leave (HassStream *stream, HassBatch *batch)
{
  HassStageState *stage = &stream->stages[batch->stage];
  if (stage->ordered)
    {
      HassBatch *next = batch->next;
      return atomic_exchange_explicit (&next->turn[batch->stage],
                                       HASS_TURN_HERE, memory_order_acq_rel)
                     == HASS_TURN_PARKED
                 ? next
                 : NULL;
    }
  if (stage->linked)
    hass_stage_give_place (stream, stage);
  if (stage->most == 0 || stage->linked)
    return NULL;
  pthread_mutex_lock (&stage->waiting.lock);
  HassBatch *next = hass_queue_pop_locked (&stage->waiting);
  if (!next)
    stage->running--;
  pthread_mutex_unlock (&stage->waiting.lock);
  return next;
}
