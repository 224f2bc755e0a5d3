/* SPDX-License-Identifier: MIT */
/* tile.h: two sequences made ready for kernels, and tiles of the table of
   their scores.

   DESIGN. A tile gets the edges above and to the left of it and gives those
   below and to the right: scores H and what gaps pass on, see kernels.h. Within
   a tile 16 bits suffice, whatever the scores: neighbours differ by bounded
   amounts. With M the largest H of both edges, @side the larger of rows and
   columns, and @largest the largest score of a pair,

     H <= M + side largest
     H, E, F >= M - side (largest + 2 extend) - 3 open

   as from any cell a gap leads to each cell to the right and below, and a path
   to a cell gains at most @largest a column or row. So a tile has a base, 0 or
   that lower bound, and stores H - base. With base 0 what is raised to 0 is
   what the local alignment raises to 0; otherwise nothing is.

   Where the sequences are not related, scores stay small. So a tile whose edges
   have small ones has base 0 and is computed with 8 bits, where there are such
   kernels, and once more with 16 if a score exceeds them.

   Thread safety: pure functions. */
#ifndef ALIGN_TILE_H
#define ALIGN_TILE_H

#include "kernels/kernels.h"
#include "scheme.h"

/* Most rows and columns of a tile. Beyond it the steps at both ends of a strip,
   ALIGN_MAX_LANES of them, cost less than 2 %. */
#define ALIGN_MAX_SIDE 2048
/* Sides of tiles are multiples of it, and it of strips. */
#define ALIGN_SIDE_STEP 256

/* Largest H on the edges of a tile that is computed with 8 bits: with a larger
   one, 8 bits would often be exceeded in the tile, and the time lost. A guess.
 */
#define ALIGN_MOST_ON_EDGES 192

/**
 * AlignPair: two sequences.
 * @n: lengths; rows of the table belong to the first one.
 * @side: the most rows and columns that a tile may have.
 * @a, @b, @profile: as in #AlignStrips, from the first residues on.
 * @a8, @b8, @profile8: as in #AlignByteStrips; NULL: 8 bits cannot be used.
 * @codes: [@n] of both sequences, one a byte, for GPUs.
 */
typedef struct
{
  const AlignScheme *scheme;
  const AlignKernels *kernels;
  gsize n[2];
  int side;
  int16_t *a, *b, *profile;
  int8_t *a8, *b8, *profile8, *codes[2];
  gpointer memory, memory8;
} AlignPair;

/**
 * AlignEdge: an edge of a tile. Zeros: that of the table.
 * @base: is added to all @cells.
 * @corner: of an edge above, H above the column to the left.
 * @best, @at: of an edge at the side, for the caller's use.
 * @cells: H, and E or F that is passed on.
 */
typedef struct
{
  int32_t base, corner, best, at;
  uint16_t cells[][2];
} AlignEdge;

/* Bytes of an edge of @n cells. */
static inline gsize
align_edge_bytes (int n)
{
  return sizeof (AlignEdge) + (gsize)n * 2 * sizeof (uint16_t);
}

/* Rows [@i, @i + @rows) and columns [@j, @j + @columns) of the table. */
typedef struct
{
  gsize i, j, rows, columns;
} AlignRect;

/* The edges of a tile; those of a pair may be the same memory. */
typedef struct
{
  const AlignEdge *top, *left;
  AlignEdge *bottom, *right;
} AlignEdges;

/**
 * align_pair_init:
 * @kernels: NULL: the fastest.
 *
 * Returns: FALSE with HASS_ERROR_IO if there is an unknown residue, with
 * HASS_ERROR_OVERFLOW if a score can exceed 31 bits, or with
 * HASS_ERROR_NO_MEMORY.
 */
gboolean align_pair_init (AlignPair *pair, const AlignScheme *scheme,
                          const AlignKernels *kernels,
                          const char *const residues[2], const gsize lengths[2],
                          GError **error);
void align_pair_clear (AlignPair *pair);

/* Codes of row @i and of column @j. */
static inline int
align_row_code (const AlignPair *pair, gsize i)
{
  return pair->a[i] / ALIGN_CODE_STEP;
}
static inline int
align_column_code (const AlignPair *pair, gsize j)
{
  return pair->b[-(gssize)j] / ALIGN_CODE_STEP;
}

/* The base of a tile. @largest: H of its edges. @side: the larger of its rows
   and columns. @most: the largest score of a pair. */
#define ALIGN_BASE(largest, side, most, open, extend)                          \
  ((largest) <= ALIGN_MOST_ON_EDGES                                            \
           || (largest)-3 * (open) < (side) * ((most) + 2 * (extend))          \
       ? 0                                                                     \
       : (largest)-3 * (open) - (side) * ((most) + 2 * (extend)))

/**
 * align_tile:
 * @rect: begins at a multiple of ALIGN_ROWS rows; its rows are a multiple of
 *   those of a strip, unless it ends with the table, where @edges->bottom
 *   becomes undefined.
 *
 * Computes a tile. @best and @at of the right edge become those of the left.
 *
 * Returns: the largest H.
 */
int32_t align_tile (const AlignPair *pair, const AlignRect *rect,
                    const AlignEdges *edges);

#endif
