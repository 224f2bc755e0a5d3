/* SPDX-License-Identifier: MIT */
/* test_matrix_check.c: the check of matrix_multiply takes right products only.
   Thread safety: one thread. */
#include "hass_test.h"

#ifndef WITHOUT_matrix_multiply

#  include <math.h>
#  include <string.h>

#  include "matrix_trial.h"

/* As the hardware's TF32 does: 10 bits of the mantissa, to the nearest. */
static void
round_to_tf32 (float *numbers, gsize n)
{
  for (gsize i = 0; i < n; i++)
    {
      guint32 bits;
      memcpy (&bits, &numbers[i], sizeof bits);
      bits = (bits + 0x1000) & ~0x1fffu;
      memcpy (&numbers[i], &bits, sizeof bits);
    }
}

static void
wrong_products (void)
{
  for (int full = 0; full < 2; full++)
    for (int type = 0; type < 2; type++)
      {
        MatrixProblem p = problem_new (type, 120, 300, 150);
        MatrixTile all = { 0, 0, 120, 150 };
        double limit = full ? ALWAYS_FULL : NEVER_FULL;
        gsize middle = 60 * p.n + 75;
        /* so little that only the largest error of floats shows it */
        double little = full ? 0.001 : 0.005;
        float *f = p.c;
        double *d = p.c;
        CU_ASSERT_FALSE (matrix_check (&p, 1, limit).right);
        matrix_compute_tile (&p, &all, p.c, p.n);
        CU_ASSERT_TRUE (matrix_check (&p, 1, limit).right);
        CU_ASSERT_EQUAL (matrix_check (&p, 1, limit).full, full);
        /* one number that is wrong by a little, one that was never written */
        if (type == MATRIX_FLOAT)
          f[middle] += (float)little;
        else
          d[middle] += little;
        CU_ASSERT_FALSE (matrix_check (&p, 1, limit).right);
        matrix_compute_tile (&p, &all, p.c, p.n);
        if (type == MATRIX_FLOAT)
          f[middle] = NAN;
        else
          d[middle] = NAN;
        CU_ASSERT_FALSE (matrix_check (&p, 1, limit).right);
        problem_clear (&p);
      }
}

static void
tf32_is_no_float (void)
{
  MatrixProblem p = problem_new (MATRIX_FLOAT, 80, 5000, 60);
  MatrixProblem rounded = problem_new (MATRIX_FLOAT, 80, 5000, 60);
  MatrixTile all = { 0, 0, 80, 60 };
  round_to_tf32 (rounded.a, 80 * 5000);
  round_to_tf32 (rounded.b, 5000 * 60);
  matrix_compute_tile (&rounded, &all, p.c, p.n);
  CU_ASSERT_FALSE (matrix_check (&p, 1, ALWAYS_FULL).right);
  CU_ASSERT_FALSE (matrix_check (&p, 1, NEVER_FULL).right);
  matrix_compute_tile (&p, &all, p.c, p.n);
  expect_right_product (&p, "float");
  problem_clear (&p);
  problem_clear (&rounded);
}

static void
numbers_by_seed (void)
{
  MatrixProblem one = problem_new (MATRIX_DOUBLE, 40, 50, 30);
  MatrixProblem two = problem_new (MATRIX_DOUBLE, 40, 50, 30);
  const double *a = one.a;
  double sum = 0;
  CU_ASSERT_EQUAL (memcmp (one.a, two.a, 2000 * sizeof (double)), 0);
  CU_ASSERT_TRUE (matrix_fill (&two, 1, 1, NULL));
  CU_ASSERT_NOT_EQUAL (memcmp (one.a, two.a, 2000 * sizeof (double)), 0);
  CU_ASSERT_NOT_EQUAL (memcmp (one.a, one.b, 1500 * sizeof (double)), 0);
  for (gsize i = 0; i < 2000; i++)
    {
      CU_ASSERT_TRUE (a[i] >= -1 && a[i] < 1);
      sum += a[i];
    }
  CU_ASSERT_TRUE (fabs (sum / 2000) < 0.1);
  problem_clear (&one);
  problem_clear (&two);
}

HASS_TEST_SUITE (matrix_check,
                 { "a wrong product does not pass the check", wrong_products },
                 { "TF32 does not pass for float", tf32_is_no_float },
                 { "matrices depend on the seed alone", numbers_by_seed })

#endif
