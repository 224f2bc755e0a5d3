/* SPDX-License-Identifier: MIT */
/* test_align.c: scores and alignments of align against a plain loop.
   Thread safety: one thread. */
#include "hass_test.h"

#include <string.h>

#include "align_trial.h"
#include "tests/trials.h"

static const char dna[] = "ACGT", protein[] = "ARNDCQEGHILKMFPSTWYV";

static AlignScheme
simple (int match, int mismatch)
{
  AlignScheme s;
  align_scheme_simple (&s, TRUE, match, mismatch);
  return s;
}

static AlignScheme
blosum62 (void)
{
  AlignScheme s;
  align_scheme_blosum62 (&s);
  return s;
}

static void
random_pairs (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  for (guint trial = 0; trial < TRIALS (200, 100, 60); trial++)
    {
      AlignScheme s = trial % 4 == 0
                          ? blosum62 ()
                          : simple (g_rand_int_range (random, 1, 6),
                                    -g_rand_int_range (random, 0, 6));
      int extend = g_rand_int_range (random, 0, 4);
      int open = extend + g_rand_int_range (random, 0, 12);
      const char *alphabet = trial % 4 == 0   ? protein
                             : trial % 4 == 1 ? "ACGTN"
                             : trial % 4 == 2 ? "AC"
                                              : "acgtACGTnRYu";
      AlignTrial t;
      align_trial_init (&t, &s, open, extend);
      align_trial_grow (&t, random, 0, alphabet,
                        (gsize)g_rand_int_range (random, 1, 700));
      if (trial % 3 == 0)
        align_trial_grow (&t, random, 1, alphabet,
                          (gsize)g_rand_int_range (random, 1, 700));
      else
        align_trial_mutate (&t, random, alphabet,
                            g_rand_int_range (random, 0, 300));
      align_trial_check (&t, ALIGN_SIDE_STEP);
      align_trial_clear (&t);
    }
}

/* With tiles of every size, and bands of several rows of tiles. */
static void
many_tiles (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (2);
  for (int side = 0; side <= ALIGN_MAX_SIDE;
       side = side ? TRIALS (2, 4, 8) * side : ALIGN_SIDE_STEP)
    for (int kind = 0; kind < 2; kind++)
      {
        AlignScheme s = kind ? blosum62 () : simple (2, -3);
        AlignTrial t;
        align_trial_init (&t, &s, kind ? 11 : 7, kind ? 1 : 2);
        align_trial_grow (&t, random, 0, kind ? protein : dna, 3300);
        align_trial_mutate (&t, random, kind ? protein : dna, 60);
        align_trial_grow (&t, random, 1, kind ? protein : dna, 500);
        CU_ASSERT_TRUE (align_trial_check (&t, side) > 3000);
        align_trial_clear (&t);
      }
}

/* Gaps of every length, from every distance to the edge of a tile. */
static void
gaps_at_edges (void)
{
  static const gsize lengths[] = { 1, 2, 7, 8, 9, 255, 256, 257, 600 };
  static const gsize places[] = { 247, 248, 254, 255, 256, 257, 264, 500 };
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  AlignScheme s = simple (5, -4);
  for (guint i = 0; i < G_N_ELEMENTS (lengths); i++)
    for (guint k = TRIALS (0, i % 3, 0); k < G_N_ELEMENTS (places);
         k += TRIALS (1, 3, 1))
      {
        AlignTrial t;
        align_trial_init (&t, &s, 10, 1);
        align_trial_grow (&t, random, -1, dna, places[k]);
        align_trial_grow (&t, random, (int)k % 2, dna, lengths[i]);
        align_trial_grow (&t, random, -1, dna, 300);
        align_trial_grow (&t, random, (int)i % 2, dna, lengths[i]);
        align_trial_grow (&t, random, -1, dna, 300);
        gint64 least
            = 5 * (gint64)(places[k] + 600) - 2 * (9 + (gint64)lengths[i]);
        CU_ASSERT_TRUE (align_trial_check (&t, ALIGN_SIDE_STEP) >= least);
        align_trial_clear (&t);
      }
}

/* Diagonals on which a cell and the one before it are in different tiles,
   strips, or blocks of a tile, both above and to the left. */
static void
through_corners (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (5);
  AlignScheme s = simple (1, -3);
  for (gsize shift = 0; shift <= 768; shift += TRIALS (64, 192, 64))
    for (int side = 256; side <= 1024; side *= 2)
      {
        AlignTrial t;
        align_trial_init (&t, &s, 100, 2);
        align_trial_grow (&t, random, side < 1024, "N", shift);
        align_trial_grow (&t, random, -1, dna, 1100);
        CU_ASSERT_EQUAL (align_trial_check (&t, side), 1100);
        align_trial_clear (&t);
      }
}

