/* SPDX-License-Identifier: MIT */
/* peer_threads.c: one bound thread a core, each with an equal run of the
   loads: what this machine can do at best where the loads are even.
   Thread safety: one run at a time. */
#include "bench.h"

#include <sched.h>

typedef struct
{
  const HassLoad *loads;
  gsize n;
  BenchWork work;
  guint index, n_threads;
  int cpu;
} Share;

static gpointer
run_share (gpointer data)
{
  const Share *s = data;
  cpu_set_t set;
  CPU_ZERO (&set);
  CPU_SET (s->cpu, &set);
  sched_setaffinity (0, sizeof set, &set);
  gsize begin = s->n * s->index / s->n_threads;
  gsize end = s->n * (s->index + 1) / s->n_threads;
  for (gsize i = begin; i < end; i++)
    s->work (&s->loads[i]);
  return NULL;
}

static void
known (const HassLoad *loads, gsize n, BenchWork work)
{
  cpu_set_t all;
  guint n_threads = bench_cores (), made = 0;
  g_autofree Share *shares = g_new0 (Share, n_threads);
  g_autofree GThread **threads = g_new0 (GThread *, n_threads);
  if (sched_getaffinity (0, sizeof all, &all) != 0)
    return;
  for (int cpu = 0; cpu < CPU_SETSIZE && made < n_threads; cpu++)
    if (CPU_ISSET (cpu, &all))
      {
        shares[made] = (Share){ loads, n, work, made, n_threads, cpu };
        threads[made] = g_thread_new ("share", run_share, &shares[made]);
        made++;
      }
  for (guint i = 0; i < made; i++)
    g_thread_join (threads[i]);
}

const BenchPeer bench_threads
    = { .name = "bound threads, equal halves", .known = known };
