/* SPDX-License-Identifier: MIT */
/* scores.c: see scores.h.

   DESIGN. The graph is a wavefront that nothing describes but the accesses to
   edges:

   1. For the scores, one edge for each column of tiles and one for each row.
      A tile UPDATEs both: it replaces the edges above and to the left by those
      below and to the right. Memory is proportional to the lengths.
   2. The first tile of a column in a band READs the edge above it and WRITEs
      another one, so that the first stays.
   3. For a band that is computed again, each tile READs two edges and WRITEs
      two others: all stay.

   Thread safety: as scores.h. */
#include "scores.h"

#include <math.h>
#include <string.h>

/* Tiles in the shorter direction for each core: at both ends of a wavefront
   cores wait for tiles, which costs about 1 / TILES_A_CORE of the time. */
#define TILES_A_CORE 12

/* @grid: that is computed again, NULL: all of @bands. */
typedef struct
{
  const AlignJob *job;
  AlignBands *bands;
  AlignGrid *grid;
} Wave;

/* Arguments of a task. */
typedef struct
{
  gsize row, column;
} TileName;

static AlignEdge *
band_edge (const AlignBands *b, gsize band, gsize column)
{
  return (AlignEdge *)(b->above + (band * b->n_columns + column) * b->stride);
}

static AlignEdge *
row_edge (const AlignBands *b, gsize row)
{
  return (AlignEdge *)(b->left + row * b->stride);
}

static AlignRect
table_rect (const AlignPair *p, int side, gsize row, gsize column)
{
  gsize i = row * (gsize)side, j = column * (gsize)side;
  return (AlignRect){ i, j, MIN (p->n[0] - i, (gsize)side),
                      MIN (p->n[1] - j, (gsize)side) };
}

/* A tile with its edges: of the column of tiles, or one to read and one to
   write, then those of the row. The edge of the row has the largest score so
   far, and where it was. */
static gboolean
score_tile (const HassCall *call, HassWorker *worker, GError **error)
{
  const Wave *w = call->user_data;
  const TileName *name = call->arguments;
  const HassDataView *v = call->views;
  guint n = call->n_views;
  AlignEdge *right = v[n - 1].data;
  AlignRect rect
      = table_rect (w->job->pair, w->bands->side, name->row, name->column);
  AlignEdges edges = { v[0].data, right, v[n - 2].data, right };
  gint32 score = align_tile (w->job->pair, &rect, &edges);
  (void)worker;
  (void)error;
  if (score > right->best)
    {
      right->best = score;
      right->at = (gint32)name->column;
    }
  return TRUE;
}

static gboolean
score_tile_again (const HassCall *call, HassWorker *worker, GError **error)
{
  const Wave *w = call->user_data;
  const TileName *name = call->arguments;
  const HassDataView *v = call->views;
  AlignRect rect = align_grid_rect (w->grid, name->row, name->column);
  AlignEdges edges = { v[0].data, v[1].data, v[2].data, v[3].data };
  (void)worker;
  (void)error;
  align_tile (w->job->pair, &rect, &edges);
  return TRUE;
}

static const HassCodelet tile
    = HASS_CODELET (.name = "tile", .cpu = score_tile);
static const HassCodelet tile_again
    = HASS_CODELET (.name = "tile again", .cpu = score_tile_again);

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  const Wave *w = user_data;
  const AlignBands *b = w->bands;
  g_autofree HassData **above = g_new (HassData *, 2 * b->n_columns);
  HassData **below = above + b->n_columns;
  gboolean ok = TRUE;
  (void)error;
  for (gsize c = 0; c < b->n_columns; c++)
    below[c] = hass_graph_data (graph, band_edge (b, 0, c), b->stride, 1, 0);
  for (gsize r = 0; ok && r < b->n_rows; r++)
    {
      HassData *left
          = hass_graph_data (graph, row_edge (b, r), b->stride, 1, 0);
      gsize band = r / b->band_rows;
      gboolean first = r % b->band_rows == 0;
      for (gsize c = 0; ok && c < b->n_columns; c++)
        {
          TileName name = { r, c };
          HassTaskHints hints
              = { .arguments = &name, .argument_bytes = sizeof name };
          if (first)
            {
              above[c] = below[c];
              below[c] = hass_graph_data (graph, band_edge (b, band + 1, c),
                                          b->stride, 1, 0);
            }
          HassAccess reading[] = { { above[c], HASS_READ },
                                   { below[c], HASS_WRITE },
                                   { left, HASS_UPDATE } };
          HassAccess updating[]
              = { { below[c], HASS_UPDATE }, { left, HASS_UPDATE } };
          ok = first ? hass_graph_task (graph, &tile, reading, 3, &hints)
                     : hass_graph_task (graph, &tile, updating, 2, &hints);
        }
    }
  return TRUE;
}

