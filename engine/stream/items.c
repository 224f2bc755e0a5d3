/* SPDX-License-Identifier: MIT */
/* items.c: tokens from their beginning to their end: their memory and tags,
   what they count in the bound on bytes, their release.

   DESIGN. A token holds the input of its load, what a stage has made of it, and
   while a stage computes it its output. In the bound it counts the most that
   these take at any stage, as promised by the stages; what hass_token_output()
   takes beyond that is added, and the largest such output so far is reserved
   for each token that begins.

   Thread safety: the thread that owns the item's batch. */
#include "stream-private.h"

/* Returns the most bytes that the promised outputs of a token whose load has
   @input_bytes take at once. */
gsize
hass_item_promised (const HassStream *stream, gsize input_bytes)
{
  gsize most = 0, held = 0, input = input_bytes;
  for (guint s = 0; s < stream->n_stages; s++)
    if (stream->stages[s].promises)
      {
        gsize output
            = hass_device_stage_output (&stream->stages[s].sizes, input);
        if (output > G_MAXSIZE / 4)
          return G_MAXSIZE / 4;
        most = MAX (most, held + output);
        input = held = output;
      }
  return MIN (most, G_MAXSIZE / 4);
}

void
hass_item_begin (HassItem *item, const HassLoad *load, guint64 seq)
{
  item->load = *load;
  item->token = (HassToken){ .seq = seq,
                             .load = &item->load,
                             .input = (guint8 *)load->input,
                             .input_bytes = load->input_bytes,
                             .tag = load->tag };
  item->origin = NULL;
  item->chunk = item->fresh = NULL;
  item->charge = 0;
  item->agains = 0;
  item->due = 0;
  item->one_stage = FALSE;
  item->state = HASS_ITEM_ALIVE;
}

/* Makes the output of a token, if it has one, its input. */
void
hass_item_advance (HassStream *stream, HassStreamWorker *sw, HassItem *item)
{
  HassToken *token = &item->token;
  if (!item->fresh)
    return;
  hass_chunk_unref (stream, sw, item->chunk);
  item->chunk = item->fresh;
  item->fresh = NULL;
  token->input = token->output;
  token->input_bytes = token->output_bytes;
  token->output = NULL;
  token->output_bytes = 0;
}

/* Returns: TRUE if a stage has hung something on the token that the user frees
   when the token ends. */
gboolean
hass_item_owns_tag (const HassStream *stream, const HassItem *item)
{
  return stream->job->farm->tag_free && item->token.tag
         && item->token.tag != item->load.tag;
}

static void
free_tag (HassStream *stream, const HassItem *item)
{
  HassJob *job = stream->job;
  if (G_LIKELY (!hass_item_owns_tag (stream, item)))
    return;
  HassCallback before
      = hass_engine_enter_callback ("tag_free function", job, NULL);
  job->farm->tag_free (item->token.tag, job->farm->user_data);
  hass_engine_leave_callback (before);
}

static void
release (HassStream *stream, HassItem *item, gboolean committed)
{
  HassJob *job = stream->job;
  if (job->farm->release || hass_job_has_owned (job))
    hass_job_let_go (job, &item->load, item->token.seq, committed);
}

/* Ends an item's claim on the load that it is a part of; the last releases the
   load. Returns: TRUE if it was the last. */
gboolean
hass_origin_unref (HassStream *stream, HassItem *item)
{
  HassOrigin *origin = item->origin;
  if (item->state == HASS_ITEM_FAILED)
    atomic_store_explicit (&origin->failed, TRUE, memory_order_relaxed);
  if (atomic_fetch_sub_explicit (&origin->refs, 1, memory_order_acq_rel) > 1)
    return FALSE;
  release (stream, item,
           !atomic_load_explicit (&origin->failed, memory_order_relaxed));
  atomic_fetch_sub_explicit (&stream->bytes, origin->charge,
                             memory_order_relaxed);
  g_free (origin);
  return TRUE;
}

/* Ends a token: frees its tag, recycles its memory and releases its load.
   Returns: TRUE if no other token is a part of that load. */
gboolean
hass_item_end (HassStream *stream, HassStreamWorker *sw, HassItem *item)
{
  sw->n_through += item->state != HASS_ITEM_FAILED;
  free_tag (stream, item);
  if (item->chunk || item->fresh)
    {
      hass_chunk_unref (stream, sw, item->chunk);
      hass_chunk_unref (stream, sw, item->fresh);
    }
  if (item->origin)
    return hass_origin_unref (stream, item);
  release (stream, item, item->state != HASS_ITEM_FAILED);
  return TRUE;
}

/* Lists a token as unfinished, and of the parts of a load the first one. */
void
hass_item_list (HassStream *stream, HassItem *item, const char *message)
{
  if (!item->origin
      || !atomic_exchange_explicit (&item->origin->failed, TRUE,
                                    memory_order_relaxed))
    hass_job_add_unfinished (stream->job, item->token.seq, 1, 0, 0, message);
}

/* Marks a token as failed at @stage, lists it, and stops the pipeline by its
   error policy. Takes over @error. */
void
hass_item_fail (HassStream *stream, const HassStageState *stage, HassItem *item,
                GError *error)
{
  HassJob *job = stream->job;
  item->state = HASS_ITEM_FAILED;
  g_prefix_error (&error, "%s: ", stage->label);
  hass_item_list (stream, item, error->message);
  if (job->farm->run->on_error == HASS_ON_ERROR_CONTINUE)
    {
      g_error_free (error);
      return;
    }
  g_prefix_error (&error, "pipeline '%s', token %" G_GUINT64_FORMAT ", ",
                  job->farm->name, item->token.seq);
  hass_job_stop (job, error);
}

/* Drops a part that was emitted by a token that has failed. */
void
hass_part_discard (HassStream *stream, HassStreamWorker *sw, HassPart *part)
{
  free_tag (stream, &part->item);
  hass_chunk_unref (stream, sw, part->item.chunk);
  part->item.chunk = NULL;
  atomic_fetch_sub_explicit (&stream->bytes, part->item.charge,
                             memory_order_relaxed);
  hass_origin_unref (stream, &part->item);
}
