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
  g_aligned_free (t);
}

/* Returns how many stages after that of the ticket its device can compute on
   the same tokens, at most @most; none if a token must pass one at a time. */
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
         && stream->classes[stage + n + 1].devices >> device & 1)
    n++;
  return n;
}

/* Takes batches with about @units tokens, at least one, from the ready set of a
   stage. Returns: their list. */
static HassBatch *
take_batches (HassStream *stream, HassStreamWorker *sw, guint stage,
              guint64 units)
{
  HassBatchQueue *queue = &stream->stages[stage].ready;
  HassBatch *list = NULL, **end = &list;
  pthread_mutex_lock (&queue->lock);
  HassBatch *batch;
  while (units > 0
         && (batch = hass_ready_take_locked (stream, sw, queue, units)))
    {
      units -= batch->n;
      batch->link = NULL;
      *end = batch;
      end = &batch->link;
    }
  pthread_mutex_unlock (&queue->lock);
  return list;
}

/* Gives a token memory for the last output that the stages from @first to @last
   promise. Returns: FALSE if there is none; the pipeline is stopped. */
static gboolean
give_output (HassStream *stream, HassStreamWorker *sw, HassItem *item,
             guint first, guint last)
{
  gsize input = item->token.input_bytes, output = 0;
  gboolean any = FALSE;
  for (guint s = first; s <= last; s++)
    if (stream->stages[s].promises)
      {
        any = TRUE;
        input = output
            = hass_device_stage_output (&stream->stages[s].sizes, input);
      }
  if (!any)
    return TRUE;
  item->fresh = hass_chunk_new (stream, sw, output);
  if (!item->fresh)
    return FALSE;
  item->token.output = item->fresh->data;
  item->token.output_bytes = output;
  return TRUE;
}

/* Adds a token to the units of the ticket: a load as the workers of devices see
   it, with the token's tag. */
static void
add_unit (HassTicket *t, HassItem *item)
{
  if (t->n == t->capacity)
    {
      t->capacity = MAX (2 * t->capacity, 16);
      t->loads = g_renew (HassLoad, t->loads, t->capacity);
      t->items = g_renew (HassItem *, t->items, t->capacity);
      t->seqs = g_renew (guint64, t->seqs, t->capacity);
    }
  const HassToken *token = &item->token;
  t->items[t->n] = item;
  t->seqs[t->n] = token->seq;
  t->loads[t->n++] = (HassLoad){ .input = token->input,
                                 .input_bytes = token->input_bytes,
                                 .output = token->output,
                                 .output_bytes = token->output_bytes,
                                 .size = 1,
                                 .tag = token->tag };
}

/* Makes the units of the ticket's round from the tokens of its batches. */
static void
make_units (HassStream *stream, HassStreamWorker *sw, HassTicket *t)
{
  guint last = t->stage + t->slot.fused;
  t->n = 0;
  for (HassBatch *b = t->batches; b; b = b->link)
    for (guint32 i = 0; i < b->n; i++)
      {
        HassItem *item = &b->items[i];
        if (item->state == HASS_ITEM_ALIVE
            && give_output (stream, sw, item, t->stage, last))
          add_unit (t, item);
      }
}

/* Makes a grant of what the strategy has answered. Under the decision lock.
   Returns: the round that the feeder gets, with all its units in @extent; NULL
   if nothing was ready. */
HassSlot *
hass_ticket_grant (HassStream *stream, HassWorker *worker, guint device,
                   const HassServe *serve, HassExtent *extent)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  HassTicket *t = free_ticket (stream, device);
  guint s = serve->class_index;
  t->batches = take_batches (stream, sw, s, MAX (serve->units, 1));
  if (!t->batches)
    return NULL;
  t->busy = TRUE;
  t->over = FALSE;
  t->stage = s;
  t->slot.stage = s;
  t->slot.not_for_cores = !stream->stages[s].public.cpu;
  t->slot.fused = fusable (stream, t, serve->fuse);
  make_units (stream, sw, t);
  if (t->n == 0) /* there is no memory for outputs, and the pipeline stops */
    {
      t->busy = FALSE;
      return NULL;
    }
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
  stream->bundles[device]++;
  return &t->slot;
}

/* -- Its end ------------------------------------------------------------ */

/* Returns the time of a grant, in ns, in which no grant before it kept the
   device busy: grants that overlap count once. */
static gint64
busy_alone_ns (HassStream *stream, guint device, const HassCompletion *told)
{
  gint64 *until_ns = &stream->busy_until_ns[device];
  gint64 ns = MAX (told->end_ns - MAX (told->start_ns, *until_ns), 0);
  *until_ns = MAX (*until_ns, told->end_ns);
  return ns;
}

