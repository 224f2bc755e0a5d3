/* SPDX-License-Identifier: MIT */
/* worker.c: the functions that a callback may call with its worker: results,
   nested loads and tasks, loops over all cores.
   Thread safety: a worker context belongs to one thread at a time; any thread
   may ask for the index, the count, a constant and whether the farm is
   stopping. */
#include "job-private.h"
#include "pool/callback_error.h"
#include "pool/clock.h"

/* Loads for which a worker that emits its first gets room. A guess: smaller,
   and the array grows more often; larger, and idle workers hold more memory, 56
   bytes a load. */
#define LEAST_NESTED 64
/* Loads that a pull or bundle may emit: the largest number that doubling
   LEAST_NESTED reaches in 32 bits, 120 GB of loads. */
#define MOST_NESTED ((guint)1 << 31)

/* Returns: FALSE if the worker is NULL or its farm has ended; that misuse is
   reported with the name of @function. */
static inline gboolean
is_alive (const HassWorker *worker, const char *function)
{
  if (G_LIKELY (worker && worker->job))
    return TRUE;
  hass_engine_dead_handle (function);
  return FALSE;
}

guint
hass_worker_index (const HassWorker *worker)
{
  return is_alive (worker, "hass_worker_index") ? worker->index : 0;
}

guint
hass_worker_count (const HassWorker *worker)
{
  return is_alive (worker, "hass_worker_count") ? worker->job->n_workers : 0;
}

gpointer
hass_worker_accumulator (HassWorker *worker)
{
  return is_alive (worker, "hass_worker_accumulator") ? worker->accumulator
                                                      : NULL;
}

gconstpointer
hass_worker_constant (const HassWorker *worker, guint index)
{
  if (!is_alive (worker, "hass_worker_constant"))
    return NULL;
  const HassFarm *farm = worker->job->farm;
  return index < farm->n_constants ? farm->constants[index].data : NULL;
}

gboolean
hass_worker_stopping (const HassWorker *worker)
{
  if (!is_alive (worker, "hass_worker_stopping"))
    return TRUE;
  /* Relaxed, as in HassInHand. */
  if (worker->asks
      && !atomic_load_explicit (worker->asks, memory_order_relaxed))
    atomic_store_explicit (worker->asks, TRUE, memory_order_relaxed);
  return hass_job_must_stop (worker->job)
         || (worker->unneeded
             && atomic_load_explicit (worker->unneeded, memory_order_relaxed));
}

/* Returns: TRUE if @what, a function for units of farms, is called where it may
   be; if not, the farm is stopped. @instead: what to call in a pipeline's
   stage. */
static gboolean
in_unit (HassWorker *worker, const char *what, const char *instead)
{
  if (G_LIKELY (worker && hass_worker_is_current (worker) && worker->unit))
    return TRUE;
  if (!is_alive (worker, what))
    return FALSE;
  if (worker->job->farm->kind == HASS_FARM_PIPELINE)
    hass_job_fail (worker->job, HASS_ERROR_MISUSE,
                   "%s called in a pipeline, which has tokens in place of "
                   "units: call %s",
                   what, instead);
  else
    hass_job_fail (worker->job, HASS_ERROR_MISUSE,
                   "%s called outside a cpu_worker, on another thread than "
                   "its own, or with the worker of a loop's body",
                   what);
  return FALSE;
}

gboolean
hass_worker_result (HassWorker *worker, gconstpointer data, gsize bytes)
{
  if (!in_unit (worker, "hass_worker_result", "hass_token_output"))
    return FALSE;
  HassJob *job = worker->job;
  if (!job->results)
    {
      hass_job_fail (job, HASS_ERROR_MISUSE,
                     "hass_worker_result called, but the farm has no "
                     "collector");
      return FALSE;
    }
  const HassBlock *unit = worker->unit;
  HassResultItem record = { .seq = unit->seq,
                            .tag = unit->load->tag,
                            .first = unit->first,
                            .count = unit->count,
                            .bytes = bytes };
  if (!worker->run)
    worker->run = hass_result_pool_run (job->results);
  hass_run_add (worker->run, &record, data);
  worker->has_result = TRUE;
  return TRUE;
}

/* Reports why a worker may not emit; the farm is stopped. */
static G_GNUC_NO_INLINE void
refuse_nesting (HassWorker *worker, gboolean tasks, const char *function)
{
  if (in_unit (worker, function, "hass_token_emit"))
    hass_job_takes (worker->job, tasks, function);
}

static inline gboolean
may_nest (HassWorker *worker, gboolean tasks, const char *function)
{
  if (G_LIKELY (worker && hass_worker_is_current (worker) && worker->unit
                && tasks == hass_farm_takes_tasks (worker->job->farm)))
    return !hass_job_stopping (worker->job);
  refuse_nesting (worker, tasks, function);
  return FALSE;
}

/* Makes room for more loads of the worker. Returns: FALSE if there cannot be
   more; the farm is stopped. */
