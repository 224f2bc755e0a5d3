/* SPDX-License-Identifier: MIT */
/* cores.c: how a core of a live farm finds work, computes it and leaves: steps
   1 (the calling thread), 2 (other cores) and 3 (work) of the DESIGN paragraph
   in live.c.
   Thread safety: each worker context by the thread that has its seat, its right
   to use that context. */
#include "live-private.h"

#include "pool/fence.h"

/* Number of CPU pause instructions between two looks for work of a spinning
   core; it doubles from LEAST to MOST. Guesses: smaller, and the looks, each of
   which reads a cache line that the generator writes, slow the generator down;
   larger, and work is found late. */
#define LEAST_PAUSE 32
#define MOST_PAUSE 128

/* -- 2. A seat ---------------------------------------------------------- */

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

/* -- 3. Work ------------------------------------------------------------ */

static void
learn_cost (HassWorker *worker, guint32 n, gint64 ns)
{
  double one = MAX (ns, 1) / (double)n;
  worker->unit_ns = worker->unit_ns > 0 ? 0.5 * (worker->unit_ns + one) : one;
  worker->last_chunk = n;
}

/* Pulls units of an open round: what this core has emitted, else others. */
static HassExtent
pull_open (HassJob *job, HassWorker *worker, HassSlot *slot)
{
  guint32 k = hass_chunk (job, worker, slot);
  HassExtent e = hass_round_pull_own (&slot->round, worker->index, k);
  return e.n > 0 ? e : hass_round_pull (&slot->round, k);
}

/* Pulls units and computes them, once: of an open round if it has some, since
   what has become ready keeps memory, else of the current round. Returns: FALSE
   if there was nothing to pull. */
static gboolean
work_once (HassJob *job, HassWorker *worker)
{
  if (job->flow)
    return hass_live_flow_once (job, worker);
  /* Acquire pairs with the release in hass_job_begin_round, which publishes the
     round. */
  HassSlot *slot = job->ready ? hass_open_pullable (job, worker->index) : NULL;
  HassSlot *current
      = atomic_load_explicit (&job->current, memory_order_acquire);
  if (!slot && !current)
    return FALSE;
  const HassLive *live = job->driver;
  if (live->has_proxies)
    hass_yield (job, worker);
  HassExtent e = { 0, 0 };
  if (slot)
    e = pull_open (job, worker, slot);
  if (e.n == 0 && (slot = current))
    e = hass_round_pull (&slot->round, hass_chunk (job, worker, slot));
  if (e.n == 0)
    return FALSE;
  gint64 begin = worker->now_ns > 0 ? worker->now_ns : hass_live_now (job);
  worker->begin_ns = begin;
  HassDone done = hass_execute (job, worker, slot, e, FALSE);
  gint64 end = hass_live_now (job);
  worker->now_ns = end;
  HASS_ANNOUNCE (job, pulled,
                 &(HassPulled){ .round = &slot->round,
                                .first = slot->order_base,
                                .worker = worker->index,
                                .extent = e,
                                .n = done.n,
                                .work = done.work,
                                .failed = done.n_failed > 0,
                                .begin_ns = begin,
                                .end_ns = end });
  if (done.n > 0)
    {
      learn_cost (worker, done.n, end - begin);
      hass_execute_count (job, worker, slot, done, end - begin, end);
      hass_job_units_finished (job, slot, done.n);
    }
  hass_job_check_deadline (job, end);
  return TRUE;
}

/* Publishes when cores for which the strategy answered WAIT should ask it
   again; 0: only after a completion. Under the decision lock. */
static void
note_again (HassJob *job)
{
  HassLive *live = job->driver;
  HassSlot *of[] = { atomic_load_explicit (&job->current, memory_order_relaxed),
                     atomic_load_explicit (&job->open, memory_order_relaxed) };
  gint64 ns = 0;
  for (guint i = 0; i < G_N_ELEMENTS (of) && job->cpu >= 0; i++)
    {
      gint64 again_ns = of[i] ? hass_decide_again_ns (of[i], job->cpu) : 0;
      if (again_ns > 0 && (ns == 0 || again_ns < ns))
        ns = again_ns;
    }
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
  FOUND,   /* there may be units to pull */
  NOTHING, /* there is no work at present */
  FINISHED /* the farm has no more work */
} Find;

/* Looks for work for this core: asks the strategy or begins the next round.
   @unit_ns: time of a unit as the caller has measured it; 0: unknown. Unless
   @patient, returns NOTHING at once if another thread holds the decision lock.
 */
