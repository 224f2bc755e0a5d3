/* SPDX-License-Identifier: MIT */
/* yield.c: lets a worker share its core with the proxy thread of a GPU, but not
   with another worker.

   DESIGN.
   1. Yielding. All cores compute, so a proxy that wakes up shares a core with a
      worker. Linux from 6.6 on lets the running thread finish its time slice of
      some ms unless it yields, and the GPU is idle meanwhile. So workers yield
      between units.
   2. Moving. While a proxy or a gathering thread has a worker's core, Linux may
      put the worker on the core of another worker, and leaves both there for
      tens of ms although another core is mostly idle. A worker whose yield took
      longer than a proxy's turn moves to a core on which no worker of the farm
      yielded last. On 16 cores with one H200 this raised the throughput of
      searches of 55 ms by 1.5 to 5 %. Where the cores that look free belong to
      other programs, moving does not help: each move doubles the time until the
      next one, until the worker had no reason to move for a while.

   Thread safety: the worker's thread; HassWorker.cpu may be read by all. */
#include "live-private.h"

#include <sched.h>

/* Least time between two yields of a worker to proxy threads, in ns. Shorter,
   and yields cost more than a GPU gains; longer, and a GPU waits for its proxy.
   A guess. */
#define YIELD_NS 200000
/* A yield that took longer than this, in ns, gave the core to another worker
   and not to a proxy, whose turn is shorter. A guess: lower, and workers move
   in vain; higher, and two workers share a core for longer. */
#define SHARED_NS 150000
/* Least time between two moves of a worker to another core, in ns. A guess:
   shorter, and workers move often where the free cores belong to other
   programs; longer, and two workers share a core for longer. */
#define MOVE_GAP_NS 1000000

/* Notes that the worker has stopped computing and occupies no core. */
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
  /* Two workers that share a core begin their search for a free one at
     different cores. */
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

/* Yields the worker's core to a waiting proxy thread, at most once in YIELD_NS,
   and moves the worker to a free core if the yield shows that it shared its
   core with another worker. Called between units. */
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
