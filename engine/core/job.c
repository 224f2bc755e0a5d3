/* SPDX-License-Identifier: MIT */
/* job.c: sets a farm up, generates its loads, gathers its failures and
   writes its report.
   Thread safety: new, generate, finish, report and free by the thread that
   called the farm; stop and add_unfinished by any. */
#include "pool/error-private.h"
#include "engine/observe/record.h"

#include <string.h>

#define RESULT_BYTES (32 << 20) /* results that may queue for the collector */

/* -- What callback a thread is in --------------------------------------- */

static __thread const char *callback;
static __thread HassJob *callback_job;

const char *
hass_engine_enter_callback (const char *what, HassJob *job)
{
  const char *before = callback;
  callback = what;
  callback_job = job;
  return before;
}

void
hass_engine_leave_callback (const char *before)
{
  callback = before;
}

const char *
hass_engine_callback (void)
{
  static __thread char text[128];
  if (!callback)
    return NULL;
  g_snprintf (text, sizeof text, "the %s of farm '%s'", callback,
              callback_job->farm->name);
  return text;
}

/* An emitter or a worker was used whose farm has ended. That stops the farm
   that this thread works for; outside of any it can only be logged. */
void
hass_engine_dead_handle (const char *function)
{
  if (callback)
    hass_job_stop (callback_job,
                   g_error_new (HASS_ERROR, HASS_ERROR_MISUSE,
                                "farm '%s': its %s called %s with an emitter "
                                "or worker of a farm that has ended",
                                callback_job->farm->name, callback, function));
  else
    g_warning ("%s called with an emitter or worker of a farm that has ended",
               function);
}

/* -- Failures ----------------------------------------------------------- */

/* Makes the farm end early. Takes the error; the first one stays. */
void
hass_job_stop (HassJob *job, GError *error)
{
  pthread_mutex_lock (&job->failure);
  if (!job->error)
    job->error = error;
  else
    g_error_free (error);
  pthread_mutex_unlock (&job->failure);
  atomic_store_explicit (&job->stop, TRUE, memory_order_seq_cst);
  job->engine->changed (job);
}

/* Stops the farm when its deadline has passed. */
void
hass_job_check_deadline (HassJob *job, gint64 now_ns)
{
  if (job->deadline_ns == 0 || now_ns < job->deadline_ns
      || hass_job_stopping (job))
    return;
  hass_job_stop (job,
                 g_error_new (HASS_ERROR, HASS_ERROR_DEADLINE,
                              "farm '%s': its deadline of %" G_GINT64_FORMAT
                              " ms has passed",
                              job->farm->name, job->farm->run->deadline_ms));
}

void
hass_job_add_unfinished (HassJob *job, guint64 seq, guint64 n_loads,
                         gsize first, gsize count, const char *message)
{
  HassUnfinished u = { .seq = seq,
                       .n_loads = n_loads,
                       .first = first,
                       .count = count,
                       .message = g_strdup (message) };
  if (n_loads == 0)
    return;
  pthread_mutex_lock (&job->failure);
  g_array_append_val (job->unfinished, u);
  if (n_loads == 1)
    g_hash_table_add (job->failed, GSIZE_TO_POINTER (seq + 1));
  atomic_fetch_add_explicit (&job->n_unfinished, 1, memory_order_relaxed);
  pthread_mutex_unlock (&job->failure);
}

/* Did a unit of this load fail? */
gboolean
hass_job_is_unfinished (HassJob *job, guint64 seq)
{
  if (atomic_load_explicit (&job->n_unfinished, memory_order_relaxed) == 0)
    return FALSE;
  pthread_mutex_lock (&job->failure);
  gboolean found
      = g_hash_table_contains (job->failed, GSIZE_TO_POINTER (seq + 1));
  pthread_mutex_unlock (&job->failure);
  return found;
}

static gint
by_place (gconstpointer a, gconstpointer b)
{
  const HassUnfinished *x = a, *y = b;
  if (x->seq != y->seq)
    return x->seq < y->seq ? -1 : 1;
  return (x->first > y->first) - (x->first < y->first);
}

