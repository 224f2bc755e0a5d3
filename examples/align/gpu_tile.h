/* SPDX-License-Identifier: MIT */
/* gpu_tile.h: tiles of the table of scores on a GPU: what a thread computes, in
   C that is compiled for the host, too, where tests run it.

   DESIGN. A task has several tiles, in rows and columns. A launch computes the
   tiles of one diagonal of all tasks of a call, each by a thread block, so no
   thread block waits for another one: the launches of a call follow each other
   on a stream.

   1. A warp of the block has a strip of ALIGN_GPU_STRIP rows, ALIGN_ROWS of
      them a lane, as in kernels.h: at step t, lane k computes column t - k, and
      gets from lane k - 1 what this one has computed at the step before. (Liu,
      Wirawan and Schmidt, "CUDASW++ 3.0", 2013, have such strips, too.)
   2. Lane 0 reads the row above its strip from shared memory, where the last
      lane of the warp above has written it: one row for all strips, in place.
   3. Steps are grouped into chunks of a warp's width. In a phase each warp
      computes a chunk, ALIGN_GPU_LAG phases after the warp above; between
      phases the block synchronises. After a phase in which a warp has computed
      chunk q, columns up to ALIGN_GPU_LANES q are complete; chunk q needs those
      up to ALIGN_GPU_LANES (q + 1) - 1, so the lag is 2.

   Scores are plain numbers of 32 bits, of which none is raised to a base: E is
   raised to 0, which changes no H. Edges are stored with the base that
   align_tile() gives them, so all devices write the same bits.

   Thread safety: pure functions. */
#ifndef ALIGN_GPU_TILE_H
#define ALIGN_GPU_TILE_H

#include <hass/callbacks.h>

#include "tile.h"

#define ALIGN_GPU_LANES 32
#define ALIGN_GPU_STRIP (ALIGN_GPU_LANES * ALIGN_ROWS)
#define ALIGN_GPU_LAG 2
/* Warps of a thread block at most. */
#define ALIGN_GPU_WARPS (ALIGN_MAX_SIDE / ALIGN_GPU_STRIP)
/* Most tasks of a call: an AlignGpuWave is the argument of a kernel, of which
   GPUs take 4096 bytes. */
#define ALIGN_GPU_MOST 32

#ifdef __CUDACC__
#  define ALIGN_BOTH static __host__ __device__ __forceinline__
#else
#  define ALIGN_BOTH static inline
#endif
#ifdef __CUDA_ARCH__
#  define ALIGN_UNROLL _Pragma ("unroll")
#else
#  define ALIGN_UNROLL
#endif

/* What of a scheme a GPU needs. @table: as in #AlignScheme. */
typedef struct
{
  int32_t simple, match, mismatch, open, extend, largest;
  int8_t table[ALIGN_CODES][ALIGN_CODES];
} AlignGpuScheme;

/**
 * AlignGpuTask: adjacent tiles; all pointers are a device's.
 * @above: edges above the first row of tiles.
 * @left: edges left of the first column of tiles, @left_pitch bytes apart.
 * @below: get the edges below each row of tiles, @below_pitch bytes apart; 0:
 *   those of the last row remain, and @above may be the same.
 * @beside: get the edges right of each tile, with the largest score of the row
 *   of tiles so far: those of a row of tiles @beside_pitch bytes after those of
 *   the row above, and @beside_step bytes apart; 0: those of the last column
 *   remain, and @left may be the same.
 * @a, @b: codes of the rows and of the columns.
 * @rows, @columns: cells.
 * @first_column: the first column of tiles.
 */
typedef struct
{
  const char *above, *left;
  char *below, *beside;
  const int8_t *a, *b;
  int32_t left_pitch, below_pitch, beside_pitch, beside_step;
  int32_t rows, columns, first_column;
} AlignGpuTask;

/**
 * AlignGpuWave: a call.
 * @side: rows and columns of a tile, but for the last ones of a task.
 * @stride: bytes from an edge to the next one.
 */
typedef struct
{
  AlignGpuScheme scheme;
  int32_t side, stride, n_tasks;
  AlignGpuTask tasks[ALIGN_GPU_MOST];
} AlignGpuWave;

