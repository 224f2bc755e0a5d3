/* SPDX-License-Identifier: MIT */
/* wave_trial.c: see wave_trial.h.
   Thread safety: as wave_trial.h. */
#include "wave_trial.h"

#include "chance.h"
#include "hass_test.h"
#include <stdio.h>
#include <string.h>

#include "align/scores.h"
#include "tests/trials.h"

static const char dna[] = "ACGT", protein[] = "ARNDCQEGHILKMFPSTWYV";

static gboolean
same_edge (const AlignEdge *x, const AlignEdge *y, gsize n)
{
  return x->base == y->base
         && memcmp (x->cells, y->cells, n * sizeof *x->cells) == 0;
}

static const AlignEdge *
edge_at (const char *edges, gsize i, const AlignBands *b)
{
  return (const AlignEdge *)(edges + i * b->stride);
}

/* Where both differ; NULL: nowhere. Below the last row edges are undefined. */
static const char *
difference (const AlignPair *p, const AlignBands *x, const AlignBands *y)
{
  gsize side = (gsize)x->side, last = p->n[0] % ALIGN_SIDE_STEP != 0;
  for (gsize i = x->n_columns; i < (x->n_bands + 1 - last) * x->n_columns; i++)
    {
      const AlignEdge *a = edge_at (x->above, i, x);
      const AlignEdge *b = edge_at (y->above, i, y);
      gsize first = i % x->n_columns * side;
      if (!same_edge (a, b, MIN (side, p->n[1] - first))
          || a->corner != b->corner)
        return "an edge below a band";
    }
  for (gsize r = 0; r < x->n_rows; r++)
    {
      const AlignEdge *a = edge_at (x->left, r, x);
      const AlignEdge *b = edge_at (y->left, r, y);
      if (!same_edge (a, b, MIN (side, p->n[0] - r * side)))
        return "an edge at the right";
      if (a->best != b->best || (a->best > 0 && a->at != b->at))
        return "the best of a row of tiles";
    }
  return NULL;
}

static void
use (AlignJob *job, const WaveTrial *w)
{
  job->gpu = w->gpu;
  job->no_cpu = w->no_cpu;
  job->run.n_gpus = w->n_devices ? -1 : 0;
  job->run.devices = w->devices;
  job->run.n_devices = w->n_devices;
}

/* Tiles of @side, @group times @group a task. */
static void
check (const WaveTrial *w, const AlignTrial *t, int side, int group)
{
  const char *residues[] = { t->residues[0]->str, t->residues[1]->str };
  const gsize lengths[] = { t->residues[0]->len, t->residues[1]->len };
  g_autoptr (GError) error = NULL;
  AlignPair pair;
  AlignBands wanted, got;
  AlignPeak peak, other;
  CU_ASSERT_TRUE_FATAL (
      align_pair_init (&pair, &t->scheme, NULL, residues, lengths, &error));
  AlignJob job = { .pair = &pair, .side = side, .group = group };
  job.run.n_cores = 1;
  job.run.n_gpus = -1;
  CU_ASSERT_TRUE_FATAL (align_scores (&job, &wanted, &peak, NULL, &error));
  use (&job, w);
  gboolean ok = align_scores (&job, &got, &other, NULL, &error);
  const char *where = ok ? difference (&pair, &wanted, &got) : error->message;
  if (ok && !where
      && (peak.score != other.score
          || (peak.score > 0
              && (peak.row != other.row || peak.column != other.column))))
    where = "the best tile";
  if (where)
    printf ("\n    %zu x %zu residues, tiles of %d, %d a task, scores %d %d %d "
            "%d: %s",
            lengths[0], lengths[1], side, group, t->scheme.match,
            t->scheme.mismatch, t->scheme.open, t->scheme.extend, where);
  CU_ASSERT_PTR_NULL (where);
  align_bands_clear (&wanted);
  align_bands_clear (&got);
  align_pair_clear (&pair);
}

static void
begin (AlignTrial *t, GRand *random, gboolean proteins)
{
  AlignScheme s;
  if (proteins)
    align_scheme_blosum62 (&s);
  else
    align_scheme_simple (&s, TRUE, g_rand_int_range (random, 1, 6),
                         -g_rand_int_range (random, 0, 6));
  int extend = g_rand_int_range (random, 0, 4);
  align_trial_init (t, &s, extend + g_rand_int_range (random, 0, 12), extend);
}

void
wave_trial_random (const WaveTrial *w)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (11);
  for (guint trial = 0; trial < (w->small ? TRIALS (24, 12, 8) : 100); trial++)
    {
      gboolean proteins = one_in (random, 3);
      const char *alphabet = proteins ? protein : trial % 3 ? "ACGTN" : "AC";
      guint most = w->small ? 1500 : 6000;
      AlignTrial t;
      begin (&t, random, proteins);
      align_trial_grow (&t, random, 0, alphabet, 1 + below (random, most));
      if (one_in (random, 2))
        align_trial_mutate (&t, random, alphabet, (int)below (random, 200));
      align_trial_grow (&t, random, 1, alphabet, 1 + below (random, 300));
      check (w, &t, 256 << below (random, 4), 1 + (int)below (random, 4));
      align_trial_clear (&t);
    }
}

