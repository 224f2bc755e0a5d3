/* SPDX-License-Identifier: MIT */
/* restart.c: tokens of pure stages that a second device begins again.

   DESIGN. A device that computes a batch at a pure stage gets a stand-in: a
   batch outside the order with items of its own, which read the same inputs.
   The batch itself rests until a stand-in of it is done, and is given what that
   one has made. So a device that is late, or hangs, holds nothing that the
   stream waits for: another one may get a second stand-in, and the first that
   is done gives the batch its outputs; the other one's are dropped.
   1. While a batch has one stand-in, that one is in HassStream.held, the
      batches that may begin again.
   2. With the second stand-in they share a HassRace. It keeps the loads of the
      batch, as parts do (HassOrigin), until both are done: a load is not
      released while a device reads it.
   3. A stand-in that is done claims the batch; one that is not the first finds
      it claimed and is dropped. One that its device could not compute leaves
      the batch to the other, if there is one, else gives it back as it was.
   A failure of the user's worker claims the batch before it is listed, so that
   it is listed once and only if the token has failed. tests/model/restart.pml
   is the model.

   Thread safety: HassStream.race_lock decides; only the locks of memory are
   taken under it. A stand-in and, once that has claimed it, the batch belong to
   the thread that calls. */
#include "stream-private.h"

struct HassRace
{
  HassBatch *stand_ins[2]; /* NULL: has ended */
  gboolean claimed;
  HassItem *items; /* [n] of the batch, for their loads and inputs */
  guint32 n;
};

/* -- Stand-ins ---------------------------------------------------------- */

static void
list_held (HassStream *stream, HassBatch *stand_in)
{
  stand_in->newer = NULL;
  stand_in->older = stream->newest_held;
  if (stream->newest_held)
    stream->newest_held->newer = stand_in;
  else
    stream->oldest_held = stand_in;
  stream->newest_held = stand_in;
}

static void
unlist_held (HassStream *stream, HassBatch *stand_in)
{
  *(stand_in->older ? &stand_in->older->newer : &stream->oldest_held)
      = stand_in->newer;
  *(stand_in->newer ? &stand_in->newer->older : &stream->newest_held)
      = stand_in->older;
}

/* Makes a stand-in with copies of @items, for @device from @now_ns on. */
static HassBatch *
make (HassStream *stream, HassStreamWorker *sw, HassBatch *original,
      const HassItem *items, guint device, gint64 now_ns)
{
  HassBatch *s = hass_batch_new (stream, sw);
  hass_batch_reserve (stream, sw, s, original->n);
  s->n = original->n;
  s->stage = original->stage;
  s->since_ns = original->since_ns;
  s->charge = 0;
  s->owns_tags = FALSE;
  for (guint32 i = 0; i < s->n; i++)
    {
      hass_item_move (&s->items[i], &items[i]);
      s->charge += items[i].charge;
      s->owns_tags |= hass_item_owns_tag (stream, &items[i]);
      if (s->items[i].chunk)
        atomic_fetch_add_explicit (&s->items[i].chunk->refs, 1,
                                   memory_order_relaxed);
    }
  hass_batch_recount (s);
  s->original = original;
  s->race = NULL;
  s->device = device;
  s->begun_ns = now_ns;
  s->claims = s->second = FALSE;
  atomic_store_explicit (&s->lost, FALSE, memory_order_relaxed);
  return s;
}

static gint64
now_of (const HassWorker *worker)
{
  return worker->now_ns > 0 ? worker->now_ns
                            : worker->job->engine->now (worker->job);
}

/* Returns: what @device, which belongs to the worker, computes in the place of
   @batch at a pure stage. The caller owns both; the batch rests. */
HassBatch *
hass_stand_in_new (HassStream *stream, HassWorker *worker, HassBatch *batch,
                   guint device)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  HassBatch *s
      = make (stream, sw, batch, batch->items, device, now_of (worker));
  pthread_mutex_lock (&stream->race_lock);
  list_held (stream, s);
  pthread_mutex_unlock (&stream->race_lock);
  return s;
}

/* Claims the batch that a stand-in stands for, or finds that it has claimed it
   already. Returns: FALSE if the other one has. Under the lock. */
