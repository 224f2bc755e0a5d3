/* SPDX-License-Identifier: MIT */
/* align_trial.c: see align_trial.h.
   Thread safety: as align_trial.h. */
#include "align_trial.h"

#include "hass_test.h"
#include <stdio.h>
#include <string.h>

void
align_trial_init (AlignTrial *t, const AlignScheme *scheme, int open,
                  int extend)
{
  t->scheme = *scheme;
  t->scheme.open = open;
  t->scheme.extend = extend;
  t->residues[0] = g_string_new (NULL);
  t->residues[1] = g_string_new (NULL);
}

void
align_trial_clear (AlignTrial *t)
{
  g_string_free (t->residues[0], TRUE);
  g_string_free (t->residues[1], TRUE);
}

static char
any_of (GRand *random, const char *alphabet)
{
  return alphabet[g_rand_int_range (random, 0, (gint32)strlen (alphabet))];
}

void
align_trial_grow (AlignTrial *t, GRand *random, int which, const char *alphabet,
                  gsize n)
{
  for (gsize i = 0; i < n; i++)
    {
      char c = any_of (random, alphabet);
      for (int k = 0; k < 2; k++)
        if (which < 0 || which == k)
          g_string_append_c (t->residues[k], c);
    }
}

void
align_trial_mutate (AlignTrial *t, GRand *random, const char *alphabet,
                    int rate)
{
  g_string_truncate (t->residues[1], 0);
  for (gsize i = 0; i < t->residues[0]->len; i++)
    {
      int x = 4 * g_rand_int_range (random, 0, 1000);
      char c = t->residues[0]->str[i];
      if (x < 4 * rate)
        c = any_of (random, alphabet);
      else if (x < 5 * rate)
        continue;
      else if (x < 6 * rate)
        g_string_append_c (t->residues[1], any_of (random, alphabet));
      g_string_append_c (t->residues[1], c);
    }
}

/* What is compared with, so the sanitizers, under which it takes most of the
   time, need not watch it. */
__attribute__ ((no_sanitize ("thread", "address", "undefined"))) gint64
align_trial_score (const AlignTrial *t)
{
  const AlignScheme *s = &t->scheme;
  const GString *a = t->residues[0], *b = t->residues[1];
  g_autofree gint64 *h = g_new0 (gint64, b->len + 1);
  g_autofree gint64 *f = g_new (gint64, b->len + 1);
  g_autofree int *columns = g_new (int, b->len + 1);
  gint64 best = 0, never = G_MININT32;
  for (gsize j = 0; j <= b->len; j++)
    {
      f[j] = never;
      columns[j] = j > 0 ? align_code (s, b->str[j - 1], TRUE) : 0;
    }
  for (gsize i = 0; i < a->len; i++)
    {
      gint64 e = never, diagonal = 0;
      int row = align_code (s, a->str[i], FALSE);
      for (gsize j = 1; j <= b->len; j++)
        {
          e = MAX (e - s->extend, h[j - 1] - s->open);
          f[j] = MAX (f[j] - s->extend, h[j] - s->open);
          gint64 here
              = MAX (diagonal + s->table[row][columns[j]], MAX (e, f[j]));
          diagonal = h[j];
          h[j] = MAX (here, 0);
          best = MAX (best, h[j]);
        }
    }
  return best;
}

/* What the operations score; -1 if they do not lead from begin to end. */
static gint64
score_of (const AlignTrial *t, const AlignResult *r)
{
  const AlignScheme *s = &t->scheme;
  gsize i = r->begin[0], j = r->begin[1];
  gint64 score = 0;
  for (guint k = 0; k < r->operations->len; k++)
    {
      AlignOperation o = g_array_index (r->operations, AlignOperation, k);
      if (o.what == 'I' || o.what == 'D')
        {
          score -= s->open + (gint64)(o.n - 1) * s->extend;
          i += o.what == 'I' ? o.n : 0;
          j += o.what == 'D' ? o.n : 0;
          continue;
        }
      for (gsize n = 0; n < o.n; n++, i++, j++)
        {
          if (i >= t->residues[0]->len || j >= t->residues[1]->len)
            return -1;
          int a = align_code (s, t->residues[0]->str[i], FALSE);
          int b = align_code (s, t->residues[1]->str[j], TRUE);
          if ((a == b) != (o.what == '='))
            return -1;
          score += s->table[a][b];
        }
    }
  return i == r->end[0] && j == r->end[1] ? score : -1;
}

static gboolean
same_operations (const AlignResult *a, const AlignResult *b)
{
  if (a->operations->len != b->operations->len
      || memcmp (a->begin, b->begin, sizeof a->begin) != 0)
    return FALSE;
  for (guint i = 0; i < a->operations->len; i++)
    {
      AlignOperation x = g_array_index (a->operations, AlignOperation, i);
      AlignOperation y = g_array_index (b->operations, AlignOperation, i);
      if (x.what != y.what || x.n != y.n)
        return FALSE;
    }
  return TRUE;
}

gint64
align_trial_check (const AlignTrial *t, int side)
{
  const char *residues[] = { t->residues[0]->str, t->residues[1]->str };
  const gsize lengths[] = { t->residues[0]->len, t->residues[1]->len };
  gint64 wanted = align_trial_score (t);
  AlignResult first = { 0 };
  const AlignKernels *kernels;
  for (guint k = 0; (kernels = align_kernels (k)); k++)
    {
      g_autoptr (GError) error = NULL;
      AlignPair pair;
      AlignResult result;
      CU_ASSERT_TRUE_FATAL (align_pair_init (&pair, &t->scheme, kernels,
                                             residues, lengths, &error));
      AlignJob job = { .pair = &pair, .side = side, .group = (int)k + 1 };
      job.run.n_cores = k % 2 + 1;
      job.run.n_gpus = -1;
      gboolean ok = align_run (&job, &result, NULL, &error);
      CU_ASSERT_TRUE_FATAL (ok);
      if (result.score != wanted || score_of (t, &result) != wanted)
        printf ("\n    %s: %zu x %zu, tiles of %d: score %" G_GINT64_FORMAT
                ", its operations %" G_GINT64_FORMAT
                ", wanted %" G_GINT64_FORMAT,
                kernels->name, lengths[0], lengths[1], side, result.score,
                score_of (t, &result), wanted);
      CU_ASSERT_EQUAL (result.score, wanted);
      CU_ASSERT_EQUAL (score_of (t, &result), wanted);
      if (k == 0)
        first = result;
      else
        {
          CU_ASSERT_TRUE (same_operations (&first, &result));
          align_result_clear (&result);
        }
      align_pair_clear (&pair);
    }
  align_result_clear (&first);
  return wanted;
}
