/* SPDX-License-Identifier: MIT */
/* live.c: runs a farm on the real machine, with threads and the wall clock.

   DESIGN. At any moment exactly one of these owns a unit: the generator; the
   load pool; the range of a round; a grant, that is a core's pull or a device's
   bundle; the result pool; the collector. Units that failed or were not
   computed when the farm stopped go from the grant back to the range.
   1. The caller. The calling thread generates; when the pool is full, and after
      the last load, it computes as core 0. While it generates it takes no token
      that would keep it for longer than devices have loads (stream/flow.c).
   2. Other cores are tasks in the CPU pool (cores.c). A core that finds no work
      spins for a while, then leaves, so that an idle core costs nothing. A
      thread that brings work lets one core in (wake.c), and each core that has
      found work lets in the next.
   3. Work (rounds.c; flow.c of pipelines and dataflows, where it is alike). A
      core pulls units from the current round without a lock. Only when
      the range is empty it takes the decision lock to ask the strategy or to
      begin the next round. Without GPUs the next round begins while the last
      units of the one before are still computed.
   4. Proxies. Each device beside the CPU pool has a proxy thread (proxy.c). As
      all cores compute, the proxy shares a core with a worker, which yields
      between units (yield.c).
   5. End. The farm ends when nothing waits, nothing runs and the generator has
      returned, or when it is stopped.

   A core that leaves and a generator that brings a load must not miss each
   other: the core subtracts itself from the count of cores, fences, then checks
   for work once more; the generator publishes, then reads the count
   (pool/fence.h). That fence interrupts every core, and the kernel makes one
   such fence after the other: if all of 32 cores leave at once, the last one
   waits 0.6 ms. When the generator has returned the fence is not needed: all
   other changes are announced by hass_live_changed, which raises the event's
   epoch before it reads the count, and the core reads the epoch before it
   checks for work (pool/event.h), or are counts of the ready set, which are
   written and read in the same order as the count of cores.

   Thread safety: hass_live_run may be called by several threads, each for a
   farm of its own. */
#include "live-private.h"

#include <gio/gio.h>

/* -- What the core asks of its engine ----------------------------------- */

static gboolean
has_room (HassJob *job)
{
  if (job->source->has_room)
    return job->source->has_room (job);
  if (job->flows_at_once)
    return job->source->idle (job);
  return hass_load_pool_has_room (job->pool)
         && !atomic_load_explicit (&job->caller_wanted, memory_order_relaxed);
}

/* Where no other thread computes, nothing waits but what was just emitted: this
   computes that without what sleeping for others would take. Returns: TRUE if
   all is computed. */
static gboolean
flow (HassJob *job)
{
  const HassLive *live = job->driver;
  job->workers[0].now_ns = 0; /* unknown: once() reads the clock */
  while (!hass_job_stopping (job) && live->course->once (job, &job->workers[0]))
    if (job->source->idle (job))
      return TRUE;
  return FALSE;
}

static gboolean
make_room (HassJob *job)
{
  HassCallback before = hass_engine_enter_callback ("generator", job, NULL);
  if (!job->flows_at_once || !flow (job))
    hass_live_work_until (job, has_room);
  hass_engine_leave_callback (before);
  return !hass_job_stopping (job);
}

static const HassEngineOps live_ops = {
  .real_time = TRUE,
  .now = hass_live_now,
  .make_room = make_room,
  .loads_came = hass_live_loads_came,
  .joined = hass_live_joined,
  .changed = hass_live_changed,
  .waking_ns = hass_live_waking_ns,
  .wanted = hass_proxies_start_wanted,
};

static void
cancelled (GCancellable *cancellable, gpointer data)
{
  HassLive *live = data;
  (void)cancellable;
  atomic_load_explicit (&live->cancels, memory_order_acquire);
  HassJob *job = live->job;
  hass_job_fail (job, HASS_ERROR_CANCELLED, "it was cancelled");
  atomic_fetch_add_explicit (&live->cancels, 1, memory_order_release);
}

