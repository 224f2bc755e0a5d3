/* SPDX-License-Identifier: MIT */
/* print.h: alignments as text.
   Thread safety: pure functions but for the file. */
#ifndef ALIGN_PRINT_H
#define ALIGN_PRINT_H

#include <stdio.h>

#include "align.h"
#include "fasta.h"

/* One line: names, ranges from 1 on, score, and the operations as a CIGAR
   string ("*": none), separated by tabs. */
void align_print_line (FILE *to, const AlignResult *result,
                       const FastaRecord records[2]);

/* A summary, then all columns in rows of 60. Between the residues, '|' stands
   for equal ones and '.' for others that score more than 0. */
void align_print_columns (FILE *to, const AlignResult *result,
                          const AlignScheme *scheme,
                          const FastaRecord records[2]);

#endif
