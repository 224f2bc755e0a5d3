/* SPDX-License-Identifier: MIT */
/* yield.c: cores that workers share with the threads that stand for GPUs, and
   not with each other.

   DESIGN.
   1. All cores compute, so a proxy that wakes up shares one with a worker.
      Linux from 6.6 on lets who computes have its slice of some ms to the end,
      unless it yields; meanwhile the GPU idles. So workers yield between units.
   2. While a proxy or somebody who gathers has its core, Linux may put a worker
      beside another one, and leaves both there for tens of ms, although another
      core is idle most of the time. A worker whose yield took longer than a
      proxy's turn moves to a core on which no worker of the farm yielded last.
      16 cores and one H200, Linux 6.18: of 76 searches of 55 ms two workers
      shared a core for more than 5 ms in 51, and half a core was lost; of 70
      in which they moved in 13, a sixth of a core, and those took 1.5 to 5 %
      less time. A sleep of an instant, so that the kernel would choose anew,
      did half of that. Where other programs have the cores that look free,
      moving does not help, and each worker does it less and less, until it was
      quiet for a while.

   Thread safety: the worker's thread; where each is may be read by all. */
#include "live-private.h"

#include <sched.h>

#define YIELD_NS 200000
#define SHARED_NS 150000 /* of a yield: there was another worker */
#define MOVE_GAP_NS 1000000

/* A worker that computes no more has no core. */
void
hass_yield_leave (HassWorker *worker)
{
  atomic_store_explicit (&worker->cpu, -1, memory_order_relaxed);
}

static void
move (HassJob *job, HassWorker *worker)
{
  cpu_set_t taken;
  CPU_ZERO (&taken);
  for (guint i = 0; i < job->n_cores; i++)
    {
      int cpu
          = atomic_load_explicit (&job->workers[i].cpu, memory_order_relaxed);
      if (cpu >= 0 && cpu < CPU_SETSIZE)
        CPU_SET (cpu, &taken);
    }
  /* Two that share a core begin to look at different ones. */
  int here = atomic_load_explicit (&worker->cpu, memory_order_relaxed);
  int cpu = hass_cpu_pool_move (&taken, here + 1 + (int)worker->index);
  if (cpu >= 0)
    atomic_store_explicit (&worker->cpu, cpu, memory_order_relaxed);
  gboolean quiet
      = worker->now_ns - worker->move_at_ns > 8 * worker->move_gap_ns;
  worker->move_gap_ns
      = quiet ? MOVE_GAP_NS : MAX (2 * worker->move_gap_ns, MOVE_GAP_NS);
  worker->now_ns = hass_live_now (job);
  worker->move_at_ns = worker->now_ns + worker->move_gap_ns;
}

/* Between units, at most every 0.2 ms. */
void
hass_yield (HassJob *job, HassWorker *worker)
{
  if (worker->now_ns > 0 && worker->now_ns - worker->yielded_ns < YIELD_NS)
    return;
  gint64 before_ns = hass_live_now (job);
  sched_yield ();
  worker->now_ns = hass_live_now (job);
  atomic_store_explicit (&worker->cpu, sched_getcpu (), memory_order_relaxed);
  if (worker->now_ns - before_ns > SHARED_NS
      && worker->now_ns >= worker->move_at_ns)
    move (job, worker);
  worker->yielded_ns = worker->now_ns;
}
