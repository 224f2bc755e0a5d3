/* SPDX-License-Identifier: MIT */
/* matrix_multiply.c: matrix_multiply of doubles, several rounds in a farm.

   A full check takes far longer than a run. So one number of each tile is
   overwritten before a run and checked after it; the full check is made once,
   at the end.

   Thread safety: one thread. */
#include "apps.h"

#include <math.h>

#include "examples/matrix_multiply/matrix.h"

#define N 8192
#define SMALL_N 512
#define SMALL_TILE 64
#define ROUNDS 3
#define SEED 1
/* Sums of N products of up to 1 in either order. */
#define TOLERANCE 1e-10

/* Only linked where there is cuBLAS. */
gboolean matrix_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                            gpointer problem, GError **error)
    __attribute__ ((weak));

typedef struct
{
  MatrixProblem problem;
  gsize n_tiles;
  gsize *places; /* [n_tiles] in C */
  double *right; /* [n_tiles] */
} Task;

static void
release (gpointer self)
{
  Task *t = self;
  hass_memory_free (t->problem.a);
  hass_memory_free (t->problem.b);
  hass_memory_free (t->problem.c);
  g_free (t->places);
  g_free (t->right);
  g_free (t);
}

static double
product (const MatrixProblem *p, gsize row, gsize col)
{
  const double *a = p->a, *b = p->b;
  double sum = 0;
  for (gsize l = 0; l < p->k; l++)
    sum += a[row * p->k + l] * b[l * p->n + col];
  return sum;
}

static void
choose_places (Task *t)
{
  const MatrixProblem *p = &t->problem;
  t->places = g_new (gsize, t->n_tiles);
  t->right = g_new (double, t->n_tiles);
  for (gsize i = 0; i < t->n_tiles; i++)
    {
      MatrixTile tile = matrix_tile (p, i);
      guint64 r = matrix_random (SEED + 1, i);
      gsize row = tile.row + (r & 0xffffffff) % tile.rows;
      gsize col = tile.col + (r >> 32) % tile.cols;
      t->places[i] = row * p->n + col;
      t->right[i] = product (p, row, col);
    }
}

static gpointer
prepare (const AppsMachine *machine, const AppsSize *size, GError **error)
{
  Task *t = g_new0 (Task, 1);
  MatrixProblem *p = &t->problem;
  p->type = MATRIX_DOUBLE;
  p->m = p->k = p->n = size->small ? SMALL_N : N;
  matrix_choose_tiles (p);
  if (size->small) /* else there are too few tiles to divide */
    p->tile_rows = p->tile_cols = SMALL_TILE;
  gsize bytes = p->m * p->n * matrix_number_bytes (p);
  t->n_tiles = matrix_n_tiles (p);
  if (!(p->a = hass_memory_alloc (bytes, error))
      || !(p->b = hass_memory_alloc (bytes, error))
      || !(p->c = hass_memory_alloc (bytes, error))
      || (!machine->platform && !matrix_fill (p, SEED, 0, error)))
    {
      release (t);
      return NULL;
    }
  if (!machine->platform)
    choose_places (t);
  return t;
}

static gboolean
run (gpointer self, const AppsMachine *machine, const char *strategy,
     HassReport **report, GError **error)
{
  Task *t = self;
  double seconds[ROUNDS];
  MatrixRun how
      = { .rounds = ROUNDS,
          .cpu = TRUE,
          .gpu_worker = machine->n_gpus > 0 ? matrix_gpu_worker : NULL,
          .options = { .strategy = strategy,
                       .platform = machine->platform,
                       .dry = machine->platform != NULL },
          .seconds = seconds };
  for (gsize i = 0; i < t->n_tiles && t->places; i++)
    ((double *)t->problem.c)[t->places[i]] = NAN;
  return matrix_multiply (&t->problem, &how, report, error);
}

static gboolean
check (gpointer self, GError **error)
{
  const Task *t = self;
  for (gsize i = 0; i < t->n_tiles; i++)
    {
      double c = ((const double *)t->problem.c)[t->places[i]];
      if (!(fabs (c - t->right[i]) <= TOLERANCE))
        return apps_wrong (error, "tile %zu has %.17g where %.17g is right", i,
                           c, t->right[i]);
    }
  return TRUE;
}

static gboolean
finish (gpointer self, GError **error)
{
  const Task *t = self;
  MatrixCheck c = matrix_check (&t->problem, SEED, 0);
  return c.right
         || apps_wrong (error, "relative norm %.2e of at most %.2e", c.norm,
                        c.norm_limit);
}

static char *
describe (gpointer self)
{
  const Task *t = self;
  const char *better = matrix_better_kernels ();
  return g_strdup_printf ("Matrix multiply: %u rounds of %zu x %zu x %zu "
                          "doubles, in %zu tiles%s%s",
                          ROUNDS, t->problem.m, t->problem.k, t->problem.n,
                          t->n_tiles,
                          better ? "; OpenBLAS does not know the processor, "
                                   "OPENBLAS_CORETYPE should be "
                                 : "",
                          better ? better : "");
}

static gboolean
has_gpu_worker (void)
{
  return matrix_gpu_worker != NULL;
}

const AppsProgram apps_matrix_multiply = { .name = "matrix_multiply",
                                           .farm = "matrix_double",
                                           .prepare = prepare,
                                           .run = run,
                                           .check = check,
                                           .finish = finish,
                                           .describe = describe,
                                           .release = release,
                                           .has_gpu_worker = has_gpu_worker };
