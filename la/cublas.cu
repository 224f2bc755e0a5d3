/* SPDX-License-Identifier: MIT */
/* cublas.cu: the table of gpu-private.h over cuBLAS and cuSOLVER.

   DESIGN. Handles are slow to make, so a device has one of each for the life of
   the process, made when its first task comes and never destroyed, because at
   exit the driver may be gone before it. Workspace comes from a pool of the
   device in the order of the stream, so no two calls share some and nothing
   waits for it.

   cuBLAS's default mathematics keeps the mantissa of the type: no TF32.

   Thread safety: any thread; a lock over each device from begin to end. */
#include "cublas-private.h"

#define MOST_DEVICES 64

static LaDevice devices[MOST_DEVICES];
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
make_pool (LaDevice *d, int index, GError **error)
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
open_device (LaDevice *d, int index, GError **error)
{
  return (d->blas
          || la_check_blas (cublasCreate (&d->blas), "make a cuBLAS handle",
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
  LaDevice *d = &devices[index];
  d->lock.lock ();
  d->stream = hass_cuda_stream (stream);
  if (open_device (d, index, error)
      && la_check_blas (cublasSetStream (d->blas, d->stream),
                        "set cuBLAS' stream", error)
      && check_solver (cusolverDnSetStream (d->solver, d->stream),
                       "set cuSOLVER's stream", error))
    return d;
  d->lock.unlock ();
  return NULL;
}

static void
end (gpointer device)
{
  ((LaDevice *)device)->lock.unlock ();
}

/* -- BLAS --------------------------------------------------------------- */

static gboolean
gemm_one (LaDevice *d, const LaBlasCall *c, GError **error)
{
  cublasHandle_t h = d->blas;
  cublasOperation_t a = la_op (c->transpose_a), b = la_op (c->transpose_b);
  const double minus = -1, one = 1;
  const float minus_f = -1, one_f = 1;
  return la_check_blas (
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
syrk_one (LaDevice *d, const LaBlasCall *c, GError **error)
{
  cublasHandle_t h = d->blas;
  cublasOperation_t a = la_op (c->transpose_a);
  const double minus = -1, one = 1;
  const float minus_f = -1, one_f = 1;
  return la_check_blas (c->type == HASS_LA_FLOAT
                            ? cublasSsyrk (h, la_fill (c), a, c->n, c->k,
                                           &minus_f, (const float *)c->a,
                                           c->lda, &one_f, (float *)c->c,
                                           c->ldc)
                            : cublasDsyrk (h, la_fill (c), a, c->n, c->k,
                                           &minus, (const double *)c->a, c->lda,
                                           &one, (double *)c->c, c->ldc),
                        "cuBLAS syrk", error);
}

/* -- potrf -------------------------------------------------------------- */

static cusolverStatus_t
workspace_size (const LaDevice *d, const LaBlasCall *c, int *size)
{
  return c->type == HASS_LA_FLOAT
             ? cusolverDnSpotrf_bufferSize (d->solver, la_fill (c), c->n,
                                            (float *)c->c, c->ldc, size)
             : cusolverDnDpotrf_bufferSize (d->solver, la_fill (c), c->n,
                                            (double *)c->c, c->ldc, size);
}

static cusolverStatus_t
factorise (const LaDevice *d, const LaBlasCall *c, gpointer workspace, int size,
           int *info)
{
  return c->type == HASS_LA_FLOAT
             ? cusolverDnSpotrf (d->solver, la_fill (c), c->n, (float *)c->c,
                                 c->ldc, (float *)workspace, size, info)
             : cusolverDnDpotrf (d->solver, la_fill (c), c->n, (double *)c->c,
                                 c->ldc, (double *)workspace, size, info);
}

/* @info: LAPACK's. One thread. */
template <typename T>
static __global__ void
mark_minor (T *a, int ld, const int *info)
{
  if (*info > 0)
    a[(*info - 1) * (size_t)(ld + 1)] = nan ("");
}

static gboolean
potrf_one (LaDevice *d, const LaBlasCall *c, GError **error)
{
  gpointer workspace = NULL;
  int size = 0;
  if (!check_solver (workspace_size (d, c, &size), "cuSOLVER potrf", error))
    return FALSE;
  gsize bytes = size * la_number_bytes (c->type);
  if (!la_get_memory (d, bytes + sizeof (int), &workspace, error))
    return FALSE;
  int *info = (int *)((guint8 *)workspace + bytes);
  gboolean ok = check_solver (factorise (d, c, workspace, size, info),
                              "cuSOLVER potrf", error);
  if (ok && c->type == HASS_LA_FLOAT)
    mark_minor<<<1, 1, 0, d->stream>>> ((float *)c->c, c->ldc, info);
  else if (ok)
    mark_minor<<<1, 1, 0, d->stream>>> ((double *)c->c, c->ldc, info);
  ok = ok && hass_cuda_check (cudaGetLastError (), "mark a minor", error);
  la_release (d, workspace);
  return ok;
}

/* -- Calls of a bundle -------------------------------------------------- */

static gboolean
each (gboolean (*one) (LaDevice *, const LaBlasCall *, GError **),
      gpointer device, const LaBlasCall *calls, guint n, GError **error)
{
  gboolean ok = TRUE;
  for (guint i = 0; i < n && ok; i++)
    ok = one ((LaDevice *)device, &calls[i], error);
  return ok;
}

static gboolean
potrf (gpointer device, const LaBlasCall *calls, guint n, GError **error)
{
  return each (potrf_one, device, calls, n, error);
}

static gboolean
syrk (gpointer device, const LaBlasCall *calls, guint n, GError **error)
{
  return each (syrk_one, device, calls, n, error);
}

static gboolean
gemm (gpointer device, const LaBlasCall *calls, guint n, GError **error)
{
  return each (gemm_one, device, calls, n, error);
}

extern "C" const LaGpuBlas la_cublas
    = { n_devices, begin, end, potrf, la_cublas_trsm, syrk, gemm };
