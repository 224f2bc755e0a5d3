/* SPDX-License-Identifier: MIT */
/* stream.c: sets a pipeline up, and ends it. The DESIGN paragraph is in
   stream.h.
   Thread safety: the thread that called the pipeline, when no other works for
   it, except where stated. */
#include "ticket.h"

#include "device/kinds.h"
#include "device/ops.h"

#define GPU_KIND "cuda"

/* Most tokens in flight if the user gives no bound, for each core and where
   there are other devices. Guesses: fewer, and a token that takes long makes
   others wait at the next ordered stage; more, and memory is used in vain. */
#define TOKENS_A_CORE 512
#define TOKENS_WITH_DEVICES 65536

/* -- Which devices run a stage ------------------------------------------- */

/* Returns the worker of a stage for devices of a kind, NULL if it has none.
   @kind: NULL, or a kind that is not registered: the device runs GPU workers.
 */
HassGpuWorkerFunc
hass_stage_worker (const HassStage *stage, const char *kind)
{
  for (const HassKindWorker *w = stage->workers; w && w->kind && kind; w++)
    if (strcmp (w->kind, kind) == 0)
      return w->worker;
  gboolean gpu = !kind || strcmp (kind, GPU_KIND) == 0
                 || hass_device_kind_find (kind) < 0;
  return gpu ? stage->gpu : NULL;
}

/* Returns: TRUE if a device other than the CPU pool can run the stage. */
gboolean
hass_stage_runs_on (const HassJob *job, const HassStage *stage, guint device)
{
  const HassDevice *d = job->gpus ? job->gpus[device] : NULL;
  return hass_stage_worker (stage, d ? d->ops->kind : NULL) != NULL;
}

/* Returns (transfer full): [n_stages] the stages of a pipeline for a device of
   a kind. */
HassDeviceStage *
hass_stream_device_stages (const HassFarm *farm, const char *kind)
{
  HassDeviceStage *stages = g_new0 (HassDeviceStage, farm->n_stages);
  for (guint s = 0; s < farm->n_stages; s++)
    {
      const HassStage *stage = &farm->stages[s];
      stages[s] = (HassDeviceStage){ .name = stage->name,
                                     .worker = hass_stage_worker (stage, kind),
                                     .user_data = stage->user_data,
                                     .output_bytes = stage->output_bytes,
                                     .output_ratio = stage->output_ratio };
    }
  return stages;
}

gboolean
hass_stage_has_cpu (const HassFarm *farm, guint stage)
{
  return farm->stages[stage].cpu != NULL;
}

/* -- Set-up ------------------------------------------------------------- */

/* Returns the devices that can run a stage: bit d for device d. */
static guint64
devices_of (const HassJob *job, const HassStage *stage)
{
  guint64 mask = stage->cpu && job->cpu >= 0 ? (guint64)1 << job->cpu : 0;
  for (guint d = 0; d < job->n_devices; d++)
    if ((gint)d != job->cpu && hass_stage_runs_on (job, stage, d))
      mask |= (guint64)1 << d;
  return mask;
}

static void
set_up_stage (HassStream *stream, guint s)
{
  HassJob *job = stream->job;
  HassStageState *stage = &stream->stages[s];
  stage->public = job->farm->stages[s];
  const HassStage *p = &stage->public;
  const HassStage *stand_in = job->farm->stand_in;
  stage->compute = p->cpu || !stand_in ? p->cpu : stand_in->cpu;
  stage->label = g_strdup_printf ("stage '%s'", p->name);
  stage->ordered
      = p->mode == HASS_STAGE_ORDERED || p->mode == HASS_STAGE_CALLER;
  stage->promises = p->output_bytes > 0 || p->output_ratio > 0;
  stream->promises |= stage->promises;
  stage->sizes = (HassDeviceStage){ .output_bytes = p->output_bytes,
                                    .output_ratio = p->output_ratio };
  stage->most = p->mode == HASS_STAGE_SERIAL ? 1 : p->at_once;
  hass_queue_init (&stage->ready);
  hass_queue_init (&stage->cores);
  hass_queue_init (&stage->waiting);
  stream->classes[s]
      = (HassClassTraits){ .name = p->name,
                           .cost = p->cost,
                           .devices = devices_of (job, p),
                           .one_at_a_time = p->mode != HASS_STAGE_PARALLEL,
                           .in_order = stage->ordered,
                           .at_once = p->at_once,
                           .bundle_wait_ns = p->bundle_wait_us * 1000,
                           .element_threads = p->element_threads };
  guint64 cpu = job->cpu >= 0 ? (guint64)1 << job->cpu : 0;
  stage->linked = (stream->classes[s].devices & ~cpu) != 0;
  /* Cores take nothing before the strategy has been asked. */
  stage->leave = stage->linked ? G_MAXUINT32 : 0;
  stage->restarts = stage->linked && p->pure;
  stream->restarts |= stage->restarts;
  stream->linked |= stage->linked;
}

