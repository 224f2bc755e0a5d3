/* SPDX-License-Identifier: MIT */
/* live.c: runs a farm on the real machine, with threads and the wall clock.

   DESIGN. Who owns a unit, at any moment exactly one of:

     generator -> [load pool] -> [range of a round] -> [grant: a core's pull
       or a device's bundle] -> [result pool] -> collector
                        ^------ given back: failed, stopped ------'

   1. The calling thread generates; when the pool is full, and after the
      last load, it computes as core 0.
   2. Other cores are tasks in the CPU pool. A core that finds nothing spins
      for a while, then leaves, so that idle costs nothing; whoever brings
      work lets one back in, and each that comes in lets in the next.
   3. A core pulls units from the current round without a lock. Only when
      that is empty it takes the decision lock to ask the strategy or to
      begin the next round. Without GPUs the next round begins while the last
      units of the one before are still computed.
   4. Each GPU has a proxy thread (proxy.c). As all cores compute it shares one
      with a worker, who yields between units (yield.c).
   5. The farm ends when nothing waits, nothing runs and the generator has
      returned, or when it is stopped.

   A core that leaves and a generator that brings a load must not miss each
   other: the core counts itself out, fences, then looks once more; the
   generator publishes, then looks at the count (pool/fence.h). That fence
   interrupts every core, one such fence after the other, which on 32 cores
   takes 0.6 ms if all leave at once. When the generator has returned they do
   without: all other news comes through hass_live_changed, which raises the
   event's epoch before it looks at the count, and the core reads the epoch
   before it looks for news (engine/live/event.h).

   Thread safety: hass_live_run may be called by several threads, each for a
   farm of its own. */
#include "live-private.h"
#include "engine/observe/record.h"

#include "pool/fence.h"
#include "pool/pause.h"

#include <time.h>

#define SPIN_NS 50000
/* A round is not begun with a few loads while the generator is at work,
   unless they have waited so long. */
#define FEW_LOADS 512
#define TINY_ROUND_NS 4000
#define TINY_WAIT_NS 40000
/* Looking for work moves a line that the generator writes: not too often. */
#define LEAST_PAUSE 32
#define MOST_PAUSE 128

gint64
hass_live_now (HassJob *job)
{
  struct timespec t;
  (void)job;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

gint64
hass_engine_clock (void)
{
  return hass_live_now (NULL);
}

/* -- 2. Cores that come and go ------------------------------------------ */

static void core_task (gpointer data);

/* Lets one more core in, if there is one and no more are on their way than
   are at work, so that their number doubles. */
static void
let_in (HassJob *job)
{
  HassLive *live = job->driver;
  guint inside = atomic_load_explicit (&live->inside, memory_order_seq_cst);
  if (G_LIKELY (inside >= live->n_helpers) || hass_job_stopping (job))
    return;
  guint coming = atomic_load_explicit (&live->coming, memory_order_relaxed);
  if (2 * coming > inside)
    return;
  if (!atomic_compare_exchange_strong_explicit (
          &live->inside, &inside, inside + 1, memory_order_seq_cst,
          memory_order_relaxed))
    return;
  atomic_fetch_add_explicit (&live->coming, 1, memory_order_relaxed);
  atomic_fetch_add_explicit (&live->crew->refs, 1, memory_order_relaxed);
  hass_cpu_pool_enqueue (live->pool, core_task, live->crew);
}

static void
loads_came (HassJob *job)
{
  HassLive *live = job->driver;
  /* With no other core about, the devices begin the rounds. */
  if (G_UNLIKELY (live->proxies_begin))
    hass_event_notify (&job->event);
  let_in (job);
}

void
hass_live_changed (HassJob *job)
{
  hass_event_notify (&job->event);
  let_in (job);
}

static guint
take_seat (HassLive *live)
{
  guint64 index;
  pthread_mutex_lock (&live->seat_lock);
  index = g_array_index (live->seats, guint, live->seats->len - 1);
  g_array_set_size (live->seats, live->seats->len - 1);
  pthread_mutex_unlock (&live->seat_lock);
  return index;
}

static void
leave_seat (HassLive *live, guint index)
{
  pthread_mutex_lock (&live->seat_lock);
  g_array_append_val (live->seats, index);
  pthread_mutex_unlock (&live->seat_lock);
}

/* -- 3. A core ---------------------------------------------------------- */

static void
learn_cost (HassWorker *worker, guint32 n, gint64 ns)
{
  double one = MAX (ns, 1) / (double)n;
  worker->unit_ns = worker->unit_ns > 0 ? 0.5 * (worker->unit_ns + one) : one;
  worker->last_chunk = n;
}

/* Pulls and computes once. FALSE: nothing to pull. */
static gboolean
work_once (HassJob *job, HassWorker *worker)
{
  /* Acquire pairs with the release in hass_job_begin_round. */
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_acquire);
  if (!slot)
    return FALSE;
  const HassLive *live = job->driver;
  if (live->has_proxies)
    hass_yield (job, worker);
  HassExtent e = hass_round_pull (&slot->round, hass_chunk (job, worker, slot));
  if (e.n == 0)
    return FALSE;
  gint64 begin = worker->now_ns > 0 ? worker->now_ns : hass_live_now (job);
  HassDone done = hass_execute (job, worker, slot, e, FALSE);
  gint64 end = hass_live_now (job);
  worker->now_ns = end;
  hass_job_trace_pull (job, slot, worker->index, e, begin, end);
  if (done.n > 0)
    {
      learn_cost (worker, done.n, end - begin);
      hass_execute_count (job, worker, slot, done, end - begin, end);
      if (G_UNLIKELY (job->recorder))
        hass_record_pull (job, worker, slot, e, &done, begin, end);
      hass_job_units_finished (job, slot, done.n);
    }
  hass_job_check_deadline (job, end);
  return TRUE;
}

