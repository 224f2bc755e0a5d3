/* SPDX-License-Identifier: MIT */
/* kernels.h: strips of a tile of the table of scores, by vectors of numbers of
   16 bits, or of 8 bits where scores are small.

   DESIGN. A strip has ALIGN_ROWS rows for each lane of a vector: lane k has
   the rows from k * ALIGN_ROWS on. At step t, lane k computes column t - k of
   its rows from top to bottom. What lane k needs from above, lane k - 1 has
   computed at the step before, so all dependences are within the lane but for
   one shift by a lane for ALIGN_ROWS cells. The scores of the rows to the left
   stay in registers. (Wozniak, "Using video-oriented instructions to speed up
   sequence comparison", 1997, has one row a lane; on GPUs several are usual.)

   With gaps that cost @open for the first residue and @extend for each further
   one (Gotoh 1982), a cell is

     H = max (0, H of the diagonal + score, E, F)
     E to the right = max (E - extend, H - open)
     F below        = max (F - extend, H - open)

   where E and F are those that the cells to the left and above have passed
   on. Scores are stored with an offset, so that 0 or a bound that no score is
   below is @floor; what would be below is raised to it.

   Thread safety: pure functions. */
#ifndef ALIGN_KERNELS_H
#define ALIGN_KERNELS_H

#include <stdint.h>

/* Rows of a lane, and the most lanes of all kernels. */
#define ALIGN_ROWS 8
#define ALIGN_MAX_LANES 32
/* Codes are stored times this; see @profile. */
#define ALIGN_CODE_STEP ALIGN_ROWS

/**
 * AlignStrips: rows and columns that a kernel computes.
 * @rows: rounded up to whole strips by the kernel, which may read @a, and read
 *   and write @h_column and @e_column, so far. If it is no multiple of a strip,
 *   @h_row and @f_row are undefined afterwards.
 * @a: [@rows] codes of the rows, times ALIGN_CODE_STEP.
 * @profile: scores of the rows, by groups of ALIGN_ROWS:
 *   [group][ALIGN_PROFILE_CODES][ALIGN_ROWS]; NULL: @match or @mismatch.
 * @b: codes of the columns, times ALIGN_CODE_STEP, in reverse: b[-c] belongs to
 *   column c. ALIGN_MAX_LANES values on both sides may be read.
 * @h_row, @f_row: [@columns] H of the row above the first one, and F that this
 *   row passes on; afterwards those of the last row.
 * @h_column, @e_column: [@rows] H of the column left of the first one, and E
 *   that it passes on; afterwards those of the last column.
 * @corner: H left of @h_row[0] and above @h_column[0].
 */
typedef struct
{
  int rows, columns;
  const int16_t *a, *profile, *b;
  int16_t match, mismatch, open, extend;
  int16_t *h_row, *f_row, *h_column, *e_column;
  int16_t corner;
} AlignStrips;

#define ALIGN_PROFILE_CODES 32

/**
 * AlignByteStrips: likewise with numbers of 8 bits. Codes are not multiplied.
 */
typedef struct
{
  int rows, columns;
  const int8_t *a, *profile, *b;
  int16_t match, mismatch, open, extend;
  int8_t *h_row, *f_row, *h_column, *e_column;
  int8_t corner;
} AlignByteStrips;

/* Kernels of 8 bits for an instruction set; @floor is INT8_MIN.
 * @rows: of a strip.
 * @strips: returns the largest H of all cells; where that is INT8_MAX, an H may
 *   be larger, and not all cells may have been computed. */
typedef struct
{
  int rows;
  int8_t (*strips) (const AlignByteStrips *s);
} AlignByteKernels;

/* Kernels for an instruction set.
 * @rows: of a strip.
 * @floor: see above.
 * @strips: returns the largest H of all cells.
 * @bytes: (nullable): faster ones where scores are small. */
typedef struct
{
  const char *name;
  int rows;
  int16_t floor;
  int16_t (*strips) (const AlignStrips *s);
  const AlignByteKernels *bytes;
} AlignKernels;

/* Returns: the @i-th kernels that this machine has, fastest first; NULL past
   the last. */
const AlignKernels *align_kernels (unsigned i);

extern const AlignKernels align_avx512, align_avx2, align_portable;
extern const AlignByteKernels align_avx2_bytes;

#endif
