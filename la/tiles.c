/* SPDX-License-Identifier: MIT */
/* tiles.c: the size of tiles, by what their operations cost.
   Thread safety: any thread. */
#include "tiles-private.h"

/* What an operation costs besides its arithmetic, in floating-point operations
   at the rate of a large gemm: PACKED for each number of gemm's b, WRITTEN for
   each of gemm's c, OTHERS for each of the tile that the others write, and
   CALL. Fitted on one core of Zen 4 (53 GFLOP/s in double, 106 in float) to
   tiles that were in no cache: 2.8 ns, 0.75 ns, 2 ns and 0.4 us. If they are
   too large, tiles are larger than needed, and many cores wait for the panels.
 */
#define PACKED 150
#define WRITTEN 40
#define OTHERS 100
#define CALL 20000

/* How much of the longest path the cores wait for, if n - 1 of n could: fitted
   to simulated runs on 2 to 64 cores, whose best tiles it is within 5 % of. And
   the time until all cores compute, 50 us: the kernel has to wake them. */
#define UNHIDDEN 0.35
#define START 2.5e6
/* Wider tiles gain 1 % at most. And a choice among more panels would take
   longer than a thousandth of the factorisation. */
#define MOST_COLS 512
#define MOST_PANELS 512

double
la_potrf_cost (gsize n)
{
  return (double)n * n * n / 3 + OTHERS * (double)n * n + CALL;
}

double
la_trsm_cost (gsize rows, gsize n)
{
  return (double)rows * n * n + OTHERS * (double)rows * n + CALL;
}

double
la_syrk_cost (gsize n, gsize k)
{
  return (double)n * n * k + OTHERS * (double)n * k + CALL;
}

double
la_gemm_cost (gsize rows, gsize n, gsize k)
{
  return 2.0 * rows * n * k + PACKED * (double)n * k
         + WRITTEN * (double)rows * n + CALL;
}

static LaTiles
cut (gsize n, gsize rows, gsize cols)
{
  LaTiles t = { .n = n, .cols = cols };
  t.rows = (rows + cols - 1) / cols * cols;
  t.n_panels = (n + cols - 1) / cols;
  t.n_chunks = (n + t.rows - 1) / t.rows;
  return t;
}

/* The longest path leads through the tiles of one chunk, the lowest: each is
   updated, then solved, and updates the next one. */
static double
predict (const LaTiles *t, guint n_cores)
{
  double work = 0, path = 0;
  for (gsize j = 0; j < t->n_panels; j++)
    {
      gsize cols = la_panel_cols (t, j), below = t->n - j * t->cols - cols;
      gsize rows = MIN (t->rows, below);
      gsize tiles = t->n_chunks - la_first_chunk (t, j);
      double packed = tiles * (la_gemm_cost (0, cols, t->cols));
      work += la_potrf_cost (cols) + la_trsm_cost (below, cols) + tiles * CALL
              + j
                    * (la_syrk_cost (cols, t->cols) + packed
                       + la_gemm_cost (below, cols, t->cols));
      path += la_potrf_cost (cols)
              + (rows > 0 ? la_trsm_cost (rows, cols)
                                + la_gemm_cost (rows, cols, t->cols)
                          : 0);
    }
  return work / n_cores
         + (t->n_panels > 1 ? UNHIDDEN * path * (1 - 1.0 / n_cores) + START
                            : 0);
}

LaTiles
la_tiles (gsize n, gsize rows, gsize cols, guint n_cores)
{
  static const gsize widths[]
      = { 32, 48, 64, 96, 128, 192, 256, 384, MOST_COLS };
  LaTiles best
      = cut (n, MAX (rows, 1), cols > 0 ? cols : CLAMP (n, 1, MOST_COLS));
  if (rows > 0 && cols > 0)
    return best;
  double least = predict (&best, n_cores);
  for (gsize w = 0; w < G_N_ELEMENTS (widths); w++)
    for (gsize high = 1; high <= 8; high++)
      {
        gsize c = cols > 0 ? cols : widths[w];
        LaTiles t = cut (n, rows > 0 ? rows : high * c, c);
        if (t.n_panels > MOST_PANELS)
          continue;
        double time = predict (&t, n_cores);
        if (time < least)
          {
            least = time;
            best = t;
          }
      }
  return best;
}

/* Tiles are square. The smaller they are, the more calls there are, of which
   each takes the thread of the GPU 12 us and more: so they are as large as
   leaves FEW panels, of which the GPU computes one while it updates others.
   Below LEAST the calls take longer than the GPU needs, and beyond MOST copies
   and the first panel do. Measured on an H200: doc/results/dataflow-gpu.md. */
#define GPU_FEW 8
#define GPU_LEAST 1280
#define GPU_MOST 2048
#define GPU_STEP 256
/* What a GPU takes for each column of a panel beside the arithmetic, in
   floating-point operations at the rate of a large gemm: 0.3 us. Measured on an
   H100, tiles of 2048 doubles: potrf 0.85 ms and trsm 0.64, where gemm takes
   0.35. If it is too small, updates of far panels come before the next panel,
   and the GPU waits for the link, since each of them needs another tile. */
#define GPU_COLUMN 1.5e7

LaTiles
la_gpu_tiles (gsize n, gsize rows, gsize cols)
{
  gsize usual = (n / GPU_FEW + GPU_STEP - 1) / GPU_STEP * GPU_STEP;
  if (cols == 0)
    cols = CLAMP (usual, GPU_LEAST, GPU_MOST);
  LaTiles t = cut (n, rows > 0 ? rows : cols, cols);
  t.column_cost = GPU_COLUMN;
  return t;
}
