/* SPDX-License-Identifier: MIT */
/* align.c: measures the rate of align: beside that of a loop over the tiles of
   the table on every core, and on one core beside parasail, where that is
   installed.

   Thread safety: one thread; each measurement has its own. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "examples/align/align.h"
#ifdef BENCH_PARASAIL
#  include <parasail.h>
#endif

/* Residues of both sequences; scores of related ones exceed 16 bits. */
#define LENGTH 20000

/* Two sequences and how they score. */
typedef struct
{
  const char *title, *alphabet;
  gboolean related;
  AlignScheme scheme;
  char *residues[2];
  gsize lengths[2];
  AlignPair pair;
  gint64 score;
} Sequences;

/* @cores: that align uses. @function: of parasail, which its name ends. */
typedef struct
{
  const Sequences *of;
  guint cores;
  const char *function;
} Case;

static char *
random_residues (GRand *random, const char *alphabet)
{
  char *s = g_new (char, LENGTH + 1);
  for (gsize i = 0; i < LENGTH; i++)
    s[i] = alphabet[g_rand_int_range (random, 0, (gint32)strlen (alphabet))];
  s[LENGTH] = '\0';
  return s;
}

/* One of 20 residues differs in related sequences. */
static void
make_sequences (Sequences *q)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  gboolean dna = strlen (q->alphabet) == 4;
  for (int i = 0; i < 2; i++)
    {
      q->residues[i] = random_residues (random, q->alphabet);
      q->lengths[i] = LENGTH;
    }
  for (gsize i = 0; q->related && i < LENGTH; i++)
    if (i % 20 != 0)
      q->residues[1][i] = q->residues[0][i];
  if (dna)
    align_scheme_simple (&q->scheme, TRUE, 2, -3);
  else
    align_scheme_blosum62 (&q->scheme);
  q->scheme.open = dna ? 7 : 11;
  q->scheme.extend = dna ? 2 : 1;
  if (!align_pair_init (&q->pair, &q->scheme, NULL,
                        (const char *const *)q->residues, q->lengths, NULL))
    g_error ("no memory for the sequences");
}

/* 10^9 cells a second. */
static double
rate (double cells, gint64 begin)
{
  return cells / (double)(bench_now_ns () - begin);
}

static double
measure_align (gconstpointer arg)
{
  const Case *c = arg;
  AlignJob job = { .pair = &c->of->pair, .score_only = TRUE };
  AlignResult result;
  job.run.n_cores = c->cores;
  job.run.n_gpus = -1;
  gint64 begin = bench_now_ns ();
  gboolean ok = align_run (&job, &result, NULL, NULL);
  double r = rate ((double)result.cells, begin);
  ok = ok && result.score == c->of->score;
  align_result_clear (&result);
  return ok ? r : NAN;
}

/* All tiles of the table, of the largest size, one after another. */
static gpointer
compute_tiles (gpointer arg)
{
  const AlignPair *p = &((const Case *)arg)->of->pair;
  gsize side = (gsize)p->side, n = (LENGTH + side - 1) / side;
  gsize stride = align_edge_bytes (p->side);
  g_autofree char *edges = g_malloc0 ((n + 1) * stride);
  double *r = g_new (double, 1);
  gint64 begin = bench_now_ns ();
  for (gsize i = 0; i < n * n; i++)
    {
      AlignRect rect = { i / n * side, i % n * side, 0, 0 };
      AlignEdge *top = (AlignEdge *)(edges + (i % n + 1) * stride);
      AlignEdge *left = (AlignEdge *)edges;
      AlignEdges all = { top, left, top, left };
      rect.rows = MIN (side, LENGTH - rect.i);
      rect.columns = MIN (side, LENGTH - rect.j);
      if (rect.j == 0)
        memset (left, 0, stride);
      align_tile (p, &rect, &all);
    }
  *r = rate ((double)LENGTH * LENGTH, begin);
  return r;
}

