/* SPDX-License-Identifier: MIT */
/* sweep.c: a step of a block, in place.
   Thread safety: as plate.h. */
#include <math.h>
#include <string.h>

#include "plate.h"

/* Replaces a row. @above: the row above before the step. @before: [@n + 2] the
   row before the step, with the cells beyond both ends. */
static inline void
sweep_row (double *row, const double *above, const double *before,
           const double *below, gsize n)
{
  for (gsize i = 0; i < n; i++)
    row[i] = 0.25 * ((above[i] + below[i]) + (before[i] + before[i + 2]));
}

/* Largest values that are kept side by side, so that vector code keeps them. */
#define LANES 8

static inline double
larger (double a, double b)
{
  return a > b ? a : b;
}

static void
keep_changes (double largest[LANES], const double *row, const double *before,
              gsize n)
{
  gsize i = 0;
  for (; i + LANES <= n; i += LANES)
    for (gsize k = 0; k < LANES; k++)
      largest[k] = larger (fabs (row[i + k] - before[i + k + 1]), largest[k]);
  for (; i < n; i++)
    largest[0] = larger (fabs (row[i] - before[i + 1]), largest[0]);
}

/* The rows before the step are kept in two buffers by turns. */
static inline __attribute__ ((always_inline)) double
sweep (const HeatBlock *b, const gboolean measured)
{
  double buffers[2][HEAT_MAX_SIDE + 2], largest[LANES] = { 0 };
  const double *above = b->around[HEAT_NORTH];
  const gsize n = b->columns;
  for (gsize i = 0; i < b->rows; i++)
    {
      double *row = b->cells + i * b->pitch, *before = buffers[i % 2];
      const double *below
          = i + 1 < b->rows ? row + b->pitch : b->around[HEAT_SOUTH];
      before[0] = b->around[HEAT_WEST][i];
      memcpy (before + 1, row, n * sizeof *row);
      before[n + 1] = b->around[HEAT_EAST][i];
      sweep_row (row, above, before, below, n);
      if (measured)
        keep_changes (largest, row, before, n);
      b->rim[HEAT_WEST][i] = row[0];
      b->rim[HEAT_EAST][i] = row[n - 1];
      above = before + 1;
    }
  memcpy (b->rim[HEAT_NORTH], b->cells, n * sizeof *b->cells);
  memcpy (b->rim[HEAT_SOUTH], b->cells + (b->rows - 1) * b->pitch,
          n * sizeof *b->cells);
  for (gsize k = 1; k < LANES; k++)
    largest[0] = larger (largest[k], largest[0]);
  return largest[0];
}

void
heat_sweep (const HeatBlock *block)
{
  sweep (block, FALSE);
}

double
heat_sweep_measured (const HeatBlock *block)
{
  return sweep (block, TRUE);
}
