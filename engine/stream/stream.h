/* SPDX-License-Identifier: MIT */
/* stream.h: a running pipeline, as the engines see it.

   DESIGN. Tokens (loads on their way through the stages) travel in batches:
   runs of tokens that are adjacent in the order of the stream. A batch is at
   one stage at a time, and one thread at a time owns it.
   1. Admitting (admit.c). A core without other work makes a batch of the loads
      that wait in the load pool, as large as the measured times of tokens allow
      and as the bounds on tokens and bytes in flight leave room for.
   2. Computing (compute.c). The core runs the stage's worker on each token of
      the batch, then carries the batch to the next stage.
   3. The order (turn.c). All batches form a list in the order of the stream. At
      each ORDERED or CALLER stage one batch has the turn. A batch that comes
      without it is parked; the thread that passes the turn on to a parked batch
      goes on with that batch, so ordered stages need no thread.
   4. Ready sets (ready.c). What no thread can go on with at once waits in the
      ready set of its stage: batches for devices, for the calling thread, or
      for any core. Cores take from the latest stage first, so that the bytes in
      flight stay few.
   5. The end of a token (items.c). The last stage, a drop or a failure ends a
      token: its memory is recycled and its load released. Parts that a stage
      emits take the place of their token in its batch; a batch that has become
      long is split (split.c).
   6. Tokens that are sent back (again.c). Their batch goes round as a whole for
      a while and is then divided.

   At any moment exactly one of these owns a batch: a core or the proxy of a
   device that computes it; a ready set; the turn of a stage (a parked batch);
   the queue of a SERIAL stage.

   Thread safety: each function says who may call it. */
#ifndef HASS_STREAM_ENGINE_H
#define HASS_STREAM_ENGINE_H

#include "engine/core/job.h"
#include "engine/stream/stage.h"

typedef struct HassStream HassStream;
typedef struct HassBatch HassBatch;

/* What HassFarm.source points to for a pipeline. */
extern const HassSourceOps hass_stream_ops;

static inline HassStream *
hass_stream_of (const HassJob *job)
{
  return job->flow;
}

/* Each of these by the thread that has the worker's context. */
HassBatch *hass_stream_take (HassStream *stream, HassWorker *worker);
void hass_stream_compute (HassStream *stream, HassWorker *worker,
                          HassBatch *batch);
void hass_stream_count (HassStream *stream, HassWorker *worker,
                        const HassBatch *batch, gint64 begin_ns, gint64 end_ns);
HassBatch *hass_stream_next (HassStream *stream, HassWorker *worker,
                             HassBatch *batch);

/* What the virtual engine asks of batches and grants. */
guint hass_batch_stage (const HassBatch *batch);
guint32 hass_batch_size (const HassBatch *batch);
gboolean hass_batch_is_lost (const HassBatch *batch);
const HassToken *hass_batch_token (const HassBatch *batch, guint32 i);
void hass_stream_note_running (HassStream *stream, const HassWorker *worker,
                               const HassBatch *batch);
guint32 hass_stream_n_computed (HassStream *stream, const HassWorker *worker);
const HassToken *hass_ticket_token (HassSlot *slot, guint32 position);
gboolean hass_ticket_outputs (HassStream *stream, HassWorker *worker,
                              HassSlot *slot, HassExtent extent,
                              HassBlock *blocks);
HassDone hass_ticket_compute (HassStream *stream, HassWorker *worker,
                              HassSlot *slot, HassExtent extent);
gboolean hass_stage_has_cpu (const HassFarm *farm, guint stage);

/* stream.c */
HassDeviceStage *hass_stream_device_stages (const HassFarm *farm,
                                            const char *kind);

/* Returns when a core without work should look again although nothing changes:
   while a strategy has cores leave tokens to other devices; 0: need not. */
gint64 hass_stream_again_ns (HassStream *stream, gint64 now_ns);

/* ask.c; the second one under the decision lock */
void hass_stream_consult (HassStream *stream, gint64 now_ns, gboolean idle,
                          gboolean urgent);
HassSlot *hass_stream_ask (HassStream *stream, HassWorker *worker, guint device,
                           gint64 now_ns, HassExtent *extent, gint64 *again_ns);

/* restart.c; any thread: what strategies see of the tokens that a device may
   begin again */
HassHeld hass_stream_held (HassStream *stream, guint device);

/* settle.c; the thread of the device */
gboolean hass_tickets_collect (HassStream *stream, HassWorker *worker,
                               guint device);

/* Any thread; hass_stream_n_waiting() and the last one are in admit.c, the one
   before the last in turn.c: TRUE while so much waits at a stage that no core
   need come for loads. */
gboolean hass_stream_has_work (HassJob *job, gboolean caller, guint others);
gboolean hass_stream_idle (HassStream *stream);
guint64 hass_stream_n_waiting (const HassStream *stream);
gboolean hass_stream_backed_up (const HassStream *stream);
gboolean hass_stream_begin_for (HassStream *stream, HassWorker *worker,
                                guint device, guint most);
double hass_stream_waiting_ns (const HassStream *stream,
                               const HassWorker *worker);

#endif