G_STATIC_ASSERT (sizeof (AlignGpuWave) <= 4096 - sizeof (int));

/* Enqueues a call on a stream. */
typedef gboolean (*AlignGpuFunc) (const AlignGpuWave *wave,
                                  HassGpuStream *stream, GError **error);

/* One tile. @side: cells of its edges, the last of which may be beyond @rows
   or @columns. @at: its column of tiles. */
typedef struct
{
  AlignEdges edges;
  const int8_t *a, *b;
  int rows, columns, side, at;
} AlignGpuTile;

ALIGN_BOTH int
align_gpu_least (int a, int b)
{
  return a < b ? a : b;
}

ALIGN_BOTH int
align_gpu_most (int a, int b)
{
  return a > b ? a : b;
}

ALIGN_BOTH int
align_gpu_parts (int n, int part)
{
  return (n + part - 1) / part;
}

/* Chunks of a strip, whose last lane is ALIGN_GPU_LANES - 1 steps late. */
ALIGN_BOTH int
align_gpu_chunks (int columns)
{
  return align_gpu_parts (columns + ALIGN_GPU_LANES - 1, ALIGN_GPU_LANES);
}

ALIGN_BOTH int
align_gpu_phases (int rows, int columns)
{
  return align_gpu_chunks (columns)
         + ALIGN_GPU_LAG * (align_gpu_parts (rows, ALIGN_GPU_STRIP) - 1);
}

/* Diagonals of tiles of a task. */
ALIGN_BOTH int
align_gpu_diagonals (const AlignGpuWave *w, const AlignGpuTask *t)
{
  return align_gpu_parts (t->rows, w->side)
         + align_gpu_parts (t->columns, w->side) - 1;
}

/* Tile @i, from the top, of a diagonal of a task. Returns: FALSE if there is
   none. */
ALIGN_BOTH int
align_gpu_tile (const AlignGpuWave *w, const AlignGpuTask *t, int diagonal,
                int i, AlignGpuTile *tile)
{
  int n_rows = align_gpu_parts (t->rows, w->side);
  int n_columns = align_gpu_parts (t->columns, w->side);
  int row = align_gpu_most (0, diagonal - (n_columns - 1)) + i;
  int column = diagonal - row;
  if (row >= n_rows || column < 0)
    return 0;
  char *below = t->below + (size_t)column * w->stride;
  char *beside = t->beside + (size_t)row * t->beside_pitch;
  const char *top = row > 0 ? below + (size_t)(row - 1) * t->below_pitch
                            : t->above + (size_t)column * w->stride;
  const char *left = column > 0 ? beside + (size_t)(column - 1) * t->beside_step
                                : t->left + (size_t)row * t->left_pitch;
  below += (size_t)row * t->below_pitch;
  beside += (size_t)column * t->beside_step;
  tile->edges.top = (const AlignEdge *)top;
  tile->edges.left = (const AlignEdge *)left;
  tile->edges.bottom = (AlignEdge *)below;
  tile->edges.right = (AlignEdge *)beside;
  tile->a = t->a + (size_t)row * w->side;
  tile->b = t->b + (size_t)column * w->side;
  tile->rows = align_gpu_least (t->rows - row * w->side, w->side);
  tile->columns = align_gpu_least (t->columns - column * w->side, w->side);
  tile->side = w->side;
  tile->at = t->first_column + column;
  return 1;
}

/* max (a + b, c), in one instruction of a GPU. */
ALIGN_BOTH int32_t
align_gpu_add (int32_t a, int32_t b, int32_t c)
{
#ifdef __CUDA_ARCH__
  return __viaddmax_s32 (a, b, c);
#else
  return align_gpu_most (a + b, c);
#endif
}

/* max (a + b, c, 0). */
ALIGN_BOTH int32_t
align_gpu_add_0 (int32_t a, int32_t b, int32_t c)
{
#ifdef __CUDA_ARCH__
  return __viaddmax_s32_relu (a, b, c);
#else
  return align_gpu_most (align_gpu_most (a + b, c), 0);
#endif
}