static void
set_up_order (HassStream *stream)
{
  guint n = 0;
  for (guint one = 0; one < 2; one++)
    for (guint s = stream->n_stages; s-- > 0;)
      if (stream->classes[s].one_at_a_time == !one)
        stream->order[n++] = s;
}

/* Returns: FALSE with an error if there is no memory. */
static gboolean
make_accumulators (HassStream *stream, HassStageState *stage, GError **error)
{
  HassJob *job = stream->job;
  HassReduction reduction = hass_stage_reduction (&stage->public);
  gboolean ok = TRUE;
  if (!reduction.reduce)
    return TRUE;
  stage->accumulators = g_new0 (gpointer, job->n_workers);
  for (guint w = 0; w < job->n_workers && ok; w++)
    ok = (stage->accumulators[w]
          = hass_accumulator_new (job, &reduction, error))
         != NULL;
  return ok;
}

/* Returns: FALSE with an error if a stage has no device. */
static gboolean
check_devices (const HassStream *stream, GError **error)
{
  for (guint s = 0; s < stream->n_stages; s++)
    if (stream->classes[s].devices == 0)
      {
        g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                     "pipeline '%s': no device is present that can run %s",
                     stream->job->farm->name, stream->stages[s].label);
        return FALSE;
      }
  return TRUE;
}

static void
set_up_workers (HassStream *stream)
{
  HassJob *job = stream->job;
  stream->workers = g_aligned_alloc0 (job->n_workers, sizeof *stream->workers,
                                      HASS_CACHE_LINE);
  for (guint w = 0; w < job->n_workers; w++)
    {
      HassStreamWorker *sw = &stream->workers[w];
      sw->parts = g_array_new (FALSE, FALSE, sizeof (HassPart));
      sw->buffers = g_ptr_array_new ();
      sw->last_batch = 1;
    }
}

static void
set_up_devices (HassStream *stream)
{
  guint n = stream->job->n_devices;
  stream->told = g_new0 (HassStageTold, stream->n_stages);
  stream->class_states = g_new0 (HassClassState, stream->n_stages);
  stream->holds = g_new0 (guint64, n * stream->n_stages);
  stream->bundles = g_new0 (guint, n);
  stream->depth = g_new0 (guint, n);
  stream->busy_until_ns = g_new0 (gint64, n);
  stream->tells_busy = g_malloc0_n (n, sizeof *stream->tells_busy);
  stream->device_states = g_new0 (HassDeviceHolds, n);
  stream->tickets = g_new0 (GPtrArray *, n);
  for (guint d = 0; d < n; d++)
    stream->tickets[d] = g_ptr_array_new_with_free_func (hass_ticket_free);
}

static void
clear_devices (HassStream *stream)
{
  for (guint d = 0; d < stream->job->n_devices; d++)
    g_ptr_array_unref (stream->tickets[d]);
  g_free (stream->tickets);
  g_free (stream->device_states);
  g_free (stream->depth);
  g_free (stream->busy_until_ns);
  g_free (stream->tells_busy);
  g_free (stream->bundles);
  g_free (stream->holds);
  g_free (stream->class_states);
  g_free (stream->told);
}

