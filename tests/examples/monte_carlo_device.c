/* SPDX-License-Identifier: MIT */
/* monte_carlo_device.c: monte_carlo's shared headers as nvcc's device pass
   compiles them, with functions in place of the intrinsics. So what a kernel
   computes is tested where there is no GPU.
   Thread safety: pure functions. */
#include <float.h>
#include <stdint.h>
#include <string.h>

#define __CUDACC__
#define __CUDA_ARCH__ 900
#define __host__
#define __device__
#define __forceinline__ inline

static inline double
__dadd_rn (double a, double b)
{
  return a + b;
}

static inline double
__dsub_rn (double a, double b)
{
  return a - b;
}

static inline double
__dmul_rn (double a, double b)
{
  return a * b;
}

static inline double
__ddiv_rn (double a, double b)
{
  return a / b;
}

static inline double
__dsqrt_rn (double a)
{
  return __builtin_sqrt (a);
}

static inline unsigned
__umulhi (unsigned a, unsigned b)
{
  return (unsigned)((uint64_t)a * b >> 32);
}

static inline long long
__double_as_longlong (double a)
{
  long long bits;
  memcpy (&bits, &a, sizeof bits);
  return bits;
}

static inline double
__longlong_as_double (long long bits)
{
  double a;
  memcpy (&a, &bits, sizeof a);
  return a;
}

#include "monte_carlo_device.h"

double
device_exp (double x)
{
  return mc_exp (x);
}

double
device_log (double x)
{
  return mc_log (x);
}

McWords
device_philox (McWords counter, uint32_t k0, uint32_t k1)
{
  return mc_philox (counter, k0, k1);
}

void
device_normals (uint64_t a, uint64_t b, double *first, double *second)
{
  mc_normals (a, b, first, second);
}

/* As the kernels do, which are made for one kind each. */
McSums
device_share (const McModel *model, uint64_t first, uint64_t end,
              uint64_t thread, uint64_t n_threads)
{
  return mc_share (model, model->kind, first, end, thread, n_threads);
}
