/* SPDX-License-Identifier: MIT */
/* tiles.c: cuts C into tiles.

   The size of tiles is a compromise. A GPU may be a thousand times faster than
   a core, so a core should have less than a thousandth of C at a time, or the
   round waits for it; but for the same product a core needs 1.5 times as long
   in tiles of 64 x 256 as in one, 1.25 times in tiles of 128 x 512. Hence about
   4096 tiles, four times as wide as high, but not smaller than that.

   Thread safety: any thread. */
#include "matrix.h"

#define WANTED_TILES 4096
#define STEP 64
#define LEAST_TILE_ROWS 128
#define MOST_TILE_ROWS 512

static gsize
n_parts (gsize all, gsize part)
{
  return (all + part - 1) / part;
}

void
matrix_choose_tiles (MatrixProblem *p)
{
  gsize rows = LEAST_TILE_ROWS;
  while (rows < MOST_TILE_ROWS
         && 4.0 * rows * rows * WANTED_TILES < (double)p->m * p->n)
    rows += STEP;
  p->tile_rows = MIN (rows, p->m);
  p->tile_cols = MIN (4 * rows, p->n);
}

gsize
matrix_tiles_across (const MatrixProblem *p)
{
  return n_parts (p->n, p->tile_cols);
}

gsize
matrix_n_tiles (const MatrixProblem *p)
{
  return n_parts (p->m, p->tile_rows) * matrix_tiles_across (p);
}

MatrixTile
matrix_tile (const MatrixProblem *p, gsize index)
{
  gsize across = matrix_tiles_across (p);
  MatrixTile t = { .row = index / across * p->tile_rows,
                   .col = index % across * p->tile_cols };
  t.rows = MIN (p->tile_rows, p->m - t.row);
  t.cols = MIN (p->tile_cols, p->n - t.col);
  return t;
}

gboolean
matrix_partition (const HassLoad *load, gsize first, gsize count,
                  HassBlock *block, gpointer data, GError **error)
{
  const MatrixProblem *p = data;
  gsize bytes = matrix_number_bytes (p);
  MatrixTile t = matrix_tile (p, first);
  (void)load, (void)count, (void)error;
  block->count = 1;
  block->output = (guint8 *)p->c + (t.row * p->n + t.col) * bytes;
  block->output_row_bytes = t.cols * bytes;
  block->output_pitch = p->n * bytes;
  block->output_bytes = t.rows * t.cols * bytes;
  return TRUE;
}

MatrixTile
matrix_rectangle (const MatrixProblem *p, const HassBundle *bundle,
                  const HassRectangle *r)
{
  MatrixTile t = matrix_tile (p, bundle->blocks[r->first_block].first);
  t.rows = r->rows;
  t.cols = r->row_bytes / matrix_number_bytes (p);
  return t;
}
