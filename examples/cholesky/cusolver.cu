/* SPDX-License-Identifier: MIT */
/* cusolver.cu: cuSOLVER's own factorisation and cuBLAS's product on one GPU, to
   compare with.
   Thread safety: one thread. */
#include "cholesky.h"

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <hass/cuda.h>

/* Rows of the product: larger ones are not faster. */
#define GEMM_ROWS 8192
/* Products at least. */
#define LEAST_ROUNDS 5

/* What all of it needs; NULL and 0 where it is not there yet. */
struct Gpu
{
  cublasHandle_t blas;
  cusolverDnHandle_t solver;
  cusolverDnParams_t params;
  cudaEvent_t begin, end;
  void *memory[3], *workspace, *host_workspace;
};

static gboolean
cuda (cudaError_t code, const char *what, GError **error)
{
  return hass_cuda_check (code, what, error);
}

static gboolean
library (int status, const char *what, GError **error)
{
  if (status == 0)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "%s: status %d", what,
               status);
  return FALSE;
}

static gboolean
open_gpu (Gpu *g, GError **error)
{
  return library (cublasCreate (&g->blas), "make a cuBLAS handle", error)
         && library (cusolverDnCreate (&g->solver), "make a cuSOLVER handle",
                     error)
         && library (cusolverDnCreateParams (&g->params),
                     "make cuSOLVER's parameters", error)
         && cuda (cudaEventCreate (&g->begin), "make an event", error)
         && cuda (cudaEventCreate (&g->end), "make an event", error);
}

static void
free_memory (Gpu *g)
{
  for (int i = 0; i < 3; i++)
    cudaFree (g->memory[i]);
  cudaFree (g->workspace);
  g_free (g->host_workspace);
  g->memory[0] = g->memory[1] = g->memory[2] = NULL;
  g->workspace = g->host_workspace = NULL;
}

static void
close_gpu (Gpu *g)
{
  free_memory (g);
  if (g->begin)
    cudaEventDestroy (g->begin);
  if (g->end)
    cudaEventDestroy (g->end);
  if (g->params)
    cusolverDnDestroyParams (g->params);
  if (g->solver)
    cusolverDnDestroy (g->solver);
  if (g->blas)
    cublasDestroy (g->blas);
  cudaGetLastError ();
}

/* Ends what @begin began. */
static gboolean
stop_clock (Gpu *g, double *seconds, GError **error)
{
  float ms = 0;
  gboolean ok
      = cuda (cudaEventRecord (g->end), "record an event", error)
        && cuda (cudaEventSynchronize (g->end), "wait for the GPU", error)
        && cuda (cudaEventElapsedTime (&ms, g->begin, g->end),
                 "measure the time", error);
  *seconds = ms / 1000;
  return ok;
}

/* A GPU at its power limit multiplies zeros, and numbers with few digits,
   faster than others: these have all digits. */
template <typename T>
static __global__ void
fill (T *numbers, size_t n)
{
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
       i += (size_t)gridDim.x * blockDim.x)
    {
      unsigned long long x = (i + 1) * 0x9e3779b97f4a7c15ull;
      x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
      numbers[i] = (T)((double)(x >> 11) / 9007199254740992.0 - 0.5);
    }
}

static gboolean
multiply (Gpu *g, gboolean single, int n, GError **error)
{
  const double one_d = 1;
  const float one_f = 1;
  const void *one = single ? (const void *)&one_f : (const void *)&one_d;
  cudaDataType type = single ? CUDA_R_32F : CUDA_R_64F;
  return library (
      cublasGemmEx (g->blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, one,
                    g->memory[0], type, n, g->memory[1], type, n, one,
                    g->memory[2], type, n,
                    single ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F,
                    CUBLAS_GEMM_DEFAULT),
      "cuBLAS gemm", error);
}

/* Products with as many operations as the factorisation has, since a GPU is
   fastest before it comes to its power limit. */
