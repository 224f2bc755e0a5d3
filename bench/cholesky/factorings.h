/* SPDX-License-Identifier: MIT */
/* factorings.h: ways to factorise one matrix on all cores, over the same
   kernels: those of la/kernels-private.h on OpenBLAS with one thread. Peers
   have square tiles.
   Thread safety: one at a time. */
#ifndef FACTORINGS_H
#define FACTORINGS_H

#include "la/kernels-private.h"

/**
 * Factoring: a lower triangle of double, [@n * @n] by columns.
 * @tile: rows and columns of a tile; those at the edges may be smaller.
 */
typedef struct
{
  double *a;
  gsize n, tile;
} Factoring;

/* @begin, @end: around each run, not measured; may be NULL. */
typedef struct
{
  const char *name;
  void (*begin) (void);
  void (*end) (void);
  void (*run) (const Factoring *f);
} FactoringPeer;

#ifdef BENCH_OPENMP
extern const FactoringPeer factoring_openmp;
#endif
#ifdef BENCH_STARPU
extern const FactoringPeer factoring_starpu;
#endif

static inline gsize
factoring_tiles (const Factoring *f)
{
  return (f->n + f->tile - 1) / f->tile;
}

/* Rows of a tile in row @i of tiles. */
static inline gsize
factoring_rows (const Factoring *f, gsize i)
{
  return MIN (f->tile, f->n - i * f->tile);
}

static inline double *
factoring_at (const Factoring *f, gsize i, gsize j)
{
  return f->a + i * f->tile + j * f->tile * f->n;
}

static inline LaMatrix
factoring_matrix (const Factoring *f)
{
  return (LaMatrix){ HASS_LA_DOUBLE, FALSE, f->n };
}

/* The tasks, by the tiles that they are on. */
static inline void
factoring_potrf (const Factoring *f, gsize k)
{
  LaMatrix m = factoring_matrix (f);
  la_potrf (&m, factoring_rows (f, k), factoring_at (f, k, k));
}

static inline void
factoring_trsm (const Factoring *f, gsize i, gsize k)
{
  LaMatrix m = factoring_matrix (f);
  la_trsm (&m, factoring_rows (f, i), f->tile, factoring_at (f, k, k),
           factoring_at (f, i, k));
}

static inline void
factoring_syrk (const Factoring *f, gsize j, gsize k)
{
  LaMatrix m = factoring_matrix (f);
  la_syrk (&m, factoring_rows (f, j), f->tile, factoring_at (f, j, k),
           factoring_at (f, j, j));
}

static inline void
factoring_gemm (const Factoring *f, gsize i, gsize j, gsize k)
{
  LaMatrix m = factoring_matrix (f);
  LaSize size = { factoring_rows (f, i), factoring_rows (f, j), f->tile };
  la_gemm (&m, &size, factoring_at (f, i, k), factoring_at (f, j, k),
           factoring_at (f, i, j));
}

/* Of tasks: panels from the left, and in each what the next panel waits for. */
static inline int
factoring_priority (const Factoring *f, gsize j, gsize k)
{
  return (int)(3 * (factoring_tiles (f) - k) - (j > k + 1 ? 1 : 0));
}

#endif