/* Would a round of what waits be too small to be worth it just now? Shorter
   units wait longer, because a round costs what hundreds of them cost. */
static gboolean
too_few (HassJob *job, guint64 waiting, double unit_ns)
{
  if (waiting >= FEW_LOADS || job->farm->kind == HASS_FARM_PARTITION
      || atomic_load_explicit (&job->generated, memory_order_relaxed)
      || waiting >= job->farm->pool_loads)
    return FALSE;
  gint64 now = hass_live_now (job);
  if (job->hungry_ns == 0)
    job->hungry_ns = now;
  gboolean tiny = unit_ns > 0 && waiting * unit_ns < TINY_ROUND_NS;
  return now - job->hungry_ns < (tiny ? TINY_WAIT_NS : HASS_FEW_WAIT_NS);
}

/* Begins the next round if there is enough for one, by the unit cost that
   the caller has seen (0: none). Under the decision lock, while no round is
   current that must end first. */
gboolean
hass_live_begin (HassJob *job, double unit_ns)
{
  guint64 waiting = hass_load_pool_waiting (job->pool);
  if (waiting == 0 || too_few (job, waiting, unit_ns))
    return FALSE;
  job->hungry_ns = 0;
  return hass_job_begin_round (job) != NULL;
}

/* When cores that wait are to ask again; 0: they are not. Under the decision
   lock. */
static void
note_again (HassJob *job)
{
  HassLive *live = job->driver;
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gint64 ns = slot && job->cpu >= 0 ? hass_decide_again_ns (slot, job->cpu) : 0;
  atomic_store_explicit (&live->again_ns, ns, memory_order_relaxed);
}

static gint64
look_again (HassJob *job)
{
  HassLive *live = job->driver;
  pthread_mutex_lock (&job->decision);
  note_again (job);
  pthread_mutex_unlock (&job->decision);
  return atomic_load_explicit (&live->again_ns, memory_order_relaxed);
}

typedef enum
{
  FOUND,   /* look again */
  NOTHING, /* now */
  FINISHED /* for ever */
} Find;

/* Asks the strategy, or begins the next round, by the unit cost seen. Unless
   patient, leaves it to whoever else is just finding some. */
static Find
find_work (HassJob *job, double unit_ns, gboolean patient)
{
  Find found = NOTHING;
  if (patient)
    pthread_mutex_lock (&job->decision);
  else if (pthread_mutex_trylock (&job->decision) != 0)
    return NOTHING;
  guint64 told = job->n_told;
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  if (slot && job->cpu >= 0 && hass_decide_cpu (job, slot))
    found = FOUND;
  else if (slot && hass_decide_stalled (job, slot))
    found = FOUND;
  else if (hass_job_may_begin (job, slot) && hass_live_begin (job, unit_ns))
    found = FOUND;
  else if (atomic_load_explicit (&job->generated, memory_order_seq_cst)
           && hass_job_idle (job))
    found = FINISHED;
  note_again (job);
  /* A completion that was told here may be what others wait for. */
  gboolean news = found == FOUND || job->n_told != told;
  pthread_mutex_unlock (&job->decision);
  if (news)
    hass_live_changed (job);
  return found;
}