/* Sorts the unfinished units and joins neighbours of the same fate. */
static void
tidy_unfinished (GArray *list)
{
  g_array_sort (list, by_place);
  guint n = 0;
  for (guint i = 0; i < list->len; i++)
    {
      HassUnfinished *u = &g_array_index (list, HassUnfinished, i);
      HassUnfinished *last
          = n > 0 ? &g_array_index (list, HassUnfinished, n - 1) : NULL;
      gboolean alike = last && !last->message && !u->message;
      if (alike && u->count == 0 && last->count == 0
          && u->seq == last->seq + last->n_loads)
        last->n_loads += u->n_loads;
      else if (alike && u->count > 0 && u->seq == last->seq
               && u->first == last->first + last->count)
        last->count += u->count;
      else
        g_array_index (list, HassUnfinished, n++) = *u;
    }
  g_array_set_size (list, n);
}

/* -- Generating --------------------------------------------------------- */

/* Is this the generator's thread, in the generator? Only the owner may look
   at what its emitter emits, which it alone writes. */
gboolean
hass_emitter_is_generating (HassEmitter *emitter, const char *function)
{
  HassJob *job = emitter->job;
  if (G_LIKELY (pthread_equal (pthread_self (), emitter->owner)
                && emitter->emits != HASS_EMITS_NOTHING))
    return TRUE;
  if (job)
    hass_job_stop (job, g_error_new (HASS_ERROR, HASS_ERROR_MISUSE,
                                     "farm '%s': %s called outside its "
                                     "generator",
                                     job->farm->name, function));
  else
    hass_engine_dead_handle (function);
  return FALSE;
}

/* Stops a farm that was given loads where it takes tasks, or tasks where it
   takes loads, which would be taken for each other. */
gboolean
hass_job_takes (HassJob *job, gboolean tasks, const char *function)
{
  if (G_LIKELY (tasks == hass_farm_takes_tasks (job->farm)))
    return TRUE;
  hass_job_stop (job, g_error_new (HASS_ERROR, HASS_ERROR_MISUSE,
                                   "farm '%s': %s called in a %s farm, which "
                                   "takes %s",
                                   job->farm->name, function,
                                   tasks ? "data" : "function",
                                   tasks ? "loads" : "tasks"));
  return FALSE;
}

static gboolean
may_emit (HassEmitter *emitter, HassEmits emits, const char *function)
{
  HassJob *job = emitter->job;
  if (G_UNLIKELY (!pthread_equal (pthread_self (), emitter->owner)
                  || emitter->emits != emits))
    return hass_emitter_is_generating (emitter, function)
           && hass_job_takes (job, emits == HASS_EMITS_TASKS, function);
  if (job->deadline_ns > 0)
    hass_job_check_deadline (job, job->engine->now (job));
  return !hass_job_stopping (job);
}

gboolean
hass_emitter_stopping (HassEmitter *emitter)
{
  HassJob *job = emitter->job;
  if (!job)
    {
      hass_engine_dead_handle ("hass_emitter_stopping");
      return TRUE;
    }
  if (job->deadline_ns > 0)
    hass_job_check_deadline (job, job->engine->now (job));
  return hass_job_stopping (job);
}

/* Meanwhile this thread computes, and a worker is no generator. */
static gboolean
make_room (HassEmitter *emitter)
{
  HassJob *job = emitter->job;
  HassEmits emits = emitter->emits;
  gint64 begin = job->engine->now (job);
  emitter->emits = HASS_EMITS_NOTHING;
  /* Relaxed: it only says what idle time of others is put down to. */
  atomic_store_explicit (&job->full, TRUE, memory_order_relaxed);
  gboolean room = job->engine->make_room (job);
  atomic_store_explicit (&job->full, FALSE, memory_order_relaxed);
  emitter->emits = emits;
  job->phases.room_ns += job->engine->now (job) - begin;
  return room;
}

gboolean
hass_emitter_emit (HassEmitter *emitter, const HassLoad *load)
{
  HassJob *job = emitter->job;
  if (!may_emit (emitter, HASS_EMITS_LOADS, "hass_emitter_emit"))
    return FALSE;
  if (G_UNLIKELY (load->flags & HASS_LOAD_BUFFER)
      && !hass_buffer_claim (job, load, hass_load_pool_emitted (job->pool),
                             FALSE))
    return FALSE;
  while (G_UNLIKELY (!hass_load_pool_emit (job->pool, load)))
    if (!make_room (emitter))
      return FALSE;
  job->engine->loads_came (job);
  return TRUE;
}

