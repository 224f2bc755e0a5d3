/* SPDX-License-Identifier: MIT */
/* cublas_trsm.cu: tiles are solved with a factor, by products.

   DESIGN. cuBLAS's trsm runs at a tenth of gemm's rate (H200, tiles of 1024:
   325 us, gemm of twice the operations 42 us), so large ones are computed by
   gemm from the inverted diagonal blocks of the factor, as MAGMA does (Tomov et
   al. 2010; Du Croz and Higham 1992 for the errors), with one step of
   refinement, without which the factor of an ill-conditioned matrix is wrong.
   Tiles of one panel are solved as one, and the launches between the copies of
   them are a plan's (cublas_plan.cu).

   Thread safety: see cublas-private.h. */
#include "cublas-private.h"

/* Columns of a diagonal block that is inverted, WARP times a power of 2; fewer
   where the factor has no multiple of that, but not less than the least. More
   cost more operations, fewer more calls. */
#define MOST_BLOCK 256
#define LEAST_BLOCK 128
/* Rows that fill a GPU, of tiles that are solved together: more take memory. */
#define ENOUGH 4096
#define WARP 32
#define THREADS 256

/* The factor is the right one transposed, or the left one of an upper
   triangle. */
static gboolean
plain_trsm (LaDevice *d, const LaBlasCall *c, GError **error)
{
  cublasSideMode_t side = c->left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
  cublasOperation_t a = la_op (c->transpose_a);
  const double one = 1;
  const float one_f = 1;
  return la_check_blas (
      c->type == HASS_LA_FLOAT
          ? cublasStrsm (d->blas, side, la_fill (c), a, CUBLAS_DIAG_NON_UNIT,
                         c->m, c->n, &one_f, (const float *)c->a, c->lda,
                         (float *)c->c, c->ldc)
          : cublasDtrsm (d->blas, side, la_fill (c), a, CUBLAS_DIAG_NON_UNIT,
                         c->m, c->n, &one, (const double *)c->a, c->lda,
                         (double *)c->c, c->ldc),
      "cuBLAS trsm", error);
}

