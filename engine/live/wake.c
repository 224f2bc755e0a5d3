/* SPDX-License-Identifier: MIT */
/* wake.c: lets cores into a farm when there is something to do.
   Thread safety: any thread. */
#include "live-private.h"

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
          &live->inside, &inside, inside + 1, memory_order_seq_cst,
          memory_order_relaxed))
    return;
  atomic_fetch_add_explicit (&live->coming, 1, memory_order_relaxed);
  atomic_fetch_add_explicit (&live->helpers->refs, 1, memory_order_relaxed);
  hass_cpu_pool_enqueue (live->pool, live->core_task, live->helpers);
}

void
hass_live_loads_came (HassJob *job)
{
  HassLive *live = job->driver;
  /* If no other core can come, the proxies of the devices begin rounds. */
  if (G_UNLIKELY (live->proxies_begin))
    hass_event_notify (&job->event);
  hass_live_let_in (job);
}

void
hass_live_changed (HassJob *job)
{
  hass_event_notify (&job->event);
  hass_live_let_in (job);
}