static void
stream_free (HassJob *job)
{
  HassStream *stream = hass_stream_of (job);
  for (guint s = 0; s < stream->n_stages; s++)
    {
      HassStageState *stage = &stream->stages[s];
      HassReduction reduction = hass_stage_reduction (&stage->public);
      for (guint w = 0; w < job->n_workers && stage->accumulators; w++)
        hass_accumulator_free (job, &reduction, stage->accumulators[w]);
      g_free (stage->accumulators);
      g_free (stage->label);
      hass_queue_clear (&stage->ready);
      hass_queue_clear (&stage->cores);
      hass_queue_clear (&stage->waiting);
    }
  for (guint w = 0; w < job->n_workers; w++)
    {
      g_array_unref (stream->workers[w].parts);
      g_ptr_array_unref (stream->workers[w].buffers);
    }
  clear_devices (stream);
  hass_stream_memory_clear (stream);
  hass_stream_admit_clear (stream);
  g_aligned_free (stream->workers);
  g_aligned_free (stream->stages);
  g_free (stream->classes);
  g_aligned_free (stream);
}

static void
open_order (HassStream *stream)
{
  stream->open = hass_batch_new (stream, &stream->workers[0]);
  for (guint s = 0; s < stream->n_stages; s++)
    atomic_store_explicit (&stream->open->turn[s], HASS_TURN_HERE,
                           memory_order_relaxed);
}

static gboolean
stream_create (HassJob *job, GError **error)
{
  const HassFarm *farm = job->farm;
  HassStream *stream = g_aligned_alloc0 (1, sizeof *stream, HASS_CACHE_LINE);
  job->flow = stream;
  stream->job = job;
  stream->n_stages = farm->n_stages;
  stream->user_tokens = farm->tokens > 0 ? farm->tokens
                        : job->n_devices > (job->cpu >= 0)
                            ? TOKENS_WITH_DEVICES
                            : TOKENS_A_CORE * MAX (job->n_cores, 2);
  stream->most_tokens = stream->user_tokens;
  hass_stream_window_init (stream);
  stream->stages = g_aligned_alloc0 (farm->n_stages, sizeof *stream->stages,
                                     HASS_CACHE_LINE);
  stream->classes = g_new0 (HassClassTraits, farm->n_stages);
  hass_stream_admit_init (stream);
  hass_stream_memory_init (stream);
  set_up_workers (stream);
  set_up_devices (stream);
  for (guint s = 0; s < farm->n_stages; s++)
    set_up_stage (stream, s);
  /* Until the strategy is asked, which is when cores find nothing to do. */
  if (stream->linked && job->cpu >= 0)
    stream->most_tokens
        = MIN (stream->user_tokens, HASS_BATCH_TOKENS * MAX (job->n_cores, 1));
  for (guint s = 0; s < farm->n_stages; s++)
    stream->stages[s].at_once = stream->stages[s].linked;
  set_up_order (stream);
  open_order (stream);
  job->env.n_classes = farm->n_stages;
  job->env.classes = stream->classes;
  gboolean ok = check_devices (stream, error);
  for (guint s = 0; s < farm->n_stages && ok; s++)
    ok = make_accumulators (stream, &stream->stages[s], error);
  if (ok)
    return TRUE;
  stream_free (job);
  return FALSE;
}

/* -- The end ------------------------------------------------------------ */

/* Lists and releases the tokens of a batch that is not through. */
static void
abandon_batch (HassStream *stream, HassBatch *batch)
{
  HassStreamWorker *sw = &stream->workers[0];
  for (guint32 i = 0; i < batch->n; i++)
    {
      HassItem *item = &batch->items[i];
      if (item->state == HASS_ITEM_AGAIN
          || (item->state == HASS_ITEM_ALIVE && item->due < stream->n_stages))
        {
          item->state = HASS_ITEM_FAILED;
          hass_item_list (stream, item, NULL);
        }
      hass_item_end (stream, sw, item);
    }
  batch->n = 0;
}

static void
abandon_pending (HassStream *stream)
{
  HassJob *job = stream->job;
  HassIntake *intake = stream->intake;
  if (!hass_intake_has_loads (intake))
    return;
  for (guint32 i = intake->at; i < intake->span.n; i++)
    {
      hass_job_add_unfinished (job, intake->seq + i, 1, 0, 0, NULL);
      hass_job_let_go (job, hass_intake_load (intake, i), intake->seq + i,
                       FALSE);
    }
  hass_load_pool_release (job->pool, &intake->span);
  intake->at = intake->span.n;
}

