/* SPDX-License-Identifier: MIT */
/* pass.c: a load that passes all stages within its emission, where the calling
   thread is the only one.

   DESIGN. There no load waits and no token is in flight when one is emitted.
   The last batch of the order, which has all turns, holds the token as long as
   it only goes on from stage to stage, and is the last one again when it has
   ended: no batch is made, no turn is passed on, no lock is taken. If the token
   emits parts, is sent back or stops the pipeline, the batch gets a successor,
   as if it had been admitted, and is one like any other.

   Thread safety: the thread that called the pipeline. */
#include "stream-private.h"

/* Puts the token of a load into the last batch of the order, and counts it as
   begun. */
static HassBatch *
begin (HassStream *stream, HassStreamWorker *sw, const HassLoad *load)
{
  HassJob *job = stream->job;
  HassBatch *batch = stream->open;
  gsize asked
      = atomic_load_explicit (&stream->asked_bytes, memory_order_relaxed);
  hass_load_pool_pass (job->pool);
  hass_batch_reserve (stream, sw, batch, 1);
  HassItem *item = batch->items;
  hass_item_begin (item, load, job->n_loads++);
  item->charge = hass_item_charge (stream, load->input_bytes, asked);
  batch->n = batch->n_alive = 1;
  hass_stream_note_size (stream, item->charge);
  hass_stream_count_begun (stream, 1, item->charge);
  return batch;
}

/* Gives the batch a successor, which has the turns of the stages before its
   own, and has it enter its stage. */
static void
join_order (HassStream *stream, HassStreamWorker *sw, HassBatch *batch)
{
  HassBatch *next = stream->open = batch->next = hass_batch_new (stream, sw);
  for (guint s = 0; s < batch->stage; s++)
    if (stream->stages[s].ordered)
      atomic_store_explicit (&next->turn[s], HASS_TURN_HERE,
                             memory_order_relaxed);
  batch->entered = hass_stage_enter (stream, batch);
}

/* Has a load pass all stages. The worker's clock is that of the emission, and
   then of the end. */
void
hass_stream_pass (HassJob *job, const HassLoad *load)
{
  HassStream *stream = hass_stream_of (job);
  HassWorker *worker = &job->workers[0];
  HassStreamWorker *sw = hass_stream_worker (stream, worker);
  HassBatch *batch = begin (stream, sw, load);
  for (; batch->stage < stream->n_stages && batch->n_alive > 0; batch->stage++)
    {
      gint64 begin_ns = batch->since_ns = worker->now_ns;
      hass_stream_compute (stream, worker, batch);
      worker->now_ns = job->engine->now (job);
      hass_stream_count (stream, worker, batch, begin_ns, worker->now_ns);
      hass_job_check_deadline (job, worker->now_ns);
      if (G_UNLIKELY (sw->has_parts || sw->n_again > 0
                      || hass_job_stopping (job)))
        {
          join_order (stream, sw, batch);
          if ((batch = hass_stream_next (stream, worker, batch)))
            hass_ready_push (stream, batch);
          job->engine->make_room (job);
          worker->now_ns = job->engine->now (job);
          return;
        }
    }
  batch->stage = 0;
  hass_batch_end (stream, sw, batch, TRUE);
}
