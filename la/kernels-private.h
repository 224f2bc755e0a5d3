/* SPDX-License-Identifier: MIT */
/* kernels-private.h: the four operations on tiles that a Cholesky
   factorisation consists of, over BLAS on one thread.

   The names are those of BLAS and LAPACK. A is factorised as L * L'. If its
   upper triangle is given, A = U' * U, and U in columns is L in rows: all
   operations are those on L, and only the strides of rows and columns differ.
   Thread safety: any thread, on tiles that no other thread writes. */
#ifndef HASS_LA_KERNELS_PRIVATE_H
#define HASS_LA_KERNELS_PRIVATE_H

#include "la.h"

/**
 * LaMatrix: the triangle of a matrix in memory, seen as L.
 * @type: of its numbers.
 * @upper: L is stored by rows.
 * @ld: numbers from one column of memory to the next.
 */
typedef struct
{
  HassLaType type;
  gboolean upper;
  gsize ld;
} LaMatrix;

/* Of a product. */
typedef struct
{
  gsize rows, cols, k;
} LaSize;

static inline gsize
la_number_bytes (HassLaType type)
{
  return type == HASS_LA_FLOAT ? sizeof (float) : sizeof (double);
}

/* Returns: where row @i, column @j lies, relative to @tile. */
static inline gpointer
la_at (const LaMatrix *m, gpointer tile, gsize i, gsize j)
{
  gsize place = m->upper ? i * m->ld + j : i + j * m->ld;
  return (guint8 *)tile + place * la_number_bytes (m->type);
}

/* Returns: number @i of the diagonal of @a. */
double la_diagonal (const LaMatrix *m, gpointer a, gsize i);
/* @a [n * n] = its factor. Returns: 0, or the order of the first leading minor
   that is not positive, which may be NaN. */
gsize la_potrf (const LaMatrix *m, gsize n, gpointer a);
/* @b [rows * n] = b * inverse (l'), where @l [n * n] is a factor. */
void la_trsm (const LaMatrix *m, gsize rows, gsize n, gpointer l, gpointer b);
/* @c [n * n] = c - a * a', in L's triangle, where @a is [n * k]. */
void la_syrk (const LaMatrix *m, gsize n, gsize k, gpointer a, gpointer c);
/* @c [rows * cols] = c - a * b', where @a is [rows * k] and @b [cols * k]. */
void la_gemm (const LaMatrix *m, const LaSize *size, const gpointer a,
              const gpointer b, gpointer c);

#endif
