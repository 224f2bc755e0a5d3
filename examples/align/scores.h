/* SPDX-License-Identifier: MIT */
/* scores.h: tiles of the table of scores as tasks of a dataflow.
   Thread safety: a call blocks its thread. */
#ifndef ALIGN_SCORES_H
#define ALIGN_SCORES_H

#include "align.h"
#include "grid.h"

/* The edges that are kept of the whole table, in bands of @band_rows tiles.
 * @side: rows and columns of a tile. @stride: bytes from an edge to the next.
 * @group: rows and columns of tiles of a task; @band_rows is a multiple.
 * @gpu: computes tasks on GPUs; NULL: cores only.
 * @above: [@n_bands + 1][@n_columns] edges above each band and below the last.
 * @left: [@n_rows] edges left of the table, then right of it. */
typedef struct
{
  int side;
  gsize group, n_rows, n_columns, n_bands, band_rows, stride;
  char *above, *left;
  AlignGpuFunc gpu;
} AlignBands;

/* A tile and the largest score in it. */
typedef struct
{
  gint64 score;
  gsize row, column;
} AlignPeak;

/**
 * align_scores:
 * @bands: (out): edges for align_scores_again(), one band if only the score is
 *   wanted; clear with align_bands_clear(), also after an error.
 *
 * Computes all tiles.
 */
gboolean align_scores (const AlignJob *job, AlignBands *bands, AlignPeak *peak,
                       HassReport **report, GError **error);
void align_bands_clear (AlignBands *bands);

/**
 * align_scores_again:
 * @grid: (out): clear with align_grid_clear(), also after an error.
 *
 * Computes again the tiles of the band of row @i of the table that are not
 * below nor right of cell (@i, @j), and keeps all their edges.
 */
gboolean align_scores_again (const AlignJob *job, const AlignBands *bands,
                             gsize i, gsize j, AlignGrid *grid, GError **error);

#endif
