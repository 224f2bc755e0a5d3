/* SPDX-License-Identifier: MIT */
/* gpu-private.h: the four operations on GPUs, over a table of BLAS functions
   that is cuBLAS's and cuSOLVER's. Tests can replace it.

   Thread safety: the table is constant; la_gpu_use() by tests alone, before any
   other call. */
#ifndef HASS_LA_GPU_PRIVATE_H
#define HASS_LA_GPU_PRIVATE_H

#include "la.h"

#include <hass/codelet.h>

HASS_BEGIN_DECLS

/* Most tasks of a call: they share the costs of a call, and all of them end
   when the last one does. */
#define LA_GPU_MOST 4

/**
 * LaBlasCall: operands in device memory, stored by columns.
 * @upper: of a triangle.
 * @left: trsm: the triangle is the left factor.
 * @transpose_a, @transpose_b: op (x) is x'; else x.
 * @m, @n: rows and columns of c. @k: columns of op (a).
 */
typedef struct
{
  HassLaType type;
  gboolean upper, left, transpose_a, transpose_b;
  int m, n, k;
  gconstpointer a, b;
  gpointer c;
  int lda, ldb, ldc;
} LaBlasCall;

/* @calls: [@n], at most LA_GPU_MOST, independent of each other. */
typedef gboolean (*LaBlasFunc) (gpointer device, const LaBlasCall *calls,
                                guint n, GError **error);

/**
 * LaGpuBlas:
 * @n_devices: how many GPUs there are.
 * @begin: returns the present device, whose calls enqueue on @stream until
 *   @end; NULL with an error.
 * @potrf: c = its factor. The last diagonal number of the first leading minor
 *   that is not positive becomes NaN.
 * @trsm: c = inverse (op (a)) * c, or c * inverse (op (a)), where a is a
 *   factor.
 * @syrk: c = c - op (a) * op (a)', in a triangle.
 * @gemm: c = c - op (a) * op (b).
 */
typedef struct
{
  guint (*n_devices) (void);
  gpointer (*begin) (HassGpuStream *stream, GError **error);
  void (*end) (gpointer device);
  LaBlasFunc potrf, trsm, syrk, gemm;
} LaGpuBlas;

/* Returns: the functions for GPUs; NULL if the library was built without
   them. */
const LaGpuBlas *la_gpu_blas (void);
/* For tests: la_gpu_blas() returns @blas; NULL: the built-in table again. */
void la_gpu_use (const LaGpuBlas *blas);

/* HassCodeletGpuFunc of all codelets. */
gboolean la_gpu_run (const HassCall *calls, guint n_calls,
                     HassGpuStream *stream, GError **error);

#ifdef HASS_LA_WITH_CUBLAS
extern const LaGpuBlas la_cublas; /* cublas.cu */
#endif

HASS_END_DECLS

#endif
