/* SPDX-License-Identifier: MIT */
/* naive_blas.h: a stand-in for cuBLAS and cuSOLVER: loops over host memory.
   Thread safety: one thread. */
#ifndef NAIVE_BLAS_H
#define NAIVE_BLAS_H

#include "la/gpu-private.h"

/* @fails: begin fails. @n_begun: calls of begin without end. */
typedef struct
{
  gboolean fails;
  int n_begun;
} NaiveBlas;

extern NaiveBlas naive;
extern const LaGpuBlas naive_blas;

#endif