/**
 * AlignGpuLane: a lane on its way.
 * @a: codes of its rows. @h, @e: H of the column before, and E that it passes
 *   on, of its rows.
 * @above: H above the first row at the column before.
 * @h_last, @f_last: H of the last row, and F that it passes on.
 * @best: the largest H so far.
 */
typedef struct
{
  int32_t a[ALIGN_ROWS], h[ALIGN_ROWS], e[ALIGN_ROWS];
  int32_t above, h_last, f_last, best;
} AlignGpuLane;

/* The lane of rows [@row, @row + ALIGN_ROWS) at its begin, from the edges; rows
   beyond the last one match nothing. */
ALIGN_BOTH void
align_gpu_begin (AlignGpuLane *l, const AlignGpuTile *t, int row)
{
  const AlignEdge *top = t->edges.top, *left = t->edges.left;
  l->h_last = l->f_last = l->best = 0;
  l->above = row == 0         ? top->corner
             : row <= t->rows ? left->base + left->cells[row - 1][0]
                              : 0;
  ALIGN_UNROLL
  for (int r = 0; r < ALIGN_ROWS; r++)
    {
      int inside = row + r < t->rows;
      l->a[r] = inside ? t->a[row + r] : ALIGN_PAD_A;
      l->h[r] = inside ? left->base + left->cells[row + r][0] : 0;
      l->e[r] = inside ? left->base + left->cells[row + r][1] : 0;
    }
}

/* One column of the lane's rows, from H and F of the row above. @scores: of the
   column, by codes of rows; NULL: those of a simple scheme. */
ALIGN_BOTH void
align_gpu_column (AlignGpuLane *l, const AlignGpuScheme *s,
                  const int8_t *scores, int code, int32_t h_top, int32_t f)
{
  int32_t diagonal = l->above, h = 0;
  ALIGN_UNROLL
  for (int r = 0; r < ALIGN_ROWS; r++)
    {
      int32_t by = scores            ? scores[l->a[r]]
                   : l->a[r] == code ? s->match
                                     : s->mismatch;
      int32_t free = align_gpu_add (diagonal, by, l->e[r]);
      diagonal = l->h[r];
      h = align_gpu_most (free, f);
      f = align_gpu_add (f, -s->extend, free - s->open);
      l->e[r] = align_gpu_add_0 (l->e[r], -s->extend, h - s->open);
      l->h[r] = h;
      l->best = align_gpu_most (l->best, h);
    }
  l->above = h_top;
  l->h_last = h;
  l->f_last = f;
}

/* Stores a cell of an edge; 0 if it is not @inside of the tile, so that all of
   an edge is defined. */
ALIGN_BOTH void
align_gpu_store (uint16_t cell[2], int inside, int32_t h, int32_t passed,
                 int32_t base)
{
  cell[0] = inside ? (uint16_t)(h - base) : 0;
  cell[1] = inside ? (uint16_t)(align_gpu_most (passed, base) - base) : 0;
}

/* Stores what the lane passes to the right. */
ALIGN_BOTH void
align_gpu_end (const AlignGpuLane *l, const AlignGpuTile *t, int row,
               int32_t base)
{
  ALIGN_UNROLL
  for (int r = 0; r < ALIGN_ROWS; r++)
    if (row + r < t->side)
      align_gpu_store (t->edges.right->cells[row + r], row + r < t->rows,
                       l->h[r], l->e[r], base);
}

/* Stores the rest of both edges. @corner: H of the last row left of the tile.
   @best: the largest H of the tile. */
ALIGN_BOTH void
align_gpu_end_tile (const AlignGpuTile *t, int32_t base, int32_t corner,
                    int32_t best)
{
  t->edges.bottom->base = base;
  t->edges.bottom->corner = corner;
  t->edges.bottom->best = t->edges.bottom->at = 0;
  t->edges.right->base = base;
  t->edges.right->corner = 0;
  t->edges.right->at = best > t->edges.left->best ? t->at : t->edges.left->at;
  t->edges.right->best = align_gpu_most (best, t->edges.left->best);
}

#endif
