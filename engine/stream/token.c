/* SPDX-License-Identifier: MIT */
/* token.c: the functions that a stage may call with its token.
   Thread safety: the thread of the stage's call. */
#include "stream-private.h"

/* Returns the worker's state if this thread runs a stage's worker with @token
   and @worker; else NULL: the pipeline is stopped. */
static HassStreamWorker *
check (const HassToken *token, HassWorker *worker, const char *function)
{
  HassJob *job = worker ? worker->job : NULL;
  HassStream *stream = job ? hass_stream_of (job) : NULL;
  if (G_LIKELY (stream && hass_worker_is_current (worker)))
    {
      HassStreamWorker *sw = hass_stream_worker (stream, worker);
      if (G_LIKELY (sw->item == (const HassItem *)token))
        return sw;
    }
  if (job)
    hass_job_fail (job, HASS_ERROR_MISUSE,
                   "%s called with a token outside the call of its stage",
                   function);
  else
    hass_engine_dead_handle (function);
  return NULL;
}

static HassStageState *
stage_of (HassStream *stream, const HassStreamWorker *sw)
{
  return &stream->stages[sw->stage];
}

/* Stops the pipeline: a call of the stage did what it may not do with its
   token. @what: what is wrong, with the function. */
void
hass_stream_misuse (HassStream *stream, const HassStreamWorker *sw,
                    const char *what)
{
  hass_job_stop (stream->job,
                 g_error_new (HASS_ERROR, HASS_ERROR_MISUSE,
                              "pipeline '%s', token %" G_GUINT64_FORMAT
                              ", %s: %s",
                              stream->job->farm->name, sw->item->token.seq,
                              stage_of (stream, sw)->label, what));
}

/* -- Outputs and buffers ------------------------------------------------ */

/* Counts @bytes of an output that no stage has promised in the bound. */
static void
charge_output (HassStream *stream, HassItem *item, gsize bytes)
{
  gsize held = bytes + (item->origin ? 0 : item->load.input_bytes)
               + (item->chunk ? item->token.input_bytes : 0);
  gsize asked
      = atomic_load_explicit (&stream->asked_bytes, memory_order_relaxed);
  while (bytes > asked
         && !atomic_compare_exchange_weak_explicit (
             &stream->asked_bytes, &asked, bytes, memory_order_relaxed,
             memory_order_relaxed))
    ;
  if (held <= item->charge)
    return;
  atomic_fetch_add_explicit (&stream->bytes, held - item->charge,
                             memory_order_relaxed);
  item->charge = held;
}

gpointer
hass_token_output (HassToken *token, HassWorker *worker, gsize bytes)
{
  HassStreamWorker *sw = check (token, worker, "hass_token_output");
  if (!sw)
    return NULL;
  HassStream *stream = hass_stream_of (worker->job);
  HassItem *item = sw->item;
  HassChunk *chunk = hass_chunk_new (stream, sw, bytes);
  if (!chunk)
    return NULL;
  hass_chunk_unref (stream, sw, item->fresh);
  charge_output (stream, item, bytes);
  item->fresh = chunk;
  sw->most_output = bytes;
  token->output = chunk->data;
  token->output_bytes = bytes;
  return chunk->data;
}

gpointer
hass_token_buffer (HassToken *token, HassWorker *worker, gsize bytes)
{
  HassStreamWorker *sw = check (token, worker, "hass_token_buffer");
  if (!sw)
    return NULL;
  HassChunk *chunk = hass_chunk_new (hass_stream_of (worker->job), sw, bytes);
  if (!chunk)
    return NULL;
  g_ptr_array_add (sw->buffers, chunk);
  sw->has_buffers = TRUE;
  return chunk->data;
}

/* -- The fate of a token ------------------------------------------------ */

static gboolean
has_emitted (const HassStreamWorker *sw)
{
  return sw->has_parts
         && g_array_index (sw->parts, HassPart, sw->parts->len - 1).index
                == hass_item_index (sw);
}

/* Returns: FALSE if the stage is pure, or the token's fate was decided in this
   call, and otherwise than @function does, which leaves it in state @decides;
   the pipeline is stopped. */
static gboolean
may_decide (HassStream *stream, const HassStreamWorker *sw,
            const char *function, HassItemState decides)
{
  if (stream->stages[sw->stage].public.pure)
    {
      g_autofree char *what = g_strdup_printf (
          "%s called in a stage that is pure: its only effect may be the "
          "token's output",
          function);
      hass_stream_misuse (stream, sw, what);
      return FALSE;
    }
  guint8 state = sw->item->state;
  const char *before = state == HASS_ITEM_DROPPED ? "hass_token_drop"
                       : state == HASS_ITEM_AGAIN ? "hass_token_again"
                       : has_emitted (sw)         ? "hass_token_emit"
                                                  : NULL;
  if (!before || state == decides)
    return TRUE;
  g_autofree char *what = g_strdup_printf (
      "%s called after %s in the same call of the stage: a token either is "
      "replaced by its parts, is dropped or comes again",
      function, before);
  hass_stream_misuse (stream, sw, what);
  return FALSE;
}

static gboolean
lies_in (const HassChunk *chunk, gconstpointer at)
{
  return chunk && (guintptr)at - (guintptr)chunk->data < chunk->bytes;
}

/* Returns the memory of the library that a part's input lies in, with one
   reference more; NULL: the memory is the user's. */
