/* SPDX-License-Identifier: MIT */
/* flow.c: how a core of a live pipeline finds work and computes it; what
   cores.c does with rounds. Thread safety: each worker context by the thread
   that has its seat. */
#include "proxy-private.h"

#include "engine/stream/stream.h"

/* Lets in another core if one is missing and there is more to do. */
static void
let_in_more (HassJob *job)
{
  HassLive *live = job->driver;
  if (atomic_load_explicit (&live->inside, memory_order_relaxed)
          < live->n_helpers
      && hass_stream_has_work (job, FALSE, 0))
    hass_live_let_in (job);
}

/* Takes a batch of tokens and carries it through the pipeline as far as this
   core can. Returns: FALSE if there was none to take. */
gboolean
hass_live_flow_once (HassJob *job, HassWorker *worker)
{
  if (job->source->work)
    return job->source->work (job, worker);
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
      if (live->has_proxies)
        hass_yield (job, worker);
      hass_job_check_deadline (job, end);
    }
  hass_stream_consult (stream, begin, FALSE);
  return TRUE;
}

/* A core has found nothing to compute: asks the strategy. */
void
hass_live_flow_idle (HassJob *job)
{
  if (!job->source->work)
    hass_stream_consult (hass_stream_of (job), hass_live_now (job), TRUE);
}

/* Asks the strategy for a grant to the proxy's device. Returns: FALSE if there
   is none now. */
gboolean
hass_live_flow_ask (HassProxy *p)
{
  HassJob *job = p->job;
  HassExtent extent;
  gint64 now_ns = hass_live_now (job);
  pthread_mutex_lock (&job->decision);
  HassSlot *slot = hass_stream_ask (hass_stream_of (job), p->feeder.worker,
                                    p->d, now_ns, &extent, &p->again_ns);
  pthread_mutex_unlock (&job->decision);
  if (slot)
    hass_feeder_grant (&p->feeder, slot, extent, now_ns);
  return slot != NULL;
}
