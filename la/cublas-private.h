/* SPDX-License-Identifier: MIT */
/* cublas-private.h: what the files over cuBLAS share. C++.
   Thread safety: any thread, from begin to end of a call (gpu-private.h). */
#ifndef HASS_LA_CUBLAS_PRIVATE_H
#define HASS_LA_CUBLAS_PRIVATE_H

#include "gpu-private.h"
#include "kernels-private.h"

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <mutex>

#include <hass/cuda.h>

struct LaPlan;

struct LaDevice
{
  std::mutex lock; /* the rest */
  cublasHandle_t blas;
  cusolverDnHandle_t solver;
  cudaMemPool_t pool;
  cudaStream_t stream; /* of the present call */
  LaPlan *plans;       /* the one that was used last is first */
};

/* Of the tiles [@rows * @n] that an operation works on. */
struct LaShape
{
  HassLaType type;
  gboolean upper;
  gsize rows, n;
};

/* See cublas_plan.cu. @ended: when its last run has. */
struct LaPlan
{
  LaPlan *next;
  LaShape shape;
  gpointer memory, workspace;
  cudaEvent_t ended;
  gboolean has_run;
  cudaGraphExec_t graph; /* from the second run on */
};

/* Enqueues the same launches with the same addresses whenever it is called for
   a plan. */
typedef gboolean (*LaLaunchFunc) (LaDevice *d, gconstpointer data,
                                  GError **error);

static inline cublasOperation_t
la_op (gboolean transpose)
{
  return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

static inline cublasFillMode_t
la_fill (const LaBlasCall *c)
{
  return c->upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}

static inline gboolean
la_check_blas (cublasStatus_t status, const char *what, GError **error)
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

/* Memory is available to what is enqueued later. */
static inline gboolean
la_get_memory (const LaDevice *d, gsize bytes, gpointer *memory, GError **error)
{
  return hass_cuda_check (
      cudaMallocFromPoolAsync (memory, MAX (bytes, 1), d->pool, d->stream),
      "get memory for BLAS", error);
}

/* Frees memory behind what is enqueued. */
static inline void
la_release (const LaDevice *d, gpointer memory)
{
  cudaFreeAsync (memory, d->stream);
}

/* A plan whose @memory, of @bytes, which depend on the shape, the present
   stream can use until la_plan_leave(). NULL with an error. */
LaPlan *la_plan_take (LaDevice *d, const LaShape *shape, gsize bytes,
                      GError **error);
/* Enqueues what @launch enqueues. */
gboolean la_plan_run (LaDevice *d, LaPlan *p, LaLaunchFunc launch,
                      gconstpointer data, GError **error);
/* After the last call that uses the memory was enqueued, in any case. */
gboolean la_plan_leave (LaDevice *d, LaPlan *p, GError **error);

/* cublas_trsm.cu: the trsm of gpu-private.h. */
gboolean la_cublas_trsm (gpointer device, const LaBlasCall *calls, guint n,
                         GError **error);

#endif
