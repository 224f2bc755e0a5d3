/* SPDX-License-Identifier: MIT */
/* scheme.h: residues as codes, and what an alignment of them scores.
   Thread safety: a scheme is constant once it is made. */
#ifndef ALIGN_SCHEME_H
#define ALIGN_SCHEME_H

#include <glib.h>

/* Codes of residues: letters from 0 for A, the stop codon, and those that match
   nothing: unknown residues of the first and of the second sequence, and what
   is beyond their ends. */
enum
{
  ALIGN_STOP = 26,
  ALIGN_UNKNOWN_A = 28,
  ALIGN_UNKNOWN_B,
  ALIGN_PAD_A,
  ALIGN_PAD_B,
  ALIGN_CODES
};

/* Limits of what can be set, so that the scores within a tile fit 16 bits; see
   tile.h. */
#define ALIGN_MAX_MATCH 50
#define ALIGN_MIN_MISMATCH (-100)
#define ALIGN_MAX_OPEN 1000
#define ALIGN_MAX_EXTEND 50

/**
 * AlignScheme: how alignments are scored.
 * @dna: residues are nucleotides: U is T, and what is not A, C, G or T matches
 *   nothing. Otherwise amino acids.
 * @simple: @table has two values, @match for equal codes and @mismatch.
 * @open: cost of the first residue of a gap, not below @extend.
 * @extend: cost of each further one.
 * @table: [code of the first sequence][code of the second].
 * @largest: of the values of @table.
 */
typedef struct
{
  gboolean dna, simple;
  int match, mismatch, open, extend, largest;
  gint8 table[ALIGN_CODES][ALIGN_CODES];
} AlignScheme;

/* All pairs of residues score @match where they are equal, @mismatch where they
   are not. Gaps are to be set by the caller, here and below. */
void align_scheme_simple (AlignScheme *scheme, gboolean dna, int match,
                          int mismatch);

/* Pairs of amino acids score as in BLOSUM62. U, O and J count as X. */
void align_scheme_blosum62 (AlignScheme *scheme);

/* Returns: the code of a residue of the first sequence or of the second, lower
   case as upper case; -1 if @residue is neither a letter nor '*'. */
int align_code (const AlignScheme *scheme, char residue, gboolean second);

#endif
