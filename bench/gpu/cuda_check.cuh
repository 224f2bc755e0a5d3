/* SPDX-License-Identifier: MIT */
/* cuda_check.cuh: a CUDA call that fails ends the program; how many GPUs
   there are.
   Thread safety: any thread. */
#ifndef GPU_BENCH_CUDA_CHECK_CUH
#define GPU_BENCH_CUDA_CHECK_CUH

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu_bench.h"

#define CU(call)                                                               \
  do                                                                           \
    {                                                                          \
      cudaError_t cu_result = (call);                                          \
      if (cu_result != cudaSuccess)                                            \
        {                                                                      \
          fflush (stdout);                                                     \
          fprintf (stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,       \
                   cudaGetErrorString (cu_result));                            \
          exit (1);                                                            \
        }                                                                      \
    }                                                                          \
  while (0)

/* 0 also without a driver. */
static inline guint
gpus_there (void)
{
  int n = 0;
  return cudaGetDeviceCount (&n) == cudaSuccess && n > 0 ? (guint)n : 0;
}

static inline double
seconds_since (gint64 begin_ns)
{
  return (double)(bench_now_ns () - begin_ns) * 1e-9;
}

#endif
