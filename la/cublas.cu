/* SPDX-License-Identifier: MIT */
/* cublas.cu: the table of gpu-private.h over cuBLAS and cuSOLVER.

   DESIGN. Handles are slow to make, so a device has one of each for the life of
   the process, made when its first task comes and never destroyed, because at
   exit the driver may be gone before it. Workspace comes from a pool of the
   device in the order of the stream, so no two calls share some and nothing
   waits for it.

   cuBLAS's trsm runs at a tenth of gemm's rate (H200, tiles of 1024: 325 us,
   gemm of twice the operations 42 us), so large ones are computed by gemm from
   the inverted diagonal blocks of the factor, as MAGMA does (Tomov et al. 2010;
   Du Croz and Higham 1992 for the errors), with one step of refinement, without
   which the factor of an ill-conditioned matrix is wrong. Tiles of one panel
   are solved as one, since a launch takes 10 us of a core.

   cuBLAS's default mathematics keeps the mantissa of the type: no TF32.

   Thread safety: any thread; a lock over each device from begin to end. */
#include "kernels-private.h"

#include "gpu-private.h"

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <mutex>

#include <hass/cuda.h>

#define MOST_DEVICES 64
/* Columns of a diagonal block that is inverted, WARP times a power of 2; fewer
   where the factor has no multiple of that, but not less than the least. More
   cost more operations, fewer more calls. */
#define MOST_BLOCK 256
#define LEAST_BLOCK 128
/* Rows that fill a GPU, of tiles that are solved together: more take memory. */
#define ENOUGH 4096
#define WARP 32
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

/* Memory is available to what is enqueued later. */
static gboolean
get_memory (const Device *d, gsize bytes, gpointer *memory, GError **error)
{
  return hass_cuda_check (
      cudaMallocFromPoolAsync (memory, MAX (bytes, 1), d->pool, d->stream),
      "get memory for BLAS", error);
}

