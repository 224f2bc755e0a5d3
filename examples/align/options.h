/* SPDX-License-Identifier: MIT */
/* options.h: align's command line.
   Thread safety: single-threaded, at start-up. */
#ifndef ALIGN_OPTIONS_H
#define ALIGN_OPTIONS_H

#include <hass/hass.h>
#include <limits.h>

/* What residues are. */
typedef enum
{
  ALIGN_GUESS,
  ALIGN_DNA,
  ALIGN_PROTEIN
} AlignKind;

/* A number that was not given; outside the range of each. */
#define ALIGN_NOT_GIVEN INT_MIN

/* @match, @mismatch, @open, @extend: may be ALIGN_NOT_GIVEN. @side: 0: as the
   library chooses. @inputs: names of files. @cigar: one line
   is printed instead of all columns. Clear with align_options_clear(). */
typedef struct
{
  AlignKind kind;
  int match, mismatch, open, extend, side;
  gboolean score_only, cigar, report;
  char *inputs[2];
  HassRunOptions run;
} AlignOptions;

/* Removes what it understands from @argv. FALSE with a G_OPTION_ERROR; the
   options must be cleared then, too. */
gboolean align_options_parse (AlignOptions *options, int *argc, char ***argv,
                              GError **error);
void align_options_clear (AlignOptions *options);

#endif
