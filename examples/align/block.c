/* SPDX-License-Identifier: MIT */
/* block.c: see block.h.
   Thread safety: as block.h. */
#include "block.h"

/* One row: @above, H and F of the row above, becomes those of this one. */
static void
fill_row (AlignBlock *b, const AlignPair *p, gsize row, int32_t diagonal,
          int32_t e, int32_t (*above)[2])
{
  const AlignScheme *s = p->scheme;
  const gint8 *scores = s->table[align_row_code (p, b->rect.i + row)];
  uint8_t *steps = b->steps + row * b->rect.columns;
  for (gsize c = 0; c < b->rect.columns; c++)
    {
      int32_t aligned = diagonal + scores[align_column_code (p, b->rect.j + c)];
      int32_t best = MAX (MAX (aligned, 0), MAX (e, above[c][1]));
      int32_t opened = best - s->open;
      int32_t left = e - s->extend, below = above[c][1] - s->extend;
      uint8_t step = best == 0         ? ALIGN_FROM_NOTHING
                     : best == aligned ? ALIGN_FROM_DIAGONAL
                     : best == e       ? ALIGN_FROM_LEFT
                                       : ALIGN_FROM_ABOVE;
      step |= left > opened ? ALIGN_LEFT_EXTENDS : 0;
      step |= below > opened ? ALIGN_ABOVE_EXTENDS : 0;
      e = MAX (left, opened);
      above[c][1] = MAX (below, opened);
      diagonal = above[c][0];
      above[c][0] = best;
      steps[c] = step;
      if (best > b->score)
        {
          b->score = best;
          b->row = row;
          b->column = c;
        }
    }
}

void
align_block_fill (AlignBlock *b, const AlignPair *p, const AlignRect *rect,
                  const AlignEdge *top, const AlignEdge *left)
{
  int32_t above[ALIGN_BLOCK][2], diagonal = top->corner;
  b->rect = *rect;
  b->score = 0;
  b->row = b->column = 0;
  for (gsize c = 0; c < rect->columns; c++)
    for (int k = 0; k < 2; k++)
      above[c][k] = top->base + top->cells[c][k];
  for (gsize r = 0; r < rect->rows; r++)
    {
      fill_row (b, p, r, diagonal, left->base + left->cells[r][1], above);
      diagonal = left->base + left->cells[r][0];
    }
}
