/* SPDX-License-Identifier: MIT */
/* plate.h: a plate of cells whose border has fixed temperatures, and the steps
   of Jacobi's iteration on blocks of it.

   DESIGN. A step replaces each cell by the mean of its four neighbours. A block
   is computed in place from its cells and the four rows and columns of cells
   around it, which its neighbours have copied to their rims. A rim has two
   versions, of even and of odd steps, so that a block may be a step ahead of
   its neighbours.

   Thread safety: functions may run concurrently on different blocks; a block
   of step s must follow the block and its neighbours of step s - 1. */
#ifndef HEAT_PLATE_H
#define HEAT_PLATE_H

#include <glib.h>

/* Most rows and columns of a block. */
#define HEAT_MAX_SIDE 1024

/* The sides of a plate and of a block. The opposite of side s is s ^ 1. */
enum
{
  HEAT_NORTH,
  HEAT_SOUTH,
  HEAT_WEST,
  HEAT_EAST,
  HEAT_SIDES
};

/**
 * HeatPlate: cells in blocks.
 * @cells: [@rows][@columns] temperatures.
 * @side: rows and columns of a block; the last ones may be smaller.
 * @n_down, @n_across: number of blocks.
 * @border: [HEAT_SIDES] rims of blocks that would lie beyond a side.
 * @rims: [2][@n_down][@n_across] of the blocks.
 *
 * A rim is [HEAT_SIDES][@side]: the outermost cells of a block.
 */
typedef struct
{
  gsize rows, columns, side, n_down, n_across;
  double *cells, *border, *rims;
} HeatPlate;

/* Makes a plate of 0 degrees; NULL: no memory. Free with heat_plate_free(). */
HeatPlate *heat_plate_new (gsize rows, gsize columns, gsize side,
                           const double border[HEAT_SIDES]);
void heat_plate_free (HeatPlate *plate);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HeatPlate, heat_plate_free)

/* Sets all cells to 0 degrees. */
void heat_plate_reset (HeatPlate *plate);

/* The rim of a block, of the steps with @parity. */
static inline double *
heat_rim (const HeatPlate *p, gsize parity, gsize down, gsize across)
{
  gsize block = (parity * p->n_down + down) * p->n_across + across;
  return p->rims + block * HEAT_SIDES * p->side;
}

/* Finds the block beyond @side. Returns: FALSE if the border is there. */
gboolean heat_neighbour (const HeatPlate *plate, gsize *down, gsize *across,
                         int side);

/**
 * HeatBlock: what one step of a block reads and writes.
 * @cells: [@rows] rows of @columns cells, @pitch cells apart.
 * @around: cells beyond each side. @rim: gets copies of the outermost cells.
 */
typedef struct
{
  double *cells;
  gsize rows, columns, pitch;
  const double *around[HEAT_SIDES];
  double *rim[HEAT_SIDES];
} HeatBlock;

/* Computes a step of a block. */
void heat_sweep (const HeatBlock *block);

/* Likewise. Returns: the largest change of a cell. */
double heat_sweep_measured (const HeatBlock *block);

/* Block (@down, @across) at step @step. */
HeatBlock heat_block (const HeatPlate *plate, gsize step, gsize down,
                      gsize across);

/* Computes @steps steps of a plate that has been reset, an even number, block
   by block on the calling thread; measures the last one of each @check.
   Returns: the largest change of a cell in the last step. */
double heat_sweep_all (HeatPlate *plate, gsize steps, gsize check);

/* Computes @steps steps of a plate that has been reset, without blocks: a plain
   loop to compare with. Returns: cells, to be freed; NULL: no memory. */
double *heat_plain (const HeatPlate *plate, gsize steps);

#endif