static void
set_up (HassJob *job, HassLive *live, HassCpuPool *pool)
{
  live->course = job->farm->kind == HASS_FARM_DATAFLOW   ? &hass_live_graph
                 : job->farm->kind == HASS_FARM_PIPELINE ? &hass_live_stream
                                                         : &hass_live_rounds;
  live->pool = pool;
  if (pool)
    job->totals[job->cpu].message = hass_cpu_pool_problem (pool);
  live->n_helpers = job->n_cores > 0 ? job->n_cores - 1 : 0;
  live->has_proxies = job->n_devices > (job->cpu >= 0 ? 1 : 0);
  live->proxies_begin = live->n_helpers == 0 && live->has_proxies;
  /* The generator's thread is the only one, and the generator may block. */
  job->flows_at_once
      = live->course->waiting_ns && live->n_helpers == 0 && !live->has_proxies;
  job->told_below
      = live->proxies_begin || (live->course->waiting_ns && !live->n_helpers)
            ? G_MAXUINT
            : live->n_helpers;
  live->seats = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = live->n_helpers; i >= 1; i--)
    g_array_append_val (live->seats, i);
  pthread_mutex_init (&live->seat_lock, NULL);
  live->job = job;
  live->core_task = hass_live_core_task;
  live->helpers = hass_helpers_new (job);
  live->spare = hass_spare_new (live->has_proxies ? pool : NULL);
  job->driver = live;
}

static void
clear (HassLive *live)
{
  hass_helpers_unref (live->helpers);
  hass_spare_unref (live->spare);
  g_array_unref (live->seats);
  pthread_mutex_destroy (&live->seat_lock);
}

/* Runs a job that is set up until all threads have left it. */
static void
drive (HassJob *job)
{
  HassLive *live = job->driver;
  GCancellable *cancellable = job->farm->run->cancellable;
  gulong handler = 0;
  atomic_store_explicit (&live->cancels, 0, memory_order_release);
  if (cancellable)
    handler = g_cancellable_connect (cancellable, G_CALLBACK (cancelled), live,
                                     NULL);
  HassProgressThread *progress = hass_progress_start (job);
  /* listeners must hear of it before the proxies announce anything */
  hass_job_begin (job);
  hass_proxies_start (job, live);
  hass_job_generate (job);
  hass_live_work_until (job, job->source->idle);
  job->phases.worked_ns = hass_live_now (job);
  hass_proxies_stop (job, live);
  hass_helpers_close (live->helpers);
  hass_progress_stop (progress);
  if (cancellable)
    g_cancellable_disconnect (cancellable, handler);
  atomic_load_explicit (&live->cancels, memory_order_acquire);
}

gboolean
hass_live_run (const HassFarm *farm, HassReport **report, GError **error)
{
  gint64 begin = farm->called_ns > 0 ? farm->called_ns : hass_live_now (NULL);
  HassLive live = { 0 };
  g_autofree HassDeviceTraits *devices = NULL;
  g_autofree HassDevice **gpus = NULL;
  guint n_devices = 0;
  HassCpuPool *pool = NULL;
  if (!hass_live_devices (farm, &pool, &devices, &gpus, &n_devices, error))
    return FALSE;
  HassJobDevices of
      = { .devices = devices, .gpus = gpus, .n_devices = n_devices };
  HassJob *job = hass_job_new (farm, &live_ops, &of, error);
  if (!job)
    {
      hass_live_free_devices (farm, gpus, n_devices);
      return FALSE;
    }
  job->begin_ns = begin;
  if (farm->run->deadline_ms > 0)
    job->deadline_ns = begin + farm->run->deadline_ms * 1000000;
  set_up (job, &live, pool);
  drive (job);
  hass_job_finish (job);
  gint64 makespan_ns = hass_live_now (job) - begin;
  hass_job_end (job, makespan_ns);
  if (report)
    *report = hass_job_report (job, makespan_ns);
  gboolean ok = job->error == NULL;
  if (!ok)
    g_propagate_error (error, g_steal_pointer (&job->error));
  clear (&live);
  hass_job_free (job);
  hass_live_free_devices (farm, gpus, n_devices);
  if (report)
    hass_report_add_teardown (*report, hass_live_now (NULL) - begin);
  return ok;
}