static G_GNUC_NO_INLINE gboolean
grow_nested (HassWorker *worker)
{
  guint n = worker->n_nested;
  if (n >= MOST_NESTED)
    {
      hass_job_fail (worker->job, HASS_ERROR_OVERFLOW,
                     "worker %u has emitted %u loads from one pull or bundle, "
                     "the most that one can emit",
                     worker->index, n);
      return FALSE;
    }
  guint room = MAX (2 * n, LEAST_NESTED);
  HassLoad *nested = g_try_renew (HassLoad, worker->nested, room);
  if (!nested)
    {
      hass_job_fail (worker->job, HASS_ERROR_NO_MEMORY,
                     "worker %u has emitted %u loads from one pull or bundle, "
                     "and memory is insufficient for %u, %zu bytes",
                     worker->index, n, room, room * sizeof *nested);
      return FALSE;
    }
  worker->nested = nested;
  worker->nested_room = room;
  return TRUE;
}

/* Returns: whether there is room for a load of the worker. Inlined, since a
   nested task may cost no more than a call. */
static inline gboolean
has_place (HassWorker *worker)
{
  return G_LIKELY (worker->n_nested < worker->nested_room)
         || grow_nested (worker);
}

gboolean
hass_worker_emit (HassWorker *worker, const HassLoad *load)
{
  if (!may_nest (worker, FALSE, "hass_worker_emit") || !has_place (worker)
      || (load->flags & HASS_LOAD_BUFFER
          && !hass_buffer_claim (worker->job, load, worker->unit->seq, TRUE)))
    return FALSE;
  worker->nested[worker->n_nested++] = *load;
  return TRUE;
}

HassLoad *
hass_engine_nest_task (HassWorker *worker)
{
  if (!may_nest (worker, TRUE, "hass_worker_emit_task") || !has_place (worker))
    return NULL;
  HassLoad *load = &worker->nested[worker->n_nested++];
  load->tag = hass_copy_new (worker->job, &worker->copier);
  return load;
}

/* A loop that a unit runs on several cores; see hass_worker_parallel_for(). */
typedef struct
{
  /* what the bodies get as their worker; it has no unit and no accumulator */
  HassWorker worker;
  HassLoopFunc body;
  gpointer user_data;
  HassWorker *charged; /* its unit's busy time counts the pieces; or NULL */
  _Atomic gboolean failed;
  GError *error; /* of the first body that failed */
} Loop;

/* Runs the body on a piece. A thread that helps, and is in no callback of the
   loop's unit, is busy for the unit meanwhile. */
static gboolean
run_body (Loop *loop, gsize first, gsize count, GError **error)
{
  HassJob *job = loop->worker.job;
  HassWorker *charged = loop->charged;
  HassCallback before = hass_engine_enter_callback ("loop body", job, NULL);
  hass_callback.charged = charged;
  gboolean helps
      = charged && charged != before.charged && job->engine->real_time;
  gint64 begin = helps ? hass_clock_ns () : 0;
  gboolean ok
      = loop->body (first, count, &loop->worker, loop->user_data, error);
  /* Relaxed: the worker reads its own when its loops are over. */
  if (helps)
    atomic_fetch_add_explicit (&charged->helped_ns, hass_clock_ns () - begin,
                               memory_order_relaxed);
  hass_engine_leave_callback (before);
  return ok;
}

/* Returns the time that other threads have spent in the loops of the worker's
   callbacks since the last call. The worker's thread. */
gint64
hass_worker_take_helped (HassWorker *worker)
{
  if (atomic_load_explicit (&worker->helped_ns, memory_order_relaxed) == 0)
    return 0;
  return atomic_exchange_explicit (&worker->helped_ns, 0, memory_order_relaxed);
}

static void
run_piece (gsize first, gsize count, gpointer data)
{
  Loop *loop = data;
  GError *error = NULL;
  /* Relaxed: a late look only computes a piece in vain. The error is read when
     all pieces are over. */
  if (atomic_load_explicit (&loop->failed, memory_order_relaxed))
    return;
  gboolean ok = run_body (loop, first, count, &error);
  gboolean silent = !error;
  if (hass_callback_ok (ok, &error, HASS_ERROR_WORKER))
    return;
  if (silent)
    g_prefix_error (&error, "loop body, iterations %zu to %zu: ", first,
                    first + count);
  if (atomic_exchange_explicit (&loop->failed, TRUE, memory_order_relaxed))
    g_error_free (error);
  else
    loop->error = error;
}

gboolean
hass_worker_parallel_for (HassWorker *worker, gsize n, gsize grain,
                          HassLoopFunc body, gpointer user_data, GError **error)
{
  if (!is_alive (worker, "hass_worker_parallel_for"))
    {
      g_set_error (
          error, HASS_ERROR, HASS_ERROR_MISUSE,
          "hass_worker_parallel_for called with a worker that is NULL or "
          "of a farm that has ended");
      return FALSE;
    }
  if (!body)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "hass_worker_parallel_for: body is NULL, n %zu", n);
      return FALSE;
    }
  HassJob *job = worker->job;
  HassCpuPool *pool = hass_cpu_pool_get (MAX (job->n_cores, 1), NULL);
  Loop loop = { .worker = { .job = job,
                            .index = worker->index,
                            .unneeded = worker->unneeded,
                            .asks = worker->asks },
                .body = body,
                .user_data = user_data,
                .charged = hass_callback.charged };
  if (grain == 0)
    grain = MAX (n / (8 * MAX (job->n_cores, 1)), 1);
  if (pool)
    hass_cpu_pool_parallel_for (pool, n, grain, run_piece, &loop);
  else if (n > 0)
    run_piece (0, n, &loop);
  if (loop.error)
    g_propagate_error (error, loop.error);
  return !loop.failed;
}