/* Works, or spins until there is work. FALSE: nothing for a while, or the
   farm is over. */
static gboolean
work_or_spin (HassJob *job, HassWorker *worker, gboolean *first)
{
  gint64 since = 0;
  gboolean last_look = FALSE;
  int pause = LEAST_PAUSE;
  while (!hass_job_stopping (job))
    {
      if (work_once (job, worker))
        {
          if (*first)
            let_in (job);
          *first = FALSE;
          return TRUE;
        }
      worker->now_ns = 0;
      Find found = find_work (job, worker->unit_ns, last_look);
      if (found == FINISHED)
        {
          hass_event_notify (&job->event);
          return FALSE;
        }
      if (found == FOUND)
        return TRUE;
      if (last_look)
        return FALSE;
      gint64 now = hass_live_now (job);
      if (since == 0)
        since = now;
      /* Who holds the lock may find nothing and sleep: ask oneself before
         leaving. */
      last_look = now - since > SPIN_NS;
      for (int i = 0; i < pause; i++)
        hass_pause ();
      pause = MIN (2 * pause, MOST_PAUSE);
    }
  return FALSE;
}

static gboolean
may_have_work (HassJob *job)
{
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_seq_cst);
  return !hass_job_stopping (job)
         && ((hass_load_pool_waiting (job->pool) > 0
              && hass_job_may_begin (job, slot))
             || (slot && hass_decide_pullable (slot)));
}

/* Where the strategy lets the cores wait for so long only, one of them sleeps
   here until then, because the caller may be busy. FALSE: it need not. */
static gboolean
wait_to_ask (HassJob *job)
{
  HassLive *live = job->driver;
  gboolean nobody = FALSE;
  if (G_LIKELY (atomic_load_explicit (&live->again_ns, memory_order_relaxed)
                == 0)
      || !atomic_compare_exchange_strong_explicit (&live->has_asker, &nobody,
                                                   TRUE, memory_order_acquire,
                                                   memory_order_relaxed))
    return FALSE;
  guint64 epoch = hass_event_prepare (&job->event);
  gint64 again_ns = hass_job_stopping (job) ? 0 : look_again (job);
  if (again_ns > 0)
    hass_event_wait (&job->event, epoch,
                     MAX (again_ns - hass_live_now (job), 0));
  else
    hass_event_cancel (&job->event);
  atomic_store_explicit (&live->has_asker, FALSE, memory_order_release);
  return again_ns > 0;
}

/* A core's stay in the job. */
static void
core_task (gpointer data)
{
  HassCrew *crew = data;
  HassJob *job = hass_crew_enter (crew);
  if (job)
    {
      HassLive *live = job->driver;
      guint index = take_seat (live);
      HassWorker *worker = &job->workers[index];
      gboolean first = TRUE;
      atomic_fetch_sub_explicit (&live->coming, 1, memory_order_relaxed);
      for (guint i = 0; i < 2 && may_have_work (job); i++)
        let_in (job);
      while (work_or_spin (job, worker, &first) || wait_to_ask (job))
        ;
      double unit_ns = worker->unit_ns; /* the seat may be taken next */
      hass_yield_leave (worker);
      leave_seat (live, index);
      atomic_fetch_sub_explicit (&live->inside, 1, memory_order_seq_cst);
      if (!atomic_load_explicit (&job->generated, memory_order_seq_cst))
        hass_fence_heavy ();
      hass_event_look (&job->event);
      /* A change that came when this core did not look any more, but was not
         counted out either, let nobody in: look once more. */
      if (may_have_work (job))
        let_in (job);
      else if (find_work (job, unit_ns, TRUE) == FINISHED)
        hass_event_notify (&job->event);
      hass_crew_leave (crew);
    }
  hass_crew_unref (crew);
}

/* -- 1. The caller ------------------------------------------------------ */