gboolean
hass_engine_emit_task (HassEmitter *emitter, HassLoad *load)
{
  HassJob *job = emitter->job;
  if (!may_emit (emitter, HASS_EMITS_TASKS, "hass_emitter_emit_task"))
    return FALSE;
  load->tag = hass_copy_new (job, &emitter->copier, load->tag);
  load->flags |= HASS_LOAD_COPIED;
  while (G_UNLIKELY (!hass_load_pool_emit (job->pool, load)))
    if (!make_room (emitter))
      return FALSE; /* the copy goes with the farm, which stops */
  job->engine->loads_came (job);
  return TRUE;
}

/* An array's buffers; most farms have none. */
static gboolean
claim_buffers (HassJob *job, const HassLoad *loads, gsize n_loads)
{
  guint64 seq = hass_load_pool_emitted (job->pool);
  for (gsize i = 0; i < n_loads && hass_job_has_owned (job); i++)
    if (loads[i].flags & HASS_LOAD_BUFFER
        && !hass_buffer_claim (job, &loads[i], seq + i, FALSE))
      return FALSE;
  return TRUE;
}

gboolean
hass_emitter_emit_array (HassEmitter *emitter, const HassLoad *loads,
                         gsize n_loads)
{
  if (!may_emit (emitter, HASS_EMITS_LOADS, "hass_emitter_emit_array")
      || !claim_buffers (emitter->job, loads, n_loads))
    return FALSE;
  if (n_loads > 0)
    hass_load_pool_add_array (emitter->job->pool, loads, n_loads);
  emitter->job->engine->loads_came (emitter->job);
  return TRUE;
}

/* Emits all loads of the farm; on the thread that called it. Those it was
   given are accepted also when it is stopping, and named as unfinished. */
void
hass_job_generate (HassJob *job)
{
  const HassFarm *farm = job->farm;
  HassEmitter *emitter = &job->handles->emitter;
  *emitter = (HassEmitter){ .job = job,
                            .owner = pthread_self (),
                            .emits = hass_farm_takes_tasks (farm)
                                         ? HASS_EMITS_TASKS
                                         : HASS_EMITS_LOADS };
  job->phases.generate_ns = job->engine->now (job);
  if (farm->n_loads > 0)
    {
      hass_load_pool_add_array (job->pool, farm->loads, farm->n_loads);
      job->engine->loads_came (job);
    }
  if (farm->generate && !hass_job_stopping (job))
    {
      GError *error = NULL;
      const char *before = hass_engine_enter_callback ("generator", job);
      gboolean ok = farm->generate (emitter, farm->user_data, &error);
      hass_engine_leave_callback (before);
      ok = hass_callback_ok (ok, &error, HASS_ERROR_GENERATOR);
      if (!ok && !hass_job_stopping (job))
        {
          g_prefix_error (&error,
                          "farm '%s': generator failed after %" G_GUINT64_FORMAT
                          " loads: ",
                          farm->name, hass_load_pool_emitted (job->pool));
          if (farm->run->on_error == HASS_ON_ERROR_STOP)
            hass_job_stop (job, g_steal_pointer (&error));
          else
            {
              pthread_mutex_lock (&job->failure);
              if (!job->error)
                job->error = g_steal_pointer (&error);
              pthread_mutex_unlock (&job->failure);
            }
        }
      g_clear_error (&error);
    }
  emitter->emits = HASS_EMITS_NOTHING;
  job->phases.generated_ns = job->engine->now (job);
  atomic_store_explicit (&job->generated, TRUE, memory_order_seq_cst);
  job->engine->changed (job);
}

/* -- Set-up ------------------------------------------------------------- */

/* With the CPU pool as the only device rounds may overlap. */
gboolean
hass_job_overlaps (const HassJob *job)
{
  return job->n_devices == 1 && job->cpu == 0;
}

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
  tidy_unfinished (job->unfinished);
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
