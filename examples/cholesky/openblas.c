/* SPDX-License-Identifier: MIT */
/* openblas.c: OpenBLAS's own factorisation, to compare with.
   Thread safety: one thread. */
#include "cholesky.h"

#include <cblas.h>
#include <f77blas.h>

int
cholesky_openblas (const CholeskyProblem *p, guint n_threads)
{
  blasint n = (blasint)p->n, ld = MAX (n, 1), info = 0;
  char triangle[] = { p->triangle == HASS_LA_UPPER ? 'U' : 'L', '\0' };
  int before = openblas_get_num_threads ();
  openblas_set_num_threads (n_threads > 0 ? (int)n_threads
                                          : openblas_get_num_procs ());
  if (p->type == HASS_LA_FLOAT)
    BLASFUNC (spotrf) (triangle, &n, p->a, &ld, &info);
  else
    BLASFUNC (dpotrf) (triangle, &n, p->a, &ld, &info);
  openblas_set_num_threads (before);
  return (int)info;
}

const char *
cholesky_openblas_kernels (void)
{
  return openblas_get_corename ();
}
