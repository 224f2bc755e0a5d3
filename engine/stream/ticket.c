/* SPDX-License-Identifier: MIT */
/* ticket.c: grants of a pipeline to devices other than the CPU pool. The DESIGN
   paragraph is in ticket.h.
   Thread safety: the proxy of the device, except where stated. */
#include "ticket.h"

/* -- The grant ---------------------------------------------------------- */

static HassTicket *
free_ticket (HassStream *stream, guint device)
{
  GPtrArray *tickets = stream->tickets[device];
  for (guint i = 0; i < tickets->len; i++)
    {
      HassTicket *t = g_ptr_array_index (tickets, i);
      if (!t->busy)
        return t;
    }
  HassJob *job = stream->job;
  HassTicket *t = g_aligned_alloc0 (1, sizeof *t, HASS_CACHE_LINE);
  hass_round_init (&t->slot.round, job->n_devices, job->devices);
  t->slot.seats = g_new0 (HassSeat, job->n_devices);
  t->device = device;
  g_ptr_array_add (tickets, t);
  return t;
}

void
hass_ticket_free (gpointer data)
{
  HassTicket *t = data;
  hass_round_clear (&t->slot.round);
  g_free (t->slot.seats);
  g_free (t->loads);
  g_free (t->items);
  g_free (t->seqs);
  g_free (t->what);
  g_aligned_free (t);
}

/* Returns how many stages after that of the ticket its device can compute on
   the same tokens, at most @most; none if a token must pass one at a time. What
   may be computed twice passes stages that allow it. */
static guint
fusable (const HassStream *stream, const HassTicket *t, guint64 most)
{
  guint n = 0, device = t->device, stage = t->stage;
  for (const HassBatch *b = t->batches; b; b = b->link)
    for (guint32 i = 0; i < b->n; i++)
      if (b->items[i].one_stage)
        return 0;
  most = MIN (most, stream->job->devices[device].max_fused);
  while (n < most && stage + n + 1 < stream->n_stages
         && stream->classes[stage + n + 1].devices >> device & 1
         && (!t->batches->original || stream->stages[stage + n + 1].restarts))
    n++;
  return n;
}

/* Takes batches with about @units tokens, at least one, from the ready set of a
   stage. Returns: the list of what the device computes. */
static HassBatch *
take_batches (HassStream *stream, HassWorker *worker, guint device, guint stage,
              guint64 units)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  HassBatchQueue *queue = &stream->stages[stage].ready;
  HassBatch *list = NULL, **end = &list;
  pthread_mutex_lock (&queue->lock);
  HassBatch *batch;
  while (units > 0
         && (batch = hass_ready_take_locked (stream, sw, queue, units)))
    {
      units -= batch->n;
      if (stream->stages[stage].restarts)
        batch = hass_stand_in_new (stream, worker, batch, device);
      batch->link = NULL;
      *end = batch;
      end = &batch->link;
    }
  pthread_mutex_unlock (&queue->lock);
  return list;
}

/* Returns: whether the stages that the ticket's device computes promise an
   output of a token; then its bytes, of the last one, in @bytes. */
static gboolean
promised (const HassStream *stream, const HassTicket *t, const HassItem *item,
          gsize *bytes)
{
  gsize input = item->token.input_bytes;
  gboolean any = FALSE;
  *bytes = 0;
  for (guint s = t->stage; s <= t->stage + t->slot.fused; s++)
    if (stream->stages[s].promises)
      {
        any = TRUE;
        input = *bytes
            = hass_device_stage_output (&stream->stages[s].sizes, input);
      }
  return any;
}

/* Adds a token to the units of the ticket: a load as the workers of devices see
   it, with the token's tag. Its output has no memory yet. */
