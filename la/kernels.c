/* SPDX-License-Identifier: MIT */
/* kernels.c: the operations on tiles over OpenBLAS.

   DESIGN. OpenBLAS's trsm and potrf reach half of the rate of its gemm at the
   size of tiles, since only gemm has kernels by hand. So both halve their
   triangle until it is small, and what lies between the halves is left to
   gemm and syrk.

   Thread safety: any thread, on tiles that no other thread writes. */
#include "kernels-private.h"

#include <cblas.h>
#include <f77blas.h>
#include <math.h>

/* Sizes up to which a triangle is OpenBLAS's. Measured on one core of Zen 4, in
   GFLOP/s: dtrsm of tiles of 256 has 28 as a whole, 37 by halves down to 64 and
   40 down to 16, where gemm has 50; dpotrf 25 as a whole and 28 by halves. */
#define LEAST_TRSM 16
#define LEAST_POTRF 64
/* Halves begin at multiples of it: columns of the kernels of gemm. */
#define STEP 16

static CBLAS_ORDER
order (const LaMatrix *m)
{
  return m->upper ? CblasRowMajor : CblasColMajor;
}

static gsize
half (gsize n)
{
  return (n / 2 + STEP - 1) / STEP * STEP;
}

void
la_gemm (const LaMatrix *m, const LaSize *size, const gpointer a,
         const gpointer b, gpointer c)
{
  blasint rows = (blasint)size->rows, cols = (blasint)size->cols;
  blasint k = (blasint)size->k, ld = (blasint)m->ld;
  if (m->type == HASS_LA_FLOAT)
    cblas_sgemm (order (m), CblasNoTrans, CblasTrans, rows, cols, k, -1, a, ld,
                 b, ld, 1, c, ld);
  else
    cblas_dgemm (order (m), CblasNoTrans, CblasTrans, rows, cols, k, -1, a, ld,
                 b, ld, 1, c, ld);
}

void
la_syrk (const LaMatrix *m, gsize n, gsize k, gpointer a, gpointer c)
{
  blasint ld = (blasint)m->ld;
  if (m->type == HASS_LA_FLOAT)
    cblas_ssyrk (order (m), CblasLower, CblasNoTrans, (blasint)n, (blasint)k,
                 -1, a, ld, 1, c, ld);
  else
    cblas_dsyrk (order (m), CblasLower, CblasNoTrans, (blasint)n, (blasint)k,
                 -1, a, ld, 1, c, ld);
}

static void
small_trsm (const LaMatrix *m, gsize rows, gsize n, gpointer l, gpointer b)
{
  blasint r = (blasint)rows, cols = (blasint)n, ld = (blasint)m->ld;
  if (m->type == HASS_LA_FLOAT)
    cblas_strsm (order (m), CblasRight, CblasLower, CblasTrans, CblasNonUnit, r,
                 cols, 1, l, ld, b, ld);
  else
    cblas_dtrsm (order (m), CblasRight, CblasLower, CblasTrans, CblasNonUnit, r,
                 cols, 1, l, ld, b, ld);
}

void
la_trsm (const LaMatrix *m, gsize rows, gsize n, gpointer l, gpointer b)
{
  gsize first = half (n);
  if (n <= LEAST_TRSM)
    {
      small_trsm (m, rows, n, l, b);
      return;
    }
  gpointer rest = la_at (m, b, 0, first);
  LaSize size = { rows, n - first, first };
  la_trsm (m, rows, first, l, b);
  la_gemm (m, &size, b, la_at (m, l, first, 0), rest);
  la_trsm (m, rows, n - first, la_at (m, l, first, first), rest);
}

double
la_diagonal (const LaMatrix *m, gpointer a, gsize i)
{
  gpointer at = la_at (m, a, i, i);
  return m->type == HASS_LA_FLOAT ? (double)*(float *)at : *(double *)at;
}

/* LAPACK takes NaN for a minor that is not positive, OpenBLAS passes it on; it
   spreads to all that follows. */
static gsize
small_potrf (const LaMatrix *m, gsize n, gpointer a)
{
  blasint order = (blasint)n, ld = (blasint)m->ld, info = 0;
  char triangle[] = { m->upper ? 'U' : 'L', '\0' };
  if (m->type == HASS_LA_FLOAT)
    BLASFUNC (spotrf) (triangle, &order, a, &ld, &info);
  else
    BLASFUNC (dpotrf) (triangle, &order, a, &ld, &info);
  for (gsize i = 0; i < n && (info == 0 || i + 1 < (gsize)info); i++)
    if (isnan (la_diagonal (m, a, i)))
      return i + 1;
  return info;
}

gsize
la_potrf (const LaMatrix *m, gsize n, gpointer a)
{
  gsize first = half (n);
  if (n <= LEAST_POTRF)
    return small_potrf (m, n, a);
  gpointer below = la_at (m, a, first, 0), rest = la_at (m, a, first, first);
  gsize minor = la_potrf (m, first, a);
  if (minor > 0)
    return minor;
  la_trsm (m, n - first, first, a, below);
  la_syrk (m, n - first, first, below, rest);
  minor = la_potrf (m, n - first, rest);
  return minor > 0 ? first + minor : 0;
}