void
wave_trial_thin (const WaveTrial *w)
{
  static const gsize sizes[][2]
      = { { 1, 1 },    { 1, 700 },  { 700, 1 },   { 2, 31 },    { 7, 32 },
          { 9, 33 },   { 255, 63 }, { 256, 64 },  { 257, 65 },  { 31, 257 },
          { 512, 32 }, { 513, 31 }, { 769, 511 }, { 1024, 95 }, { 2047, 97 } };
  g_autoptr (GRand) random = g_rand_new_with_seed (12);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (int proteins = 0; proteins < 2; proteins++)
      {
        AlignTrial t;
        begin (&t, random, proteins);
        for (int k = 0; k < 2; k++)
          align_trial_grow (&t, random, k, proteins ? protein : "AC",
                            sizes[i][k]);
        check (w, &t, i % 2 ? 2048 : 256, 1 + (int)i % 3);
        align_trial_clear (&t);
      }
}

void
wave_trial_limits (const WaveTrial *w)
{
  static const int costs[][4]
      = { { 50, -100, 1000, 50 }, { 50, 0, 1000, 0 }, { 50, -100, 60, 50 },
          { 40, -40, 100, 1 },    { 1, -3, 100, 2 },  { 1, -100, 1000, 50 } };
  g_autoptr (GRand) random = g_rand_new_with_seed (13);
  for (guint i = 0; i < G_N_ELEMENTS (costs); i++)
    for (gsize n = 180; n <= 4000; n = n < 262 ? n + 8 : 4 * n)
      {
        AlignTrial t;
        AlignScheme s;
        align_scheme_simple (&s, TRUE, costs[i][0], costs[i][1]);
        align_trial_init (&t, &s, costs[i][2], costs[i][3]);
        align_trial_grow (&t, random, -1, "N", below (random, 200));
        align_trial_grow (&t, random, -1, dna, n);
        align_trial_grow (&t, random, n % 3, dna, 1 + below (random, 500));
        align_trial_grow (&t, random, -1, dna, n / 2);
        check (w, &t, 256 << n % 3, 2);
        align_trial_clear (&t);
      }
}

static gboolean
same_result (const AlignResult *x, const AlignResult *y)
{
  gboolean same = x->score == y->score
                  && x->operations->len == y->operations->len
                  && memcmp (x->begin, y->begin, sizeof x->begin) == 0
                  && memcmp (x->end, y->end, sizeof x->end) == 0;
  for (guint i = 0; same && i < x->operations->len; i++)
    {
      AlignOperation a = g_array_index (x->operations, AlignOperation, i);
      AlignOperation b = g_array_index (y->operations, AlignOperation, i);
      same = a.what == b.what && a.n == b.n;
    }
  return same;
}

static void
check_way (const WaveTrial *w, const AlignTrial *t, int side, int group)
{
  const char *residues[] = { t->residues[0]->str, t->residues[1]->str };
  const gsize lengths[] = { t->residues[0]->len, t->residues[1]->len };
  g_autoptr (GError) error = NULL;
  AlignPair pair;
  AlignResult wanted, got;
  CU_ASSERT_TRUE_FATAL (
      align_pair_init (&pair, &t->scheme, NULL, residues, lengths, &error));
  AlignJob job = { .pair = &pair, .side = side };
  job.run.n_cores = 1;
  job.run.n_gpus = -1;
  CU_ASSERT_TRUE_FATAL (align_run (&job, &wanted, NULL, &error));
  use (&job, w);
  job.group = group;
  gboolean ok = align_run (&job, &got, NULL, &error);
  if (!ok)
    printf ("\n    %s", error->message);
  CU_ASSERT_TRUE (wanted.score > (gint64)lengths[0]);
  CU_ASSERT_TRUE (ok && same_result (&wanted, &got));
  align_result_clear (&wanted);
  align_result_clear (&got);
  align_pair_clear (&pair);
}

void
wave_trial_ways (const WaveTrial *w)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (15);
  for (guint trial = 0; trial < TRIALS (10, 5, 4); trial++)
    {
      gboolean proteins = trial % 3 == 0;
      const char *alphabet = proteins ? protein : dna;
      AlignTrial t;
      AlignScheme s;
      align_scheme_blosum62 (&s);
      if (!proteins)
        align_scheme_simple (&s, TRUE, 3, -3);
      align_trial_init (&t, &s, 8, 1);
      align_trial_grow (&t, random, 0, alphabet, 2000 + below (random, 2000));
      align_trial_mutate (&t, random, alphabet, (int)below (random, 150));
      align_trial_grow (&t, random, 1, alphabet, below (random, 900));
      check_way (w, &t, 256 << trial % 2, 1 + (int)trial % 4);
      align_trial_clear (&t);
    }
}

