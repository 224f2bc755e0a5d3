/* SPDX-License-Identifier: MIT */
/* cholesky.h: the parts of the program cholesky.

   DESIGN. A matrix is in memory whole, although one triangle would do: the
   factor takes the place of the one, and the other one, with the diagonal kept
   apart, says what was factorised. So neither the check nor another round needs
   a copy.

   Thread safety: a problem is one thread's. */
#ifndef CHOLESKY_H
#define CHOLESKY_H

#include <hass/la.h>
#include <stdio.h>

G_BEGIN_DECLS

#define CHOLESKY_MOST_ROWS (1 << 20)

/**
 * CholeskyProblem: a symmetric matrix.
 * @triangle: the one that is factorised.
 * @a: [@n * @n] by columns.
 * @diagonal: [@n] of the matrix, once cholesky_keep_diagonal() was called.
 */
typedef struct
{
  HassLaType type;
  HassLaTriangle triangle;
  gsize n;
  gpointer a, diagonal;
} CholeskyProblem;

static inline gsize
cholesky_number_bytes (const CholeskyProblem *p)
{
  return p->type == HASS_LA_FLOAT ? sizeof (float) : sizeof (double);
}

static inline double
cholesky_get (const CholeskyProblem *p, gsize row, gsize col)
{
  gsize at = row + col * p->n;
  return p->type == HASS_LA_FLOAT ? (double)((const float *)p->a)[at]
                                  : ((const double *)p->a)[at];
}

static inline void
cholesky_set (const CholeskyProblem *p, gsize row, gsize col, double value)
{
  gsize at = row + col * p->n;
  if (p->type == HASS_LA_FLOAT)
    ((float *)p->a)[at] = (float)value;
  else
    ((double *)p->a)[at] = value;
}

/* Gets memory for a matrix of p->n rows. */
gboolean cholesky_allocate (CholeskyProblem *p, GError **error);
void cholesky_clear (CholeskyProblem *p);

/* -- Where a matrix comes from (fill.c, market.c) ----------------------- */

/* Fills it with a function of the seed and the place: numbers of [-1, 1), and
   @n on the diagonal, which makes it positive definite. */
gboolean cholesky_fill (const CholeskyProblem *p, guint64 seed, guint n_cores,
                        GError **error);

/* Keeps the diagonal; then, before each other round, brings it and the triangle
   back. */
void cholesky_keep_diagonal (CholeskyProblem *p);
gboolean cholesky_restore (const CholeskyProblem *p, guint n_cores,
                           GError **error);

/**
 * MarketFile: a file in Matrix Market format that is being read.
 * @line: number of the last line that was read.
 * @array: all numbers are there, column by column; else those that are not 0,
 *   each with its place.
 * @symmetric: only the lower triangle is there.
 */
typedef struct
{
  FILE *in;
  const char *name;
  guint64 line, n, n_entries;
  gboolean array, symmetric;
} MarketFile;

/* Reads the first lines of market->in. An error names file and line. */
gboolean market_read_head (MarketFile *market, GError **error);
/* Reads the rest into a matrix of market->n rows. */
gboolean market_read_numbers (MarketFile *market, const CholeskyProblem *p,
                              GError **error);

/* -- Factorising and checking (openblas.c, check.c) --------------------- */

/* Factorises with OpenBLAS on so many threads. Returns: LAPACK's info. */
int cholesky_openblas (const CholeskyProblem *p, guint n_threads);
/* Returns: the processor whose kernels OpenBLAS uses. */
const char *cholesky_openblas_kernels (void);

/**
 * CholeskyGpu: what the libraries for one GPU achieve.
 * @gemm_flops: rate of gemm, in floating-point operations a second; 0: there is
 *   no GPU.
 * @potrf_seconds: time of potrf, the matrix being in its memory; 0: it has no
 *   room for it.
 * @copy_seconds: time of copying the matrix there.
 */
typedef struct
{
  double gemm_flops, potrf_seconds, copy_seconds;
} CholeskyGpu;

/* Measures them on a copy of the matrix; absent where the program was built
   without cuBLAS and cuSOLVER. */
gboolean cholesky_cusolver (const CholeskyProblem *p, CholeskyGpu *gpu,
                            GError **error);

/**
 * CholeskyCheck: how far the factor's product is from the matrix.
 * @full: each number was compared; else both were multiplied by a vector.
 * @worst: largest difference, relative to what the absolute values add up to.
 * @limit: what rounding explains.
 */
typedef struct
{
  gboolean full, right;
  double worst, limit;
} CholeskyCheck;

/* @full_up_to: maximum number of multiplications of a full check. */
CholeskyCheck cholesky_check (const CholeskyProblem *p, guint64 seed,
                              double full_up_to);

/* A number of [0, 2^64) for each place of each seed. */
guint64 cholesky_random (guint64 seed, guint64 place);

G_END_DECLS

#endif
