/* SPDX-License-Identifier: MIT */
/* job.c: sets a farm up, ends it and makes its report.
   Thread safety: the thread that called the farm. */
#include "job-private.h"
#include "device/cpu/memory.h"
#include "pool/callback_error.h"
#include "engine/profile/sampler.h"

#include <string.h>

/* A modelled host has so many bytes of memory: results in virtual time depend
   on no machine. */
#define MODEL_MEMORY ((guint64)16 << 30)
/* The part of the memory that may wait, or be in flight. */
#define PART_OF_MEMORY 16

/* Loads for each core that may wait or be computed even if they have more bytes
   than the default bound. Measured with line q of the pipelines' bench: with
   fewer, cores run out of loads while the generating thread computes; with more
   the memory grows. */
#define LOADS_A_CORE ((gsize)2)

/* Bytes of results that may queue for a collector that is slower than the
   workers; beyond it workers wait. A guess: smaller, and they wait for short
   delays of the collector; larger, and more memory is used. */
#define RESULT_BYTES (32 << 20)

/* -- Set-up ------------------------------------------------------------- */

/* Returns: FALSE with an error if there is no memory. */
static gboolean
make_workers (HassJob *job, GError **error)
{
  const HassFarm *farm = job->farm;
  HassReduction reduction = hass_farm_reduction (farm);
  guint n_gpus = job->n_devices - (job->cpu >= 0);
  /* The calling thread needs a worker context even without a CPU pool. */
  job->n_workers = MAX (job->n_cores, 1) + n_gpus;
  job->handles = hass_handles_take (job->n_workers);
  job->workers = job->handles->workers;
  for (guint i = 0; i < job->n_workers; i++)
    {
      HassWorker *w = &job->workers[i];
      w->job = job;
      w->index = i;
      w->counter = job->n_cores > 0 ? i : i - 1;
      w->last_chunk = 1;
      w->functions = hass_functions_new (job);
      atomic_init (&w->cpu, -1);
    }
  gboolean ok = TRUE;
  for (guint i = 0; i < job->n_workers && farm->reduce && ok; i++)
    ok = (job->workers[i].accumulator
          = hass_accumulator_new (job, &reduction, error))
         != NULL;
  return ok;
}

/* Returns: FALSE with an error if the strategy is gpu-only and the farm has no
   GPU: the strategy would have the cores compute all of it. */
static gboolean
has_its_devices (const HassJob *job, GError **error)
{
  if (strcmp (job->strategy->ops->name, "gpu-only") != 0)
    return TRUE;
  for (guint d = 0; d < job->n_devices; d++)
    if (job->devices[d].kind == HASS_DEVICE_GPU)
      return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
               "farm '%s': strategy gpu-only does not serve it: it needs a GPU "
               "and a GPU worker, and the farm has no such device",
               job->farm->name);
  return FALSE;
}

