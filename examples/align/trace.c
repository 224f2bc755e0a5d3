/* SPDX-License-Identifier: MIT */
/* trace.c: see trace.h.

   DESIGN. The way back is found in memory that grows with the lengths, not
   with their product, by computing parts of the table again from edges that
   were kept (Grice, Hughey and Speck, "Reduced space sequence alignment", 1997;
   with rows and columns kept: Driga et al., "FastLSA", 2006):

   1. a band of tiles, by tasks, from the row of edges above it;
   2. in it, a tile that the way passes, by blocks, from the edges of the tile;
   3. in it, a block that the way passes, cell by cell.

   Thread safety: as trace.h. */
#include "trace.h"

#include <string.h>

#include "block.h"

/* @i, @j: the cell that the way has come to; 1 more than its indices, so that
   the edges of the table are 0. @state: ALIGN_FROM_LEFT or _ABOVE within a
   gap, else ALIGN_FROM_NOTHING. */
typedef struct
{
  const AlignJob *job;
  const AlignBands *bands;
  AlignGrid band, tile;
  AlignBlock *block;
  gsize i, j;
  int state;
  AlignResult *result;
} Trace;

static gboolean
holds (const AlignGrid *g, gsize i, gsize j)
{
  return g->below && i >= g->rect.i && i - g->rect.i < g->rect.rows
         && j >= g->rect.j && j - g->rect.j < g->rect.columns;
}

/* 1. The band of row @i, up to the tile of (@i, @j). */
static gboolean
enter_band (Trace *t, gsize i, gsize j, GError **error)
{
  align_grid_clear (&t->band);
  if (!align_scores_again (t->job, t->bands, i, j, &t->band, error))
    return FALSE;
  t->result->cells += (guint64)t->band.rect.rows * t->band.rect.columns;
  return TRUE;
}

/* Copies the edges of a tile to those of its blocks. */
static void
copy_edges (AlignGrid *g, const AlignEdges *edges)
{
  for (gsize c = 0; c < g->n_columns; c++)
    {
      AlignEdge *top = align_grid_below (g, 0, c);
      gsize first = c * ALIGN_BLOCK;
      gsize n = MIN (g->rect.columns - first, ALIGN_BLOCK);
      memcpy (top->cells, edges->top->cells + first, n * sizeof *top->cells);
      top->base = edges->top->base;
      top->corner = c == 0 ? edges->top->corner
                           : top->base + edges->top->cells[first - 1][0];
    }
  for (gsize r = 0; r < g->n_rows; r++)
    {
      AlignEdge *left = align_grid_beside (g, r, 0);
      gsize first = r * ALIGN_BLOCK,
            n = MIN (g->rect.rows - first, ALIGN_BLOCK);
      memcpy (left->cells, edges->left->cells + first, n * sizeof *left->cells);
      left->base = edges->left->base;
    }
}

/* Cells up to @i, the @n-th or less, in whole blocks. */
static gsize
whole_blocks (gsize i, gsize n)
{
  return MIN ((i / ALIGN_BLOCK + 1) * ALIGN_BLOCK, n);
}

/* 2. The tile of (@i, @j), up to the block of (@i, @j). @peak: gets the largest
   score, and the first block that has it. */
static gboolean
enter_tile (Trace *t, gsize i, gsize j, AlignPeak *peak, GError **error)
{
  const AlignGrid *band = &t->band;
  gsize row = (i - band->rect.i) / (gsize)band->side;
  gsize column = (j - band->rect.j) / (gsize)band->side;
  AlignRect rect = align_grid_rect (band, row, column);
  AlignEdges edges = align_grid_edges (band, row, column);
  AlignGrid *g = &t->tile;
  rect.rows = whole_blocks (i - rect.i, rect.rows);
  rect.columns = whole_blocks (j - rect.j, rect.columns);
  align_grid_clear (g);
  if (!align_grid_init (g, &rect, ALIGN_BLOCK, error))
    return FALSE;
  copy_edges (g, &edges);
  *peak = (AlignPeak){ 0, 0, 0 };
  for (gsize r = 0; r < g->n_rows; r++)
    for (gsize c = 0; c < g->n_columns; c++)
      {
        AlignRect part = align_grid_rect (g, r, c);
        AlignEdges part_edges = align_grid_edges (g, r, c);
        gint64 score = align_tile (t->job->pair, &part, &part_edges);
        if (score > peak->score)
          *peak = (AlignPeak){ score, r, c };
      }
  t->result->cells += (guint64)rect.rows * rect.columns;
  return TRUE;
}

