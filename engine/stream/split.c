/* SPDX-License-Identifier: MIT */
/* split.c: divides batches and puts parts into them.

   DESIGN. A batch that is divided keeps its front; the rest becomes its
   successor in the order. A turn that the front has, or gets, passes to the
   rest before it passes to the batch that came after both.

   Thread safety: the thread that owns the batch. */
#include "stream-private.h"

void
hass_batch_recount (HassBatch *batch)
{
  batch->n_alive = 0;
  for (guint32 i = 0; i < batch->n; i++)
    batch->n_alive += batch->items[i].state == HASS_ITEM_ALIVE;
}

/* Moves the items from index @at on to a new batch, at the same stage, that
   follows @batch in the order. Returns: the new batch, which the caller owns.
 */
HassBatch *
hass_batch_split (HassStream *stream, HassStreamWorker *sw, HassBatch *batch,
                  guint32 at)
{
  HassBatch *rest = hass_batch_new (stream, sw);
  hass_batch_reserve (stream, sw, rest, batch->n - at);
  rest->n = batch->n - at;
  for (guint32 i = 0; i < rest->n; i++)
    hass_item_move (&rest->items[i], &batch->items[at + i]);
  batch->n = at;
  rest->stage = batch->stage;
  rest->since_ns = batch->since_ns;
  rest->next = batch->next;
  batch->next = rest;
  hass_batch_recount (rest);
  batch->n_alive -= rest->n_alive;
  return rest;
}

/* Replaces tokens that have emitted parts by these. */
void
hass_batch_insert_parts (HassStream *stream, HassStreamWorker *sw,
                         HassBatch *batch)
{
  GArray *parts = sw->parts;
  guint32 n = batch->n, n_old = n, at = 0;
  HassItem *old = g_memdup2 (batch->items, n * sizeof *old);
  hass_batch_reserve (stream, sw, batch, n + parts->len);
  batch->n = 0;
  for (guint32 i = 0; i < n_old; i++)
    {
      guint32 first = at;
      while (at < parts->len && g_array_index (parts, HassPart, at).index == i)
        hass_item_move (&batch->items[batch->n++],
                        &g_array_index (parts, HassPart, at++).item);
      if (at == first)
        hass_item_move (&batch->items[batch->n++], &old[i]);
      else
        {
          /* the memory of the load stays until all parts are through */
          old[i].origin->charge += old[i].charge;
          hass_item_end (stream, sw, &old[i]);
        }
    }
  atomic_fetch_add_explicit (&stream->n_tokens, (guint64)batch->n - n_old,
                             memory_order_seq_cst);
  g_array_set_size (parts, 0);
  sw->has_parts = FALSE;
  g_free (old);
  hass_batch_recount (batch);
}

guint
hass_batch_stage (const HassBatch *batch)
{
  return batch->stage;
}

guint32
hass_batch_size (const HassBatch *batch)
{
  return batch->n;
}

/* Returns: TRUE if another device has computed the batch meanwhile. */
gboolean
hass_batch_is_lost (const HassBatch *batch)
{
  return batch->original
         && atomic_load_explicit (&batch->lost, memory_order_relaxed);
}

/* Returns: token @i of the batch; NULL: it was dropped, has failed or is due at
   a later stage. */
const HassToken *
hass_batch_token (const HassBatch *batch, guint32 i)
{
  const HassItem *item = &batch->items[i];
  return item->state == HASS_ITEM_ALIVE && item->due <= batch->stage
             ? &item->token
             : NULL;
}
