/* SPDX-License-Identifier: MIT */
/* plain.c: the iteration without blocks, from one table to another.
   Thread safety: as plate.h. */
#include <string.h>

#include "plate.h"

double *
heat_plain (const HeatPlate *p, gsize steps)
{
  gsize pitch = p->columns + 2, n = (p->rows + 2) * pitch;
  double *from = g_try_new0 (double, n), *to = g_try_new0 (double, n);
  for (gsize i = 0; from && to && i < n; i++)
    {
      gsize row = i / pitch, column = i % pitch;
      int side = row == 0              ? HEAT_NORTH
                 : row == p->rows + 1  ? HEAT_SOUTH
                 : column == 0         ? HEAT_WEST
                 : column > p->columns ? HEAT_EAST
                                       : HEAT_SIDES;
      if (side != HEAT_SIDES)
        from[i] = to[i] = p->border[(gsize)side * HEAT_SIDES * p->side];
    }
  for (gsize step = 0; from && to && step < steps; step++)
    {
      for (gsize row = 1; row <= p->rows; row++)
        for (gsize i = row * pitch + 1; i <= row * pitch + p->columns; i++)
          to[i] = 0.25
                  * ((from[i - pitch] + from[i + pitch])
                     + (from[i - 1] + from[i + 1]));
      double *other = from;
      from = to;
      to = other;
    }
  for (gsize row = 0; from && to && row < p->rows; row++)
    memmove (from + row * p->columns, from + (row + 1) * pitch + 1,
             p->columns * sizeof *from);
  if (!to)
    g_clear_pointer (&from, g_free);
  g_free (to);
  return from;
}