/* The edges above and to the left are read by the first tiles only. */
static gboolean
build_again (HassGraph *graph, gpointer user_data, GError **error)
{
  const Wave *w = user_data;
  const AlignGrid *g = w->grid;
  g_autofree HassData **below = g_new (HassData *, g->n_columns);
  gboolean ok = TRUE;
  (void)error;
  for (gsize c = 0; c < g->n_columns; c++)
    below[c]
        = hass_graph_data (graph, align_grid_below (g, 0, c), g->stride, 1, 0);
  for (gsize r = 0; ok && r < g->n_rows; r++)
    {
      HassData *right = hass_graph_data (graph, align_grid_beside (g, r, 0),
                                         g->stride, 1, 0);
      for (gsize c = 0; ok && c < g->n_columns; c++)
        {
          AlignEdges edges = align_grid_edges (g, r, c);
          TileName name = { r, c };
          HassTaskHints hints
              = { .arguments = &name, .argument_bytes = sizeof name };
          HassAccess accesses[4]
              = { { below[c], HASS_READ }, { right, HASS_READ } };
          below[c] = hass_graph_data (graph, edges.bottom, g->stride, 1, 0);
          right = hass_graph_data (graph, edges.right, g->stride, 1, 0);
          accesses[2] = (HassAccess){ below[c], HASS_WRITE };
          accesses[3] = (HassAccess){ right, HASS_WRITE };
          ok = hass_graph_task (graph, &tile_again, accesses, 4, &hints);
        }
    }
  return TRUE;
}

static int
choose_side (const AlignJob *job)
{
  gsize cores = job->run.n_cores ? job->run.n_cores : g_get_num_processors ();
  gsize shorter = MIN (job->pair->n[0], job->pair->n[1]);
  gsize side = shorter / (TILES_A_CORE * cores);
  side -= side % ALIGN_SIDE_STEP;
  return (int)CLAMP (side, ALIGN_SIDE_STEP, (gsize)job->pair->side);
}

static gboolean
bands_init (AlignBands *b, const AlignJob *job, GError **error)
{
  const AlignPair *p = job->pair;
  b->side = job->side ? MIN (job->side, p->side) : choose_side (job);
  gsize side = (gsize)b->side;
  b->n_rows = (p->n[0] + side - 1) / side;
  b->n_columns = (p->n[1] + side - 1) / side;
  b->band_rows
      = job->score_only ? b->n_rows : (gsize)ceil (sqrt ((double)b->n_rows));
  b->n_bands = (b->n_rows + b->band_rows - 1) / b->band_rows;
  b->stride = align_edge_bytes (b->side);
  gsize n_above = (b->n_bands + 1) * b->n_columns;
  b->above = g_try_malloc0_n (n_above + b->n_rows, b->stride);
  if (!b->above)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                   "no memory for the edges of %zu x %zu tiles", b->n_bands + 1,
                   b->n_columns);
      return FALSE;
    }
  b->left = b->above + n_above * b->stride;
  return TRUE;
}

void
align_bands_clear (AlignBands *b)
{
  g_free (b->above);
  memset (b, 0, sizeof *b);
}

gboolean
align_scores (const AlignJob *job, AlignBands *b, AlignPeak *peak,
              HassReport **report, GError **error)
{
  Wave wave = { job, b, NULL };
  HassDataflow flow = HASS_DATAFLOW_INIT;
  memset (b, 0, sizeof *b);
  *peak = (AlignPeak){ 0, 0, 0 };
  flow.name = "align";
  flow.user_data = &wave;
  flow.build = build;
  flow.run = job->run;
  if (!bands_init (b, job, error) || !hass_dataflow (&flow, report, error))
    return FALSE;
  for (gsize r = 0; r < b->n_rows; r++)
    if (row_edge (b, r)->best > peak->score)
      *peak
          = (AlignPeak){ row_edge (b, r)->best, r, (gsize)row_edge (b, r)->at };
  return TRUE;
}

gboolean
align_scores_again (const AlignJob *job, const AlignBands *b, gsize i, gsize j,
                    AlignGrid *grid, GError **error)
{
  Wave wave = { job, NULL, grid };
  HassDataflow flow = HASS_DATAFLOW_INIT;
  gsize side = (gsize)b->side, band = i / side / b->band_rows;
  gsize first = band * b->band_rows * side;
  AlignRect rect
      = { .i = first,
          .rows = MIN ((i / side + 1) * side, job->pair->n[0]) - first,
          .columns = MIN ((j / side + 1) * side, job->pair->n[1]) };
  flow.name = "align again";
  flow.user_data = &wave;
  flow.build = build_again;
  flow.run = job->run;
  if (!align_grid_init (grid, &rect, b->side, error))
    return FALSE;
  for (gsize c = 0; c < grid->n_columns; c++)
    memcpy (align_grid_below (grid, 0, c), band_edge (b, band, c), b->stride);
  return hass_dataflow (&flow, NULL, error);
}
