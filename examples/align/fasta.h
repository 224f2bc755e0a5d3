/* SPDX-License-Identifier: MIT */
/* fasta.h: the sequences of a FASTA file.
   Thread safety: pure functions. */
#ifndef ALIGN_FASTA_H
#define ALIGN_FASTA_H

#include <glib.h>

/* A sequence. @name: the first word of the header line, in UTF-8; "" without
   one. @residues: [@length], as they are in the file, without white space.
   @more: the file has further sequences. Clear with fasta_clear(). */
typedef struct
{
  char *name, *residues;
  gsize length;
  gboolean more;
} FastaRecord;

/**
 * fasta_read:
 * @name: of the file; "-": standard input.
 *
 * Reads the first sequence of a FASTA file, or one without a header line. Lines
 * may end with CR LF; lines that begin with ';' are comments.
 *
 * Returns: FALSE with HASS_ERROR_IO, which names the line if there is something
 * other than letters and '*'.
 */
gboolean fasta_read (FastaRecord *record, const char *name, GError **error);
void fasta_clear (FastaRecord *record);

/* Returns: TRUE if at least nine of ten residues are A, C, G, T, U or N. */
gboolean fasta_looks_like_dna (const FastaRecord *record);

#endif
