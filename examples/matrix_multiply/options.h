/* SPDX-License-Identifier: MIT */
/* options.h: the command line of matrix_multiply.
   Thread safety: single-threaded. */
#ifndef MATRIX_MULTIPLY_OPTIONS_H
#define MATRIX_MULTIPLY_OPTIONS_H

#include "matrix.h"

typedef struct
{
  MatrixProblem problem; /* without the matrices */
  guint rounds, cores;
  guint64 seed;
  char *strategy, *platform;
  gboolean verify, report, json, cpu_only, gpu_only;
  int gpus; /* as HassRunOptions n_gpus */
} MatrixOptions;

/* Parses the arguments; --help ends the program. */
gboolean matrix_options_parse (MatrixOptions *options, int argc, char **argv,
                               GError **error);
void matrix_options_clear (MatrixOptions *options);

#endif
