/* SPDX-License-Identifier: MIT */
/* hass/la.h: linear algebra of dense matrices by tiles, on all cores and GPUs:
   the library hass-la, which stands on hass, OpenBLAS and, where it was built
   with them, cuBLAS and cuSOLVER.

   Matrices are stored by columns as in LAPACK. One that is stored by rows is
   the same matrix with its triangles exchanged.

   Thread safety: any thread may factorise, several matrices at once too. While
   one is factorised OpenBLAS is set to one thread for the whole process. */
#ifndef HASS_LA_H
#define HASS_LA_H

#include <hass/callbacks.h>
#include <hass/report.h>
#include <string.h>

HASS_BEGIN_DECLS

#define HASS_LA_ERROR (hass_la_error_quark ())

/**
 * HassLaError: codes of the domain HASS_LA_ERROR.
 * @HASS_LA_ERROR_NOT_POSITIVE: the matrix is not positive definite.
 */
typedef enum
{
  HASS_LA_ERROR_NOT_POSITIVE
} HassLaError;

GQuark hass_la_error_quark (void);

/* The type of a matrix's numbers. */
typedef enum
{
  HASS_LA_DOUBLE,
  HASS_LA_FLOAT
} HassLaType;

/* The triangle of a symmetric matrix that is read and overwritten, its diagonal
   included. The other one is not accessed. */
typedef enum
{
  HASS_LA_LOWER,
  HASS_LA_UPPER
} HassLaTriangle;

/**
 * HassLaPotrf: a symmetric matrix and how it is factorised. Start from
 * HASS_LA_POTRF_INIT or hass_la_potrf_init(). Nothing that the struct points to
 * is copied or freed.
 * @struct_size: set by the initialiser; the struct may end after @a.
 * @type, @triangle: of the matrix.
 * @n: number of rows and columns; at most 2^31 - 1.
 * @ld: numbers from one column to the next (LAPACK's lda), at least @n and at
 *   most 2^31 - 1; 0: @n.
 * @a: [@ld * @n] numbers; NULL: only if @n is 0.
 * @tile_cols: columns of the tiles; 0: chosen by @n and the devices.
 * @tile_rows: rows of the tiles, rounded up to a multiple of @tile_cols; 0:
 *   chosen.
 * @run: how the dataflow runs. With HASS_ON_ERROR_CONTINUE it stops all the
 *   same, as nothing of the factor is of use after an error.
 */
typedef struct
{
  gsize struct_size;
  HassLaType type;
  HassLaTriangle triangle;
  gsize n, ld;
  gpointer a;
  gsize tile_cols, tile_rows;
  HassRunOptions run;
} HassLaPotrf;

/* Returns: settings with all fields zero but struct_size. */
static inline HassLaPotrf
hass_la_potrf_init (void)
{
  HassLaPotrf potrf;
  memset (&potrf, 0, sizeof potrf);
  potrf.struct_size = sizeof potrf;
  return potrf;
}

#ifdef __cplusplus
#  define HASS_LA_POTRF_INIT hass_la_potrf_init ()
#else
#  define HASS_LA_POTRF_INIT                                                   \
    {                                                                          \
      .struct_size = sizeof (HassLaPotrf)                                      \
    }
#endif

/**
 * hass_la_potrf:
 * @minor: (out) (optional): LAPACK's info: 0; or, if the matrix is not positive
 *   definite, the order of its first leading minor that is not positive.
 * @report: (out) (optional): NULL if a field of @potrf other than run is
 *   invalid; else set, also when the factorisation fails or run is invalid;
 *   free with hass_report_free().
 *
 * Factorises a symmetric positive definite matrix, A = L * L' (its lower
 * triangle is given) or A = U' * U (its upper one), in place: dpotrf() and
 * spotrf() of LAPACK, on all cores and GPUs. Blocks until all has ended;
 * not from a callback. On cores the factor depends on the matrix, the size of
 * the tiles and OpenBLAS's kernels alone; with GPUs also on which device
 * computed which tile. Memory of hass_memory_alloc() makes copies to GPUs
 * fast.
 *
 * Returns: TRUE; or FALSE, with the triangle's contents undefined:
 * HASS_LA_ERROR_NOT_POSITIVE, also if a NaN was met, as in LAPACK;
 * HASS_ERROR_INVALID before anything was written; or an error of
 * hass_dataflow(), such as HASS_ERROR_CANCELLED.
 */
gboolean hass_la_potrf (const HassLaPotrf *potrf, gsize *minor,
                        HassReport **report, GError **error);

/**
 * hass_la_potrf_tiles:
 * @tile_rows, @tile_cols: (out) (optional): the size of the tiles that
 *   hass_la_potrf() would use; those at the edges may be smaller.
 *
 * Returns: TRUE; FALSE with HASS_ERROR_INVALID.
 */
gboolean hass_la_potrf_tiles (const HassLaPotrf *potrf, gsize *tile_rows,
                              gsize *tile_cols, GError **error);

HASS_END_DECLS

#endif
