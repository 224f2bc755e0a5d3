/* SPDX-License-Identifier: MIT */
/* scheme.c: see scheme.h. BLOSUM62: Henikoff and Henikoff, "Amino acid
   substitution matrices from protein blocks", PNAS 1992.
   Thread safety: as scheme.h. */
#include "scheme.h"

#include <string.h>

static const char amino_acids[] = "ARNDCQEGHILKMFPSTWYVBZX*";

/* The half below the diagonal, in the order of @amino_acids. */
static const gint8 blosum62[] = {
  4,  -1, 5,  -2, 0,  6,  -2, -2, 1,  6,  0,  -3, -3, -3, 9,  -1, 1,  0,  0,
  -3, 5,  -1, 0,  0,  2,  -4, 2,  5,  0,  -2, 0,  -1, -3, -2, -2, 6,  -2, 0,
  1,  -1, -3, 0,  0,  -2, 8,  -1, -3, -3, -3, -1, -3, -3, -4, -3, 4,  -1, -2,
  -3, -4, -1, -2, -3, -4, -3, 2,  4,  -1, 2,  0,  -1, -3, 1,  1,  -2, -1, -3,
  -2, 5,  -1, -1, -2, -3, -1, 0,  -2, -3, -2, 1,  2,  -1, 5,  -2, -3, -3, -3,
  -2, -3, -3, -3, -1, 0,  0,  -3, 0,  6,  -1, -2, -2, -1, -3, -1, -1, -2, -2,
  -3, -3, -1, -2, -4, 7,  1,  -1, 1,  0,  -1, 0,  0,  0,  -1, -2, -2, 0,  -1,
  -2, -1, 4,  0,  -1, 0,  -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1, 1,
  5,  -3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1, 1,  -4, -3, -2, 11,
  -2, -2, -2, -3, -2, -1, -2, -3, 2,  -1, -1, -2, -1, 3,  -3, -2, -2, 2,  7,
  0,  -3, -3, -3, -1, -2, -2, -3, -3, 3,  1,  -2, 1,  -1, -2, -2, 0,  -3, -1,
  4,  -2, -1, 3,  4,  -3, 0,  1,  -1, 0,  -3, -4, 0,  -3, -3, -2, 0,  -1, -4,
  -3, -3, 4,  -1, 0,  0,  1,  -3, 3,  4,  -2, 0,  -3, -3, 1,  -1, -3, -1, 0,
  -1, -3, -2, -2, 1,  4,  0,  -1, -1, -1, -2, -1, -1, -1, -1, -1, -1, -1, -1,
  -1, -2, 0,  0,  -2, -1, -1, -1, -1, -1, -4, -4, -4, -4, -4, -4, -4, -4, -4,
  -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, 1,
};

/* Residues that match nothing score @worst, and so does what is beyond the
   ends: it must not score above 0. */
static void
finish (AlignScheme *s)
{
  int worst = 0;
  s->largest = 0;
  for (int a = 0; a <= ALIGN_STOP; a++)
    for (int b = 0; b <= ALIGN_STOP; b++)
      {
        worst = MIN (worst, s->table[a][b]);
        s->largest = MAX (s->largest, s->table[a][b]);
      }
  for (int a = 0; a < ALIGN_CODES; a++)
    for (int b = 0; b < ALIGN_CODES; b++)
      if (a > ALIGN_STOP || b > ALIGN_STOP)
        s->table[a][b] = (gint8)worst;
}

void
align_scheme_simple (AlignScheme *s, gboolean dna, int match, int mismatch)
{
  memset (s, 0, sizeof *s);
  s->dna = dna;
  s->simple = TRUE;
  s->match = match;
  s->mismatch = mismatch;
  memset (s->table, mismatch, sizeof s->table);
  for (int a = 0; a <= ALIGN_STOP; a++)
    s->table[a][a] = (gint8)match;
  finish (s);
}

/* The code of @amino_acids[@i]; U, O and J have the row of X. */
static int
letter_code (char c)
{
  return c == '*' ? ALIGN_STOP : c - 'A';
}

void
align_scheme_blosum62 (AlignScheme *s)
{
  memset (s, 0, sizeof *s);
  const gint8 *value = blosum62;
  for (int i = 0; i < 24; i++)
    for (int j = 0; j <= i; j++, value++)
      {
        int a = letter_code (amino_acids[i]), b = letter_code (amino_acids[j]);
        s->table[a][b] = s->table[b][a] = *value;
      }
  finish (s);
}

int
align_code (const AlignScheme *s, char residue, gboolean second)
{
  char c = g_ascii_toupper (residue);
  if (c != '*' && !g_ascii_isalpha (c))
    return -1;
  if (s->dna ? !strchr ("ACGTU", c) : s->simple && c == 'X')
    return second ? ALIGN_UNKNOWN_B : ALIGN_UNKNOWN_A;
  if (s->dna)
    return letter_code (c == 'U' ? 'T' : c);
  return letter_code (!s->simple && strchr ("UOJ", c) ? 'X' : c);
}
