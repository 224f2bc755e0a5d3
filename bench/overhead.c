/* SPDX-License-Identifier: MIT */
/* overhead.c: what a load of no work costs, known at the start, emitted one by
   one, or emitted by others.
   Thread safety: one thread. */
#include "bench.h"

#include <stdio.h>

#define N_LOADS 1000000
#define MAX_CASES 32

typedef enum
{
  INDICES,
  KNOWN,
  EMITTED
} Mode;

typedef struct
{
  const BenchPeer *peer;
  Mode mode;
} Case;

static HassLoad *loads; /* [N_LOADS] */

/* ns a load */
static double
measure (gconstpointer arg)
{
  const Case *c = arg;
  const BenchPeer *p = c->peer;
  gsize n = p->most > 0 ? MIN (p->most, N_LOADS) : N_LOADS;
  if (p->begin)
    p->begin ();
  gint64 begin = bench_now_ns ();
  if (c->mode == INDICES)
    p->indices (n);
  else if (c->mode == KNOWN)
    p->known (loads, n, bench_nothing);
  else
    p->emitted (loads, n, bench_nothing);
  double ns = (double)(bench_now_ns () - begin) / n;
  if (p->end)
    p->end ();
  return ns;
}

static double
plain_loop (gconstpointer arg)
{
  (void)arg;
  BenchWork work = bench_nothing;
  __asm__ volatile("" : "+r"(work));
  gint64 begin = bench_now_ns ();
  for (gsize i = 0; i < N_LOADS; i++)
    work (&loads[i]);
  return (double)(bench_now_ns () - begin) / N_LOADS;
}

static void
run_known (void)
{
  static Case cases[MAX_CASES];
  guint n = 0, rival = 0;
  BenchGroup *group
      = bench_group_new (BENCH_LESS_IS_BETTER, "ns a load",
                         "a. %d loads of no work, known at the start", N_LOADS);
  for (const BenchPeer *const *p = bench_peers; *p; p++)
    {
      gboolean ours = *p == &bench_hass;
      if ((*p)->known)
        {
          cases[n] = (Case){ *p, KNOWN };
          bench_group_add (group, ours ? 5 : 0, measure, &cases[n++],
                           "%s, descriptors", (*p)->name);
        }
      if ((*p)->indices)
        {
          cases[n] = (Case){ *p, INDICES };
          guint row = bench_group_add (
              group, ours ? 5 : 0, measure, &cases[n++], "%s, %s", (*p)->name,
              ours ? "one load in blocks of 1" : "indices");
#ifdef BENCH_OPENMP
          if (*p == &bench_openmp)
            rival = row;
#endif
          (void)row;
        }
    }
  bench_group_add (group, 0, plain_loop, NULL,
                   "one thread, plain loop, descriptors");
  if (rival > 0)
    {
      bench_group_not_worse (group, 0, rival);
      bench_group_not_worse (group, 1, rival);
    }
  bench_group_run (group, bench_rounds (15));
  printf ("  descriptors: a function pointer is called with each of an array "
          "of 56-byte loads\n");
}

static void
run_emitted (void)
{
  static Case cases[MAX_CASES];
  guint n = 0;
  BenchGroup *group = bench_group_new (BENCH_LESS_IS_BETTER, "ns a load",
                                       "b. loads of no work, emitted one by "
                                       "one while they are computed");
  for (const BenchPeer *const *p = bench_peers; *p; p++)
    if ((*p)->emitted)
      {
        cases[n] = (Case){ *p, EMITTED };
        bench_group_add (group, *p == &bench_hass ? 60 : 0, measure,
                         &cases[n++], "%s", (*p)->name);
      }
  bench_group_run (group, bench_rounds (15));
}

/* How tasks emit others: chains side by side, or a tree. */
typedef struct
{
  const BenchPeer *peer;
  guint n_roots, n_children;
  gsize depth;
} Nest;

static double
measure_nested (gconstpointer arg)
{
  const Nest *nest = arg;
  gsize n = 0, level = nest->n_roots;
  for (gsize d = 0; d <= nest->depth; d++, level *= nest->n_children)
    n += level;
  gint64 begin = bench_now_ns ();
  nest->peer->nested (nest->n_roots, nest->n_children, nest->depth);
  return (double)(bench_now_ns () - begin) / n;
}

static void
run_nested (void)
{
  static Nest nests[MAX_CASES];
  guint n = 0;
  BenchGroup *group
      = bench_group_new (BENCH_LESS_IS_BETTER, "ns a task",
                         "c. tasks of no work, emitted by other tasks");
  for (const BenchPeer *const *p = bench_peers; *p; p++)
    for (guint k = 1; k <= 2 && (*p)->nested; k++)
      {
        nests[n] = (Nest){ *p, k == 1 ? 1000 : 1, k, k == 1 ? 499 : 18 };
        bench_group_add (group, *p == &bench_hass ? 120 : 0, measure_nested,
                         &nests[n++], "%s, %s", (*p)->name,
                         k == 1 ? "1000 chains" : "a binary tree");
      }
  bench_group_run (group, bench_rounds (15));
}

int
main (void)
{
  loads = g_new0 (HassLoad, N_LOADS);
  for (gsize i = 0; i < N_LOADS; i++)
    loads[i].size = 1;
  printf ("== Overhead of a load, %u cores\n", bench_cores ());
  bench_print_missing ();
  run_known ();
  run_emitted ();
  run_nested ();
  g_free (loads);
  return 0;
}
