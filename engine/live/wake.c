/* SPDX-License-Identifier: MIT */
/* wake.c: lets cores into a farm when there is something to do.
   Thread safety: any thread. */
#include "live-private.h"

/* Measured: 7 to 10 us. Lower, and cores are woken for tokens of less work than
   that; higher, and the generator computes while another core could. */
gint64 hass_live_wake_ns = 8000;
/* Where there is no other core, at most so many loads come without a look at
   the clock. A guess: more, and loads that come after a burst wait for longer;
   fewer, and the looks, of 25 ns each, count. */
#define MOST_UNLOOKED 16

/* Lets one more core into the farm: a task of the CPU pool. @inside: the cores
   that are in or on their way, fewer than there are. Does nothing if more than
   half of them are on their way, so that the number of cores at most doubles at
   a time. */
void
hass_live_add_core (HassJob *job, guint inside)
{
  HassLive *live = job->driver;
  guint coming = atomic_load_explicit (&live->coming, memory_order_relaxed);
  if (hass_job_stopping (job) || 2 * coming > inside)
    return;
  if (!atomic_compare_exchange_strong_explicit (
          &job->inside, &inside, inside + 1, memory_order_seq_cst,
          memory_order_relaxed))
    return;
  atomic_fetch_add_explicit (&live->coming, 1, memory_order_relaxed);
  atomic_fetch_add_explicit (&live->helpers->refs, 1, memory_order_relaxed);
  hass_cpu_pool_enqueue (live->pool, live->core_task, live->helpers);
}

/* Returns: TRUE if the generating thread, while no other core is in the farm,
   should compute the tokens that wait rather than wake a core. It should if
   what another core could compute of these tokens, and the time that this
   thread has computed since a core woken for earlier ones would have left
   again, are less than waking a core takes. If there is no other core it should
   when a load has come after a pause; loads that come faster wait and make a
   larger batch. */
static gboolean
cheaper_here (HassJob *job)
{
  HassLive *live = job->driver;
  gint64 now_ns = hass_live_now (job), room_ns = job->phases.room_ns;
  gint64 generating_ns
      = now_ns - live->came_ns - (room_ns - live->came_room_ns);
  live->came_ns = now_ns;
  live->came_room_ns = room_ns;
  if (generating_ns > HASS_SPIN_NS)
    live->since_room_ns = room_ns;
  if (live->n_helpers == 0)
    return generating_ns > HASS_SPIN_NS;
  double ns = live->course->waiting_ns (job);
  return ns >= 0
         && (double)(room_ns - live->since_room_ns) + ns
                < (double)hass_live_wake_ns;
}

/* Returns: TRUE if the clock should be read for a load that has come, where
   there is no other core: reading it for each of many costs as much as the
   load. */
static gboolean
is_due (HassJob *job)
{
  guint64 waiting = hass_load_pool_waiting (job->pool);
  return waiting < MOST_UNLOOKED || waiting % MOST_UNLOOKED == 0;
}

gboolean
hass_live_is_supplied (const HassJob *job)
{
  const HassLive *live = job->driver;
  return live->course->is_supplied && live->course->is_supplied (job);
}

void
hass_live_loads_came (HassJob *job)
{
  HassLive *live = job->driver;
  if (job->flows_at_once)
    return; /* the emission computes it */
  if (live->course->waiting_ns
      && atomic_load_explicit (&job->inside, memory_order_seq_cst) == 0
      && (live->n_helpers > 0 || is_due (job)) && cheaper_here (job))
    {
      atomic_store_explicit (&job->caller_wanted, TRUE, memory_order_relaxed);
      return;
    }
  if (hass_live_is_supplied (job))
    return; /* the core that computes there looks for loads afterwards */
  /* If no other core can come, the proxies of the devices begin rounds. */
  if (G_UNLIKELY (live->proxies_begin))
    hass_event_notify (&job->event);
  hass_live_let_in (job);
}

gint64
hass_live_waking_ns (HassJob *job, const HassWorker *worker)
{
  guint others = atomic_load_explicit (&job->inside, memory_order_relaxed)
                 - (worker->index > 0);
  return others > 0 ? 0 : hass_live_wake_ns;
}

void
hass_live_changed (HassJob *job)
{
  hass_event_notify (&job->event);
  hass_live_let_in (job);
}

/* Loads have joined the ready set. Each pull that emits comes here, so all that
   it writes is the set's count: seq_cst, and read seq_cst by threads that have
   announced that they sleep or leave; see pool/event.h. */
void
hass_live_joined (HassJob *job)
{
  hass_event_notify_sleepers (&job->event);
  hass_live_let_in (job);
}
