/* SPDX-License-Identifier: MIT */
/* efficiency.c: measures the part of the cores' time that is work: loads of 1
   us, a heavy-tailed mix, results in order.

   DESIGN. Efficiency is sum (work) / (cores * makespan). Work is a number of
   iterations of a dependent multiplication. The time of one iteration is
   measured on one thread right before and right after each run, so that a
   slower phase of the machine does not count as overhead. Bound threads with
   equal halves show how far below 100 % the machine itself is.

   Thread safety: one thread. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_CASES 32

typedef enum
{
  KNOWN,
  EMITTED,
  ORDERED
} Mode;

typedef struct
{
  const char *title;
  HassLoad *loads;
  gsize n;
  gsize iterations; /* of all */
  gsize longest;    /* iterations */
} Work;

typedef struct
{
  const BenchPeer *peer;
  Mode mode;
  const Work *work;
  BenchWork function;
} Case;

/* -- Work --------------------------------------------------------------- */

static double ns_per_iteration; /* to choose iterations by */

static void
work_add (Work *work, gsize i, double ns)
{
  gsize iterations = (gsize)MAX (ns / ns_per_iteration, 1);
  work->loads[i]
      = (HassLoad){ .size = 1, .tag = GSIZE_TO_POINTER (iterations) };
  work->iterations += iterations;
  work->longest = MAX (work->longest, iterations);
}

static Work
even_work (gsize n, double ns)
{
  Work work = { .loads = g_new (HassLoad, n), .n = n };
  for (gsize i = 0; i < n; i++)
    work_add (&work, i, ns);
  return work;
}

/* Pareto, shape 1.3, cut at 20 ms, scaled to a mean of 50 us; one load is 20
   ms exactly. */
static Work
heavy_work (gsize n)
{
  const double shape = 1.3, longest = 20e6, mean = 50e3;
  Work work = { .loads = g_new (HassLoad, n), .n = n };
  g_autofree double *ns = g_new (double, n);
  GRand *rand = g_rand_new_with_seed (1);
  for (gsize i = 0; i < n; i++)
    ns[i] = mean * (shape - 1) / shape
            / pow (1 - g_rand_double (rand), 1 / shape);
  gsize chosen = (gsize)g_rand_int_range (rand, 0, (gint32)n);
  g_rand_free (rand);
  for (int pass = 0; pass < 20; pass++)
    {
      double sum = longest;
      for (gsize i = 0; i < n; i++)
        sum += i == chosen ? 0 : MIN (ns[i], longest);
      double scale = (mean * n - longest) / (sum - longest);
      for (gsize i = 0; i < n; i++)
        ns[i] = i == chosen ? longest : MIN (ns[i] * scale, longest);
    }
  for (gsize i = 0; i < n; i++)
    work_add (&work, i, ns[i]);
  return work;
}

/* Makespan in iterations when each core takes the next load by itself. */
static double
greedy_bound (const Work *work)
{
  guint n_cores = bench_cores ();
  g_autofree double *busy = g_new0 (double, n_cores);
  double end = 0;
  for (gsize i = 0; i < work->n; i++)
    {
      guint least = 0;
      for (guint c = 1; c < n_cores; c++)
        if (busy[c] < busy[least])
          least = c;
      busy[least] += GPOINTER_TO_SIZE (work->loads[i].tag);
      end = MAX (end, busy[least]);
    }
  return end;
}

static double
best_bound (const Work *work)
{
  return MAX ((double)work->iterations / bench_cores (), (double)work->longest);
}

/* -- Measuring ---------------------------------------------------------- */

static guint64 expected, out_of_order;

static void
take (guint64 seq)
{
  out_of_order += seq != expected++;
}

/* Returns: the makespan; @iteration_ns: time of an iteration meanwhile. */
static double
makespan_ns (const Case *c, double *iteration_ns)
{
  const BenchPeer *p = c->peer;
  const Work *w = c->work;
  if (p->begin)
    p->begin ();
  expected = out_of_order = 0;
  double before = bench_iteration_ns ();
  gint64 begin = bench_now_ns ();
  if (c->mode == KNOWN)
    p->known (w->loads, w->n, c->function);
  else if (c->mode == EMITTED)
    p->emitted (w->loads, w->n, c->function);
  else
    p->ordered (w->loads, w->n, c->function, take);
  double ns = bench_now_ns () - begin;
  *iteration_ns = 0.5 * (before + bench_iteration_ns ());
  if (p->end)
    p->end ();
  if (c->mode == ORDERED && (out_of_order > 0 || expected != w->n))
    {
      fprintf (stderr, "%s: results out of order\n", p->name);
      exit (1);
    }
  return ns;
}