/* Frees memory behind what is enqueued. */
static void
release (const Device *d, gpointer *memory)
{
  if (*memory)
    cudaFreeAsync (*memory, d->stream);
  *memory = NULL;
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
gemm_one (Device *d, const LaBlasCall *c, GError **error)
{
  cublasHandle_t h = d->blas;
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
syrk_one (Device *d, const LaBlasCall *c, GError **error)
{
  cublasHandle_t h = d->blas;
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

/* The factor is the right one transposed, or the left one of an upper
   triangle. */
static gboolean
trsm_one (Device *d, const LaBlasCall *c, GError **error)
{
  cublasSideMode_t side = c->left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
  cublasOperation_t a = op (c->transpose_a);
  const double one = 1;
  const float one_f = 1;
  return check_blas (
      c->type == HASS_LA_FLOAT
          ? cublasStrsm (d->blas, side, fill (c), a, CUBLAS_DIAG_NON_UNIT, c->m,
                         c->n, &one_f, (const float *)c->a, c->lda,
                         (float *)c->c, c->ldc)
          : cublasDtrsm (d->blas, side, fill (c), a, CUBLAS_DIAG_NON_UNIT, c->m,
                         c->n, &one, (const double *)c->a, c->lda,
                         (double *)c->c, c->ldc),
      "cuBLAS trsm", error);
}

/* -- trsm by products --------------------------------------------------- */

/* A matrix in device memory, seen as L is: by rows if it is of an upper
   triangle. */
struct Matrix
{
  HassLaType type;
  gboolean by_rows;
  guint8 *data;
  gsize ld;
  gsize stride; /* numbers from one matrix to the next, of several */

  Matrix at (gsize row, gsize col) const
  {
    Matrix m = *this;
    m.data
        += (by_rows ? row * ld + col : row + col * ld) * la_number_bytes (type);
    return m;
  }
};

/* @c [rows * cols] = @alpha * a * b + @beta * c, where @a is [rows * k] and @b
   [k * cols], or b' [cols * k] is given. @count: of such products. */
static gboolean
multiply (const Device *d, const LaSize *size, double alpha, const Matrix &a,
          const Matrix &b, gboolean transpose_b, double beta, const Matrix &c,
          gsize count, GError **error)
{
  bool is_float = c.type == HASS_LA_FLOAT, by_rows = c.by_rows;
  float alpha_f = (float)alpha, beta_f = (float)beta;
  cudaDataType_t type = is_float ? CUDA_R_32F : CUDA_R_64F;
  const Matrix &x = by_rows ? b : a, &y = by_rows ? a : b;
  return check_blas (cublasGemmStridedBatchedEx (
                         d->blas, by_rows ? op (transpose_b) : CUBLAS_OP_N,
                         by_rows ? CUBLAS_OP_N : op (transpose_b),
                         (int)(by_rows ? size->cols : size->rows),
                         (int)(by_rows ? size->rows : size->cols), (int)size->k,
                         is_float ? (void *)&alpha_f : (void *)&alpha, x.data,
                         type, (int)x.ld, (long long)x.stride, y.data, type,
                         (int)y.ld, (long long)y.stride,
                         is_float ? (void *)&beta_f : (void *)&beta, c.data,
                         type, (int)c.ld, (long long)c.stride, (int)count,
                         is_float ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F,
                         CUBLAS_GEMM_DEFAULT),
                     "cuBLAS gemm", error);
}

/* Inverts the diagonal blocks [WARP * WARP] of L: one warp each, a lane has a
   column. */
template <typename T>
static __global__ void
invert (const T *l, int ld, T *x, int ld_x, int by_rows)
{
  __shared__ T from[WARP][WARP + 1], to[WARP][WARP + 1];
  int t = threadIdx.x;
  l += (size_t)blockIdx.x * WARP * (ld + 1);
  x += (size_t)blockIdx.x * WARP * (ld_x + 1);
  for (int k = 0; k < WARP; k++)
    if (by_rows)
      from[k][t] = l[(size_t)k * ld + t];
    else
      from[t][k] = l[(size_t)k * ld + t];
  __syncwarp ();
  for (int i = 0; i < WARP; i++)
    {
      T sum = i == t;
      for (int k = t; k < i; k++)
        sum -= from[i][k] * to[k][t];
      to[i][t] = i < t ? T (0) : sum / from[i][i];
    }
  __syncwarp ();
  for (int k = 0; k < WARP; k++)
    x[(size_t)k * ld_x + t] = by_rows ? to[k][t] : to[t][k];
}

/* Copies the diagonal blocks of L to @to, with zeros above the diagonal, and
   clears those of @x: a block has a column of memory. */
template <typename T>
static __global__ void
clear (const T *l, int ld, T *to, T *x, int n, int block, int by_rows)
{
  int j = blockIdx.x, first = j / block * block;
  for (int i = first + threadIdx.x; i < first + block; i += blockDim.x)
    {
      to[i + (size_t)j * n]
          = (by_rows ? i <= j : i >= j) ? l[i + (size_t)j * ld] : T (0);
      x[i + (size_t)j * n] = T (0);
    }
}

template <typename T>
static void
begin_inverse (const Device *d, gsize n, gsize block, const Matrix &l,
               const Matrix &lower, const Matrix &x)
{
  clear<<<n, block, 0, d->stream>>> ((const T *)l.data, (int)l.ld,
                                     (T *)lower.data, (T *)x.data, (int)n,
                                     (int)block, l.by_rows);
  invert<<<n / WARP, WARP, 0, d->stream>>> ((const T *)l.data, (int)l.ld,
                                            (T *)x.data, (int)x.ld, l.by_rows);
}

/* @x [n * n]: the diagonal blocks [block * block] of @l inverted: of two blocks
   beside each other with the part m below the first, the part below the first
   inverted one is - y * m * x, where x and y are the inverted ones. @products:
   room. @lower [n * n]: the blocks themselves. */
static gboolean
invert_blocks (const Device *d, gsize n, gsize block, Matrix l,
               const Matrix &lower, Matrix x, Matrix products, GError **error)
{
  if (x.type == HASS_LA_FLOAT)
    begin_inverse<float> (d, n, block, l, lower, x);
  else
    begin_inverse<double> (d, n, block, l, lower, x);
  if (!hass_cuda_check (cudaGetLastError (), "invert", error))
    return FALSE;
  for (gsize h = WARP; h < block; h *= 2)
    {
      LaSize size = { h, h, h };
      gsize count = n / (2 * h);
      l.stride = 2 * h * (l.ld + 1);
      x.stride = 2 * h * (x.ld + 1);
      products.ld = h;
      products.stride = h * h;
      if (!multiply (d, &size, 1, l.at (h, 0), x, FALSE, 0, products, count,
                     error)
          || !multiply (d, &size, -1, x.at (h, h), products, FALSE, 0,
                        x.at (h, 0), count, error))
        return FALSE;
    }
  return TRUE;
}

/* The factor of a system: it, its diagonal blocks, and these inverted. */
struct Factor
{
  gsize n, block;
  Matrix l, lower, inverse;
};

/* @b [rows * n] * inverse (l') into @to: from left to right, a block of columns
   is what is left of it times the inverted diagonal block transposed, and what
   it contributes to the columns behind it is subtracted there. The inverse of
   an ill-conditioned block is not accurate, so what the block's product with it
   leaves of the columns is solved in the same way and added. */
static gboolean
substitute (const Device *d, gsize rows, const Factor &f, const Matrix &b,
            const Matrix &to, GError **error)
{
  gboolean ok = TRUE;
  for (gsize j = 0; j < f.n && ok; j += f.block)
    {
      gsize end = j + f.block;
      LaSize inside = { rows, f.block, f.block };
      LaSize behind = { rows, f.n - end, f.block };
      Matrix left = b.at (0, j), solved = to.at (0, j);
      Matrix lower = f.lower.at (j, j), inverse = f.inverse.at (j, j);
      ok = multiply (d, &inside, 1, left, inverse, TRUE, 0, solved, 1, error)
           && multiply (d, &inside, -1, solved, lower, TRUE, 1, left, 1, error)
           && multiply (d, &inside, 1, left, inverse, TRUE, 1, solved, 1, error)
           && (end == f.n
               || multiply (d, &behind, -1, solved, f.l.at (end, j), TRUE, 1,
                            b.at (0, end), 1, error));
    }
  return ok;
}

/* Rows of L's tile that a call solves. */
static int
rows_of (const LaBlasCall *c)
{
  return c->upper ? c->n : c->m;
}

/* Tiles, and the one on which they lie one below the other, or beside each
   other in memory if they are by rows. */
struct Stack
{
  void *tile[LA_GPU_MOST], *at[LA_GPU_MOST];
  int m[LA_GPU_MOST], n[LA_GPU_MOST], ld[LA_GPU_MOST], ld_at;
};

/* Copies tiles into the stack, or back: a block has a column of memory. */
template <typename T>
static __global__ void
copy (Stack s, int back)
{
  int i = blockIdx.y, j = blockIdx.x;
  if (j >= s.n[i])
    return;
  T *tile = (T *)s.tile[i] + (size_t)j * s.ld[i];
  T *at = (T *)s.at[i] + (size_t)j * s.ld_at;
  for (int k = threadIdx.x; k < s.m[i]; k += blockDim.x)
    if (back)
      tile[k] = at[k];
    else
      at[k] = tile[k];
}

/* Copies the tiles of @n calls into @whole, or back. */
static gboolean
copy_tiles (const Device *d, const LaBlasCall *calls, guint n,
            const Matrix &whole, gboolean back, GError **error)
{
  Stack s = {};
  gsize row = 0;
  int columns = 0;
  for (guint i = 0; i < n; i++)
    {
      const LaBlasCall *c = &calls[i];
      s.tile[i] = c->c;
      s.at[i] = whole.at (row, 0).data;
      s.m[i] = c->m;
      s.n[i] = c->n;
      s.ld[i] = c->ldc;
      row += rows_of (c);
      columns = MAX (columns, c->n);
    }
  s.ld_at = (int)whole.ld;
  dim3 grid (columns, n);
  if (whole.type == HASS_LA_FLOAT)
    copy<float><<<grid, THREADS, 0, d->stream>>> (s, back);
  else
    copy<double><<<grid, THREADS, 0, d->stream>>> (s, back);
  return hass_cuda_check (cudaGetLastError (), "copy tiles", error);
}

/* Solves the tiles of @n calls with one factor of @n columns. */
static gboolean
solve (Device *d, const LaBlasCall *calls, guint n_calls, gsize n, gsize block,
       GError **error)
{
  const LaBlasCall *c = calls;
  gboolean upper = c->upper;
  gsize rows = 0, bytes = la_number_bytes (c->type);
  gpointer memory = NULL;
  for (guint i = 0; i < n_calls; i++)
    rows += rows_of (&calls[i]);
  gsize ld = upper ? n : rows, room = n * block / 2;
  if (!get_memory (d, (2 * n * n + room + 2 * rows * n) * bytes, &memory,
                   error))
    return FALSE;
  guint8 *at = (guint8 *)memory;
  Factor f = { n, block };
  f.l = { c->type, upper, (guint8 *)c->a, (gsize)c->lda, 0 };
  f.lower = { c->type, upper, at, n, 0 };
  f.inverse = { c->type, upper, at += n * n * bytes, n, 0 };
  Matrix products = { c->type, upper, at += n * n * bytes, 0, 0 };
  Matrix b = { c->type, upper, at += room * bytes, ld, 0 };
  Matrix solved = { c->type, upper, at + rows * n * bytes, ld, 0 };
  gboolean ok
      = copy_tiles (d, calls, n_calls, b, FALSE, error)
        && invert_blocks (d, n, block, f.l, f.lower, f.inverse, products, error)
        && substitute (d, rows, f, b, solved, error)
        && copy_tiles (d, calls, n_calls, solved, TRUE, error);
  release (d, &memory);
  return ok;
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
factorise (const Device *d, const LaBlasCall *c, gpointer workspace, int size,
           int *info)
{
  return c->type == HASS_LA_FLOAT
             ? cusolverDnSpotrf (d->solver, fill (c), c->n, (float *)c->c,
                                 c->ldc, (float *)workspace, size, info)
             : cusolverDnDpotrf (d->solver, fill (c), c->n, (double *)c->c,
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
potrf_one (Device *d, const LaBlasCall *c, GError **error)
{
  gpointer workspace = NULL;
  int size = 0;
  if (!check_solver (workspace_size (d, c, &size), "cuSOLVER potrf", error))
    return FALSE;
  gsize bytes = size * la_number_bytes (c->type);
  if (!get_memory (d, bytes + sizeof (int), &workspace, error))
    return FALSE;
  int *info = (int *)((guint8 *)workspace + bytes);
  gboolean ok = check_solver (factorise (d, c, workspace, size, info),
                              "cuSOLVER potrf", error);
  if (ok && c->type == HASS_LA_FLOAT)
    mark_minor<<<1, 1, 0, d->stream>>> ((float *)c->c, c->ldc, info);
  else if (ok)
    mark_minor<<<1, 1, 0, d->stream>>> ((double *)c->c, c->ldc, info);
  ok = ok && hass_cuda_check (cudaGetLastError (), "mark a minor", error);
  release (d, &workspace);
  return ok;
}

/* -- Calls of a bundle -------------------------------------------------- */

static gboolean
each (gboolean (*one) (Device *, const LaBlasCall *, GError **),
      gpointer device, const LaBlasCall *calls, guint n, GError **error)
{
  gboolean ok = TRUE;
  for (guint i = 0; i < n && ok; i++)
    ok = one ((Device *)device, &calls[i], error);
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

/* Calls in a row with one factor are solved together, up to ENOUGH rows. */
static gboolean
trsm (gpointer device, const LaBlasCall *calls, guint n, GError **error)
{
  gboolean ok = TRUE;
  for (guint i = 0, end; i < n && ok; i = end)
    {
      const LaBlasCall *c = &calls[i];
      int rows = rows_of (c);
      for (end = i + 1; end < n && calls[end].a == c->a && rows < ENOUGH; end++)
        rows += rows_of (&calls[end]);
      gsize columns = c->upper ? c->m : c->n, block = MOST_BLOCK;
      while (columns % block != 0)
        block /= 2;
      ok = block >= LEAST_BLOCK
               ? solve ((Device *)device, c, end - i, columns, block, error)
               : each (trsm_one, device, c, end - i, error);
    }
  return ok;
}

extern "C" const LaGpuBlas la_cublas
    = { n_devices, begin, end, potrf, trsm, syrk, gemm };
