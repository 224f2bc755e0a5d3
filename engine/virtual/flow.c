/* SPDX-License-Identifier: MIT */
/* flow.c: a pipeline on a modelled machine. What virtual.c and feed.c do with
   rounds is done here with batches of tokens and ready sets, in the course of
   course.c.

   DESIGN. A core takes a batch (engine/stream/stream.h), whose time at the
   stage the model says; when that time is over, the stage's CPU worker computes
   the batch, and the core carries it on to the next stage or takes another one.
   How many tokens of a batch an ordered stage computes is known only after it
   has done so: one that is sent back ends the batch's turn at the stage. There
   the worker computes first, and the time is that of the tokens that it has
   computed; nothing sees them before that time is over. Cores that find nothing
   to do help inside tokens, at stages where they can (loops.c).
   GPUs get their grants through the feeder; the CPU workers of the stages
   compute their results, too. The generator takes no time. The work of a token
   at a stage is what HassVirtualModel.token_work says, else the cost of its
   load, else its input bytes, else 1.

   Thread safety: by the world's thread. */
#include "virtual-private.h"

#include "engine/stream/stream.h"

/* -- Cores -------------------------------------------------------------- */

/* Returns whether the worker of the stage computes a batch before its time has
   passed. */
static gboolean
computes_first (const HassJob *job, guint stage)
{
  HassStageMode mode = job->farm->stages[stage].mode;
  return mode == HASS_STAGE_ORDERED || mode == HASS_STAGE_CALLER;
}

/* Returns the work of the tokens of a batch that the core computes now. */
static double
batch_work (HassVirtualWorld *w, guint core, HassBatch *batch)
{
  HassJob *job = w->job;
  HassStream *stream = hass_stream_of (job);
  guint stage = hass_batch_stage (batch);
  guint32 n = 0;
  double work = 0;
  g_array_set_size (w->work, hass_batch_size (batch));
  double *works = (double *)w->work->data;
  const HassToken *token;
  for (guint32 i = 0; i < hass_batch_size (batch); i++)
    if ((token = hass_batch_token (batch, i)))
      works[n++] = hass_virtual_token_work (w, stage, (guint)job->cpu, token);
  if (computes_first (job, stage))
    {
      hass_stream_compute (stream, &job->workers[core], batch);
      n = MIN (n, hass_stream_n_computed (stream, &job->workers[core]));
    }
  for (guint32 i = 0; i < n; i++)
    work += works[i];
  return work;
}

/* Begins to compute a batch on a core. */
static void
begin (HassVirtualWorld *w, guint core, HassBatch *batch)
{
  HassJob *job = w->job;
  guint stage = hass_batch_stage (batch);
  double ns = w->platform->pull_ns
              + batch_work (w, core, batch) / hass_virtual_core_rate (w, stage)
                    * hass_virtual_noise (w) * w->slower[job->cpu];
  hass_stream_note_running (hass_stream_of (job), &job->workers[core], batch);
  hass_virtual_occupy (w, core);
  w->batches[core] = batch;
  hass_virtual_loop_begin (w, core, stage, MAX (ns, 1));
  hass_virtual_push (
      w, (HassVirtualDue){ .t = hass_virtual_later (w, w->clock, MAX (ns, 1)),
                           .core = (gint)core,
                           .begin = w->clock });
}

/* Returns whether a core has begun something, or has admitted tokens: those of
   which the first stage is for devices are work for these. */
static gboolean
feed_cores (HassVirtualWorld *w)
{
  HassJob *job = w->job;
  HassStream *stream = hass_stream_of (job);
  guint64 waiting = hass_stream_n_waiting (stream);
  gboolean any = FALSE;
  for (guint c = 0; w->n_busy < job->n_cores && c < job->n_cores; c++)
    {
      HassWorker *worker = &job->workers[c];
      if (w->core_busy[c])
        continue;
      worker->now_ns = w->clock;
      HassBatch *batch = hass_stream_take (stream, worker);
      if (!batch)
        continue;
      begin (w, c, batch);
      any = TRUE;
    }
  return any || hass_stream_n_waiting (stream) < waiting;
}

