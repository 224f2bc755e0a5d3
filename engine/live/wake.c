/* SPDX-License-Identifier: MIT */
/* wake.c: lets cores into a farm when there is something to do.
   Thread safety: any thread. */
#include "live-private.h"

/* Lets one more core into the farm: a task of the CPU pool. Does nothing if all
   cores are in, or if more than half as many are on their way as are in
   altogether, so that the number of cores at most doubles at a time. */
void
hass_live_let_in (HassJob *job)
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
  /* Tested here too, as this runs for every load. */
  if (atomic_load_explicit (&live->inside, memory_order_seq_cst)
      < live->n_helpers)
    hass_live_let_in (job);
}

void
hass_live_changed (HassJob *job)
{
  hass_event_notify (&job->event);
  hass_live_let_in (job);
}
