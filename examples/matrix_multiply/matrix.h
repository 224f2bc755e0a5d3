/* SPDX-License-Identifier: MIT */
/* matrix.h: the parts of matrix_multiply. C and C++.

   DESIGN. C = A*B is one divisible load whose elements are the tiles of C; A
   and B are constants of the farm. Tiles are numbered along the rows of tiles,
   and the farm joins neighbours on a GPU: a run of them is a matrix again. One
   multiplication computes it, and its rows are as long as C's, which makes
   copies to the host fast however small the tiles are that suit a core.

   Matrices are stored row by row without gaps.

   Thread safety: problems are read-only while they are computed; any
   thread. */
#ifndef MATRIX_MULTIPLY_MATRIX_H
#define MATRIX_MULTIPLY_MATRIX_H

#include <hass/callbacks.h>
#include <hass/report.h>

G_BEGIN_DECLS

#define MATRIX_MOST_ROWS (1 << 20)

typedef enum
{
  MATRIX_FLOAT,
  MATRIX_DOUBLE
} MatrixType;

/**
 * MatrixProblem: C [m * n] = A [m * k] * B [k * n], numbers of one type.
 * @tile_rows, @tile_cols: of C's tiles; those at its edges may be smaller.
 */
typedef struct
{
  MatrixType type;
  gsize m, k, n;
  gsize tile_rows, tile_cols;
  gpointer a, b, c;
} MatrixProblem;

static inline gsize
matrix_number_bytes (const MatrixProblem *problem)
{
  return problem->type == MATRIX_FLOAT ? sizeof (float) : sizeof (double);
}

/* -- Tiles (tiles.c) ---------------------------------------------------- */

/* A part of C, from its row and column on. */
typedef struct
{
  gsize row, col, rows, cols;
} MatrixTile;

/* Chooses the size of the tiles by that of C. */
void matrix_choose_tiles (MatrixProblem *problem);

gsize matrix_n_tiles (const MatrixProblem *problem);
/* In a row of tiles. */
gsize matrix_tiles_across (const MatrixProblem *problem);
MatrixTile matrix_tile (const MatrixProblem *problem, gsize index);

/* HassPartitionFunc; the problem is the user's data. A block is a tile. */
gboolean matrix_partition (const HassLoad *load, gsize first, gsize count,
                           HassBlock *block, gpointer problem, GError **error);

/* The part of C that a rectangle of a bundle's tiles is. */
MatrixTile matrix_rectangle (const MatrixProblem *problem,
                             const HassBundle *bundle,
                             const HassRectangle *rectangle);

/* -- Computing (multiply.c, cublas.cu) ---------------------------------- */

/* Computes a tile to @c, whose rows lie @c_stride numbers apart; one
   thread. */
void matrix_compute_tile (const MatrixProblem *problem, const MatrixTile *tile,
                          gpointer c, gsize c_stride);

/* Returns: the value of OPENBLAS_CORETYPE to be set before the program starts,
   or NULL. An OpenBLAS older than the processor uses kernels of 2004, several
   times slower than the processor's best. */
const char *matrix_better_kernels (void);

/* HassGpuWorkerFunc; absent where the program was built without cuBLAS. */
gboolean matrix_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                            gpointer problem, GError **error);

/**
 * MatrixRun: how to multiply.
 * @rounds: number of multiplications, each one load of the farm, in sequence.
 * @forget: C is filled with NaN before each, so that each must compute all.
 * @cpu: whether cores participate.
 * @gpu_worker: NULL: GPUs do not participate.
 * @options: how to run the farm.
 * @seconds: [@rounds], set to the time of each in s.
 */
typedef struct
{
  guint rounds;
  gboolean forget;
  gboolean cpu;
  HassGpuWorkerFunc gpu_worker;
  HassRunOptions options;
  double *seconds;
} MatrixRun;

gboolean matrix_multiply (const MatrixProblem *problem, MatrixRun *run,
                          HassReport **report, GError **error);

/* -- Test data and the reference (fill.c, check.c) ---------------------- */

/* Fills A and B with numbers of [-1, 1) that are a function of the seed and
   the place, on all cores. */
gboolean matrix_fill (const MatrixProblem *problem, guint64 seed, guint n_cores,
                      GError **error);

/**
 * MatrixCheck: how far C is from A*B.
 * @full: each number was compared; else C*x with A*(B*x) for a random x.
 * @norm: ||C - A*B|| / ||A*B||, of the matrices or of the vectors.
 * @worst: largest difference, relative to the root mean square of A*B's.
 * @norm_limit, @worst_limit: what rounding explains.
 */
typedef struct
{
  gboolean full, right;
  double norm, norm_limit, worst, worst_limit;
} MatrixCheck;

/* @full_up_to: maximum number of multiplications of a product that is checked
   in full. */
MatrixCheck matrix_check (const MatrixProblem *problem, guint64 seed,
                          double full_up_to);

/* A number of [0, 2^64) for each place of each seed. */
guint64 matrix_random (guint64 seed, guint64 place);

G_END_DECLS

#endif