static Find
find_work (HassJob *job, double unit_ns, gboolean patient)
{
  if (job->flow)
    {
      hass_live_flow_idle (job);
      return atomic_load_explicit (&job->generated, memory_order_seq_cst)
                     && job->source->idle (job)
                 ? FINISHED
                 : NOTHING;
    }
  Find found = NOTHING;
  if (patient)
    pthread_mutex_lock (&job->decision);
  else if (pthread_mutex_trylock (&job->decision) != 0)
    return NOTHING;
  guint64 told = job->n_told;
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  HassSlot *open = hass_open_slot (job, HASS_DEVICE_CPU);
  if (open && job->cpu >= 0 && hass_decide_cpu (job, open))
    found = FOUND;
  else if (slot && job->cpu >= 0 && hass_decide_cpu (job, slot))
    found = FOUND;
  else if (slot && hass_decide_stalled (job, slot))
    found = FOUND;
  else if (hass_open_stalled (job))
    found = FOUND;
  else if (hass_job_may_begin (job, slot) && hass_live_begin (job, unit_ns))
    found = FOUND;
  else if (atomic_load_explicit (&job->generated, memory_order_seq_cst)
           && hass_job_idle (job))
    found = FINISHED;
  note_again (job);
  /* Proxies may wait until the strategy is told of a completion, which has just
     happened if n_told has changed. */
  gboolean news = found == FOUND || job->n_told != told;
  pthread_mutex_unlock (&job->decision);
  if (news)
    hass_live_changed (job);
  return found;
}

static gboolean
may_have_work (HassJob *job, gboolean caller, guint others)
{
  return !hass_job_stopping (job)
         && job->source->has_work (job, caller, others);
}

/* Computes one pull, or spins until there is work. Returns: FALSE if there was
   none for HASS_SPIN_NS or the farm has ended. @first: this core has found no
   work yet; the first time it does, it lets in the next core. */
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
          if (*first && may_have_work (job, FALSE, 0))
            hass_live_let_in (job);
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
      /* The other looks only try the lock, and the thread that holds it may
         find nothing and sleep; so this core takes the lock once before it
         leaves. */
      last_look = now - since > HASS_SPIN_NS || hass_live_is_supplied (job);
      for (int i = 0; i < pause; i++)
        hass_pause ();
      pause = MIN (2 * pause, MOST_PAUSE);
    }
  return FALSE;
}

/* -- 2. A stay ---------------------------------------------------------- */

/* If the strategy's WAIT to the cores has an end, one helper sleeps here until
   then, because the calling thread may be busy. Returns: FALSE if this helper
   need not wait: there is no such end, or another helper waits for it. */
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

/* A task of the CPU pool: a core enters the job, works until it finds nothing
   to do, and leaves. @data: the HassHelpers of the job. */
void
hass_live_core_task (gpointer data)
{
  HassHelpers *helpers = data;
  HassJob *job = hass_helpers_enter (helpers);
  if (job)
    {
      HassLive *live = job->driver;
      guint index = take_seat (live);
      HassWorker *worker = &job->workers[index];
      gboolean first = TRUE;
      atomic_fetch_sub_explicit (&live->coming, 1, memory_order_relaxed);
      for (guint i = 0; i < 2 && may_have_work (job, FALSE, 1 + i); i++)
        hass_live_let_in (job);
      while (work_or_spin (job, worker, &first) || wait_to_ask (job))
        ;
      /* read now: another core may take the seat */
      double unit_ns = worker->unit_ns;
      hass_yield_leave (worker);
      leave_seat (live, index);
      guint inside
          = atomic_fetch_sub_explicit (&live->inside, 1, memory_order_seq_cst);
      /* A load that is published while this core leaves may let no core in and
         yet be missed below. If others are in and awake, they look for loads
         before they leave, the last of them behind the fence, which interrupts
         all cores. Until then such a load, rare as it is, waits for one of
         them. */
      if (inside <= 1u
                        + atomic_load_explicit (&live->has_asker,
                                                memory_order_seq_cst)
          && !atomic_load_explicit (&job->generated, memory_order_seq_cst))
        hass_fence_heavy ();
      hass_event_look (&job->event);
      /* A change between this core's last look and its leaving has let no core
         in, because this core still counted as being in; so it looks once more.
       */
      if (may_have_work (job, FALSE, 0))
        hass_live_let_in (job);
      else if (find_work (job, unit_ns, TRUE) == FINISHED)
        hass_event_notify (&job->event);
      hass_helpers_leave (helpers);
    }
  hass_helpers_unref (helpers);
}

/* -- 1. The caller ------------------------------------------------------ */

/* Returns how long the calling thread sleeps if nothing changes, in ns, until
   the deadline or the end of the strategy's WAIT; < 0: no limit. */
static gint64
patience (HassJob *job)
{
  gint64 until = job->deadline_ns;
  gint64 again_ns
      = job->source->again_ns ? job->source->again_ns (job) : look_again (job);
  if (again_ns > 0 && (until == 0 || again_ns < until))
    until = again_ns;
  return until > 0 ? MAX (until - hass_live_now (job), 0) : -1;
}

/* Computes on the calling thread, as core 0, until @done returns TRUE or the
   farm is stopped. */
void
hass_live_work_until (HassJob *job, gboolean (*done) (HassJob *job))
{
  HassWorker *worker = &job->workers[0];
  gboolean first = FALSE;
  worker->now_ns = 0; /* the time of the last pull's end is stale */
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
      /* A change before hass_event_prepare() did not wake this thread, so it
         looks once more at all that may have changed and asks the strategy. */
      if (may_have_work (job, TRUE, 0)
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
