/* SPDX-License-Identifier: MIT */
/* grid.h: a part of the table of scores by tiles, with all edges between them.
   Thread safety: as far as calls concern different grids. */
#ifndef ALIGN_GRID_H
#define ALIGN_GRID_H

#include <hass/dataflow.h>

#include "tile.h"

/**
 * AlignGrid: tiles of a rectangle.
 * @rect: of the table.
 * @side: rows and columns of a tile; those of the last ones may be fewer.
 * @n_rows, @n_columns: number of tiles.
 * @below: [@n_rows + 1][@n_columns] edges above the first tiles and below each.
 * @beside: [@n_rows][@n_columns + 1] edges left of the first tiles and right of
 *   each.
 * @stride: bytes from an edge to the next one.
 */
typedef struct
{
  AlignRect rect;
  int side;
  gsize n_rows, n_columns, stride;
  char *below, *beside;
} AlignGrid;

/* Returns: FALSE with HASS_ERROR_NO_MEMORY. Edges are zero. */
gboolean align_grid_init (AlignGrid *grid, const AlignRect *rect, int side,
                          GError **error);
void align_grid_clear (AlignGrid *grid);

static inline AlignEdge *
align_grid_below (const AlignGrid *g, gsize row, gsize column)
{
  return (AlignEdge *)(g->below + (row * g->n_columns + column) * g->stride);
}
static inline AlignEdge *
align_grid_beside (const AlignGrid *g, gsize row, gsize column)
{
  return (AlignEdge *)(g->beside
                       + (row * (g->n_columns + 1) + column) * g->stride);
}

/* Tile (@row, @column), and its edges. */
AlignRect align_grid_rect (const AlignGrid *grid, gsize row, gsize column);
AlignEdges align_grid_edges (const AlignGrid *grid, gsize row, gsize column);

#endif
