/* SPDX-License-Identifier: MIT */
/* align_trial.h: pairs of sequences, and a plain loop to compare align with.
   Thread safety: one thread. */
#ifndef ALIGN_TRIAL_H
#define ALIGN_TRIAL_H

#include <glib.h>

#include "align/align.h"

/* A pair of sequences and how it is scored. */
typedef struct
{
  AlignScheme scheme;
  GString *residues[2];
} AlignTrial;

/* Two sequences without residues. */
void align_trial_init (AlignTrial *trial, const AlignScheme *scheme, int open,
                       int extend);
void align_trial_clear (AlignTrial *trial);

/* Appends @n random letters of @alphabet to both (@which < 0) or to one. */
void align_trial_grow (AlignTrial *trial, GRand *random, int which,
                       const char *alphabet, gsize n);

/* Makes the second sequence from the first: of 1000 residues, @rate are
   changed, @rate / 4 removed and @rate / 4 inserted. */
void align_trial_mutate (AlignTrial *trial, GRand *random, const char *alphabet,
                         int rate);

/* Returns: the score by a loop over the whole table in 64 bits. */
gint64 align_trial_score (const AlignTrial *trial);

/* Computes with each of the machine's kernels, by tiles of @side and tasks of
   one or more tiles, and asserts
   that the score is the plain one, that the operations have it and lead from
   begin to end, and that all kernels give the same operations. Returns: the
   score. */
gint64 align_trial_check (const AlignTrial *trial, int side);

#endif
