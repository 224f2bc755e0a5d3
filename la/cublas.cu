/* SPDX-License-Identifier: MIT */
/* cublas.cu: the table of gpu-private.h over cuBLAS and cuSOLVER.

   DESIGN. Handles are slow to make, so a device has one of each for the life of
   the process, made when its first task comes and never destroyed, because at
   exit the driver may be gone before it. potrf's workspace comes from a pool of
   the device in the order of the stream, so no two potrf share one and nothing
   waits for it.

   cuBLAS's default mathematics keeps the mantissa of the type: no TF32.

   Thread safety: any thread; a lock over each device from begin to end. */
#include "gpu-private.h"

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <mutex>

#include <hass/cuda.h>

#define MOST_DEVICES 64
#define THREADS 256

struct Device
{
  std::mutex lock; /* the rest */
  cublasHandle_t blas;
  cusolverDnHandle_t solver;
  cudaMemPool_t pool;
  cudaStream_t stream; /* of the present call */
};

static Device devices[MOST_DEVICES];

static gboolean
check_blas (cublasStatus_t status, const char *what, GError **error)
{
  if (status == CUBLAS_STATUS_SUCCESS)
    return TRUE;
  cudaGetLastError ();
  g_set_error (error, HASS_ERROR,
               status == CUBLAS_STATUS_ALLOC_FAILED ? HASS_ERROR_NO_MEMORY
                                                    : HASS_ERROR_DEVICE,
               "%s: %s", what, cublasGetStatusString (status));
  return FALSE;
}

static gboolean
check_solver (cusolverStatus_t status, const char *what, GError **error)
{
  if (status == CUSOLVER_STATUS_SUCCESS)
    return TRUE;
  cudaGetLastError ();
  g_set_error (error, HASS_ERROR,
               status == CUSOLVER_STATUS_ALLOC_FAILED ? HASS_ERROR_NO_MEMORY
                                                      : HASS_ERROR_DEVICE,
               "%s: error %d of cuSOLVER", what, (int)status);
  return FALSE;
}

/* -- Devices ------------------------------------------------------------ */

static guint
n_devices (void)
{
  int n = 0;
  if (cudaGetDeviceCount (&n) != cudaSuccess)
    cudaGetLastError ();
  return n > 0 ? (guint)n : 0;
}

/* What the pool has once it keeps: nothing else may be allocated while kernels
   run without waiting for them. */
static gboolean
make_pool (Device *d, int index, GError **error)
{
  cudaMemPoolProps props = {};
  guint64 keep = G_MAXUINT64;
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = index;
  return hass_cuda_check (cudaMemPoolCreate (&d->pool, &props),
                          "make a pool of memory", error)
         && hass_cuda_check (
             cudaMemPoolSetAttribute (d->pool, cudaMemPoolAttrReleaseThreshold,
                                      &keep),
             "set up a pool of memory", error);
}

/* Makes what is missing. */
static gboolean
open_device (Device *d, int index, GError **error)
{
  return (d->blas
          || check_blas (cublasCreate (&d->blas), "make a cuBLAS handle",
                         error))
         && (d->solver
             || check_solver (cusolverDnCreate (&d->solver),
                              "make a cuSOLVER handle", error))
         && (d->pool || make_pool (d, index, error));
}

static gpointer
begin (HassGpuStream *stream, GError **error)
{
  int index = 0;
  if (!hass_cuda_check (cudaGetDevice (&index), "find the device", error))
    return NULL;
  if (index < 0 || index >= MOST_DEVICES)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
                   "there is no room for device %d, only for %d", index,
                   MOST_DEVICES);
      return NULL;
    }
  Device *d = &devices[index];
  d->lock.lock ();
  d->stream = hass_cuda_stream (stream);
  if (open_device (d, index, error)
      && check_blas (cublasSetStream (d->blas, d->stream), "set cuBLAS' stream",
                     error)
      && check_solver (cusolverDnSetStream (d->solver, d->stream),
                       "set cuSOLVER's stream", error))
    return d;
  d->lock.unlock ();
  return NULL;
}

static void
end (gpointer device)
{
  ((Device *)device)->lock.unlock ();
}

/* -- BLAS --------------------------------------------------------------- */

