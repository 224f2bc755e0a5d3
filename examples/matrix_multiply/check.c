/* SPDX-License-Identifier: MIT */
/* check.c: an independent reference for C = A*B, without BLAS.

   DESIGN. A small product is computed again, number by number. For a large one
   C*x is compared with A*(B*x) for a random vector x of signs (Freivalds 1977),
   which takes two steps for each number instead of one for each multiplication;
   for such an x the expected relative difference of the vectors is that of the
   matrices. The largest difference is checked as well, because one wrong number
   among millions hardly changes a norm. The reference is computed in long
   double, so that its own rounding is negligible.

   The limits: errors of sums of k products of random signs grow like a random
   walk, to about eps * sqrt(k) / 3 of the norm when added one by one, and less
   in blocks. Rounding therefore never reaches 4 * eps * sqrt(k), while a float
   product with the 10 bits of TF32 exceeds it. (k * eps, the bound for the
   worst matrices, would accept that.) The largest of many such errors lies
   within six of their standard deviations. Few numbers may all be near zero by
   chance, so the limits are wider for them.

   Thread safety: any thread. */
#include "matrix.h"

#include <float.h>
#include <math.h>

static long double
number (const MatrixProblem *p, gconstpointer matrix, gsize at)
{
  return p->type == MATRIX_FLOAT ? (long double)((const float *)matrix)[at]
                                 : (long double)((const double *)matrix)[at];
}

/* Sums over the numbers compared. */
typedef struct
{
  long double difference2, reference2, worst;
  gsize n;
} Sums;

static void
compare (Sums *s, long double computed, long double reference)
{
  long double d = fabsl (computed - reference);
  s->difference2 += d * d;
  s->reference2 += reference * reference;
  s->worst = d <= s->worst ? s->worst : d; /* NaN is worse */
  s->n++;
}

/* y [rows] = matrix [rows * cols] * x [cols]. */
static void
times_vector (const MatrixProblem *p, gconstpointer matrix, gsize rows,
              gsize cols, const long double *x, long double *y)
{
  for (gsize i = 0; i < rows; i++)
    {
      y[i] = 0;
      for (gsize j = 0; j < cols; j++)
        y[i] += number (p, matrix, i * cols + j) * x[j];
    }
}

static void
compare_vectors (const MatrixProblem *p, guint64 seed, Sums *s)
{
  g_autofree long double *x = g_new (long double, p->n);
  g_autofree long double *bx = g_new (long double, p->k);
  g_autofree long double *abx = g_new (long double, p->m);
  g_autofree long double *cx = g_new (long double, p->m);
  for (gsize j = 0; j < p->n; j++)
    x[j] = matrix_random (seed, j) >> 63 ? 1 : -1;
  times_vector (p, p->b, p->k, p->n, x, bx);
  times_vector (p, p->a, p->m, p->k, bx, abx);
  times_vector (p, p->c, p->m, p->n, x, cx);
  for (gsize i = 0; i < p->m; i++)
    compare (s, cx[i], abx[i]);
}

static void
compare_numbers (const MatrixProblem *p, Sums *s)
{
  g_autofree long double *row = g_new (long double, p->n);
  for (gsize i = 0; i < p->m; i++)
    {
      for (gsize j = 0; j < p->n; j++)
        row[j] = 0;
      for (gsize l = 0; l < p->k; l++)
        {
          long double a = number (p, p->a, i * p->k + l);
          for (gsize j = 0; j < p->n; j++)
            row[j] += a * number (p, p->b, l * p->n + j);
        }
      for (gsize j = 0; j < p->n; j++)
        compare (s, number (p, p->c, i * p->n + j), row[j]);
    }
}

MatrixCheck
matrix_check (const MatrixProblem *p, guint64 seed, double full_up_to)
{
  Sums s = { 0 };
  double eps = p->type == MATRIX_FLOAT ? FLT_EPSILON : DBL_EPSILON;
  MatrixCheck check = { 0 };
  check.full = (double)p->m * p->k * p->n <= full_up_to;
  if (check.full)
    compare_numbers (p, &s);
  else
    compare_vectors (p, matrix_random (seed, 2), &s);
  check.norm_limit = 4 * (1 + 16.0 / s.n) * eps * sqrt (p->k);
  check.worst_limit = 4 * check.norm_limit;
  check.norm = sqrtl (s.difference2 / s.reference2);
  check.worst = s.worst / sqrtl (s.reference2 / s.n);
  check.right
      = check.norm <= check.norm_limit && check.worst <= check.worst_limit;
  return check;
}