static gboolean
measure_gemm (Gpu *g, const CholeskyProblem *p, double *flops, GError **error)
{
  gboolean single = p->type == HASS_LA_FLOAT;
  int n = (int)MIN (MAX (p->n, 1), GEMM_ROWS);
  gsize count = (gsize)n * n;
  double seconds = 0, ratio = (double)p->n / n;
  int rounds = MAX ((int)(ratio * ratio * ratio / 6), LEAST_ROUNDS);
  for (int i = 0; i < 3; i++)
    {
      if (!cuda (cudaMalloc (&g->memory[i], count * cholesky_number_bytes (p)),
                 "get memory for gemm", error))
        return FALSE;
      if (single)
        fill<<<1024, 256>>> ((float *)g->memory[i], count);
      else
        fill<<<1024, 256>>> ((double *)g->memory[i], count);
    }
  gboolean ok = multiply (g, single, n, error)
                && cuda (cudaEventRecord (g->begin), "record an event", error);
  for (int i = 0; i < rounds && ok; i++)
    ok = multiply (g, single, n, error);
  ok = ok && stop_clock (g, &seconds, error);
  *flops = 2.0 * count * n * rounds / seconds;
  free_memory (g);
  return ok;
}

/* FALSE without an error: there is no room. */
static gboolean
make_room (Gpu *g, const CholeskyProblem *p, cublasFillMode_t fill_mode,
           gsize sizes[2], GError **error)
{
  cudaDataType type = p->type == HASS_LA_FLOAT ? CUDA_R_32F : CUDA_R_64F;
  gsize bytes = p->n * p->n * cholesky_number_bytes (p);
  if (cudaMalloc (&g->memory[0], bytes) != cudaSuccess
      || cudaMalloc (&g->memory[1], sizeof (int)) != cudaSuccess)
    {
      cudaGetLastError ();
      return FALSE;
    }
  if (!library (cusolverDnXpotrf_bufferSize (
                    g->solver, g->params, fill_mode, (gint64)p->n, type,
                    g->memory[0], (gint64)p->n, type, &sizes[0], &sizes[1]),
                "cuSOLVER potrf", error))
    return FALSE;
  g->host_workspace = g_malloc (MAX (sizes[1], 1));
  gboolean ok = cudaMalloc (&g->workspace, MAX (sizes[0], 1)) == cudaSuccess;
  cudaGetLastError ();
  return ok;
}

/* The first round is the warm-up. */
static gboolean
measure_potrf (Gpu *g, const CholeskyProblem *p, CholeskyGpu *gpu,
               GError **error)
{
  cudaDataType type = p->type == HASS_LA_FLOAT ? CUDA_R_32F : CUDA_R_64F;
  cublasFillMode_t fill_mode = p->triangle == HASS_LA_UPPER
                                   ? CUBLAS_FILL_MODE_UPPER
                                   : CUBLAS_FILL_MODE_LOWER;
  gsize bytes = p->n * p->n * cholesky_number_bytes (p), sizes[2];
  GError *wrong = NULL;
  if (!make_room (g, p, fill_mode, sizes, &wrong))
    {
      g_propagate_error (error, wrong);
      return wrong == NULL;
    }
  for (int i = 0; i < 2; i++)
    if (!cuda (cudaEventRecord (g->begin), "record an event", error)
        || !cuda (
            cudaMemcpy (g->memory[0], p->a, bytes, cudaMemcpyHostToDevice),
            "copy the matrix", error)
        || !stop_clock (g, &gpu->copy_seconds, error)
        || !cuda (cudaEventRecord (g->begin), "record an event", error)
        || !library (cusolverDnXpotrf (g->solver, g->params, fill_mode,
                                       (gint64)p->n, type, g->memory[0],
                                       (gint64)p->n, type, g->workspace,
                                       sizes[0], g->host_workspace, sizes[1],
                                       (int *)g->memory[1]),
                     "cuSOLVER potrf", error)
        || !stop_clock (g, &gpu->potrf_seconds, error))
      return FALSE;
  return TRUE;
}

extern "C" gboolean
cholesky_cusolver (const CholeskyProblem *p, CholeskyGpu *gpu, GError **error)
{
  Gpu g = {};
  int n = 0;
  *gpu = CholeskyGpu ();
  if (cudaGetDeviceCount (&n) != cudaSuccess || n == 0 || p->n == 0)
    {
      cudaGetLastError ();
      return TRUE;
    }
  gboolean ok = open_gpu (&g, error)
                && measure_gemm (&g, p, &gpu->gemm_flops, error)
                && measure_potrf (&g, p, gpu, error);
  close_gpu (&g);
  return ok;
}
