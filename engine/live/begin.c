/* SPDX-License-Identifier: MIT */
/* begin.c: when a round begins with the loads that wait.
   Thread safety: under the decision lock. */
#include "live-private.h"

/* A round is not begun with fewer loads while the generator is at work, unless
   they have waited for some time: a round costs what hundreds of small units
   cost. */
#define FEW_LOADS 512
/* A round of less work than this waits longer for more loads. */
#define TINY_ROUND_NS 4000
#define TINY_WAIT_NS 40000

/* Whether more loads are waited for before a round begins. Loads of less work
   wait longer, because a round costs what hundreds of them cost. */
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

/* Begins the next round if enough loads wait. @unit_ns: unit cost that the
   caller has measured; 0: none. Under the decision lock, while no round is
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
