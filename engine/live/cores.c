/* SPDX-License-Identifier: MIT */
/* cores.c: how a core comes into a live job, works as long as it finds
   something, and leaves: steps 1 (the calling thread) and 2 (other cores) of
   the DESIGN paragraph in live.c.
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
  const HassLive *live = job->driver;
  gint64 since = 0;
  gboolean last_look = FALSE;
  int pause = LEAST_PAUSE;
  while (!hass_job_stopping (job))
    {
      if (live->course->once (job, worker))
        {
          if (*first && may_have_work (job, FALSE, 0))
            hass_live_let_in (job);
          *first = FALSE;
          return TRUE;
        }
      worker->now_ns = 0;
      HassFind found = live->course->find (job, worker->unit_ns, last_look);
      if (found == HASS_FIND_FINISHED)
        {
          hass_event_notify (&job->event);
          return FALSE;
        }
      if (found == HASS_FIND_FOUND)
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
  gint64 again_ns = hass_job_stopping (job) ? 0 : live->course->again_ns (job);
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
      while (!hass_spare_wanted (live->spare)
             && (work_or_spin (job, worker, &first) || wait_to_ask (job)))
        ;
      hass_job_settle (job, worker);
      /* read now: another core may take the seat */
      double unit_ns = worker->unit_ns;
      hass_yield_leave (worker);
      leave_seat (live, index);
      guint inside
          = atomic_fetch_sub_explicit (&job->inside, 1, memory_order_seq_cst);
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
      else if (live->course->find (job, unit_ns, TRUE) == HASS_FIND_FINISHED)
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
  const HassLive *live = job->driver;
  gint64 again_ns = live->course->again_ns (job);
  if (again_ns > 0 && (until == 0 || again_ns < until))
    until = again_ns;
  return until > 0 ? MAX (until - hass_live_now (job), 0) : -1;
}

/* Computes on the calling thread, as core 0, until @done returns TRUE or the
   farm is stopped. */
void
hass_live_work_until (HassJob *job, gboolean (*done) (HassJob *job))
{
  const HassLive *live = job->driver;
  HassWorker *worker = &job->workers[0];
  gboolean first = FALSE;
  worker->now_ns = 0; /* the time of the last pull's end is stale */
  for (;;)
    {
      while (!done (job) && work_or_spin (job, worker, &first))
        ;
      hass_job_settle (job, worker);
      guint64 epoch = hass_event_prepare (&job->event);
      /* Units that end make room: see hass_job_units_finished(). */
      atomic_store_explicit (
          &job->awaits_units,
          atomic_load_explicit (&job->full, memory_order_relaxed),
          memory_order_seq_cst);
      if (done (job) || hass_job_stopping (job))
        {
          hass_event_cancel (&job->event);
          return;
        }
      /* A change before hass_event_prepare() did not wake this thread, so it
         looks once more at all that may have changed and asks the strategy. */
      if (may_have_work (job, TRUE, 0)
          || live->course->find (job, worker->unit_ns, TRUE) == HASS_FIND_FOUND)
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
