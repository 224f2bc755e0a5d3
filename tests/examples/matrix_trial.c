/* SPDX-License-Identifier: MIT */
/* matrix_trial.c: small matrix products and their check.
   Thread safety: one thread. */
#include "hass_test.h"

#ifndef WITHOUT_matrix_multiply

#  include "matrix_trial.h"

#  include <stdio.h>

MatrixProblem
problem_new (MatrixType type, gsize m, gsize k, gsize n)
{
  MatrixProblem p = { .type = type, .m = m, .k = k, .n = n };
  matrix_choose_tiles (&p);
  p.a = g_malloc (m * k * sizeof (double));
  p.b = g_malloc (k * n * sizeof (double));
  p.c = g_malloc0 (m * n * sizeof (double));
  if (!matrix_fill (&p, m + n, 2, NULL))
    g_error ("the matrices cannot be filled");
  return p;
}

void
problem_clear (MatrixProblem *p)
{
  g_free (p->a);
  g_free (p->b);
  g_free (p->c);
}

void
expect_right_product (const MatrixProblem *p, const char *what)
{
  MatrixCheck full = matrix_check (p, 1, ALWAYS_FULL);
  MatrixCheck vectors = matrix_check (p, 1, NEVER_FULL);
  if (full.right && vectors.right)
    return;
  printf ("\n    %s: %zu x %zu x %zu, tiles %zu x %zu: norm %g, worst %g", what,
          p->m, p->k, p->n, p->tile_rows, p->tile_cols, full.norm, full.worst);
  CU_FAIL ("the product is wrong");
}

#endif