static void
add_unit (const HassStream *stream, HassTicket *t, HassItem *item)
{
  if (t->n == t->capacity)
    {
      t->capacity = MAX (2 * t->capacity, 16);
      t->loads = g_renew (HassLoad, t->loads, t->capacity);
      t->items = g_renew (HassItem *, t->items, t->capacity);
      t->seqs = g_renew (guint64, t->seqs, t->capacity);
      t->what = g_renew (guint8, t->what, t->capacity);
    }
  const HassToken *token = &item->token;
  t->items[t->n] = item;
  t->seqs[t->n] = token->seq;
  t->what[t->n] = HASS_UNIT_DONE;
  t->loads[t->n++] = (HassLoad){ .input = token->input,
                                 .input_bytes = token->input_bytes,
                                 .size = 1,
                                 .tag = token->tag };
  promised (stream, t, item, &t->loads[t->n - 1].output_bytes);
}

/* Makes the units of the ticket's round from the tokens of its batches. */
static void
make_units (const HassStream *stream, HassTicket *t)
{
  t->n = 0;
  for (HassBatch *b = t->batches; b; b = b->link)
    for (guint32 i = 0; i < b->n; i++)
      if (b->items[i].state == HASS_ITEM_ALIVE)
        add_unit (stream, t, &b->items[i]);
}

/* Gives the tokens of a part of a grant memory for their outputs: part by part,
   so that the device computes the first while memory for the next is pinned.
   @blocks: [extent.n], those of the part. Tokens keep what they have from an
   attempt that has failed. Returns: FALSE if there is too little; the pipeline
   is stopped. */
gboolean
hass_ticket_outputs (HassStream *stream, HassWorker *worker, HassSlot *slot,
                     HassExtent extent, HassBlock *blocks)
{
  HassTicket *t = (HassTicket *)slot;
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  for (guint32 i = 0; i < extent.n; i++)
    {
      HassItem *item = t->items[extent.first + i];
      HassToken *token = &item->token;
      gsize bytes;
      if (!item->fresh && promised (stream, t, item, &bytes))
        {
          item->fresh = hass_chunk_new (stream, sw, bytes);
          if (!item->fresh)
            return FALSE;
          token->output = item->fresh->data;
          token->output_bytes = bytes;
        }
      t->loads[extent.first + i].output = blocks[i].output = token->output;
    }
  return TRUE;
}

/* Makes a grant of what the strategy has answered. Under the decision lock.
   Returns: the round that the feeder gets, with all its units in @extent; NULL
   if nothing was ready. */
HassSlot *
hass_ticket_grant (HassStream *stream, HassWorker *worker, guint device,
                   const HassServe *serve, HassExtent *extent)
{
  HassTicket *t = free_ticket (stream, device);
  guint s = serve->class_index;
  t->batches = serve->again ? hass_stand_ins_again (stream, worker, device,
                                                    MAX (serve->units, 1))
                            : take_batches (stream, worker, device, s,
                                            MAX (serve->units, 1));
  if (!t->batches)
    return NULL;
  s = t->batches->stage;
  t->busy = TRUE;
  t->over = FALSE;
  t->stage = s;
  t->slot.stage = s;
  t->slot.not_for_cores = !stream->stages[s].public.cpu;
  t->slot.fused = fusable (stream, t, serve->fuse);
  make_units (stream, t);
  HassSpan span = { .loads = t->loads, .mask = G_MAXUINT64, .n = t->n };
  HassRound *round = &t->slot.round;
  round->begin_ns = stream->job->engine->now (stream->job);
  round->number = stream->job->n_rounds++;
  hass_round_begin_loads (round, HASS_FARM_COMBINE, HASS_COST_EQUAL, &span);
  round->seqs = t->seqs;
  hass_round_open (round);
  t->slot.seats[device] = (HassSeat){ .in_flight = 1 };
  *extent = hass_round_take_any (round, round->classes[device], t->n);
  stream->holds[device * stream->n_stages + s] += t->n;
  if (stream->bundles[device]++ == 0)
    stream->busy_until_ns[device]
        = MAX (stream->busy_until_ns[device], round->begin_ns);
  return &t->slot;
}