static gboolean
claim_locked (HassStream *stream, HassBatch *s)
{
  HassRace *race = s->race;
  if (!race)
    {
      if (!s->claims)
        unlist_held (stream, s);
    }
  else if (race->claimed && !s->claims)
    return FALSE;
  else
    race->claimed = TRUE;
  s->claims = TRUE;
  for (guint i = 0; race && i < 2; i++)
    if (race->stand_ins[i] && race->stand_ins[i] != s)
      atomic_store_explicit (&race->stand_ins[i]->lost, TRUE,
                             memory_order_relaxed);
  return TRUE;
}

gboolean
hass_stand_in_claim (HassStream *stream, HassBatch *stand_in)
{
  pthread_mutex_lock (&stream->race_lock);
  gboolean first = claim_locked (stream, stand_in);
  pthread_mutex_unlock (&stream->race_lock);
  return first;
}

/* Returns: TRUE if the batch has two stand-ins. Under the lock. */
static gboolean
has_rival (const HassBatch *stand_in)
{
  const HassRace *race = stand_in->race;
  return race && race->stand_ins[0] && race->stand_ins[1];
}

/* Claims the batch, of which the stand-in's device cannot compute a token,
   unless another device is at it. Returns: whether the stand-in has claimed
   it; FALSE also if @left: the token is left to the other device. */
gboolean
hass_stand_in_refuse (HassStream *stream, HassBatch *stand_in, gboolean *left)
{
  pthread_mutex_lock (&stream->race_lock);
  *left = has_rival (stand_in);
  gboolean first = !*left && claim_locked (stream, stand_in);
  pthread_mutex_unlock (&stream->race_lock);
  return first;
}

/* Gives the batch what its stand-in has made of its tokens. */
static void
give (HassStream *stream, HassStreamWorker *sw, HassBatch *batch, HassBatch *s)
{
  for (guint32 i = 0; i < batch->n; i++)
    {
      HassItem *item = &batch->items[i];
      HassOrigin *origin = item->origin;
      hass_chunk_unref (stream, sw, item->chunk);
      hass_item_move (item, &s->items[i]);
      item->origin = origin;
    }
  hass_batch_recount (batch);
}

/* Drops what a stand-in has made. @batch: NULL, or the batch that it gives back
   as it was, but for what is known now of its tokens. */
static void
drop (HassStream *stream, HassStreamWorker *sw, HassBatch *batch, HassBatch *s)
{
  gsize charged = 0;
  for (guint32 i = 0; i < s->n; i++)
    {
      charged += s->items[i].charge;
      hass_chunk_unref (stream, sw, s->items[i].chunk);
      hass_chunk_unref (stream, sw, s->items[i].fresh);
      if (!batch)
        continue;
      batch->items[i].one_stage = s->items[i].one_stage;
      if (s->items[i].state == HASS_ITEM_FAILED)
        batch->items[i].state = HASS_ITEM_FAILED;
    }
  if (batch)
    hass_batch_recount (batch);
  atomic_fetch_sub_explicit (&stream->bytes, charged - s->charge,
                             memory_order_relaxed);
}

/* Parts a stand-in from its batch. Returns: the race, if the other one has left
   it already, or NULL. Under the lock, unless all threads have left. */
static HassRace *
leave (HassBatch *s)
{
  HassRace *race = s->race;
  s->original = NULL;
  s->race = NULL;
  if (!race)
    return NULL;
  race->stand_ins[race->stand_ins[1] == s] = NULL;
  return race->stand_ins[0] || race->stand_ins[1] ? NULL : race;
}

/* Lets go of the loads of a batch of which both stand-ins have ended. @race:
   (nullable). */
static void
end_race (HassStream *stream, HassRace *race)
{
  guint32 loads = 0;
  if (!race)
    return;
  for (guint32 i = 0; i < race->n; i++)
    loads += (guint32)hass_origin_unref (stream, &race->items[i]);
  if (stream->job->farm->run->progress)
    atomic_fetch_add_explicit (&stream->job->loads_done, loads,
                               memory_order_relaxed);
  g_free (race->items);
  g_free (race);
}

/* Ends a stand-in. @done: its device has computed it. Returns: the batch, which
   the caller owns, with what was made of it if @done; NULL: it is another's. */
