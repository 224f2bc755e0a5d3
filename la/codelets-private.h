/* SPDX-License-Identifier: MIT */
/* codelets-private.h: the four operations of a factorisation as codelets, for
   cores and GPUs.
   Thread safety: see each field. */
#ifndef HASS_LA_CODELETS_PRIVATE_H
#define HASS_LA_CODELETS_PRIVATE_H

#include "kernels-private.h"

#include <hass/codelet.h>
#include <stdatomic.h>

typedef enum
{
  LA_POTRF,
  LA_TRSM,
  LA_SYRK,
  LA_GEMM,
  LA_N_KINDS
} LaKind;

/**
 * LaFactoring: the user data of all tasks of a factorisation.
 * @m: the matrix in host memory.
 * @tile_cols: columns of all panels but the last one.
 * @minor: as hass_la_potrf() returns it; by the potrf that fails, on a core.
 * @blas_threads: with which OpenBLAS computed last, if more than one.
 */
typedef struct
{
  LaMatrix m;
  gsize tile_cols;
  gsize minor;
  _Atomic int blas_threads;
} LaFactoring;

/**
 * LaOperation: what a task computes, as the functions of kernels-private.h have
 * it; the arguments of the task.
 * @size: of LA_POTRF and LA_SYRK without @rows, of LA_POTRF and LA_TRSM without
 *   @k.
 * @panel: of LA_POTRF.
 * @a_row, @b_row: rows of the views before the one where a and b begin.
 *
 * The views are those of a, b and c; c is the last one. If a and b are of one
 * tile, it is the first of two. LA_POTRF has the view of the tile alone. Where
 * a leading minor is not positive, a core fails; a GPU makes its last diagonal
 * number NaN, and NaN spreads to all tiles that follow.
 */
typedef struct
{
  LaKind kind;
  LaSize size;
  gsize panel;
  gsize a_row, b_row;
} LaOperation;

/* Fills in @codelets [LA_N_KINDS]. */
void la_codelets (HassCodelet *codelets, LaFactoring *f);

/* Sets @error and the minor if the diagonal of a factor [@n * @n] has NaN. */
gboolean la_is_positive (LaFactoring *f, gsize n, gpointer a, GError **error);

#endif