/* 3. Block (@row, @column) of the tile. */
static void
enter_block (Trace *t, gsize row, gsize column)
{
  AlignRect rect = align_grid_rect (&t->tile, row, column);
  AlignEdges edges = align_grid_edges (&t->tile, row, column);
  align_block_fill (t->block, t->job->pair, &rect, edges.top, edges.left);
  t->result->cells += (guint64)rect.rows * rect.columns;
}

static void
add_operation (Trace *t, char what)
{
  GArray *all = t->result->operations;
  AlignOperation one = { what, 1 };
  if (all->len > 0
      && g_array_index (all, AlignOperation, all->len - 1).what == what)
    g_array_index (all, AlignOperation, all->len - 1).n++;
  else
    g_array_append_val (all, one);
}

/* One step of the way within the block. FALSE: the alignment begins here. */
static gboolean
step_back (Trace *t)
{
  const AlignPair *p = t->job->pair;
  const AlignRect *rect = &t->block->rect;
  uint8_t step = t->block->steps[(t->i - 1 - rect->i) * rect->columns
                                 + (t->j - 1 - rect->j)];
  if (t->state == ALIGN_FROM_LEFT && !(step & ALIGN_LEFT_EXTENDS))
    t->state = ALIGN_FROM_NOTHING;
  if (t->state == ALIGN_FROM_ABOVE && !(step & ALIGN_ABOVE_EXTENDS))
    t->state = ALIGN_FROM_NOTHING;
  int from = t->state != ALIGN_FROM_NOTHING ? t->state : step & ALIGN_FROM;
  if (from == ALIGN_FROM_NOTHING)
    return FALSE;
  if (from == ALIGN_FROM_DIAGONAL)
    add_operation (t, align_row_code (p, t->i - 1)
                              == align_column_code (p, t->j - 1)
                          ? '='
                          : 'X');
  else
    add_operation (t, from == ALIGN_FROM_LEFT ? 'D' : 'I');
  t->state = from == ALIGN_FROM_DIAGONAL ? ALIGN_FROM_NOTHING : from;
  t->i -= from != ALIGN_FROM_LEFT;
  t->j -= from != ALIGN_FROM_ABOVE;
  return TRUE;
}

/* Follows the way from cell to cell, entering bands, tiles and blocks. */
static gboolean
follow (Trace *t, GError **error)
{
  AlignPeak ignored;
  while (t->i > 0 && t->j > 0)
    {
      gsize i = t->i - 1, j = t->j - 1;
      const AlignRect *rect = &t->block->rect;
      if (!holds (&t->band, i, j) && !enter_band (t, i, j, error))
        return FALSE;
      if (!holds (&t->tile, i, j) && !enter_tile (t, i, j, &ignored, error))
        return FALSE;
      enter_block (t, (i - t->tile.rect.i) / ALIGN_BLOCK,
                   (j - t->tile.rect.j) / ALIGN_BLOCK);
      while (t->i > rect->i && t->j > rect->j)
        if (!step_back (t))
          return TRUE;
    }
  return TRUE;
}

/* Finds the cell of the highest score. */
static gboolean
begin (Trace *t, const AlignPeak *peak, GError **error)
{
  const AlignPair *p = t->job->pair;
  gsize side = (gsize)t->bands->side;
  gsize i = MIN ((peak->row + 1) * side, p->n[0]) - 1;
  gsize j = MIN ((peak->column + 1) * side, p->n[1]) - 1;
  AlignPeak block;
  if (!enter_band (t, i, j, error) || !enter_tile (t, i, j, &block, error))
    return FALSE;
  enter_block (t, block.row, block.column);
  g_assert (t->block->score == peak->score);
  t->i = t->block->rect.i + t->block->row + 1;
  t->j = t->block->rect.j + t->block->column + 1;
  t->result->end[0] = t->i;
  t->result->end[1] = t->j;
  return TRUE;
}

static void
reverse (GArray *operations)
{
  AlignOperation *all = (AlignOperation *)operations->data;
  for (guint i = 0, k = operations->len; i + 1 < k; i++)
    {
      AlignOperation one = all[i];
      all[i] = all[--k];
      all[k] = one;
    }
}

gboolean
align_trace (const AlignJob *job, const AlignBands *bands,
             const AlignPeak *peak, AlignResult *result, GError **error)
{
  Trace t = { .job = job,
              .bands = bands,
              .block = g_new (AlignBlock, 1),
              .state = ALIGN_FROM_NOTHING,
              .result = result };
  gboolean ok = begin (&t, peak, error) && follow (&t, error);
  result->begin[0] = t.i;
  result->begin[1] = t.j;
  reverse (result->operations);
  align_grid_clear (&t.band);
  align_grid_clear (&t.tile);
  g_free (t.block);
  return ok;
}