HassBatch *
hass_stand_in_end (HassStream *stream, HassStreamWorker *sw, HassBatch *s,
                   gboolean done)
{
  pthread_mutex_lock (&stream->race_lock);
  gboolean alone = !has_rival (s);
  gboolean mine = (done || alone || s->claims) && claim_locked (stream, s);
  HassBatch *batch = mine ? s->original : NULL;
  HassRace *over = leave (s);
  pthread_mutex_unlock (&stream->race_lock);
  if (mine && done && s->second)
    sw->stages[s->stage].overtaken += s->n;
  if (batch && done)
    give (stream, sw, batch, s);
  else
    drop (stream, sw, batch, s);
  s->n = 0;
  hass_batch_free (stream, sw, s);
  end_race (stream, over);
  return batch;
}

/* Ends a stand-in of a pipeline that is over, which has left its batch where it
   was. */
void
hass_stand_in_abandon (HassStream *stream, HassBatch *s)
{
  end_race (stream, leave (s));
}

/* -- Beginning again ---------------------------------------------------- */

static gboolean
may_begin_again (const HassStream *stream, const HassBatch *s, guint device)
{
  return s->device != device && !s->owns_tags
         && stream->classes[s->stage].devices >> device & 1;
}

/* Returns: the stand-in whose tokens come first in the stream of those that
   @device may begin again, at @stage alone unless that is negative; NULL: none.
   Under the lock. */
static HassBatch *
find_held (const HassStream *stream, guint device, gint stage)
{
  HassBatch *first = NULL;
  for (HassBatch *s = stream->oldest_held; s; s = s->newer)
    if (may_begin_again (stream, s, device)
        && (stage < 0 || s->stage == (guint)stage)
        && (!first
            || s->original->items[0].token.seq
                   < first->original->items[0].token.seq))
      first = s;
  return first;
}

HassHeld
hass_stream_held (HassStream *stream, guint device)
{
  HassHeld held = { 0 };
  if (!stream->restarts)
    return held;
  pthread_mutex_lock (&stream->race_lock);
  const HassBatch *s = find_held (stream, device, -1);
  if (s)
    held = (HassHeld){ .class_index = s->stage,
                       .device = s->device,
                       .units = s->original->n,
                       .since_ns = s->begun_ns };
  pthread_mutex_unlock (&stream->race_lock);
  return held;
}

/* Keeps the loads of the batch until the race is over. Under the lock. */
static HassRace *
make_race (const HassBatch *batch)
{
  HassRace *race = g_new0 (HassRace, 1);
  race->n = batch->n;
  race->items = g_new (HassItem, batch->n);
  for (guint32 i = 0; i < batch->n; i++)
    {
      HassItem *item = &batch->items[i];
      if (!item->origin)
        {
          item->origin = g_new0 (HassOrigin, 1);
          atomic_init (&item->origin->refs, 1);
        }
      atomic_fetch_add_explicit (&item->origin->refs, 1, memory_order_relaxed);
      hass_item_move (&race->items[i], item);
    }
  return race;
}

/* Makes the second stand-in of a batch, for @device, which belongs to the
   worker. Under the lock. */
static HassBatch *
make_second (HassStream *stream, HassWorker *worker, guint device,
             HassBatch *held)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  HassRace *race = make_race (held->original);
  unlist_held (stream, held);
  HassBatch *s
      = make (stream, sw, held->original, race->items, device, now_of (worker));
  held->race = s->race = race;
  s->second = TRUE;
  race->stand_ins[0] = held;
  race->stand_ins[1] = s;
  sw->stages[s->stage].again += s->n;
  return s;
}

/* Makes second stand-ins, of the tokens that hass_stream_held() tells of and of
   about @units at the same stage, for @device, which belongs to the worker.
   Returns: their list; NULL if there are none now. */
HassBatch *
hass_stand_ins_again (HassStream *stream, HassWorker *worker, guint device,
                      guint64 units)
{
  HassBatch *list = NULL, **end = &list, *held;
  gint stage = -1;
  guint64 n = 0;
  pthread_mutex_lock (&stream->race_lock);
  while (n < units && (held = find_held (stream, device, stage)))
    {
      stage = (gint)held->stage;
      n += held->n;
      *end = make_second (stream, worker, device, held);
      end = &(*end)->link;
    }
  pthread_mutex_unlock (&stream->race_lock);
  return list;
}
