/* SPDX-License-Identifier: MIT */
/* grid.c: see grid.h.
   Thread safety: as grid.h. */
#include "grid.h"

#include <hass/hass.h>
#include <string.h>

gboolean
align_grid_init (AlignGrid *g, const AlignRect *rect, int side, GError **error)
{
  *g = (AlignGrid){ .rect = *rect, .side = side };
  g->n_rows = (rect->rows + (gsize)side - 1) / (gsize)side;
  g->n_columns = (rect->columns + (gsize)side - 1) / (gsize)side;
  g->stride = align_edge_bytes (side);
  gsize n_below = (g->n_rows + 1) * g->n_columns;
  gsize n_beside = g->n_rows * (g->n_columns + 1);
  g->below = g_try_malloc0_n (n_below + n_beside, g->stride);
  if (!g->below)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                   "no memory for the edges of %zu x %zu tiles", g->n_rows,
                   g->n_columns);
      return FALSE;
    }
  g->beside = g->below + n_below * g->stride;
  return TRUE;
}

void
align_grid_clear (AlignGrid *g)
{
  g_free (g->below);
  memset (g, 0, sizeof *g);
}

AlignRect
align_grid_rect (const AlignGrid *g, gsize row, gsize column)
{
  gsize i = row * (gsize)g->side, j = column * (gsize)g->side;
  return (AlignRect){ g->rect.i + i, g->rect.j + j,
                      MIN (g->rect.rows - i, (gsize)g->side),
                      MIN (g->rect.columns - j, (gsize)g->side) };
}

AlignEdges
align_grid_edges (const AlignGrid *g, gsize row, gsize column)
{
  return (AlignEdges){ align_grid_below (g, row, column),
                       align_grid_beside (g, row, column),
                       align_grid_below (g, row + 1, column),
                       align_grid_beside (g, row, column + 1) };
}
