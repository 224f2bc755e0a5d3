/* SPDX-License-Identifier: MIT */
/* settle.c: the end of grants of a pipeline: what counts as done, and where the
   tokens go. The DESIGN paragraph is in ticket.h.
   Thread safety: the proxy of the device, except where stated. */
#include "ticket.h"

/* -- What has become of a grant ----------------------------------------- */

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

/* Fills in what has become of each unit of a ticket. */
static void
look (HassTicket *t)
{
  HassRound *round = &t->slot.round;
  const guint classes[] = { round->classes[t->device], HASS_DEVICE_CPU };
  for (guint k = 0; k < G_N_ELEMENTS (classes); k++)
    for (;;)
      {
        HassExtent e = hass_round_take_any (round, classes[k], G_MAXUINT32);
        if (e.n == 0)
          break;
        memset (t->what + e.first, k == 0 ? HASS_UNIT_BACK : HASS_UNIT_CORES,
                e.n);
      }
}

/* Returns what has become of the tokens of a stand-in as a whole: if not all
   were computed, all are computed again. @at: the first of its units; moved
   behind the last. */
static guint8
fate (const HassTicket *t, const HassBatch *stand_in, guint32 *at)
{
  guint8 worst = HASS_UNIT_DONE;
  for (; *at < t->n && t->items[*at] >= stand_in->items
         && t->items[*at] < stand_in->items + stand_in->n;
       ++*at)
    worst = MAX (worst, t->what[*at]);
  return worst > HASS_UNIT_REFUSED ? worst : HASS_UNIT_DONE;
}

/* Finds out what has become of the ticket's units. Those do not count that
   another device has computed before, or that are computed again. */
static void
conclude (HassStream *stream, HassTicket *t)
{
  guint32 at = 0, first;
  look (t);
  t->counts = t->told;
  for (HassBatch *b = t->batches; b && b->original; b = b->link)
    {
      first = at;
      if (fate (t, b, &at) == HASS_UNIT_DONE && hass_stand_in_claim (stream, b))
        continue;
      for (; first < at; first++)
        if (t->what[first] == HASS_UNIT_DONE)
          {
            t->counts.units--;
            t->counts.bytes -= t->loads[first].input_bytes;
          }
    }
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
  conclude (stream, t);
  add_to_totals (&job->totals[t->device], &t->counts, t->busy_ns);
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

/* Returns: the stand-in of the ticket that a token belongs to; NULL: it belongs
   to none. */
static HassBatch *
stand_in_of (const HassTicket *t, const HassItem *item)
{
  for (HassBatch *b = t->batches; b && b->original; b = b->link)
    if (item >= b->items && item < b->items + b->n)
      return b;
  return NULL;
}

/* Fails a token that does not fit into the memory of the ticket's device and
   that cores cannot compute, unless another device has computed it meanwhile or
   is at it. */
void
hass_ticket_refused (HassJob *job, HassSlot *slot, guint32 position,
                     const char *why)
{
  HassStream *stream = hass_stream_of (job);
  HassTicket *t = (HassTicket *)slot;
  HassItem *item = t->items[position];
  HassBatch *stand_in = stand_in_of (t, item);
  gboolean left = FALSE;
  gboolean fails = !stand_in || hass_stand_in_refuse (stream, stand_in, &left);
  t->what[position] = left ? HASS_UNIT_BACK : HASS_UNIT_REFUSED;
  if (fails)
    hass_item_fail (
        stream, &stream->stages[t->stage], item,
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

/* Sends a batch on whose tokens have all met with @what on the device. */
static void
send_on (HassStream *stream, HassWorker *worker, HassTicket *t,
         HassBatch *batch, guint8 what)
{
  if (what == HASS_UNIT_BACK)
    hass_ready_push (stream, batch);
  else if (what == HASS_UNIT_CORES)
    hass_cores_push (stream, &stream->stages[t->stage], batch);
  else
    {
      hass_batch_recount (batch);
      batch->stage = t->stage + t->slot.fused + 1;
      hass_batch_dispatch (stream, worker, batch);
    }
}

/* Ends the stay of the batch, whose tokens have all met with @what, on the
   device. */
static void
settle (HassStream *stream, HassWorker *worker, HassTicket *t, HassBatch *batch,
        guint8 what)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  for (guint32 i = 0; i < batch->n; i++)
    {
      HassItem *item = &batch->items[i];
      if (what == HASS_UNIT_DONE)
        item->one_stage = FALSE;
      if (item->state == HASS_ITEM_ALIVE && what == HASS_UNIT_DONE)
        hass_item_advance (stream, sw, item);
      else if (item->fresh)
        {
          hass_chunk_unref (stream, sw, g_steal_pointer (&item->fresh));
          item->token.output = NULL;
          item->token.output_bytes = 0;
        }
    }
  if (what <= HASS_UNIT_REFUSED && !hass_batch_is_second (batch))
    count_wait (sw, t, batch);
  if (batch->original)
    batch = hass_stand_in_end (stream, sw, batch, what == HASS_UNIT_DONE);
  if (batch)
    send_on (stream, worker, t, batch, what);
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
               HassBatch *batch, guint32 *at)
{
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  while (batch)
    {
      HassBatch *rest = NULL;
      guint8 first = HASS_UNIT_DONE;
      gboolean any = FALSE;
      for (guint32 i = 0; i < batch->n && !rest; i++)
        {
          const HassItem *item = &batch->items[i];
          if (*at >= t->n || t->items[*at] != item)
            continue; /* it was not granted */
          if (any && t->what[*at] != first)
            rest = hass_batch_split (stream, sw, batch, i);
          else
            {
              first = t->what[(*at)++];
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
      atomic_fetch_add_explicit (&c->tokens, t->counts.units,
                                 memory_order_relaxed);
      atomic_fetch_add_explicit (&c->batches, 1, memory_order_relaxed);
    }
  HassStageCount *c = &sw->stages[t->stage];
  atomic_fetch_add_explicit (&c->bytes, t->counts.bytes, memory_order_relaxed);
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
      guint32 at = 0;
      HassBatch *next;
      for (HassBatch *b = g_steal_pointer (&t->batches); b; b = next)
        {
          next = b->link;
          if (b->original)
            settle (stream, worker, t, b, fate (t, b, &at));
          else
            settle_pieces (stream, worker, t, b, &at);
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
          hass_item_compute (stream, worker, s, item, stand_in_of (t, item));
    }
  return done;
}