static double
efficiency (gconstpointer arg)
{
  const Case *c = arg;
  double iteration_ns;
  double ns = makespan_ns (c, &iteration_ns);
  return 100 * c->work->iterations * iteration_ns / (bench_cores () * ns);
}

/* Makespan over the best possible one. */
static double
stretch (gconstpointer arg)
{
  const Case *c = arg;
  double iteration_ns;
  double ns = makespan_ns (c, &iteration_ns);
  return ns / (best_bound (c->work) * iteration_ns);
}

static double
ns_a_load (gconstpointer arg)
{
  const Case *c = arg;
  double iteration_ns;
  return makespan_ns (c, &iteration_ns) / c->work->n;
}

/* -- Groups ------------------------------------------------------------- */

static gboolean
has (const BenchPeer *p, Mode mode)
{
  return mode == KNOWN     ? p->known != NULL
         : mode == EMITTED ? p->emitted != NULL
                           : p->ordered != NULL;
}

/* Adds every peer that can, hass first. */
static void
add_rows (BenchGroup *group, Mode mode, const Work *work, BenchWork function,
          BenchMeasure measure, double target)
{
  static Case cases[8 * MAX_CASES];
  static guint n;
  static const char *const how[] = { "known", "emitted", "in order" };
  for (const BenchPeer *const *p = bench_peers; *p; p++)
    if (has (*p, mode) && n < G_N_ELEMENTS (cases))
      {
        cases[n] = (Case){ *p, mode, work, function };
        bench_group_add (group, *p == &bench_hass ? target : 0, measure,
                         &cases[n++], "%s, %s", (*p)->name, how[mode]);
      }
}

static void
run_even (void)
{
  Work work = even_work (200000, 1000);
  BenchGroup *group = bench_group_new (
      BENCH_MORE_IS_BETTER, "% efficient",
      "c. loads of 1 us, %" G_GSIZE_FORMAT " known or emitted", work.n);
  add_rows (group, KNOWN, &work, bench_busy, efficiency, 97);
  add_rows (group, EMITTED, &work, bench_busy, efficiency, 97);
  bench_group_run (group, bench_rounds (11));
  g_free (work.loads);
}

static void
run_heavy (void)
{
  Work work = heavy_work (24000);
  BenchGroup *group = bench_group_new (
      BENCH_LESS_IS_BETTER, "makespan / bound",
      "d. heavy tail: %" G_GSIZE_FORMAT " loads, Pareto 1.3, mean %.0f us, "
      "longest %.1f ms, sum %.2f s; nothing known of the costs",
      work.n, work.iterations * ns_per_iteration / work.n * 1e-3,
      work.longest * ns_per_iteration * 1e-6,
      work.iterations * ns_per_iteration * 1e-9);
  double greedy = greedy_bound (&work) / best_bound (&work);
  add_rows (group, KNOWN, &work, bench_busy, stretch, 1.02);
  add_rows (group, EMITTED, &work, bench_busy, stretch, 1.02);
  bench_group_run (group, bench_rounds (7));
  printf ("  one load at a time without any overhead: %.4f\n", greedy);
  g_free (work.loads);
}

static void
run_ordered (void)
{
  Work none = even_work (500000, 0), ten = even_work (30000, 10000);
  BenchGroup *group
      = bench_group_new (BENCH_LESS_IS_BETTER, "ns a load",
                         "e. results in sequence order: loads of no work, "
                         "emitted");
  add_rows (group, ORDERED, &none, bench_nothing, ns_a_load, 60);
  bench_group_run (group, bench_rounds (11));
  group = bench_group_new (BENCH_MORE_IS_BETTER, "% efficient",
                           "e. results in sequence order: loads of 10 us, "
                           "emitted");
  add_rows (group, ORDERED, &ten, bench_busy, efficiency, 97);
  bench_group_run (group, bench_rounds (11));
  g_free (none.loads);
  g_free (ten.loads);
}

int
main (void)
{
  ns_per_iteration = bench_iteration_ns ();
  printf ("\n== Efficiency, %u cores\n", bench_cores ());
  bench_print_missing ();
  run_even ();
  run_heavy ();
  run_ordered ();
  return 0;
}
