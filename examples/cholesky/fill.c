/* SPDX-License-Identifier: MIT */
/* fill.c: memory of matrices, and random ones. A number depends on the seed and
   its place alone, so any core may write it.
   Thread safety: see cholesky.h. */
#include "cholesky.h"

#include <string.h>
#include <unistd.h>

#include <hass/data_farm.h>
#include <hass/memory.h>

/* Columns of a block: one of float fills a cache line of each row. */
#define BLOCK 16

/* SplitMix64 (Steele, Lea and Flood 2014), whose steps are independent. */
guint64
cholesky_random (guint64 seed, guint64 place)
{
  guint64 x = seed + (place + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* Where the kernel overcommits memory it would end the program later. */
static gboolean
fits (double bytes, GError **error)
{
  double there = (double)sysconf (_SC_PHYS_PAGES) * sysconf (_SC_PAGESIZE);
  if (bytes <= there)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
               "the matrix needs %.1f GiB, the machine has %.1f GiB",
               bytes / (1 << 30), there / (1 << 30));
  return FALSE;
}

gboolean
cholesky_allocate (CholeskyProblem *p, GError **error)
{
  gsize bytes = cholesky_number_bytes (p), n = MAX (p->n, 1);
  return fits ((double)n * n * bytes, error)
         && (p->a = hass_memory_alloc (n * n * bytes, error))
         && (p->diagonal = hass_memory_alloc (n * bytes, error));
}

void
cholesky_clear (CholeskyProblem *p)
{
  hass_memory_free (p->a);
  hass_memory_free (p->diagonal);
}

/* -- Columns in parallel ------------------------------------------------ */

typedef struct
{
  const CholeskyProblem *p;
  guint64 seed;
} Columns;

/* Calls the worker for blocks of columns. */
static gboolean
for_columns (Columns *c, HassCpuWorkerFunc worker, guint n_cores,
             GError **error)
{
  HassLoad load = { .size = c->p->n };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "cholesky_columns";
  farm.user_data = c;
  farm.loads = &load;
  farm.n_loads = c->p->n > 0;
  farm.block_elements = BLOCK;
  farm.cpu_worker = worker;
  farm.run.n_cores = n_cores;
  farm.run.n_gpus = -1;
  return hass_data_farm_partition (&farm, NULL, error);
}

static gboolean
fill (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  const Columns *c = data;
  gsize n = c->p->n;
  (void)worker, (void)error;
  for (gsize col = block->first; col < block->first + block->count; col++)
    for (gsize row = 0; row < n; row++)
      {
        gsize place = MAX (row, col) * n + MIN (row, col);
        double x = (double)(cholesky_random (c->seed, place) >> 40) * 0x1p-23;
        cholesky_set (c->p, row, col, row == col ? n : x - 1);
      }
  return TRUE;
}

gboolean
cholesky_fill (const CholeskyProblem *p, guint64 seed, guint n_cores,
               GError **error)
{
  Columns c = { p, seed };
  return for_columns (&c, fill, n_cores, error);
}

void
cholesky_keep_diagonal (CholeskyProblem *p)
{
  for (gsize i = 0; i < p->n; i++)
    if (p->type == HASS_LA_FLOAT)
      ((float *)p->diagonal)[i] = (float)cholesky_get (p, i, i);
    else
      ((double *)p->diagonal)[i] = cholesky_get (p, i, i);
}

/* Columns of the triangle from rows of the other one; a strip of rows at a
   time, whose cache lines are all used. */
static gboolean
restore (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  const CholeskyProblem *p = ((const Columns *)data)->p;
  gsize end = block->first + block->count;
  gboolean lower = p->triangle == HASS_LA_LOWER;
  (void)worker, (void)error;
  for (gsize from = lower ? block->first : 0, to; from < (lower ? p->n : end);
       from = to)
    {
      to = MIN (from + BLOCK, p->n);
      for (gsize col = block->first; col < end; col++)
        for (gsize row = from; row < to; row++)
          if (row != col && (row > col) == lower)
            cholesky_set (p, row, col, cholesky_get (p, col, row));
    }
  for (gsize i = block->first; i < end; i++)
    cholesky_set (p, i, i,
                  p->type == HASS_LA_FLOAT ? ((float *)p->diagonal)[i]
                                           : ((double *)p->diagonal)[i]);
  return TRUE;
}

gboolean
cholesky_restore (const CholeskyProblem *p, guint n_cores, GError **error)
{
  Columns c = { p, 0 };
  return for_columns (&c, restore, n_cores, error);
}
