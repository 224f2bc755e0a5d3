/* SPDX-License-Identifier: MIT */
/* multiply.c: the farm, and its CPU worker over OpenBLAS.

   DESIGN. Rounds must not overlap: they write to the same C, and a core that
   still computes a tile of one round must not meet a core that computes it in
   the next. The load pool holds one load, so the generator gets room only when
   a round has retired.

   Thread safety: one multiplication at a time; OpenBLAS is set to one thread
   for the whole process, as each core of the farm calls it. */
#include "matrix.h"

#include <cblas.h>
#include <string.h>

#include <hass/data_farm.h>

/* Numbers of C for each thread of a filled GPU: measured on an H200, 270336
   threads wide, eight tiles of 65536 numbers reach 90 % of the rate of many. A
   larger value makes bundles larger than needed. */
#define NUMBERS_PER_THREAD 2

/* What the farm's callbacks get; the workers see the problem. */
typedef struct
{
  MatrixProblem problem;
  MatrixRun *run;
  guint n_done;
  gint64 begin_us;
} Multiplication;

void
matrix_compute_tile (const MatrixProblem *p, const MatrixTile *t, gpointer c,
                     gsize c_stride)
{
  blasint rows = (blasint)t->rows, cols = (blasint)t->cols;
  blasint k = (blasint)p->k, n = (blasint)p->n, stride = (blasint)c_stride;
  if (p->type == MATRIX_FLOAT)
    cblas_sgemm (CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, k, 1,
                 (const float *)p->a + t->row * p->k, k,
                 (const float *)p->b + t->col, n, 0, c, stride);
  else
    cblas_dgemm (CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, k, 1,
                 (const double *)p->a + t->row * p->k, k,
                 (const double *)p->b + t->col, n, 0, c, stride);
}

const char *
matrix_better_kernels (void)
{
#ifdef __x86_64__
  if (strcmp (openblas_get_corename (), "Prescott") != 0)
    return NULL;
  __builtin_cpu_init ();
  if (__builtin_cpu_supports ("avx512dq"))
    return "SkylakeX";
  if (__builtin_cpu_supports ("avx2"))
    return "Haswell";
#endif
  return NULL;
}

static gboolean
cpu_worker (const HassBlock *block, HassWorker *worker, gpointer data,
            GError **error)
{
  const MatrixProblem *p = data;
  MatrixTile t = matrix_tile (p, block->first);
  (void)worker, (void)error;
  matrix_compute_tile (p, &t, block->output, p->n);
  return TRUE;
}

static void
begin_round (Multiplication *u)
{
  const MatrixProblem *p = &u->problem;
  if (u->run->forget)
    memset (p->c, 0xff, p->m * p->n * matrix_number_bytes (p));
  u->begin_us = g_get_monotonic_time ();
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  Multiplication *u = data;
  HassLoad load = { .size = matrix_n_tiles (&u->problem) };
  (void)error;
  for (guint i = 0; i < u->run->rounds; i++)
    if (!hass_emitter_emit (emitter, &load))
      return FALSE;
  return TRUE;
}

/* A round has retired, and the next one has not begun. */
static void
release (const HassLoad *load, gboolean committed, gpointer data)
{
  Multiplication *u = data;
  (void)load;
  if (!committed)
    return;
  u->run->seconds[u->n_done++] = (g_get_monotonic_time () - u->begin_us) / 1e6;
  if (u->n_done < u->run->rounds)
    begin_round (u);
}

gboolean
matrix_multiply (const MatrixProblem *p, MatrixRun *run, HassReport **report,
                 GError **error)
{
  gsize bytes = matrix_number_bytes (p);
  Multiplication u = { *p, run, 0, 0 };
  HassConstant constants[]
      = { { p->a, p->m * p->k * bytes }, { p->b, p->k * p->n * bytes } };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = p->type == MATRIX_FLOAT ? "matrix_float" : "matrix_double";
  farm.user_data = &u;
  farm.generate = generate;
  farm.partition = matrix_partition;
  farm.block_elements = 1;
  farm.element_threads
      = MAX (p->tile_rows * p->tile_cols / NUMBERS_PER_THREAD, 1);
  farm.join_tiles = TRUE;
  farm.gpu_multiple = matrix_tiles_across (p);
  farm.cpu_worker = run->cpu ? cpu_worker : NULL;
  farm.gpu_worker = run->gpu_worker;
  farm.release = release;
  farm.pool_loads = 1;
  farm.constants = constants;
  farm.n_constants = G_N_ELEMENTS (constants);
  farm.run = run->options;
  openblas_set_num_threads (1);
  begin_round (&u);
  return hass_data_farm_partition (&farm, report, error);
}