static void
add_up_cores (HassStream *stream)
{
  HassJob *job = stream->job;
  if (job->cpu < 0)
    return;
  HassTotals *t = &job->totals[job->cpu];
  for (guint w = 0; w < job->n_cores; w++)
    for (guint s = 0; s < stream->n_stages; s++)
      {
        const HassStageCount *c = &stream->workers[w].stages[s];
        double busy = (double)c->busy_ns / job->n_cores;
        t->units += c->tokens;
        t->work += (double)c->tokens;
        t->bytes += c->bytes;
        t->bundles += c->batches;
        t->busy_ns += busy;
        t->kernel_ns += busy;
      }
}

static void
stream_finish (HassJob *job)
{
  HassStream *stream = hass_stream_of (job);
  for (guint w = 0; w < job->n_workers; w++)
    {
      HassStreamWorker *sw = &stream->workers[w];
      for (guint i = 0; i < sw->parts->len; i++)
        hass_part_discard (stream, sw, &g_array_index (sw->parts, HassPart, i));
      g_array_set_size (sw->parts, 0);
    }
  for (guint i = 0; i < stream->all_batches->len; i++)
    {
      HassBatch *batch = g_ptr_array_index (stream->all_batches, i);
      if (batch->original)
        hass_stand_in_abandon (stream, batch);
      else
        abandon_batch (stream, batch);
    }
  abandon_pending (stream);
  add_up_cores (stream);
  if (job->samplers)
    hass_stream_tell_cores (stream, job->engine->now (job));
  gint64 begin = job->engine->now (job);
  for (guint s = 0; s < stream->n_stages; s++)
    {
      HassStageState *stage = &stream->stages[s];
      HassReduction reduction = hass_stage_reduction (&stage->public);
      if (stage->accumulators)
        hass_job_reduce (job, &reduction, stage->accumulators,
                         stage->public.accumulator);
    }
  job->phases.reduce_ns += job->engine->now (job) - begin;
}

/* Returns how many tokens the worker computed of its last batch. */
guint32
hass_stream_n_computed (HassStream *stream, const HassWorker *worker)
{
  return hass_stream_worker (stream, worker)->n_done;
}

static gboolean
stream_is_idle (HassJob *job)
{
  return hass_stream_idle (hass_stream_of (job));
}

static gint64
stream_again_ns (HassJob *job)
{
  HassStream *stream = hass_stream_of (job);
  gint64 now_ns = job->engine->now (job);
  gint64 asked_ns = hass_stream_again_ns (stream, now_ns);
  gint64 caller_ns = stream->declines_until_ns;
  return caller_ns > now_ns && (asked_ns == 0 || caller_ns < asked_ns)
             ? caller_ns
             : asked_ns;
}

/* Returns: the number of all loads; 0: unknown. */
static guint64
total (const HassJob *job, const HassProgressInfo *info)
{
  const HassFarm *farm = job->farm;
  if (!farm->generate)
    return farm->n_loads;
  if (info->generated)
    return hass_load_pool_emitted (job->pool);
  guint64 expected = farm->run->loads_expected;
  return expected > 0 ? MAX (farm->n_loads + expected, info->loads_emitted) : 0;
}

static void
stream_progress (HassJob *job, HassProgressInfo *info)
{
  info->loads_done
      = atomic_load_explicit (&job->loads_done, memory_order_relaxed);
  info->loads_total = total (job, info);
}

const HassSourceOps hass_stream_ops = { .create = stream_create,
                                        .started = hass_stream_alone_begin,
                                        .finish = stream_finish,
                                        .report = hass_stream_report,
                                        .pass = hass_stream_pass,
                                        .free = stream_free,
                                        .idle = stream_is_idle,
                                        .has_work = hass_stream_has_work,
                                        .again_ns = stream_again_ns,
                                        .rest = hass_stream_rest,
                                        .progress = stream_progress,
                                        .grant_over = hass_ticket_over,
                                        .refused = hass_ticket_refused,
                                        .unfuse = hass_ticket_unfuse };