/* The sum of the rates of threads each of which computes all tiles. */
static double
measure_tiles (gconstpointer arg)
{
  const Case *c = arg;
  g_autofree GThread **threads = g_new (GThread *, c->cores);
  double sum = 0;
  for (guint i = 0; i < c->cores; i++)
    threads[i] = g_thread_new ("tiles", compute_tiles, (gpointer)c);
  for (guint i = 0; i < c->cores; i++)
    {
      g_autofree double *r = g_thread_join (threads[i]);
      sum += *r;
    }
  return sum;
}

/* The part of that rate that align has. */
static double
measure_part (gconstpointer arg)
{
  double before = measure_tiles (arg), all = measure_align (arg);
  return 100 * all / (0.5 * (before + measure_tiles (arg)));
}

#ifdef BENCH_PARASAIL
/* NAN: the score exceeds the bits of the function. */
static double
measure_parasail (gconstpointer arg)
{
  const Case *c = arg;
  const Sequences *q = c->of;
  parasail_function_t *function = parasail_lookup_function (c->function);
  parasail_matrix_t *own
      = q->scheme.simple ? parasail_matrix_create ("ACGT", 2, -3) : NULL;
  const parasail_matrix_t *matrix
      = own ? own : parasail_matrix_lookup ("blosum62");
  gint64 begin = bench_now_ns ();
  parasail_result_t *result
      = function (q->residues[0], LENGTH, q->residues[1], LENGTH,
                  q->scheme.open, q->scheme.extend, matrix);
  double r = rate ((double)LENGTH * LENGTH, begin);
  if (parasail_result_get_score (result) != q->score)
    r = NAN;
  parasail_result_free (result);
  if (own)
    parasail_matrix_free (own);
  return r;
}

static const char *const parasail_functions[]
    = { "sw_striped_8", "sw_striped_16", "sw_striped_32",
        "sw_scan_16",   "sw_scan_32",    "sw_striped_sat" };
#endif

static void
measure (Sequences *q)
{
  AlignResult result;
  AlignJob job = { .pair = &q->pair, .score_only = TRUE };
  if (!align_run (&job, &result, NULL, NULL))
    g_error ("align fails");
  q->score = result.score;
  align_result_clear (&result);
  Case one = { q, 1, NULL }, all = { q, bench_cores (), NULL };
  BenchGroup *parts
      = bench_group_new (BENCH_MORE_IS_BETTER, "%",
                         "%s: align, rate of a loop over tiles", q->title);
  bench_group_add (parts, 90, measure_part, &one, "1 core");
  bench_group_add (parts, 90, measure_part, &all, "%u cores", all.cores);
  bench_group_run (parts, bench_rounds (9));
  BenchGroup *rates
      = bench_group_new (BENCH_MORE_IS_BETTER, "10^9 cells/s",
                         "%s: two of %d residues, one core", q->title, LENGTH);
  guint own = bench_group_add (rates, 0, measure_align, &one, "align, %s",
                               q->pair.kernels->name);
#ifdef BENCH_PARASAIL
  static Case peers[G_N_ELEMENTS (parasail_functions)];
  for (guint i = 0; i < G_N_ELEMENTS (peers); i++)
    {
      peers[i] = (Case){ q, 1, parasail_functions[i] };
      guint row = bench_group_add (rates, 0, measure_parasail, &peers[i],
                                   "parasail %s", peers[i].function);
      bench_group_not_worse (rates, own, row);
    }
#else
  (void)own;
  puts ("parasail is not installed: no peer");
#endif
  bench_group_run (rates, bench_rounds (5));
}

int
main (void)
{
  static Sequences all[]
      = { { .title = "DNA, unrelated", .alphabet = "ACGT" },
          { .title = "DNA, related", .alphabet = "ACGT", .related = TRUE },
          { .title = "proteins, related",
            .alphabet = "ARNDCQEGHILKMFPSTWYV",
            .related = TRUE } };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      make_sequences (&all[i]);
      measure (&all[i]);
      align_pair_clear (&all[i].pair);
    }
  return 0;
}
