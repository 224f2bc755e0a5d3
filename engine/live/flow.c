/* SPDX-License-Identifier: MIT */
/* flow.c: how the live engine drives pipelines and dataflows.
   Thread safety: as HassLiveCourse. */
#include "proxy-private.h"

#include "engine/stream/stream.h"

/* Returns: what a core finds that has asked the strategy already. */
static HassFind
find_end (HassJob *job)
{
  return atomic_load_explicit (&job->generated, memory_order_seq_cst)
                 && job->source->idle (job)
             ? HASS_FIND_FINISHED
             : HASS_FIND_NOTHING;
}

static gint64
again_ns (HassJob *job)
{
  return job->source->again_ns (job);
}

/* -- Pipelines ---------------------------------------------------------- */

/* Lets in another core if one is missing and there is more to do. */
static void
let_in_more (HassJob *job)
{
  HassLive *live = job->driver;
  if (atomic_load_explicit (&job->inside, memory_order_relaxed)
          < live->n_helpers
      && hass_stream_has_work (job, FALSE, 0))
    hass_live_let_in (job);
}

/* Takes a batch of tokens and carries it through the pipeline as far as this
   core can. */
static gboolean
stream_once (HassJob *job, HassWorker *worker)
{
  const HassLive *live = job->driver;
  HassStream *stream = hass_stream_of (job);
  HassBatch *batch = hass_stream_take (stream, worker);
  if (!batch)
    return FALSE;
  let_in_more (job);
  gint64 begin = worker->now_ns > 0 ? worker->now_ns : hass_live_now (job);
  while (batch)
    {
      hass_stream_compute (stream, worker, batch);
      gint64 end = hass_live_now (job);
      hass_stream_count (stream, worker, batch, begin, end);
      worker->now_ns = begin = end;
      batch = hass_stream_next (stream, worker, batch);
      if (atomic_load_explicit (&live->n_serving, memory_order_relaxed) > 0)
        hass_yield (job, worker);
      hass_job_check_deadline (job, end);
    }
  hass_stream_consult (stream, begin, FALSE, FALSE);
  return TRUE;
}

static HassFind
stream_find (HassJob *job, double unit_ns, gboolean patient)
{
  (void)unit_ns;
  (void)patient;
  hass_stream_consult (hass_stream_of (job), hass_live_now (job), TRUE, FALSE);
  return find_end (job);
}

static gboolean
stream_is_supplied (const HassJob *job)
{
  return hass_stream_backed_up (hass_stream_of (job));
}

static double
stream_waiting_ns (HassJob *job)
{
  return hass_stream_waiting_ns (hass_stream_of (job), &job->workers[0]);
}

static void
stream_collect (HassProxy *p)
{
  if (hass_tickets_collect (hass_stream_of (p->job), p->feeder.worker, p->d))
    hass_live_changed (p->job);
}

static HassSlot *
ask (HassProxy *p, HassExtent *extent, gint64 now_ns)
{
  HassJob *job = p->job;
  hass_lock_take (&job->decision);
  HassSlot *slot = hass_stream_ask (hass_stream_of (job), p->feeder.worker,
                                    p->d, now_ns, extent, &p->again_ns);
  hass_lock_give (&job->decision);
  return slot;
}

/* If the strategy grants nothing, loads that wait become tokens, more each
   time, and it is asked again. */
static gboolean
stream_ask (HassProxy *p)
{
  HassStream *stream = hass_stream_of (p->job);
  HassWorker *worker = p->feeder.worker;
  HassExtent extent;
  gint64 now_ns = hass_live_now (p->job);
  HassSlot *slot = ask (p, &extent, now_ns);
  worker->now_ns = now_ns;
  for (guint n = 1; !slot && hass_stream_begin_for (stream, worker, p->d, n);
       n *= 2)
    slot = ask (p, &extent, now_ns);
  if (slot)
    hass_feeder_grant (&p->feeder, slot, extent, now_ns);
  return slot != NULL;
}

static gboolean
stream_complete (HassProxy *p, HassFeederPart *part)
{
  return hass_ticket_outputs (hass_stream_of (p->job), p->feeder.worker,
                              part->grant->round, part->extent, part->blocks);
}

static gint64
stream_patience_ns (HassProxy *p)
{
  if (p->again_ns <= 0 || hass_job_stopping (p->job))
    return -1;
  return MAX (p->again_ns - hass_live_now (p->job), 0);
}

const HassLiveCourse hass_live_stream = { .once = stream_once,
                                          .find = stream_find,
                                          .again_ns = again_ns,
                                          .is_supplied = stream_is_supplied,
                                          .waiting_ns = stream_waiting_ns,
                                          .collect = stream_collect,
                                          .ask = stream_ask,
                                          .complete = stream_complete,
                                          .patience_ns = stream_patience_ns };

/* -- Dataflows ---------------------------------------------------------- */

static gboolean
graph_once (HassJob *job, HassWorker *worker)
{
  return job->source->work (job, worker);
}

static HassFind
graph_find (HassJob *job, double unit_ns, gboolean patient)
{
  (void)unit_ns;
  (void)patient;
  return find_end (job);
}

/* Its devices are served by the source. */
const HassLiveCourse hass_live_graph
    = { .once = graph_once, .find = graph_find, .again_ns = again_ns };