static void
core_done (HassVirtualWorld *w, const HassVirtualDue *event)
{
  HassJob *job = w->job;
  HassStream *stream = hass_stream_of (job);
  HassWorker *worker = &job->workers[event->core];
  HassBatch *batch = w->batches[event->core];
  hass_virtual_vacate (w, (guint)event->core);
  hass_virtual_loop_end (w, (guint)event->core);
  worker->now_ns = w->clock;
  if (!computes_first (job, hass_batch_stage (batch)))
    hass_stream_compute (stream, worker, batch);
  hass_stream_count (stream, worker, batch, event->begin, w->clock);
  batch = hass_stream_next (stream, worker, batch);
  if (batch)
    begin (w, (guint)event->core, batch);
}

/* -- GPUs --------------------------------------------------------------- */

/* Asks the strategy for a grant to a GPU. If it grants nothing and there are no
   cores, which make tokens of the loads that wait, the GPU makes some, more
   each time, and the strategy is asked again. Returns: TRUE if it has granted
   something. */
static gboolean
ask (HassVirtualWorld *w, HassVirtualGpu *gpu)
{
  HassFeeder *f = &gpu->feeder;
  HassStream *stream = hass_stream_of (w->job);
  HassExtent e;
  gint64 again_ns;
  f->worker->now_ns = w->clock;
  HassSlot *slot
      = hass_stream_ask (stream, f->worker, f->d, w->clock, &e, &again_ns);
  gboolean makes = w->job->n_cores == 0;
  for (guint n = 1;
       !slot && makes && hass_stream_begin_for (stream, f->worker, f->d, n);
       n *= 2)
    slot = hass_stream_ask (stream, f->worker, f->d, w->clock, &e, &again_ns);
  if (slot)
    hass_feeder_grant (f, slot, e, w->clock);
  else if (again_ns > w->clock
           && (w->again_ns[f->d] <= w->clock || again_ns < w->again_ns[f->d])
           && (hass_stream_again_ns (stream, w->clock) > 0
               || hass_stream_held (stream, f->d).units > 0))
    {
      w->again_ns[f->d] = again_ns;
      hass_virtual_push (w, (HassVirtualDue){ .t = again_ns, .core = -1 });
    }
  return slot != NULL;
}

static gboolean
feed_gpu (HassVirtualWorld *w, HassVirtualGpu *gpu)
{
  HassFeeder *f = &gpu->feeder;
  HassStream *stream = hass_stream_of (w->job);
  HassFeederPart *part;
  gboolean any = hass_tickets_collect (stream, f->worker, f->d);
  if (!hass_virtual_is_open (w, f->d) || w->clock < gpu->host_free_ns)
    return any;
  w->job->devices[f->d].opening = FALSE;
  HassFeed feed = hass_feeder_next (f, w->clock, &part);
  if (feed == HASS_FEED_ASK && ask (w, gpu))
    feed = hass_feeder_next (f, w->clock, &part);
  if (feed == HASS_FEED_PART)
    {
      hass_ticket_outputs (stream, f->worker, part->grant->round, part->extent,
                           part->blocks);
      hass_virtual_submit (w, gpu, part);
    }
  return any || feed == HASS_FEED_PART || feed == HASS_FEED_DROPPED;
}

/* -- Both ---------------------------------------------------------------- */

/* Lets cores go that compute what nobody needs any more, as the CPU worker of a
   stage does that looks at hass_worker_stopping(). */
static void
leave_unneeded (HassVirtualWorld *w)
{
  for (guint c = 0; c < w->job->n_cores; c++)
    if (w->core_busy[c] && hass_batch_is_lost (w->batches[c]))
      {
        HassVirtualDue event = hass_virtual_cancel (w, (gint)c);
        core_done (w, &event);
      }
}

static void
feed (HassVirtualWorld *w)
{
  gboolean any = TRUE;
  while (any)
    {
      leave_unneeded (w);
      any = FALSE;
      for (guint g = 0; g < w->n_gpus; g++)
        while (feed_gpu (w, &w->gpus[g]))
          any = TRUE;
      if (hass_job_stopping (w->job))
        continue;
      any |= feed_cores (w);
      if (any)
        continue;
      hass_stream_consult (hass_stream_of (w->job), w->clock, TRUE, FALSE);
      any = feed_cores (w);
    }
  hass_virtual_help (w);
}

static gboolean
has_room (HassJob *job)
{
  return hass_load_pool_has_room (job->pool);
}

const HassVirtualCourse hass_virtual_flow = { .feed = feed,
                                              .core_done = core_done,
                                              .gpu_done = hass_virtual_go_on,
                                              .has_room = has_room };
