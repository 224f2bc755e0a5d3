/* SPDX-License-Identifier: MIT */
/* align_gpu.c: measures the rate of align on two random sequences of
   nucleotides, on cores alone, on GPUs alone, and on both. Of each row the
   report of the last run of the scores is printed.

   Usage: align_gpu [RESIDUES]...; 500000 and 1000000. BENCH_SIDE=n,
   BENCH_GROUP=n: rows of a tile, and of tiles of a task; 0: as align chooses.
   BENCH_WAY=1: one of 20 residues differs, and the way back is computed, too;
   the rate counts the cells that are computed again.
   Thread safety: one thread. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/align/align.h"
#include "examples/align/gpu.h"

/* Cores alone take 10 s for a million residues, so rounds are few. */
#define ROUNDS 3

typedef enum
{
  CORES,
  GPUS,
  BOTH,
  N_ROWS
} Row;

static const char *const row_names[] = { "cores", "GPUs", "cores and GPUs" };

/* Two sequences; @score: the first that was computed, -1: none. */
typedef struct
{
  AlignPair pair;
  AlignScheme scheme;
  gsize n;
  gint64 score;
  HassReport *reports[N_ROWS];
} Table;

typedef struct
{
  Table *table;
  Row row;
} Case;

static gboolean
wants_way (void)
{
  return bench_setting ("BENCH_WAY", 0) != 0;
}

static void
table_init (Table *t, gsize n)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  char *residues[2];
  const gsize lengths[] = { n, n };
  *t = (Table){ .n = n, .score = -1 };
  for (int i = 0; i < 2; i++)
    {
      residues[i] = g_new (char, n);
      for (gsize k = 0; k < n; k++)
        residues[i][k] = "ACGT"[g_rand_int_range (random, 0, 4)];
      for (gsize k = 0; i == 1 && wants_way () && k < n; k++)
        if (k % 20 != 0)
          residues[1][k] = residues[0][k];
    }
  align_scheme_simple (&t->scheme, TRUE, 2, -3);
  t->scheme.open = 7;
  t->scheme.extend = 2;
  if (!align_pair_init (&t->pair, &t->scheme, NULL,
                        (const char *const *)residues, lengths, NULL))
    g_error ("no memory for the sequences");
  for (int i = 0; i < 2; i++)
    g_free (residues[i]);
}

/* 10^9 cells a second; NAN: it failed, or another score. */
static double
measure (gconstpointer arg)
{
  const Case *c = arg;
  Table *t = c->table;
  AlignJob job = { .pair = &t->pair, .score_only = !wants_way () };
  g_autoptr (GError) error = NULL;
  AlignResult result;
  job.side = (int)bench_setting ("BENCH_SIDE", 0);
  job.group = (int)bench_setting ("BENCH_GROUP", 0);
  job.run.n_gpus = c->row == CORES ? -1 : 0;
  job.gpu = c->row == CORES ? NULL : align_gpu_wave;
  job.no_cpu = c->row == GPUS;
  hass_report_free (t->reports[c->row]);
  t->reports[c->row] = NULL;
  gint64 begin = bench_now_ns ();
  gboolean ok = align_run (&job, &result, &t->reports[c->row], &error);
  double rate = (double)result.cells / (double)(bench_now_ns () - begin);
  if (!ok)
    printf ("%s: %s\n", row_names[c->row], error->message);
  if (ok && t->score < 0)
    t->score = result.score;
  if (ok && result.score != t->score)
    printf ("%s: the score is %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT "\n",
            row_names[c->row], result.score, t->score);
  ok = ok && result.score == t->score;
  align_result_clear (&result);
  return ok ? rate : NAN;
}

static void
compare (gsize n)
{
  Table t;
  Case cases[N_ROWS];
  table_init (&t, n);
  BenchGroup *rates
      = bench_group_new (BENCH_MORE_IS_BETTER, "10^9 cells/s",
                         "two random DNA sequences of %zu residues", n);
  for (guint i = 0; i < N_ROWS; i++)
    {
      cases[i] = (Case){ &t, (Row)i };
      bench_group_add (rates, 0, measure, &cases[i], "%s", row_names[i]);
    }
  measure (&cases[GPUS]); /* starts CUDA */
  bench_group_run (rates, bench_rounds (ROUNDS));
  for (guint i = 0; i < N_ROWS; i++)
    if (t.reports[i])
      {
        g_autofree char *text = hass_report_to_string (t.reports[i]);
        printf ("\n%s:\n%s", row_names[i], text);
        hass_report_free (t.reports[i]);
      }
  align_pair_clear (&t.pair);
}

int
main (int argc, char **argv)
{
  static const char *const usual[] = { "500000", "1000000" };
  const char *const *lengths = argc > 1 ? (const char *const *)argv + 1 : usual;
  guint n = argc > 1 ? (guint)argc - 1 : G_N_ELEMENTS (usual);
  if (!align_gpu_wave || !align_gpu_present ())
    {
      puts ("align_gpu: SKIPPED, no nvcc or no GPU");
      return 0;
    }
  for (guint i = 0; i < n; i++)
    compare ((gsize)strtoul (lengths[i], NULL, 10));
  return 0;
}