/* Parts of @memory, each of @part bytes, with what a tile needs. */
static AlignGpuWave
wave_of_tile (const AlignPair *p, const AlignRect *rect, const AlignEdges *e,
              char *memory, gsize part)
{
  const AlignScheme *s = p->scheme;
  AlignGpuWave wave = { .side = ALIGN_SIDE_STEP, .n_tasks = 1 };
  wave.stride = (gint32)align_edge_bytes (ALIGN_SIDE_STEP);
  wave.scheme = (AlignGpuScheme){ s->simple, s->match,   s->mismatch, s->open,
                                  s->extend, s->largest, { { 0 } } };
  memcpy (wave.scheme.table, s->table, sizeof s->table);
  memcpy (memory, e->top, (gsize)wave.stride);
  memcpy (memory + 2 * part, e->left, (gsize)wave.stride);
  memcpy (memory + 3 * part, p->codes[0] + rect->i, rect->rows);
  memcpy (memory + 4 * part, p->codes[1] + rect->j, rect->columns);
  wave.tasks[0] = (AlignGpuTask){ .above = memory,
                                  .left = memory + 2 * part,
                                  .below = memory + part,
                                  .beside = memory + 2 * part,
                                  .a = (int8_t *)(memory + 3 * part),
                                  .b = (int8_t *)(memory + 4 * part),
                                  .rows = (gint32)rect->rows,
                                  .columns = (gint32)rect->columns };
  return wave;
}

/* All scores are raised by @more, which changes nothing else as they are above
   0. */
static void
raise_edge (AlignEdge *e, gint32 more)
{
  e->base += more;
  e->corner += more;
  e->best += more;
}

static void
compare_tile (const WaveTrial *w, const AlignPair *p, AlignGrid *g)
{
  const gint32 more = G_MAXINT32 - 60000;
  const gsize part = align_edge_bytes (ALIGN_SIDE_STEP);
  g_autoptr (GError) error = NULL;
  for (gsize i = 0; i < 15; i++)
    {
      AlignRect rect = align_grid_rect (g, i / 4, i % 4);
      AlignEdges edges = align_grid_edges (g, i / 4, i % 4);
      align_tile (p, &rect, &edges);
    }
  AlignRect rect = align_grid_rect (g, 3, 3);
  AlignEdges e = align_grid_edges (g, 3, 3);
  CU_ASSERT_TRUE (e.top->base > 0 && e.left->base > 0);
  raise_edge (align_grid_below (g, 3, 3), more);
  raise_edge (align_grid_beside (g, 3, 3), more);
  g_autofree char *memory = g_malloc0 (5 * part);
  AlignGpuWave wave = wave_of_tile (p, &rect, &e, memory, part);
  CU_ASSERT_TRUE (w->run (&wave, memory, 5 * part, &error));
  gint32 best = align_tile (p, &rect, &e);
  const AlignEdge *below = (AlignEdge *)(memory + part);
  const AlignEdge *beside = (AlignEdge *)(memory + 2 * part);
  CU_ASSERT_TRUE (best > G_MAXINT32 - 30000);
  CU_ASSERT_EQUAL (beside->best, best);
  CU_ASSERT_TRUE (same_edge (beside, e.right, rect.rows));
  CU_ASSERT_EQUAL (below->corner, e.bottom->corner);
  if (rect.rows == ALIGN_SIDE_STEP)
    CU_ASSERT_TRUE (same_edge (below, e.bottom, rect.columns));
}

void
wave_trial_largest (const WaveTrial *w)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (14);
  for (gsize n = 1; n <= 256; n += 51)
    {
      AlignTrial t;
      AlignScheme s;
      AlignPair pair;
      AlignGrid grid;
      align_scheme_simple (&s, TRUE, 50, -40);
      align_trial_init (&t, &s, 60, 1);
      align_trial_grow (&t, random, -1, dna, 768 + n);
      const char *residues[] = { t.residues[0]->str, t.residues[1]->str };
      const gsize lengths[] = { 768 + n, 768 + n };
      AlignRect rect = { 0, 0, 768 + n, 768 + n };
      CU_ASSERT_TRUE_FATAL (
          align_pair_init (&pair, &t.scheme, NULL, residues, lengths, NULL)
          && align_grid_init (&grid, &rect, ALIGN_SIDE_STEP, NULL));
      compare_tile (w, &pair, &grid);
      align_grid_clear (&grid);
      align_pair_clear (&pair);
      align_trial_clear (&t);
    }
}
