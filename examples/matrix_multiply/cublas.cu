/* SPDX-License-Identifier: MIT */
/* cublas.cu: the GPU worker of matrix_multiply.

   DESIGN. cublasCreate is slow, so a device has one handle for the life of
   the process, made when its first bundle comes and never destroyed, because
   at exit the driver may be gone before it. Bundles of one device are in
   flight on several streams: each gets a workspace of its own, so that their
   products are the same whatever runs beside them; where there is no room for
   one, cuBLAS shares its own pool out among the streams.

   cuBLAS stores matrices column by column, so it is given C' = B' * A', the
   same bytes. Its default mathematics keeps the mantissa of the type: no
   TF32.

   Thread safety: any thread; a lock over each device. */
#include "matrix.h"

#include <cublas_v2.h>
#include <mutex>

#include <hass/cuda.h>

#define MOST_DEVICES 64
#define MOST_STREAMS 16
#define WORKSPACE_BYTES ((size_t)32 << 20)

struct Device
{
  std::mutex lock; /* the rest */
  cublasHandle_t handle;
  struct
  {
    cudaStream_t stream;
    void *memory;
  } workspaces[MOST_STREAMS];
  int n_workspaces;
};

static Device devices[MOST_DEVICES];

static gboolean
check (cublasStatus_t status, const char *what, GError **error)
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

/* NULL: it has none. */
static void *
workspace_of (Device *d, cudaStream_t stream)
{
  void *memory = NULL;
  for (int i = 0; i < d->n_workspaces; i++)
    if (d->workspaces[i].stream == stream)
      return d->workspaces[i].memory;
  if (d->n_workspaces == MOST_STREAMS)
    return NULL;
  if (cudaMalloc (&memory, WORKSPACE_BYTES) != cudaSuccess)
    {
      cudaGetLastError ();
      return NULL;
    }
  d->workspaces[d->n_workspaces].stream = stream;
  d->workspaces[d->n_workspaces++].memory = memory;
  return memory;
}

/* Makes the handle ready for the stream. */
static gboolean
prepare (Device *d, cudaStream_t stream, GError **error)
{
  if (!d->handle
      && !check (cublasCreate (&d->handle), "make a cuBLAS handle", error))
    {
      d->handle = NULL;
      return FALSE;
    }
  if (!check (cublasSetStream (d->handle, stream), "set cuBLAS' stream", error))
    return FALSE;
  /* After the stream, which sets it back. */
  void *memory = workspace_of (d, stream);
  return !memory
         || check (cublasSetWorkspace (d->handle, memory, WORKSPACE_BYTES),
                   "set cuBLAS' workspace", error);
}

static cublasStatus_t
multiply (cublasHandle_t handle, const MatrixProblem *p,
          const HassBundle *bundle, const HassRectangle *rectangle)
{
  const MatrixTile tile = matrix_rectangle (p, bundle, rectangle), *t = &tile;
  int rows = (int)t->rows, cols = (int)t->cols, k = (int)p->k, n = (int)p->n;
  if (p->type == MATRIX_FLOAT)
    {
      const float one = 1, zero = 0;
      const float *a = (const float *)bundle->constants[0] + t->row * p->k;
      const float *b = (const float *)bundle->constants[1] + t->col;
      float *c = (float *)(bundle->output + rectangle->offset);
      return cublasSgemm (handle, CUBLAS_OP_N, CUBLAS_OP_N, cols, rows, k, &one,
                          b, n, a, k, &zero, c, cols);
    }
  const double one = 1, zero = 0;
  const double *a = (const double *)bundle->constants[0] + t->row * p->k;
  const double *b = (const double *)bundle->constants[1] + t->col;
  double *c = (double *)(bundle->output + rectangle->offset);
  return cublasDgemm (handle, CUBLAS_OP_N, CUBLAS_OP_N, cols, rows, k, &one, b,
                      n, a, k, &zero, c, cols);
}

static int
is_large (const HassBundle *bundle, const HassRectangle *rectangle)
{
  return 2 * rectangle->n_blocks > bundle->n_blocks;
}

extern "C" gboolean
matrix_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                   gpointer data, GError **error)
{
  const MatrixProblem *p = (const MatrixProblem *)data;
  int index = 0;
  if (!hass_cuda_check (cudaGetDevice (&index), "find the device", error))
    return FALSE;
  if (index < 0 || index >= MOST_DEVICES)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
                   "there is no room for device %d, only for %d", index,
                   MOST_DEVICES);
      return FALSE;
    }
  Device *d = &devices[index];
  std::lock_guard<std::mutex> guard (d->lock);
  if (!prepare (d, hass_cuda_stream (stream), error))
    return FALSE;
  /* Small rectangles first: they fill the GPU together with those of the
     next bundle, while large ones run one after another. */
  for (int large = 0; large < 2; large++)
    for (gsize i = 0; i < bundle->n_rectangles; i++)
      if (large == is_large (bundle, &bundle->rectangles[i])
          && !check (multiply (d->handle, p, bundle, &bundle->rectangles[i]),
                     "cuBLAS gemm", error))
        return FALSE;
  return hass_cuda_check (cudaGetLastError (), "matrix_multiply", error);
}