/* -- Matrices seen as L -------------------------------------------------- */

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
multiply (const LaDevice *d, const LaSize *size, double alpha, const Matrix &a,
          const Matrix &b, gboolean transpose_b, double beta, const Matrix &c,
          gsize count, GError **error)
{
  bool is_float = c.type == HASS_LA_FLOAT, by_rows = c.by_rows;
  float alpha_f = (float)alpha, beta_f = (float)beta;
  cudaDataType_t type = is_float ? CUDA_R_32F : CUDA_R_64F;
  const Matrix &x = by_rows ? b : a, &y = by_rows ? a : b;
  return la_check_blas (
      cublasGemmStridedBatchedEx (
          d->blas, by_rows ? la_op (transpose_b) : CUBLAS_OP_N,
          by_rows ? CUBLAS_OP_N : la_op (transpose_b),
          (int)(by_rows ? size->cols : size->rows),
          (int)(by_rows ? size->rows : size->cols), (int)size->k,
          is_float ? (void *)&alpha_f : (void *)&alpha, x.data, type, (int)x.ld,
          (long long)x.stride, y.data, type, (int)y.ld, (long long)y.stride,
          is_float ? (void *)&beta_f : (void *)&beta, c.data, type, (int)c.ld,
          (long long)c.stride, (int)count,
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

/* The factor of a system: it, its diagonal blocks, and these inverted. */
struct Factor
{
  gsize n, block;
  Matrix l, lower, inverse;
};

/* Copies the diagonal blocks of L [blockDim * blockDim] to @to [n * n], with
   zeros above the diagonal, and clears those of @x [n * n]: a block of threads
   has a column of memory, n is the grid's dimension. */
template <typename T>
static __global__ void
clear (const T *l, int ld, T *to, T *x, int by_rows)
{
  int n = gridDim.x, j = blockIdx.x;
  int i = j / blockDim.x * blockDim.x + threadIdx.x;
  to[i + (size_t)j * n]
      = (by_rows ? i <= j : i >= j) ? l[i + (size_t)j * ld] : T (0);
  x[i + (size_t)j * n] = T (0);
}

template <typename T>
static void
begin_inverse (const LaDevice *d, const Factor &f)
{
  const T *l = (const T *)f.l.data;
  T *x = (T *)f.inverse.data;
  clear<<<f.n, f.block, 0, d->stream>>> (l, (int)f.l.ld, (T *)f.lower.data, x,
                                         f.l.by_rows);
  invert<<<f.n / WARP, WARP, 0, d->stream>>> (l, (int)f.l.ld, x, (int)f.n,
                                              f.l.by_rows);
}

/* Inverts the diagonal blocks of a factor: of two blocks beside each other with
   the part m below the first, the part below the first inverted one is
   - y * m * x, where x and y are the inverted ones. @room: [n * block / 2]. */
static gboolean
invert_blocks (const LaDevice *d, const Factor &f, gpointer room,
               GError **error)
{
  Matrix l = f.l, x = f.inverse, products = l;
  if (x.type == HASS_LA_FLOAT)
    begin_inverse<float> (d, f);
  else
    begin_inverse<double> (d, f);
  if (!hass_cuda_check (cudaGetLastError (), "invert", error))
    return FALSE;
  products.data = (guint8 *)room;
  for (gsize h = WARP; h < f.block; h *= 2)
    {
      LaSize size = { h, h, h };
      gsize count = f.n / (2 * h);
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

/* @b [rows * n] * inverse (l') into @to: from left to right, a block of columns
   is what is left of it times the inverted diagonal block transposed, and what
   it contributes to the columns behind it is subtracted there. The inverse of
   an ill-conditioned block is not accurate, so what the block's product with it
   leaves of the columns is solved in the same way and added. */
static gboolean
substitute (const LaDevice *d, gsize rows, const Factor &f, const Matrix &b,
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

/* The memory of a plan: the tiles to be solved with their factor lie one below
   the other in @b, or beside each other in memory if they are by rows. */
struct Room
{
  Factor f;
  gsize rows;
  Matrix b, solved;
  gpointer products;
  gsize bytes;
};

static Room
room_at (const LaShape *shape, gsize block, gpointer memory)
{
  HassLaType type = shape->type;
  gboolean upper = shape->upper;
  gsize n = shape->n, rows = shape->rows, number = la_number_bytes (type);
  gsize ld = upper ? n : rows;
  guint8 *at = (guint8 *)memory;
  Room r = { { n, block }, rows };
  r.f.l = { type, upper, at, n, 0 };
  r.f.lower = { type, upper, at += n * n * number, n, 0 };
  r.f.inverse = { type, upper, at += n * n * number, n, 0 };
  r.b = { type, upper, at += n * n * number, ld, 0 };
  r.solved = { type, upper, at += rows * n * number, ld, 0 };
  r.products = at += rows * n * number;
  r.bytes = (gsize)(at - (guint8 *)memory) + n * block / 2 * number;
  return r;
}

/* Matrices that are copied: a factor, and tiles. */
struct Copies
{
  const void *from[1 + LA_GPU_MOST];
  void *to[1 + LA_GPU_MOST];
  int m[1 + LA_GPU_MOST], n[1 + LA_GPU_MOST];
  int ld_from[1 + LA_GPU_MOST], ld_to[1 + LA_GPU_MOST];
};

/* A block has a column of memory. */
template <typename T>
static __global__ void
copy (Copies c)
{
  int i = blockIdx.y, j = blockIdx.x;
  if (j >= c.n[i])
    return;
  const T *from = (const T *)c.from[i] + (size_t)j * c.ld_from[i];
  T *to = (T *)c.to[i] + (size_t)j * c.ld_to[i];
  for (int k = threadIdx.x; k < c.m[i]; k += blockDim.x)
    to[k] = from[k];
}

/* Copies the factor of @n calls and their tiles into the room, or what is
   solved back. */
static gboolean
copy_tiles (const LaDevice *d, const LaBlasCall *calls, guint n, const Room *r,
            gboolean back, GError **error)
{
  Copies c = {};
  gsize row = 0;
  int columns = 0;
  guint at = 0;
  if (!back)
    {
      columns = c.m[at] = c.n[at] = c.ld_to[at] = (int)r->f.n;
      c.from[at] = calls->a;
      c.to[at] = r->f.l.data;
      c.ld_from[at++] = calls->lda;
    }
  for (guint i = 0; i < n; i++, at++)
    {
      const LaBlasCall *call = &calls[i];
      const Matrix &m = back ? r->solved : r->b;
      void *there = m.at (row, 0).data;
      c.from[at] = back ? there : call->c;
      c.to[at] = back ? call->c : there;
      c.m[at] = call->m;
      c.n[at] = call->n;
      c.ld_from[at] = back ? (int)m.ld : call->ldc;
      c.ld_to[at] = back ? call->ldc : (int)m.ld;
      row += rows_of (call);
      columns = MAX (columns, call->n);
    }
  dim3 grid (columns, at);
  if (r->b.type == HASS_LA_FLOAT)
    copy<float><<<grid, THREADS, 0, d->stream>>> (c);
  else
    copy<double><<<grid, THREADS, 0, d->stream>>> (c);
  return hass_cuda_check (cudaGetLastError (), "copy tiles", error);
}

/* LaLaunchFunc: data is a Room. */
static gboolean
launch (LaDevice *d, gconstpointer data, GError **error)
{
  const Room *r = (const Room *)data;
  return invert_blocks (d, r->f, r->products, error)
         && substitute (d, r->rows, r->f, r->b, r->solved, error);
}

/* Solves the tiles of @n calls with one factor of @n columns. Tiles have rows
   of all sizes, so there is room for a multiple of @n. */
static gboolean
solve (LaDevice *d, const LaBlasCall *calls, guint n_calls, gsize n,
       gsize block, GError **error)
{
  LaShape shape = { calls->type, calls->upper, 0, n };
  for (guint i = 0; i < n_calls; i++)
    shape.rows += rows_of (&calls[i]);
  shape.rows = (shape.rows + n - 1) / n * n;
  LaPlan *p
      = la_plan_take (d, &shape, room_at (&shape, block, NULL).bytes, error);
  if (!p)
    return FALSE;
  Room r = room_at (&shape, block, p->memory);
  gboolean ok = copy_tiles (d, calls, n_calls, &r, FALSE, error)
                && la_plan_run (d, p, launch, &r, error)
                && copy_tiles (d, calls, n_calls, &r, TRUE, error);
  return la_plan_leave (d, p, ok ? error : NULL) && ok;
}

/* Calls in a row with one factor are solved together, up to ENOUGH rows. */
gboolean
la_cublas_trsm (gpointer device, const LaBlasCall *calls, guint n,
                GError **error)
{
  LaDevice *d = (LaDevice *)device;
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
      if (block >= LEAST_BLOCK)
        ok = solve (d, c, end - i, columns, block, error);
      for (guint k = i; k < end && ok && block < LEAST_BLOCK; k++)
        ok = plain_trsm (d, &calls[k], error);
    }
  return ok;
}
