/* SPDX-License-Identifier: MIT */
/* matrix_trial.h: small matrix products and their check.
   Thread safety: one thread. */
#ifndef HASS_TEST_MATRIX_TRIAL_H
#define HASS_TEST_MATRIX_TRIAL_H

#include "matrix_multiply/matrix.h"

/* The limits with which matrix_check() compares every number, or multiplies
   by vectors. */
#define ALWAYS_FULL 1e12
#define NEVER_FULL 0

/* Filled by a seed of its size; free with problem_clear(). */
MatrixProblem problem_new (MatrixType type, gsize m, gsize k, gsize n);
void problem_clear (MatrixProblem *p);

/* The test fails, and names @what, unless both checks take the product. */
void expect_right_product (const MatrixProblem *p, const char *what);

#endif