/* How long the caller sleeps if nothing changes, in ns; < 0: for ever. */
static gint64
patience (HassJob *job)
{
  gint64 until = job->deadline_ns, again_ns = look_again (job);
  if (again_ns > 0 && (until == 0 || again_ns < until))
    until = again_ns;
  return until > 0 ? MAX (until - hass_live_now (job), 0) : -1;
}

/* The caller works until done says so or the farm is over. */
static void
work_until (HassJob *job, gboolean (*done) (HassJob *job))
{
  HassWorker *worker = &job->workers[0];
  gboolean first = FALSE;
  worker->now_ns = 0; /* the generator has run since */
  for (;;)
    {
      while (!done (job) && work_or_spin (job, worker, &first))
        ;
      guint64 epoch = hass_event_prepare (&job->event);
      if (done (job) || hass_job_stopping (job))
        {
          hass_event_cancel (&job->event);
          return;
        }
      /* What changed before prepare woke nobody, so all is looked at once
         more, and what a strategy may say now. */
      if (may_have_work (job)
          || find_work (job, worker->unit_ns, TRUE) == FOUND)
        {
          hass_event_cancel (&job->event);
          continue;
        }
      hass_yield_leave (worker);
      hass_event_wait (&job->event, epoch, patience (job));
      hass_job_check_deadline (job, hass_live_now (job));
      worker->now_ns = 0;
    }
}

static gboolean
has_room (HassJob *job)
{
  return hass_load_pool_has_room (job->pool);
}

static gboolean
make_room (HassJob *job)
{
  const char *before = hass_engine_enter_callback ("generator", job);
  work_until (job, has_room);
  hass_engine_leave_callback (before);
  return !hass_job_stopping (job);
}

static gboolean
over (HassJob *job)
{
  pthread_mutex_lock (&job->decision);
  gboolean idle = hass_job_idle (job);
  pthread_mutex_unlock (&job->decision);
  return idle;
}

static const HassEngineOps live_ops = {
  .real_time = TRUE,
  .now = hass_live_now,
  .make_room = make_room,
  .loads_came = loads_came,
  .changed = hass_live_changed,
};

static void
cancelled (GCancellable *cancellable, gpointer data)
{
  HassLive *live = data;
  (void)cancellable;
  atomic_load_explicit (&live->cancels, memory_order_acquire);
  HassJob *job = live->job;
  hass_job_stop (job, g_error_new (HASS_ERROR, HASS_ERROR_CANCELLED,
                                   "farm '%s' was cancelled", job->farm->name));
  atomic_fetch_add_explicit (&live->cancels, 1, memory_order_release);
}

static void
set_up (HassJob *job, HassLive *live, HassCpuPool *pool)
{
  live->pool = pool;
  if (pool)
    job->totals[job->cpu].message = hass_cpu_pool_problem (pool);
  live->n_helpers = job->n_cores > 0 ? job->n_cores - 1 : 0;
  live->has_proxies = job->n_devices > (job->cpu >= 0 ? 1 : 0);
  live->proxies_begin = live->n_helpers == 0 && live->has_proxies;
  live->seats = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = live->n_helpers; i >= 1; i--)
    g_array_append_val (live->seats, i);
  pthread_mutex_init (&live->seat_lock, NULL);
  live->job = job;
  live->crew = hass_crew_new (job);
  job->driver = live;
}

static void
clear (HassLive *live)
{
  hass_crew_unref (live->crew);
  g_array_unref (live->seats);
  pthread_mutex_destroy (&live->seat_lock);
}

/* Runs a prepared job to its end. */
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
  hass_job_trace_farm (job); /* before what the proxies trace */
  hass_proxies_start (job, live);
  hass_job_generate (job);
  work_until (job, over);
  job->phases.worked_ns = hass_live_now (job);
  hass_proxies_stop (job, live);
  hass_crew_close (live->crew);
  hass_progress_stop (progress);
  if (cancellable)
    g_cancellable_disconnect (cancellable, handler);
  atomic_load_explicit (&live->cancels, memory_order_acquire);
}

/* Runs the farm on the CPU pool and the devices of its options. */
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
  HassJob *job
      = hass_job_new (farm, &live_ops, devices, gpus, n_devices, 0, 0, error);
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
  hass_samplers_store (job, makespan_ns);
  hass_job_write_record (job, makespan_ns);
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
