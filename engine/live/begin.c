/* SPDX-License-Identifier: MIT */
/* begin.c: when a round begins with the loads that wait.
   Thread safety: under the decision lock. */
#include "live-private.h"

/* While the generator is at work, a round is not begun with fewer loads than
   this, unless they have waited for HASS_FEW_WAIT_NS: beginning and ending a
   round costs as much as hundreds of small units. A guess: lower, and rounds
   cost more; higher, and devices are idle for longer. */
#define FEW_LOADS 512
/* If the waiting loads are less work than TINY_ROUND_NS, in ns of a core, they
   wait for TINY_WAIT_NS for more. Guesses: lower, and rounds of small units
   cost more than their work; higher, and the first loads are late. */
#define TINY_ROUND_NS 4000
#define TINY_WAIT_NS 40000

/* Returns: TRUE if the engine should wait for more loads before it begins a
   round. @unit_ns: time of a unit; 0: unknown. Loads of less work wait for
   longer, because a round costs as much as hundreds of them. */
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

/* Begins the next round if enough loads wait. @unit_ns: time of a unit as the
   caller has measured it; 0: unknown. Under the decision lock, while no round
   is running that must end first. Returns: FALSE if none was begun. */
gboolean
hass_live_begin (HassJob *job, double unit_ns)
{
  guint64 waiting = hass_load_pool_waiting (job->pool);
  if (waiting == 0 || too_few (job, waiting, unit_ns))
    return FALSE;
  job->hungry_ns = 0;
  return hass_job_begin_round (job) != NULL;
}
