/* SPDX-License-Identifier: MIT */
/* fill.c: fills matrices with random numbers. A number depends on the seed
   and its place in the matrix alone, so any core may write it.
   Thread safety: any thread. */
#include "matrix.h"

#include <hass/data_farm.h>

/* SplitMix64 (Steele, Lea and Flood 2014), whose steps are independent. */
guint64
matrix_random (guint64 seed, guint64 place)
{
  guint64 x = seed + (place + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

typedef struct
{
  MatrixType type;
  guint64 seed;
} Filling;

static gboolean
fill (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  const Filling *f = data;
  (void)worker, (void)error;
  for (gsize i = 0; i < block->count; i++)
    {
      guint64 x = matrix_random (f->seed, block->first + i);
      if (f->type == MATRIX_FLOAT)
        ((float *)block->output)[i] = (float)(x >> 40) * 0x1p-23f - 1;
      else
        ((double *)block->output)[i] = (double)(x >> 11) * 0x1p-52 - 1;
    }
  return TRUE;
}

/* Fills the @n numbers of one of the problem's matrices. */
static gboolean
fill_one (const MatrixProblem *p, gpointer numbers, gsize n, guint64 seed,
          guint n_cores, GError **error)
{
  Filling f = { p->type, seed };
  HassLoad load = { .output = numbers,
                    .output_bytes = n * matrix_number_bytes (p),
                    .size = n };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "matrix_fill";
  farm.user_data = &f;
  farm.loads = &load;
  farm.n_loads = 1;
  farm.cpu_worker = fill;
  farm.run.n_cores = n_cores;
  return hass_data_farm_partition (&farm, NULL, error);
}

gboolean
matrix_fill (const MatrixProblem *p, guint64 seed, guint n_cores,
             GError **error)
{
  return fill_one (p, p->a, p->m * p->k, matrix_random (seed, 0), n_cores,
                   error)
         && fill_one (p, p->b, p->k * p->n, matrix_random (seed, 1), n_cores,
                      error);
}
