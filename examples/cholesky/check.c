/* SPDX-License-Identifier: MIT */
/* check.c: compares a factor with its matrix, without BLAS.

   DESIGN. For a small matrix each number of L * L' is compared; for a large one
   A * x with L * (L' * x) for a random vector x of signs (Freivalds 1977). Both
   in long double, whose own rounding is negligible.

   The limit: |A - L * L'| <= (n + 1) * u * |L| * |L'| for each number, with the
   unit of rounding u (Higham 2002, theorem 10.3). Roundings are random rather
   than all the worst, so that sqrt (n) takes the place of n (Higham and Mary
   2019); 4 * sqrt (n) * eps, where eps = 2 * u, leaves a factor of 8.

   Thread safety: any thread. */
#include "cholesky.h"

#include <float.h>
#include <math.h>

/* Number of L, whichever triangle has it. */
static long double
factor (const CholeskyProblem *p, gsize i, gsize j)
{
  return p->triangle == HASS_LA_LOWER ? cholesky_get (p, i, j)
                                      : cholesky_get (p, j, i);
}

/* Number of A, where @i > @j: from the triangle that was not overwritten. */
static long double
original (const CholeskyProblem *p, gsize i, gsize j)
{
  return p->triangle == HASS_LA_LOWER ? cholesky_get (p, j, i)
                                      : cholesky_get (p, i, j);
}

static long double
diagonal (const CholeskyProblem *p, gsize i)
{
  return p->type == HASS_LA_FLOAT ? ((const float *)p->diagonal)[i]
                                  : ((const double *)p->diagonal)[i];
}

static void
compare (CholeskyCheck *c, long double difference, long double scale)
{
  double d = (double)(fabsl (difference) / scale);
  if (!isnan (c->worst) && !(d <= c->worst)) /* NaN is worst */
    c->worst = d;
}

static void
compare_numbers (CholeskyCheck *c, const CholeskyProblem *p)
{
  for (gsize i = 0; i < p->n; i++)
    for (gsize j = 0; j <= i; j++)
      {
        long double sum = 0, scale = 0;
        for (gsize k = 0; k <= j; k++)
          {
            long double x = factor (p, i, k) * factor (p, j, k);
            sum += x;
            scale += fabsl (x);
          }
        long double a = i == j ? diagonal (p, i) : original (p, i, j);
        compare (c, sum - a, MAX (scale, LDBL_MIN));
      }
}

static void
compare_vectors (CholeskyCheck *c, const CholeskyProblem *p, guint64 seed)
{
  gsize n = p->n;
  g_autofree long double *x = g_new (long double, n);
  g_autofree long double *r = g_new0 (long double, n);
  g_autofree long double *scale = g_new0 (long double, n);
  for (gsize i = 0; i < n; i++)
    x[i] = cholesky_random (seed, i) >> 63 ? 1 : -1;
  for (gsize j = 0; j < n; j++)
    {
      long double sum = 0, size = 0;
      for (gsize i = j; i < n; i++)
        {
          sum += factor (p, i, j) * x[i];
          size += fabsl (factor (p, i, j));
        }
      r[j] -= diagonal (p, j) * x[j];
      for (gsize i = j; i < n; i++)
        {
          r[i] += factor (p, i, j) * sum;
          scale[i] += fabsl (factor (p, i, j)) * size;
        }
      for (gsize i = j + 1; i < n; i++)
        {
          r[i] -= original (p, i, j) * x[j];
          r[j] -= original (p, i, j) * x[i];
        }
    }
  for (gsize i = 0; i < n; i++)
    compare (c, r[i], scale[i]);
}

CholeskyCheck
cholesky_check (const CholeskyProblem *p, guint64 seed, double full_up_to)
{
  double eps = p->type == HASS_LA_FLOAT ? FLT_EPSILON : DBL_EPSILON;
  CholeskyCheck c = { .limit = 4 * sqrt (p->n) * eps };
  c.full = (double)p->n * p->n * p->n / 6 <= full_up_to;
  if (c.full)
    compare_numbers (&c, p);
  else
    compare_vectors (&c, p, seed);
  c.right = c.worst <= c.limit;
  return c;
}
