/* SPDX-License-Identifier: MIT */
/* options.h: the command line of cholesky.
   Thread safety: single-threaded. */
#ifndef CHOLESKY_OPTIONS_H
#define CHOLESKY_OPTIONS_H

#include "cholesky.h"

typedef struct
{
  CholeskyProblem problem; /* without the matrix */
  gsize tile_rows, tile_cols;
  guint rounds, cores;
  gint gpus; /* as HassRunOptions n_gpus */
  guint64 seed;
  char *file; /* NULL: a random matrix */
  char *strategy;
  gboolean alone, report, json;
} CholeskyOptions;

/* Parses the arguments; --help ends the program. */
gboolean cholesky_options_parse (CholeskyOptions *options, int argc,
                                 char **argv, GError **error);
void cholesky_options_clear (CholeskyOptions *options);

#endif