static void note (gpointer data, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Passes the strategy's explanation of a decision to the listeners, with the
   time since the farm's begin. While the strategy itself is being made, the
   farm has not begun and the time is 0. */
static void
note (gpointer data, const char *format, ...)
{
  HassJob *job = data;
  gint64 ns = job->strategy ? job->engine->now (job) - job->begin_ns : 0;
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  HASS_ANNOUNCE (job, said, ns, text);
}

/* Adds the farm's listeners, and gives the strategy a function for explanations
   if a listener wants them. Returns: FALSE if a listener cannot be set up. */
static gboolean
listen (HassJob *job, GError **error)
{
  const HassFarm *farm = job->farm;
  if (farm->observe
      && !farm->observe (farm->run, farm->name, &job->listeners, error))
    return FALSE;
  for (HassListener *l = job->listeners; l; l = l->next)
    if (l->ops->said)
      {
        job->env.note = note;
        job->env.note_data = job;
      }
  return TRUE;
}

/* Tells the listeners of the farm. Returns: FALSE with an error if one of them
   refuses to let the farm run. */
static gboolean
open_listeners (HassJob *job, GError **error)
{
  job->facts = (HassFarmFacts){ .farm = job->farm,
                                .strategy = job->strategy->ops->name,
                                .n_devices = job->n_devices,
                                .devices = job->devices,
                                .known = job->known,
                                .cpu = job->cpu,
                                .n_cores = job->n_cores,
                                .n_workers = job->n_workers,
                                .real_time = job->engine->real_time,
                                .ordered = job->ordered,
                                .n_classes = job->env.n_classes,
                                .classes = job->env.classes };
  for (HassListener *l = job->listeners; l; l = l->next)
    if (l->ops->open && !l->ops->open (l->self, &job->facts, error))
      return FALSE;
  return TRUE;
}

static void
init_shared (HassJob *job)
{
  const HassFarm *farm = job->farm;
  hass_lock_init (&job->decision);
  pthread_mutex_init (&job->failure, NULL);
  hass_event_init (&job->event);
  job->unfinished = g_array_new (FALSE, FALSE, sizeof (HassUnfinished));
  job->failed = g_hash_table_new (NULL, NULL);
  hass_buffers_init (job);
  hass_copies_init (job);
  job->pool = hass_load_pool_new (farm->pool_loads, farm->pool_bytes);
  if (job->pool)
    hass_load_pool_widen (
        job->pool, farm->bounded_loads ? farm->pool_loads : G_MAXSIZE,
        farm->bounded_bytes ? 0 : LOADS_A_CORE * MAX (job->n_cores, 1),
        hass_job_most_bytes (job), farm->source ? NULL : hass_slots_computed,
        job);
  if (farm->collect)
    job->results = hass_result_pool_new (job->ordered, RESULT_BYTES,
                                         hass_job_collect, job);
}

static void
init_env (HassJob *job, const HassJobDevices *devices)
{
  const HassFarm *farm = job->farm;
  job->env = (HassStrategyEnv){ .struct_size = sizeof job->env,
                                .farm_name = farm->name,
                                .farm = farm->kind,
                                .cost = farm->cost,
                                .n_devices = job->n_devices,
                                .devices = job->devices,
                                .seed = farm->run->seed,
                                .element_threads = farm->element_threads,
                                .profile = farm->profile,
                                .n_functions
                                = job->n_devices > 1 ? farm->n_functions : 0,
                                .entry_bytes = devices->entry_bytes,
                                .merge_ns = devices->merge_ns };
}

/* Makes the source of work and the strategy, which is told what earlier runs
   have measured. Returns: FALSE with an error if one cannot be made. */
static gboolean
make_source (HassJob *job, GError **error)
{
  const HassFarm *farm = job->farm;
  const HassSourceOps *source = farm->source ? farm->source : &hass_rounds_ops;
  if (!source->create (job, error))
    return FALSE;
  job->source = source;
  if (job->engine->real_time)
    job->samplers = hass_samplers_begin (&job->env, farm->strategy);
  if (job->samplers)
    job->loads_before = hass_samplers_loads (job->samplers);
  job->strategy = hass_strategy_new (farm->strategy, &job->env, error);
  job->spoliates = job->strategy && job->strategy->ops->spoliate
                   && job->cpu >= 0 && job->n_devices > 1
                   && (farm->kind & HASS_FARM_ANY);
  if (job->strategy && source->started)
    source->started (job);
  return job->strategy != NULL;
}

/* Makes the job for a farm; the farm stays the caller's and must outlive the
   job. Returns: NULL with an error if the farm cannot run. */
HassJob *
hass_job_new (const HassFarm *farm, const HassEngineOps *engine,
              const HassJobDevices *devices, GError **error)
{
  guint n = devices->n_devices;
  HassJob *job = g_aligned_alloc0 (1, sizeof *job, HASS_CACHE_LINE);
  job->farm = farm;
  job->engine = engine;
  job->n_devices = n;
  job->devices = g_memdup2 (devices->devices, n * sizeof *job->devices);
  job->gpus = g_memdup2 (devices->gpus, n * sizeof *job->gpus);
  job->cpu = n > 0 && job->devices[0].kind == HASS_DEVICE_CPU ? 0 : -1;
  job->n_cores = job->cpu == 0 ? job->devices[0].cores : 0;
  job->dry = farm->run->dry;
  job->ordered = farm->order == HASS_RESULTS_ORDERED && farm->collect;
  job->totals = g_new0 (HassTotals, MAX (n, 1));
  job->summary = g_new0 (HassDeviceSummary, MAX (n, 1));
  init_shared (job);
  gboolean ok = make_workers (job, error);
  init_env (job, devices);
  if (ok && !job->pool)
    g_set_error (error, HASS_ERROR, HASS_ERROR_OVERFLOW,
                 "%s '%s': there is no memory for a pool of %zu loads of "
                 "%zu bytes",
                 hass_farm_noun (farm), farm->name, farm->pool_loads,
                 sizeof (HassLoad));
  else if (ok && listen (job, error) && make_source (job, error)
           && has_its_devices (job, error) && open_listeners (job, error))
    return job;
  hass_job_free (job);
  return NULL;
}

/* Returns: the most bytes that wait, or are in flight, if the user has set no
   bound. */
guint64
hass_job_most_bytes (const HassJob *job)
{
  guint64 memory = job->engine->real_time ? hass_memory_bytes () : MODEL_MEMORY;
  return MAX (memory / PART_OF_MEMORY, 1);
}

static void
free_listeners (HassJob *job)
{
  HassListener *l;
  while ((l = job->listeners))
    {
      job->listeners = l->next;
      if (l->ops->free)
        l->ops->free (l->self);
      g_free (l);
    }
}

static void
clear_shared (HassJob *job)
{
  g_clear_pointer (&job->results, hass_result_pool_free);
  g_clear_pointer (&job->pool, hass_load_pool_free);
  for (guint i = 0; i < job->unfinished->len; i++)
    g_free (g_array_index (job->unfinished, HassUnfinished, i).message);
  g_array_unref (job->unfinished);
  g_hash_table_unref (job->failed);
  hass_buffers_clear (job);
  hass_copies_clear (job);
  g_clear_error (&job->error);
  hass_lock_clear (&job->decision);
  pthread_mutex_destroy (&job->failure);
  hass_event_clear (&job->event);
}

void
hass_job_free (HassJob *job)
{
  HassReduction reduction = hass_farm_reduction (job->farm);
  if (job->strategy)
    hass_strategy_free (job->strategy);
  if (job->source)
    job->source->free (job);
  free_listeners (job);
  for (guint i = 0; i < job->n_workers; i++)
    {
      HassWorker *w = &job->workers[i];
      hass_accumulator_free (job, &reduction, w->accumulator);
      g_free (w->nested);
      g_free (w->functions);
    }
  clear_shared (job);
  hass_handles_keep (job->handles);
  for (guint d = 0; d < job->n_devices; d++)
    g_free (job->totals[d].message);
  g_free (job->totals);
  g_free (job->summary);
  g_clear_pointer (&job->samplers, hass_samplers_free);
  g_free (job->devices);
  g_free (job->gpus);
  g_aligned_free (job);
}

/* Tells the listeners that the engine begins to run the farm. */
void
hass_job_begin (HassJob *job)
{
  job->facts.platform = job->platform_name;
  job->facts.begin_ns = job->begin_ns;
  for (HassListener *l = job->listeners; l; l = l->next)
    if (l->ops->begun)
      l->ops->begun (l->self);
}

/* -- The end ------------------------------------------------------------ */

/* Makes the error of a listener the farm's error, unless the farm has one
   already. Takes over @error. */
static void
keep_error (HassJob *job, GError *error)
{
  if (job->error)
    g_error_free (error);
  else
    job->error = error;
}

/* Merges the accumulators of all workers into the user's. */
static void
reduce (HassJob *job)
{
  HassReduction reduction = hass_farm_reduction (job->farm);
  g_autofree gpointer *accumulators = g_new (gpointer, job->n_workers);
  for (guint i = 0; i < job->n_workers; i++)
    accumulators[i] = g_steal_pointer (&job->workers[i].accumulator);
  hass_job_reduce (job, &reduction, accumulators, job->farm->accumulator);
}

/* Finishes the farm when all other threads have left it: delivers the remaining
   results, lists what is unfinished and merges the accumulators. */
void
hass_job_finish (HassJob *job)
{
  gint64 begin = job->engine->now (job);
  if (job->phases.worked_ns == 0)
    job->phases.worked_ns = begin;
  if (job->results)
    hass_result_pool_flush (job->results);
  job->phases.flush_ns = job->engine->now (job) - begin;
  job->source->finish (job);
  hass_job_abandon (job);
  hass_job_tidy_unfinished (job);
  begin = job->engine->now (job);
  if (job->farm->reduce)
    reduce (job);
  job->phases.reduce_ns += job->engine->now (job) - begin;
  job->env.note = NULL;
  for (HassListener *l = job->listeners; l; l = l->next)
    {
      GError *error = NULL;
      if (l->ops->over && !l->ops->over (l->self, &error))
        keep_error (job, error);
    }
}

static void
store_samples (HassJob *job, gint64 makespan_ns)
{
  if (job->error || job->unfinished->len > 0)
    return;
  if (job->source->store && job->engine->real_time)
    job->source->store (job, makespan_ns);
  if (!job->samplers)
    return;
  g_autofree gboolean *lost = g_new (gboolean, job->n_devices);
  for (guint d = 0; d < job->n_devices; d++)
    lost[d] = job->totals[d].lost;
  hass_samplers_had_loads (job->samplers, hass_load_pool_emitted (job->pool));
  hass_samplers_store (job->samplers, lost, makespan_ns);
}

/* Ends the farm, which took @makespan_ns: stores the rates that the farm has
   measured in the profile store, and lets the listeners write what they kept
   until now. */
void
hass_job_end (HassJob *job, gint64 makespan_ns)
{
  store_samples (job, makespan_ns);
  if (!job->listeners)
    return;
  g_autofree struct HassDeviceFacts *devices
      = g_new (struct HassDeviceFacts, MAX (job->n_devices, 1));
  for (guint d = 0; d < job->n_devices; d++)
    {
      const HassTransfers *t = &job->totals[d].transfers;
      devices[d]
          = (struct HassDeviceFacts){ t->direct_bytes, t->registered_bytes,
                                      t->staged_bytes };
    }
  const HassPhases *p = &job->phases;
  HassEnded fact = {
    .generator_ns
    = job->farm->generate ? p->generated_ns - p->generate_ns - p->room_ns : 0,
    .makespan_ns = makespan_ns,
    .n_rounds = job->n_rounds,
    .n_units = atomic_load_explicit (&job->n_units, memory_order_relaxed),
    .n_unfinished = job->unfinished->len,
    .ok = job->error == NULL,
    .devices = devices,
  };
  for (HassListener *l = job->listeners; l; l = l->next)
    {
      GError *error = NULL;
      if (l->ops->ended && !l->ops->ended (l->self, &fact, &error))
        keep_error (job, error);
    }
}

HassReport *
hass_job_report (HassJob *job, gint64 makespan_ns)
{
  HassReport *report = g_new0 (HassReport, 1);
  hass_account_end (job, job->begin_ns + makespan_ns);
  report->farm = g_strdup (job->farm->name);
  report->kind = job->farm->kind;
  report->strategy = g_strdup (job->strategy->ops->name);
  report->platform = g_strdup (job->platform_name);
  report->virtual_time = job->platform_name != NULL;
  report->makespan_s = makespan_ns * 1e-9;
  report->rounds = job->n_rounds;
  report->loads = job->n_loads;
  report->n_devices = job->n_devices;
  report->devices = g_new0 (HassDeviceReport, MAX (job->n_devices, 1));
  for (guint d = 0; d < job->n_devices; d++)
    {
      const HassTotals *t = &job->totals[d];
      const HassDeviceTraits *traits = &job->devices[d];
      report->devices[d]
          = (HassDeviceReport){ .name = g_strdup (traits->name),
                                .kind = traits->kind,
                                .cores = traits->cores,
                                .units = t->units - t->failed_units,
                                .bytes = t->bytes,
                                .bundles = t->bundles,
                                .failures = t->failures,
                                .work = t->work,
                                .busy_s = t->busy_ns * 1e-9,
                                .kernel_s = t->kernel_ns * 1e-9,
                                .waiting_s = (makespan_ns - t->busy_ns) * 1e-9,
                                .tail_s = t->tail_ns * 1e-9,
                                .lost = t->lost,
                                .message = g_strdup (t->message),
                                .direct_bytes = t->transfers.direct_bytes,
                                .registered_bytes
                                = t->transfers.registered_bytes,
                                .staged_bytes = t->transfers.staged_bytes,
                                .constant_bytes = t->transfers.constant_bytes,
                                .peak_bytes = t->transfers.peak_bytes,
                                .taken_back = t->taken_back,
                                .vain_s = t->vain_ns * 1e-9 };
      report->units += report->devices[d].units;
      report->bytes += t->bytes;
    }
  if (job->results)
    report->results = hass_result_pool_delivered (job->results);
  hass_account (job, report, makespan_ns);
  if (job->source->report)
    job->source->report (job, report);
  report->n_unfinished = job->unfinished->len;
  report->unfinished = g_memdup2 (
      job->unfinished->data, job->unfinished->len * sizeof (HassUnfinished));
  g_array_set_size (job->unfinished, 0);
  return report;
}
