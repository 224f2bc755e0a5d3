/* SPDX-License-Identifier: MIT */
/* block.h: a small part of the table of scores, cell by cell.
   Thread safety: pure functions. */
#ifndef ALIGN_BLOCK_H
#define ALIGN_BLOCK_H

#include "tile.h"

/* Rows and columns of a block at most. */
#define ALIGN_BLOCK ALIGN_SIDE_STEP

/* Where H of a cell comes from, and whether the gaps that it passes on to the
   right and below extend those that it has got. */
enum
{
  ALIGN_FROM_NOTHING,
  ALIGN_FROM_DIAGONAL,
  ALIGN_FROM_LEFT,
  ALIGN_FROM_ABOVE,
  ALIGN_FROM = 3,
  ALIGN_LEFT_EXTENDS = 4,
  ALIGN_ABOVE_EXTENDS = 8
};

/**
 * AlignBlock: cells of a rectangle.
 * @steps: [@rect.rows][@rect.columns] of the flags above.
 * @score, @row, @column: the largest H, and the first cell by rows that has it.
 */
typedef struct
{
  AlignRect rect;
  int32_t score;
  gsize row, column;
  uint8_t steps[ALIGN_BLOCK * ALIGN_BLOCK];
} AlignBlock;

/* Computes a block from the edges above it and left of it. */
void align_block_fill (AlignBlock *block, const AlignPair *pair,
                       const AlignRect *rect, const AlignEdge *top,
                       const AlignEdge *left);

#endif
