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
   there for the batch that it becomes. A batch of which a token is sent back to
   an earlier stage keeps its turn: its owner puts HERE into its cell again.
   tests/model/turn.pml is the model.

   A stage that computes fewer tokens at once than come to it is backed up when
   what waits there keeps it busy for MOST_SUPPLY times as long as a new token
   takes to arrive, until that is no longer so without the factor. Meanwhile no
   loads are admitted and no core comes for them: it could only make what waits
   more, and would take loads in small batches, the locks and, from a core that
   shares its processor, half the speed of the stage that binds.

   Thread safety: the thread that owns the batch. */
#include "stream-private.h"

/* Time in which a core that sleeps admits a token, in ns: to be woken, 25 us,
   and a batch, 20 us on up to four cores, twice. Lower, and the stage waits for
   a core; higher, and more tokens are in flight. */
#define ADMIT_NS 90000
/* Less, and cores are woken more often, for less (4: twice the core time on 16
   cores, tokens of 1 us); more, and more tokens are in flight. */
#define MOST_SUPPLY 64

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
    /* Acquire pairs with the release of the place by another core: what the
       strategy has said since is seen. */
    if (atomic_compare_exchange_weak_explicit (&stage->running, &n, n + 1,
                                               memory_order_acquire,
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

/* Notes whether the stage, of which @waiting tokens wait for this worker or for
   those that leave it next, is backed up. Where the worker has not measured the
   stages before it, it is not: a new token may take long. What other cores have
   measured (hass_stream_stage_ns()) does not count: this runs for each batch,
   and their counts lie in cache lines that they write. */
static void
note_waiting (HassStream *stream, const HassStreamWorker *sw,
              HassStageState *stage, gint64 waiting)
{
  guint own = (guint)(stage - stream->stages);
  double arrives = ADMIT_NS, one = 0;
  gboolean known = !stream->linked && waiting > 0;
  for (guint s = 0; s <= own && known; s++)
    {
      one = atomic_load_explicit (&sw->stages[s].token_ns,
                                  memory_order_relaxed);
      arrives += s < own ? one : 0;
      known = one > 0;
    }
  double supply = (double)waiting * one / MAX (stage->most, 1);
  if (stage->backed_up)
    arrives /= MOST_SUPPLY;
  gboolean now = known && supply > MOST_SUPPLY * arrives;
  if (now == stage->backed_up)
    return;
  stage->backed_up = now;
  atomic_fetch_add_explicit (&stream->n_backed_up, now ? 1 : (guint)-1,
                             memory_order_seq_cst);
  if (!now)
    stream->job->engine->changed (stream->job);
}

gboolean
hass_stream_backed_up (const HassStream *stream)
{
  return atomic_load_explicit (&stream->n_backed_up, memory_order_seq_cst) > 0;
}

/* Returns: TRUE if the batch may run at its stage now. FALSE: the batch waits,
   and the thread that leaves the stage next, or passes the turn on, will own
   it. */
gboolean
hass_stage_enter (HassStream *stream, HassBatch *batch)
{
  HassStageState *stage = &stream->stages[batch->stage];
  if (stage->ordered)
    {
      guint32 n = batch->n;
      /* Release hands the batch to the thread that passes the turn; acquire
         gives this thread what the batches before have written. */
      if (atomic_exchange_explicit (&batch->turn[batch->stage],
                                    HASS_TURN_PARKED, memory_order_acq_rel)
          == HASS_TURN_HERE)
        return TRUE;
      /* The other thread may have subtracted them already. */
      atomic_fetch_add_explicit (&stage->n_parked, n, memory_order_relaxed);
      return FALSE;
    }
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

/* Lets a batch that has the turn of its stage come to it again before the turn
   is passed on. */
void
hass_stage_keep_turn (HassBatch *batch)
{
  /* Relaxed: until the batch leaves the stage, its owner alone uses the cell,
     and what hands the batch to another owner publishes it. */
  atomic_store_explicit (&batch->turn[batch->stage], HASS_TURN_HERE,
                         memory_order_relaxed);
}

/* Ends the batch's stay at its stage. Returns: a batch that may run there now
   and that the caller owns, or NULL. */
HassBatch *
hass_stage_leave (HassStream *stream, const HassStreamWorker *sw,
                  HassBatch *batch)
{
  HassStageState *stage = &stream->stages[batch->stage];
  if (stage->ordered)
    {
      HassBatch *next = batch->next;
      /* Before the turn is passed, since who gets it notes the same. A batch
         that is parked remains so until then. */
      gboolean comes = atomic_load_explicit (&next->turn[batch->stage],
                                             memory_order_relaxed)
                       == HASS_TURN_PARKED;
      note_waiting (
          stream, sw, stage,
          comes ? atomic_load_explicit (&stage->n_parked, memory_order_relaxed)
                : 0);
      if (atomic_exchange_explicit (&next->turn[batch->stage], HASS_TURN_HERE,
                                    memory_order_acq_rel)
          != HASS_TURN_PARKED)
        return NULL;
      atomic_fetch_sub_explicit (&stage->n_parked, next->n,
                                 memory_order_relaxed);
      return next;
    }
  if (stage->linked)
    hass_stage_give_place (stream, stage);
  if (stage->most == 0 || stage->linked)
    return NULL;
  pthread_mutex_lock (&stage->waiting.lock);
  note_waiting (stream, sw, stage, (gint64)stage->waiting.n_tokens);
  HassBatch *next = hass_queue_pop_locked (&stage->waiting);
  if (!next)
    stage->running--;
  pthread_mutex_unlock (&stage->waiting.lock);
  return next;
}
