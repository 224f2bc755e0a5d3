/* SPDX-License-Identifier: MIT */
/* job.c: sets a farm up, generates its loads, gathers its failures and
   writes its report.
   Thread safety: new, generate, finish, report and free by the thread that
   called the farm; stop and add_unfinished by any. */
#include "job-private.h"
#include "pool/error-private.h"
#include "engine/observe/record.h"

#include <string.h>

#define RESULT_BYTES (32 << 20) /* results that may queue for the collector */

/* -- Set-up ------------------------------------------------------------- */

static void
make_workers (HassJob *job)
{
  const HassFarm *farm = job->farm;
  guint n_gpus = job->n_devices - (job->cpu >= 0);
  /* The caller needs a context even where no CPU pool takes part. */
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
      atomic_init (&w->cpu, -1);
      if (farm->reduce)
        w->accumulator = hass_accumulator_new (job);
    }
}

/* A farm that is asked to run on GPUs only, and has none, is refused: the
   strategy would have the cores compute all of it. */
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

HassJob *
hass_job_new (const HassFarm *farm, const HassEngineOps *engine,
              const HassDeviceTraits *devices, HassDevice **gpus,
              guint n_devices, double entry_bytes, double merge_ns,
              GError **error)
{
  const char *record = farm->run->record;
  if (!record)
    record = g_getenv ("HASS_RECORD");
  HassJob *job = g_aligned_alloc0 (1, sizeof *job, HASS_CACHE_LINE);
  job->farm = farm;
  job->engine = engine;
  job->n_devices = n_devices;
  job->devices = g_memdup2 (devices, n_devices * sizeof *devices);
  job->gpus = g_memdup2 (gpus, n_devices * sizeof *gpus);
  job->cpu = n_devices > 0 && devices[0].kind == HASS_DEVICE_CPU ? 0 : -1;
  job->n_cores = job->cpu == 0 ? devices[0].cores : 0;
  job->dry = farm->run->dry;
  job->ordered = farm->order == HASS_RESULTS_ORDERED && farm->collect;
  job->totals = g_new0 (HassTotals, MAX (n_devices, 1));
  job->summary = g_new0 (HassDeviceSummary, MAX (n_devices, 1));
  pthread_mutex_init (&job->decision, NULL);
  pthread_mutex_init (&job->failure, NULL);
  hass_event_init (&job->event);
  job->unfinished = g_array_new (FALSE, FALSE, sizeof (HassUnfinished));
  job->failed = g_hash_table_new (NULL, NULL);
  hass_buffers_init (job);
  hass_copies_init (job);
  job->pool = hass_load_pool_new (farm->pool_loads, farm->pool_bytes);
  if (farm->collect)
    job->results = hass_result_pool_new (job->ordered, RESULT_BYTES,
                                         hass_job_collect, job);
  for (guint i = 0; i < HASS_SLOTS; i++)
    {
      hass_round_init (&job->slots[i].round, n_devices, devices);
      job->slots[i].seats = g_new0 (HassSeat, MAX (n_devices, 1));
    }
  make_workers (job);
  job->env = (HassStrategyEnv){ .struct_size = sizeof job->env,
                                .farm_name = farm->name,
                                .farm = farm->kind,
                                .cost = farm->cost,
                                .n_devices = n_devices,
                                .devices = job->devices,
                                .seed = farm->run->seed,
                                .element_threads = farm->element_threads,
                                .profile = farm->profile,
                                .entry_bytes = entry_bytes,
                                .merge_ns = merge_ns };
  hass_samplers_begin (job);
  if (!job->pool)
    g_set_error (error, HASS_ERROR, HASS_ERROR_OVERFLOW,
                 "farm '%s': there is no memory for a pool of %zu loads of "
                 "%zu bytes",
                 farm->name, farm->pool_loads, sizeof (HassLoad));
  else if (hass_explain_open (job, error))
    job->strategy = hass_strategy_new (farm->strategy, &job->env, error);
  if (!job->strategy || !has_its_devices (job, error)
      || !hass_job_trace_open (job, error)
      || (record && *record
          && !(job->recorder = hass_recorder_open (job, record, error))))
    {
      hass_job_free (job);
      return NULL;
    }
  return job;
}

void
hass_job_free (HassJob *job)
{
  if (job->strategy)
    hass_strategy_free (job->strategy);
  hass_explain_close (job, NULL);
  if (job->trace)
    hass_trace_close (job->trace, NULL);
  g_clear_pointer (&job->recorder, hass_recorder_free);
  for (guint i = 0; i < job->n_workers; i++)
    {
      HassWorker *w = &job->workers[i];
      hass_accumulator_free (job, w->accumulator);
      if (w->nested)
        g_array_unref (w->nested);
    }
  for (guint i = 0; i < HASS_SLOTS; i++)
    {
      hass_round_clear (&job->slots[i].round);
      g_free (job->slots[i].seats);
    }
  g_clear_pointer (&job->results, hass_result_pool_free);
  g_clear_pointer (&job->pool, hass_load_pool_free);
  for (guint i = 0; i < job->unfinished->len; i++)
    g_free (g_array_index (job->unfinished, HassUnfinished, i).message);
  g_array_unref (job->unfinished);
  g_hash_table_unref (job->failed);
  hass_buffers_clear (job);
  hass_copies_clear (job);
  g_clear_error (&job->error);
  pthread_mutex_destroy (&job->decision);
  pthread_mutex_destroy (&job->failure);
  hass_event_clear (&job->event);
  hass_handles_keep (job->handles);
  for (guint d = 0; d < job->n_devices; d++)
    g_free (job->totals[d].message);
  g_free (job->totals);
  g_free (job->summary);
  g_free (job->samplers);
  g_free (job->known);
  g_free (job->devices);
  g_free (job->gpus);
  g_aligned_free (job);
}

/* -- The end ------------------------------------------------------------ */

/* All threads have left: names what is unfinished, delivers what is left of
   the results, reduces. */
void
hass_job_finish (HassJob *job)
{
  gint64 begin = job->engine->now (job);
  if (job->phases.worked_ns == 0)
    job->phases.worked_ns = begin;
  if (job->results)
    hass_result_pool_flush (job->results);
  job->phases.flush_ns = job->engine->now (job) - begin;
  hass_job_abandon (job);
  hass_job_tidy_unfinished (job);
  begin = job->engine->now (job);
  if (job->farm->reduce)
    hass_job_reduce (job);
  job->phases.reduce_ns = job->engine->now (job) - begin;
  GError *error = NULL;
  hass_explain_close (job, &error);
  if (job->trace)
    hass_trace_close (g_steal_pointer (&job->trace), error ? NULL : &error);
  if (error && job->error)
    g_error_free (error);
  else if (error)
    job->error = error;
}

HassReport *
hass_job_report (HassJob *job, gint64 makespan_ns)
{
  HassReport *report = g_new0 (HassReport, 1);
  hass_account_end (job, job->begin_ns + makespan_ns);
  report->farm = g_strdup (job->farm->name);
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
                                .peak_bytes = t->transfers.peak_bytes };
      report->units += report->devices[d].units;
      report->bytes += t->bytes;
    }
  if (job->results)
    report->results = hass_result_pool_delivered (job->results);
  hass_account (job, report, makespan_ns);
  report->n_unfinished = job->unfinished->len;
  report->unfinished = g_memdup2 (
      job->unfinished->data, job->unfinished->len * sizeof (HassUnfinished));
  g_array_set_size (job->unfinished, 0);
  return report;
}