static void
add_to_totals (HassTotals *totals, const HassCompletion *told, gint64 busy_ns)
{
  totals->units += told->units;
  totals->work += (double)told->units;
  totals->bytes += told->bytes;
  totals->bundles++;
  totals->busy_ns += (double)busy_ns;
}

/* Notes that a grant is complete; hass_tickets_collect() takes it from there.
   Under the decision lock. */
void
hass_ticket_over (HassJob *job, HassSlot *slot, const HassCompletion *told)
{
  HassStream *stream = hass_stream_of (job);
  HassTicket *t = (HassTicket *)slot;
  gboolean *tells = stream->tells_busy[t->device];
  t->told = *told;
  t->over = TRUE;
  stream->holds[t->device * stream->n_stages + t->stage] -= t->n;
  stream->bundles[t->device]--;
  stream->told_ns = told->end_ns;
  t->busy_ns = busy_alone_ns (stream, t->device, told);
  add_to_totals (&job->totals[t->device], told, t->busy_ns);
  hass_stream_tell_served (
      stream,
      &(HassServed){
          .device = t->device,
          .class_index = t->stage,
          .units = told->units,
          .bytes = told->bytes,
          .busy_ns = (double)(told->end_ns - told->start_ns),
          .grant_ns = told->grant_ns,
          .start_ns = told->start_ns,
          .end_ns = told->end_ns,
          .h2d_ns = hass_busy_added_ns (&tells[HASS_COPY_IN], told->h2d_busy_ns,
                                        told->h2d_ns),
          .kernel_ns = hass_busy_added_ns (
              &tells[HASS_KERNEL], told->kernel_busy_ns, told->kernel_ns),
          .d2h_ns = hass_busy_added_ns (&tells[HASS_COPY_OUT],
                                        told->d2h_busy_ns, told->d2h_ns),
          .failed = told->failed,
          .fused = t->slot.fused });
}

/* Fails a token that fits into the memory of no device that can run it. */
void
hass_ticket_refused (HassJob *job, HassSlot *slot, guint32 position,
                     const char *why)
{
  HassStream *stream = hass_stream_of (job);
  HassTicket *t = (HassTicket *)slot;
  hass_item_fail (stream, &stream->stages[t->stage], t->items[position],
                  g_error_new_literal (HASS_ERROR, HASS_ERROR_NO_MEMORY, why));
}

/* Notes that a token is too large for the ticket's device with all the stages
   that it was to pass there. */
void
hass_ticket_unfuse (HassJob *job, HassSlot *slot, guint32 position)
{
  HassItem *item = ((HassTicket *)slot)->items[position];
  (void)job;
  item->one_stage = TRUE;
}

enum
{
  DONE,
  BACK, /* to be granted again */
  CORES /* to be computed by cores: too large for the device */
};

/* Fills in what has become of each unit of a ticket. */
static void
look (HassTicket *t, guint8 *what)
{
  HassRound *round = &t->slot.round;
  const guint classes[] = { round->classes[t->device], HASS_DEVICE_CPU };
  for (guint k = 0; k < G_N_ELEMENTS (classes); k++)
    for (;;)
      {
        HassExtent e = hass_round_take_any (round, classes[k], G_MAXUINT32);
        if (e.n == 0)
          break;
        memset (what + e.first, k == 0 ? BACK : CORES, e.n);
      }
}

/* Books the time that the batch, which the device has computed, waited for it:
   until the part of the grant's time that counts as busy. */
static void
count_wait (HassStreamWorker *sw, const HassTicket *t, const HassBatch *batch)
{
  gint64 begin_ns = t->told.end_ns - t->busy_ns;
  gint64 ns = batch->since_ns > 0 ? MAX (begin_ns - batch->since_ns, 0) : 0;
  atomic_fetch_add_explicit (&sw->stages[t->stage].waited_ns,
                             ns * (gint64)batch->n, memory_order_relaxed);
}

/* Ends the stay of the batch, whose tokens have all met with @what, on the
   device. */
static void
settle (HassStream *stream, HassWorker *worker, HassTicket *t, HassBatch *batch,
        guint8 what)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  HassStageState *stage = &stream->stages[t->stage];
  for (guint32 i = 0; i < batch->n; i++)
    {
      HassItem *item = &batch->items[i];
      if (what == DONE)
        item->one_stage = FALSE;
      if (item->state == HASS_ITEM_ALIVE && what == DONE)
        hass_item_advance (stream, sw, item);
      else if (item->fresh)
        {
          hass_chunk_unref (stream, sw, g_steal_pointer (&item->fresh));
          item->token.output = NULL;
          item->token.output_bytes = 0;
        }
    }
  if (what == BACK)
    hass_ready_push (stream, batch);
  else if (what == CORES)
    hass_cores_push (stream, stage, batch);
  else
    {
      count_wait (sw, t, batch);
      hass_batch_recount (batch);
      batch->stage = t->stage + t->slot.fused + 1;
      hass_batch_dispatch (stream, worker, batch);
    }
}

