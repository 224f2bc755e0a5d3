/* SPDX-License-Identifier: MIT */
/* factoring_openmp.c: OpenMP tasks with depend; they have priorities if
   OMP_MAX_TASK_PRIORITY says so when the program starts.
   Thread safety: one run at a time. */
#include "factorings.h"

static void
update (const Factoring *f, gsize j, gsize k)
{
  double *a = factoring_at (f, j, k), *c = factoring_at (f, j, j);
  int urgent = factoring_priority (f, j, k);
  (void)a, (void)c, (void)urgent;
#pragma omp task depend(in                                                     \
                        : a[0]) depend(inout                                   \
                                       : c[0]) priority(urgent)                \
    firstprivate(f, j, k)
  factoring_syrk (f, j, k);
  for (gsize i = j + 1; i < factoring_tiles (f); i++)
    {
      double *b = factoring_at (f, i, k);
      c = factoring_at (f, i, j);
      (void)b;
#pragma omp task depend(in                                                     \
                        : a[0], b[0]) depend(inout                             \
                                             : c[0]) priority(urgent)          \
    firstprivate(f, i, j, k)
      factoring_gemm (f, i, j, k);
    }
}

static void
run (const Factoring *f)
{
#pragma omp parallel
#pragma omp single
  for (gsize k = 0; k < factoring_tiles (f); k++)
    {
      double *l = factoring_at (f, k, k);
      int urgent = factoring_priority (f, k, k) + 2;
      (void)l, (void)urgent;
#pragma omp task depend(inout : l[0]) priority(urgent) firstprivate(f, k)
      factoring_potrf (f, k);
      for (gsize i = k + 1; i < factoring_tiles (f); i++)
        {
          double *b = factoring_at (f, i, k);
          (void)b;
#pragma omp task depend(in                                                     \
                        : l[0]) depend(inout                                   \
                                       : b[0]) priority(urgent - 1)            \
    firstprivate(f, i, k)
          factoring_trsm (f, i, k);
        }
      for (gsize j = k + 1; j < factoring_tiles (f); j++)
        update (f, j, k);
    }
}

const FactoringPeer factoring_openmp = { .name = "OpenMP depend", .run = run };