static cublasOperation_t
op (gboolean transpose)
{
  return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

static cublasFillMode_t
fill (const LaBlasCall *c)
{
  return c->upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}

static gboolean
gemm (gpointer device, const LaBlasCall *c, GError **error)
{
  cublasHandle_t h = ((Device *)device)->blas;
  cublasOperation_t a = op (c->transpose_a), b = op (c->transpose_b);
  const double minus = -1, one = 1;
  const float minus_f = -1, one_f = 1;
  return check_blas (
      c->type == HASS_LA_FLOAT
          ? cublasSgemm (h, a, b, c->m, c->n, c->k, &minus_f,
                         (const float *)c->a, c->lda, (const float *)c->b,
                         c->ldb, &one_f, (float *)c->c, c->ldc)
          : cublasDgemm (h, a, b, c->m, c->n, c->k, &minus,
                         (const double *)c->a, c->lda, (const double *)c->b,
                         c->ldb, &one, (double *)c->c, c->ldc),
      "cuBLAS gemm", error);
}

static gboolean
syrk (gpointer device, const LaBlasCall *c, GError **error)
{
  cublasHandle_t h = ((Device *)device)->blas;
  cublasOperation_t a = op (c->transpose_a);
  const double minus = -1, one = 1;
  const float minus_f = -1, one_f = 1;
  return check_blas (c->type == HASS_LA_FLOAT
                         ? cublasSsyrk (h, fill (c), a, c->n, c->k, &minus_f,
                                        (const float *)c->a, c->lda, &one_f,
                                        (float *)c->c, c->ldc)
                         : cublasDsyrk (h, fill (c), a, c->n, c->k, &minus,
                                        (const double *)c->a, c->lda, &one,
                                        (double *)c->c, c->ldc),
                     "cuBLAS syrk", error);
}

static gboolean
trsm (gpointer device, const LaBlasCall *c, GError **error)
{
  cublasHandle_t h = ((Device *)device)->blas;
  cublasSideMode_t side = c->left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
  cublasOperation_t a = op (c->transpose_a);
  const double one = 1;
  const float one_f = 1;
  return check_blas (
      c->type == HASS_LA_FLOAT
          ? cublasStrsm (h, side, fill (c), a, CUBLAS_DIAG_NON_UNIT, c->m, c->n,
                         &one_f, (const float *)c->a, c->lda, (float *)c->c,
                         c->ldc)
          : cublasDtrsm (h, side, fill (c), a, CUBLAS_DIAG_NON_UNIT, c->m, c->n,
                         &one, (const double *)c->a, c->lda, (double *)c->c,
                         c->ldc),
      "cuBLAS trsm", error);
}

/* -- potrf -------------------------------------------------------------- */

static cusolverStatus_t
workspace_size (const Device *d, const LaBlasCall *c, int *size)
{
  return c->type == HASS_LA_FLOAT
             ? cusolverDnSpotrf_bufferSize (d->solver, fill (c), c->n,
                                            (float *)c->c, c->ldc, size)
             : cusolverDnDpotrf_bufferSize (d->solver, fill (c), c->n,
                                            (double *)c->c, c->ldc, size);
}

static cusolverStatus_t
factorise (const Device *d, const LaBlasCall *c, void *workspace, int size)
{
  return c->type == HASS_LA_FLOAT
             ? cusolverDnSpotrf (d->solver, fill (c), c->n, (float *)c->c,
                                 c->ldc, (float *)workspace, size,
                                 (int *)c->info)
             : cusolverDnDpotrf (d->solver, fill (c), c->n, (double *)c->c,
                                 c->ldc, (double *)workspace, size,
                                 (int *)c->info);
}

/* LAPACK takes NaN for a minor that is not positive; NaN spreads to all that
   follows, so the first of the diagonal counts. One block. */
template <typename T>
static __global__ void
find_nan (const T *a, int n, int ld, int *info)
{
  __shared__ int first;
  if (threadIdx.x == 0)
    first = *info > 0 ? *info : n + 1;
  __syncthreads ();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (isnan (a[i + (size_t)i * ld]))
      atomicMin (&first, i + 1);
  __syncthreads ();
  if (threadIdx.x == 0)
    *info = first <= n ? first : 0;
}

static gboolean
potrf (gpointer device, const LaBlasCall *c, GError **error)
{
  const Device *d = (const Device *)device;
  gsize bytes = c->type == HASS_LA_FLOAT ? sizeof (float) : sizeof (double);
  void *workspace = NULL;
  int size = 0;
  if (!check_solver (workspace_size (d, c, &size), "cuSOLVER potrf", error)
      || !hass_cuda_check (cudaMallocFromPoolAsync (&workspace,
                                                    MAX (size, 1) * bytes,
                                                    d->pool, d->stream),
                           "get memory for cuSOLVER's potrf", error))
    return FALSE;
  gboolean ok = check_solver (factorise (d, c, workspace, size),
                              "cuSOLVER potrf", error);
  if (ok && c->type == HASS_LA_FLOAT)
    find_nan<<<1, THREADS, 0, d->stream>>> ((const float *)c->c, c->n, c->ldc,
                                            (int *)c->info);
  else if (ok)
    find_nan<<<1, THREADS, 0, d->stream>>> ((const double *)c->c, c->n, c->ldc,
                                            (int *)c->info);
  ok = ok && hass_cuda_check (cudaGetLastError (), "find NaN", error);
  cudaFreeAsync (workspace, d->stream);
  return ok;
}

extern "C" const LaGpuBlas la_cublas
    = { n_devices, begin, end, potrf, trsm, syrk, gemm };
