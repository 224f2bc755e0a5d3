/* SPDX-License-Identifier: MIT */
/* plate.c: see plate.h.
   Thread safety: as plate.h. */
#include "plate.h"

#include <math.h>
#include <string.h>

HeatPlate *
heat_plate_new (gsize rows, gsize columns, gsize side,
                const double border[HEAT_SIDES])
{
  HeatPlate *p = g_new0 (HeatPlate, 1);
  *p = (HeatPlate){ .rows = rows, .columns = columns, .side = side };
  p->n_down = (rows + side - 1) / side;
  p->n_across = (columns + side - 1) / side;
  gsize rim = HEAT_SIDES * side;
  p->cells = g_try_new (double, rows *columns);
  p->border = g_new (double, HEAT_SIDES *rim);
  p->rims = g_try_new (double, 2 * p->n_down * p->n_across * rim);
  if (!p->cells || !p->rims)
    {
      heat_plate_free (p);
      return NULL;
    }
  for (gsize i = 0; i < HEAT_SIDES * rim; i++)
    p->border[i] = border[i / rim];
  heat_plate_reset (p);
  return p;
}

void
heat_plate_free (HeatPlate *p)
{
  g_free (p->cells);
  g_free (p->border);
  g_free (p->rims);
  g_free (p);
}

void
heat_plate_reset (HeatPlate *p)
{
  gsize rims = 2 * p->n_down * p->n_across * HEAT_SIDES * p->side;
  memset (p->cells, 0, p->rows * p->columns * sizeof *p->cells);
  memset (p->rims, 0, rims * sizeof *p->rims);
}

gboolean
heat_neighbour (const HeatPlate *p, gsize *down, gsize *across, int side)
{
  /* From 0 to the largest number: no block has it. */
  *down += side == HEAT_SOUTH ? 1 : side == HEAT_NORTH ? (gsize)-1 : 0;
  *across += side == HEAT_EAST ? 1 : side == HEAT_WEST ? (gsize)-1 : 0;
  return *down < p->n_down && *across < p->n_across;
}

HeatBlock
heat_block (const HeatPlate *p, gsize step, gsize down, gsize across)
{
  HeatBlock b = { .rows = MIN (p->side, p->rows - down * p->side),
                  .columns = MIN (p->side, p->columns - across * p->side),
                  .pitch = p->columns };
  b.cells = p->cells + down * p->side * p->columns + across * p->side;
  for (gsize s = 0; s < HEAT_SIDES; s++)
    {
      gsize d = down, a = across;
      const double *rim = heat_neighbour (p, &d, &a, (int)s)
                              ? heat_rim (p, step % 2, d, a)
                              : p->border + s * HEAT_SIDES * p->side;
      b.around[s] = rim + (s ^ 1) * p->side;
      b.rim[s] = heat_rim (p, (step + 1) % 2, down, across) + s * p->side;
    }
  return b;
}

double
heat_sweep_all (HeatPlate *p, gsize steps, gsize check)
{
  double largest = 0;
  for (gsize step = 0; step < steps; step++)
    {
      gboolean measured = (step + 1) % check == 0;
      largest = measured ? 0 : largest;
      for (gsize i = 0; i < p->n_down * p->n_across; i++)
        {
          HeatBlock block
              = heat_block (p, step, i / p->n_across, i % p->n_across);
          if (measured)
            largest = fmax (largest, heat_sweep_measured (&block));
          else
            heat_sweep (&block);
        }
    }
  return largest;
}
