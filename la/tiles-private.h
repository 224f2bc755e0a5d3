/* SPDX-License-Identifier: MIT */
/* tiles-private.h: how the triangle L is cut into tiles, and what is urgent.

   DESIGN. L is cut into panels of @cols columns, and rows into chunks of @rows,
   a multiple of that. A panel consists of its diagonal tile [cols * cols] and
   of one tile a chunk below it; the first chunk's begins where the diagonal
   tile ends and may be empty. Tiles are higher than wide because of gemm: c = c
   - a * b' costs OpenBLAS a time by the size of b, for packing it, that only
   the height of c makes up for.

   Thread safety: read-only once they are made. */
#ifndef HASS_LA_TILES_PRIVATE_H
#define HASS_LA_TILES_PRIVATE_H

#include "kernels-private.h"

typedef struct
{
  gsize n, rows, cols;
  gsize n_panels, n_chunks;
  /* of potrf and trsm, for each column beside the costs below */
  double column_cost;
} LaTiles;

/* Either size 0: chosen, for so many cores. */
LaTiles la_tiles (gsize n, gsize rows, gsize cols, guint n_cores);

/* Rows from which on tiles are cut for GPUs, if there are some. */
#define LA_LEAST_N_OF_GPUS 4096

/* Either size 0: chosen. */
LaTiles la_gpu_tiles (gsize n, gsize rows, gsize cols);

/* The columns of panel @k, and the rows of its diagonal tile. */
static inline gsize
la_panel_cols (const LaTiles *t, gsize k)
{
  return MIN (t->cols, t->n - k * t->cols);
}

/* The chunk that has the diagonal tile of panel @k. */
static inline gsize
la_first_chunk (const LaTiles *t, gsize k)
{
  return k * t->cols / t->rows;
}

/* The first row of the tile of chunk @i in panel @k, and the number of its
   rows, which may be 0. */
static inline gsize
la_tile_row (const LaTiles *t, gsize i, gsize k)
{
  return MIN (MAX (i * t->rows, (k + 1) * t->cols), t->n);
}

static inline gsize
la_tile_rows (const LaTiles *t, gsize i, gsize k)
{
  return MIN ((i + 1) * t->rows, t->n) - la_tile_row (t, i, k);
}

/* -- What the operations cost (tiles.c) --------------------------------- */

/* In floating-point operations at the rate of a large gemm. */
double la_potrf_cost (gsize n);
double la_trsm_cost (gsize rows, gsize n);
double la_syrk_cost (gsize n, gsize k);
double la_gemm_cost (gsize rows, gsize n, gsize k);

/* -- What is urgent (urgency.c) ----------------------------------------- */

/**
 * LaUrgency: the bottom levels of the operations: the cost of the longest path
 * from the beginning of each to the end.
 * @potrf: [n_panels].
 * @trsm: [n_panels][n_chunks].
 */
typedef struct
{
  double *potrf, *trsm;
} LaUrgency;

LaUrgency la_urgency_new (const LaTiles *t);
void la_urgency_clear (LaUrgency *u);

/* Of updating the diagonal tile of panel @j, and the tile of chunk @i in panel
   @j, by panel @k. */
double la_syrk_level (const LaUrgency *u, const LaTiles *t, gsize j, gsize k);
double la_gemm_level (const LaUrgency *u, const LaTiles *t, gsize i, gsize j,
                      gsize k);

static inline double
la_trsm_level (const LaUrgency *u, const LaTiles *t, gsize i, gsize k)
{
  return u->trsm[k * t->n_chunks + i];
}

#endif