/* Finds the tokens of the loads from position @at on again, which were split
   off from @batch and have moved to @rest. */
static void
follow (HassTicket *t, guint32 at, const HassBatch *batch, HassBatch *rest)
{
  for (; at < t->n; at++)
    {
      const HassItem *old = t->items[at];
      guintptr index = (guintptr)(old - batch->items) - batch->n;
      if (old < batch->items + batch->n || index >= rest->n)
        return;
      t->items[at] = &rest->items[index];
    }
}

/* Divides a batch of the ticket where tokens of different fate meet, and
   settles the pieces. @at: the position of its first token; moved behind the
   last. */
static void
settle_pieces (HassStream *stream, HassWorker *worker, HassTicket *t,
               HassBatch *batch, const guint8 *what, guint32 *at)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  while (batch)
    {
      HassBatch *rest = NULL;
      guint8 first = DONE;
      gboolean any = FALSE;
      for (guint32 i = 0; i < batch->n && !rest; i++)
        {
          const HassItem *item = &batch->items[i];
          if (*at >= t->n || t->items[*at] != item)
            continue; /* it was not granted */
          if (any && what[*at] != first)
            rest = hass_batch_split (stream, sw, batch, i);
          else
            {
              first = what[(*at)++];
              any = TRUE;
            }
        }
      if (rest)
        follow (t, *at, batch, rest);
      settle (stream, worker, t, batch, first);
      batch = rest;
    }
}

static void
count (HassStream *stream, HassWorker *worker, const HassTicket *t)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  for (guint s = t->stage; s <= t->stage + t->slot.fused; s++)
    {
      HassStageCount *c = &sw->stages[s];
      atomic_fetch_add_explicit (&c->tokens, t->told.units,
                                 memory_order_relaxed);
      atomic_fetch_add_explicit (&c->batches, 1, memory_order_relaxed);
    }
  HassStageCount *c = &sw->stages[t->stage];
  atomic_fetch_add_explicit (&c->bytes, t->told.bytes, memory_order_relaxed);
  atomic_fetch_add_explicit (&c->busy_ns, t->busy_ns, memory_order_relaxed);
}

/* Sends the tokens of the device's complete grants on. Returns: TRUE if there
   were any. */
gboolean
hass_tickets_collect (HassStream *stream, HassWorker *worker, guint device)
{
  gboolean any = FALSE;
  for (guint i = 0; i < stream->tickets[device]->len; i++)
    {
      HassTicket *t = g_ptr_array_index (stream->tickets[device], i);
      if (!t->busy || !t->over)
        continue;
      worker->now_ns = t->told.end_ns;
      count (stream, worker, t);
      g_autofree guint8 *what = g_malloc0 (MAX (t->n, 1));
      look (t, what);
      guint32 at = 0;
      HassBatch *next;
      for (HassBatch *b = g_steal_pointer (&t->batches); b; b = next)
        {
          next = b->link;
          settle_pieces (stream, worker, t, b, what, &at);
        }
      t->busy = FALSE;
      any = TRUE;
    }
  return any;
}

/* -- Virtual time ------------------------------------------------------- */

const HassToken *
hass_ticket_token (HassSlot *slot, guint32 position)
{
  const HassItem *item = ((HassTicket *)slot)->items[position];
  return &item->token;
}

/* Computes the results of a part of a grant by the CPU workers of its stages,
   unless the run is dry. Returns: what was computed. */
HassDone
hass_ticket_compute (HassStream *stream, HassWorker *worker, HassSlot *slot,
                     HassExtent extent)
{
  HassTicket *t = (HassTicket *)slot;
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  HassDone done = { .n = extent.n, .work = extent.n };
  for (guint32 i = extent.first; i < extent.first + extent.n; i++)
    {
      HassItem *item = t->items[i];
      done.bytes += item->token.input_bytes;
      if (stream->job->dry)
        continue;
      hass_chunk_unref (stream, sw, g_steal_pointer (&item->fresh));
      item->token.output = NULL;
      item->token.output_bytes = 0;
      for (guint s = t->stage; s <= t->stage + slot->fused; s++)
        if (item->state == HASS_ITEM_ALIVE)
          hass_item_compute (stream, worker, s, item);
    }
  return done;
}