/* Scores that 16 bits do not hold, with gaps of up to 1000 between them, and
   the largest costs. */
static void
large_scores (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (4);
  static const int costs[][4] = { { 50, -100, 1000, 50 },
                                  { 50, 0, 1000, 0 },
                                  { 50, -100, 60, 50 },
                                  { 40, -40, 100, 1 },
                                  { 1, -100, 1000, 50 } };
  for (guint i = 0; i < G_N_ELEMENTS (costs); i++)
    {
      AlignScheme s = simple (costs[i][0], costs[i][1]);
      AlignTrial t;
      align_trial_init (&t, &s, costs[i][2], costs[i][3]);
      for (int part = 0; part < 5; part++)
        {
          align_trial_grow (&t, random, -1, dna, 900);
          align_trial_grow (&t, random, part % 2, dna,
                            (gsize)g_rand_int_range (random, 1, 1000));
        }
      gint64 score = align_trial_check (&t, 0);
      CU_ASSERT_TRUE (i == 4 || score > G_MAXUINT16);
      align_trial_clear (&t);
    }
}

/* Sequences whose score is a little below and above 255, in one tile and in the
   second of two, which scores of 100 enter. */
static void
byte_scores (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (6);
  AlignScheme schemes[] = { simple (1, -3), simple (1, -100) };
  for (gsize n = 245; n <= 262; n++)
    for (guint k = 0; k < 4; k++)
      {
        AlignTrial t;
        align_trial_init (&t, &schemes[k % 2], 100, 2);
        align_trial_grow (&t, random, -1, "N", k / 2 ? 156 : 0);
        align_trial_grow (&t, random, -1, dna, n);
        align_trial_grow (&t, random, -1, "N", 40);
        CU_ASSERT_EQUAL (align_trial_check (&t, ALIGN_SIDE_STEP), (gint64)n);
        align_trial_clear (&t);
      }
}

/* Proteins of which one part is related and has a score above 255, before and
   after parts that are not. */
static void
byte_tiles (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  AlignScheme s = blosum62 ();
  for (gsize n = 20; n <= 300; n += 20)
    {
      AlignTrial t;
      align_trial_init (&t, &s, 11, 1);
      for (int which = 0; which < 2; which++)
        align_trial_grow (&t, random, which, protein, 700);
      align_trial_grow (&t, random, -1, protein, n);
      for (int which = 0; which < 2; which++)
        align_trial_grow (&t, random, which, protein, 700);
      align_trial_check (&t, n % 40 ? 256 : 512);
      align_trial_clear (&t);
    }
}

static void
score_of (const char *a, const char *b, gint64 wanted)
{
  AlignScheme s = simple (2, -3);
  AlignTrial t;
  align_trial_init (&t, &s, 7, 2);
  g_string_append (t.residues[0], a);
  g_string_append (t.residues[1], b);
  CU_ASSERT_EQUAL (align_trial_check (&t, 0), wanted);
  align_trial_clear (&t);
}

static void
edge_cases (void)
{
  score_of ("", "", 0);
  score_of ("", "ACGT", 0);
  score_of ("ACGT", "", 0);
  score_of ("A", "A", 2);
  score_of ("A", "C", 0);
  score_of ("AAAAAAA", "CCCCCCC", 0);
  score_of ("NNNN", "NNNN", 0);
  score_of ("ACGT", "acgt", 8);
  score_of ("ACGU", "ACGT", 8);
  score_of ("RYKM", "RYKM", 0);
  score_of ("ACGTACGTACGT", "ACGTACCGTACGT", 17);
}

static void
wrong_residues (void)
{
  AlignScheme s = simple (2, -3);
  AlignPair pair;
  const char *residues[] = { "ACGT", "AC-T" };
  const gsize lengths[] = { 4, 4 };
  g_autoptr (GError) error = NULL;
  CU_ASSERT_FALSE (
      align_pair_init (&pair, &s, NULL, residues, lengths, &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL (error);
  CU_ASSERT_STRING_EQUAL (error->message,
                          "residue 3 of the second sequence is no letter");
}

HASS_TEST_SUITE (
    align, { "random pairs have the score of a plain loop", random_pairs },
    { "tiles of all sizes give an alignment with the score", many_tiles },
    { "sequences that are empty, equal or have nothing in common", edge_cases },
    { "a residue that is no letter is named", wrong_residues })

/* What tiles compute, whichever thread does: tests/suites.mk. */
HASS_TEST_SUITE (align_scores,
                 { "gaps may cross the edges of tiles", gaps_at_edges },
                 { "alignments may pass through corners", through_corners },
                 { "scores may exceed 16 bits", large_scores },
                 { "scores may exceed 8 bits", byte_scores },
                 { "tiles of 8 and 16 bits may lie side by side", byte_tiles })
