/* SPDX-License-Identifier: MIT */
/* kernels.h: many samples at a time on a core, as vector code.
   Thread safety: pure functions but for what they write to. */
#ifndef MONTE_CARLO_KERNELS_H
#define MONTE_CARLO_KERNELS_H

#include <glib.h>

#include "sample.h"

/* Paths that a kernel computes at a time. */
#define MC_LANES 64

/**
 * McKernels: the same functions for one instruction set; all give the same
 * bits.
 * @pairs: points inside the circle of @n_pairs pairs from @first on.
 * @paths: payoffs [MC_LANES] of the paths from @first on.
 */
typedef struct
{
  const char *name;
  guint64 (*pairs) (const McModel *model, guint64 first, guint64 n_pairs);
  void (*paths) (const McModel *model, guint64 first, guint64 *payoffs);
} McKernels;

extern const McKernels monte_carlo_scalar;
#ifdef __x86_64__
extern const McKernels monte_carlo_avx2;
extern const McKernels monte_carlo_avx512;
#elif defined(__aarch64__)
extern const McKernels monte_carlo_neon;
#endif

/* The @i-th kernels that this machine can run, the fastest first; NULL past
   the last. */
const McKernels *monte_carlo_kernels (guint i);

/* Adds samples [@first, @first + @count) to @sums. */
void monte_carlo_sample (const McKernels *kernels, const McModel *model,
                         guint64 first, guint64 count, McSums *sums);

#endif