static HassChunk *
chunk_of (const HassStreamWorker *sw, gconstpointer input)
{
  HassChunk *found = NULL;
  if (lies_in (sw->item->chunk, input))
    found = sw->item->chunk;
  else if (lies_in (sw->item->fresh, input))
    found = sw->item->fresh;
  for (guint i = sw->buffers->len; i-- > 0 && !found;)
    if (lies_in (g_ptr_array_index (sw->buffers, i), input))
      found = g_ptr_array_index (sw->buffers, i);
  if (found)
    atomic_fetch_add_explicit (&found->refs, 1, memory_order_relaxed);
  return found;
}

/* Returns the number of parts that the token has emitted in this call. */
static guint
n_emitted (const HassStreamWorker *sw)
{
  guint n = 0, index = hass_item_index (sw);
  while (n < sw->parts->len
         && g_array_index (sw->parts, HassPart, sw->parts->len - 1 - n).index
                == index)
    n++;
  return n;
}

/* Returns: FALSE if a part that claims to lie in a buffer of the generator does
   not; the pipeline is stopped. */
static gboolean
may_claim (HassStream *stream, const HassStreamWorker *sw, const HassLoad *part)
{
  if (hass_buffer_holds_part (stream->job, &sw->item->load, part))
    return TRUE;
  hass_stream_misuse (
      stream, sw,
      "hass_token_emit: HASS_LOAD_BUFFER of the part is set, but it does "
      "not lie in a buffer that its token's load has claimed by "
      "HASS_LOAD_BUFFER");
  return FALSE;
}

/* Returns: FALSE if the token has emitted as many parts as it may; the pipeline
   is stopped. */
static gboolean
may_emit (HassStream *stream, const HassStreamWorker *sw)
{
  /* The exact number is looked at only when it may be too large. */
  if (sw->parts->len < stream->user_tokens
      || n_emitted (sw) < stream->user_tokens)
    return TRUE;
  hass_job_stop (stream->job,
                 g_error_new (HASS_ERROR, HASS_ERROR_OVERFLOW,
                              "pipeline '%s', token %" G_GUINT64_FORMAT
                              ", %s: it has emitted more than %zu parts, the "
                              "most tokens in flight",
                              stream->job->farm->name, sw->item->token.seq,
                              stage_of (stream, sw)->label,
                              stream->user_tokens));
  return FALSE;
}

gboolean
hass_token_emit (HassToken *token, HassWorker *worker, const HassLoad *part)
{
  HassStreamWorker *sw = check (token, worker, "hass_token_emit");
  if (!sw)
    return FALSE;
  HassStream *stream = hass_stream_of (worker->job);
  HassItem *item = sw->item;
  if (hass_job_stopping (worker->job)
      || (G_UNLIKELY (item->state != HASS_ITEM_ALIVE
                      || stream->stages[sw->stage].public.pure)
          && !may_decide (stream, sw, "hass_token_emit", HASS_ITEM_ALIVE))
      || (G_UNLIKELY (part->flags & HASS_LOAD_BUFFER)
          && !may_claim (stream, sw, part))
      || !may_emit (stream, sw))
    return FALSE;
  if (!item->origin)
    {
      item->origin = g_new0 (HassOrigin, 1);
      atomic_init (&item->origin->refs, 1);
    }
  atomic_fetch_add_explicit (&item->origin->refs, 1, memory_order_relaxed);
  HassPart p = { .index = hass_item_index (sw) };
  hass_item_begin (&p.item, &item->load, token->seq);
  p.item.origin = item->origin;
  p.item.chunk = chunk_of (sw, part->input);
  p.item.token.input = (guint8 *)part->input;
  p.item.token.input_bytes = part->input_bytes;
  p.item.token.tag = part->tag;
  p.item.charge = hass_item_charge (
      stream, part->input_bytes,
      atomic_load_explicit (&stream->asked_bytes, memory_order_relaxed));
  atomic_fetch_add_explicit (&stream->bytes, p.item.charge,
                             memory_order_relaxed);
  g_array_append_val (sw->parts, p);
  sw->has_parts = TRUE;
  return TRUE;
}

void
hass_token_drop (HassToken *token, HassWorker *worker)
{
  HassStreamWorker *sw = check (token, worker, "hass_token_drop");
  if (sw
      && may_decide (hass_stream_of (worker->job), sw, "hass_token_drop",
                     HASS_ITEM_DROPPED))
    sw->item->state = HASS_ITEM_DROPPED;
}

/* -- Sending back ------------------------------------------------------- */

/* Returns what is wrong with sending a token back from its stage to @to, or
   NULL. */
static const char *
wrong_way (HassStream *stream, const HassStreamWorker *sw, guint to)
{
  if (to > sw->stage)
    return "that is a later stage";
  for (guint s = to; s < sw->stage; s++)
    if (stream->stages[s].ordered)
      return "a stage between, or that one, is ORDERED or CALLER";
  return NULL;
}

gboolean
hass_token_again (HassToken *token, HassWorker *worker, guint to)
{
  HassStreamWorker *sw = check (token, worker, "hass_token_again");
  if (!sw)
    return FALSE;
  HassStream *stream = hass_stream_of (worker->job);
  HassItem *item = sw->item;
  const char *wrong = wrong_way (stream, sw, to);
  if (wrong)
    {
      g_autofree char *what
          = to < stream->n_stages
                ? g_strdup_printf ("hass_token_again sends it back to %s: %s",
                                   stream->stages[to].label, wrong)
                : g_strdup_printf ("hass_token_again sends it back to the "
                                   "stage with index %u, but there are %u",
                                   to, stream->n_stages);
      hass_stream_misuse (stream, sw, what);
      return FALSE;
    }
  if (!may_decide (stream, sw, "hass_token_again", HASS_ITEM_AGAIN))
    return FALSE;
  item->agains += item->state != HASS_ITEM_AGAIN;
  item->state = HASS_ITEM_AGAIN;
  item->due = (guint8)to;
  return TRUE;
}
