/* SPDX-License-Identifier: MIT */
/* again.c: tokens that are sent back, and the others of their batch.

   DESIGN. A batch of which tokens are sent back goes round as a whole, on its
   core: each item says at which stage it is due, and stages before that one
   leave it out. So a round costs no lock and no other batch. When it has gone
   round for hass_stream_batch_ns() it is divided: into runs of tokens that are
   due at the same stage, so that no token waits for others for longer, or else
   into halves, so that other cores can compute. What goes back then waits in
   the ready set of its stage, so that other tokens are not kept waiting by one
   that goes round for long; it may go round for as long again. Devices compute
   all tokens of what they take; so where there are some, batches are divided at
   once.

   Thread safety: the thread that owns the batch. */
#include "stream-private.h"

/* Sets where the tokens of a batch are due that its stage has computed. At an
   ordered stage those that follow one that is sent back are not computed yet.
 */
void
hass_again_set_due (const HassStream *stream, HassBatch *batch)
{
  guint8 due = (guint8)(batch->stage + 1);
  for (guint32 i = 0; i < batch->n; i++)
    {
      HassItem *item = &batch->items[i];
      if (item->state != HASS_ITEM_AGAIN)
        {
          item->due = MAX (item->due, due);
          continue;
        }
      item->state = HASS_ITEM_ALIVE;
      batch->n_alive++;
      if (stream->stages[batch->stage].ordered)
        due = (guint8)batch->stage;
    }
}

/* Returns the stage that the batch, at which its own stage has computed all
   that it computes, comes to next: the first one at which tokens of it are due,
   but no ordered stage is left out on the way there, since the batch passes the
   turn of each on. If all tokens have ended, that after its own. */
guint
hass_again_due (const HassStream *stream, const HassBatch *batch)
{
  guint due = HASS_MAX_CLASSES, next = batch->stage + 1u;
  for (guint32 i = 0; i < batch->n; i++)
    if (batch->items[i].state == HASS_ITEM_ALIVE)
      due = MIN (due, batch->items[i].due);
  if (due <= next || due == HASS_MAX_CLASSES)
    return MIN (due, next);
  while (next < due && !stream->stages[next].ordered)
    next++;
  return next;
}

/* Returns: TRUE if the batch goes back as a whole. */
gboolean
hass_again_together (const HassStream *stream, const HassWorker *worker,
                     HassBatch *batch)
{
  if (batch->back_ns == 0)
    batch->back_ns = MAX (worker->now_ns, 1);
  if (!stream->linked && batch->n <= HASS_BATCH_TOKENS
      && (double)(worker->now_ns - batch->back_ns)
             < hass_stream_batch_ns (stream))
    return TRUE;
  batch->back_ns = 0;
  return FALSE;
}

/* Returns the index from which on the batch's tokens are due at one stage; what
   has ended belongs to the tokens before it. */
static guint32
last_run (const HassBatch *batch)
{
  guint32 first = batch->n;
  for (guint32 i = batch->n; i-- > 0;)
    {
      if (batch->items[i].state != HASS_ITEM_ALIVE)
        continue;
      if (first < batch->n && batch->items[i].due != batch->items[first].due)
        return first;
      first = i;
    }
  return 0;
}

/* Returns where to halve a batch that is due at one stage, so that another core
   computes one half; 0: that is not worth it. */
static guint32
middle (const HassStream *stream, const HassStreamWorker *sw,
        const HassBatch *batch)
{
  double one = atomic_load_explicit (&sw->stages[batch->stage].token_ns,
                                     memory_order_relaxed);
  return !stream->stages[batch->stage].ordered
                 && one * batch->n >= 2 * HASS_LEAST_BATCH_NS
             ? batch->n / 2
             : 0;
}

/* Splits the last run of a batch off; if the batch is one run and @halve, its
   second half where that is worth it. Returns: NULL if the batch remains as it
   is. */
HassBatch *
hass_again_divide (HassStream *stream, HassStreamWorker *sw, HassBatch *batch,
                   gboolean halve)
{
  guint32 at = last_run (batch);
  if (at == 0 && halve)
    at = middle (stream, sw, batch);
  return at > 0 ? hass_batch_split (stream, sw, batch, at) : NULL;
}
