/* SPDX-License-Identifier: MIT */
/* test_matrix_multiply.c: products by tiles are right on cores and on
   devices that stand in for GPUs.
   Thread safety: one thread. */
#include "hass_test.h"

#ifdef WITHOUT_matrix_multiply

static void
nothing (void)
{
  hass_test_skip ("pkg-config finds no openblas");
}

HASS_TEST_SUITE (matrix_multiply, { "products by tiles are right", nothing })

#else

#  include <stdio.h>
#  include <string.h>

#  include <hass/hass.h>

#  include "device/rectangles.h"
#  include "matrix_trial.h"
#  include "tests/engine/stand_in.h"
#  include "tests/engine/trial.h"

static void
expect_multiplied (const MatrixProblem *p, MatrixRun *run, const char *what)
{
  g_autoptr (GError) error = NULL;
  g_autofree double *seconds = g_new0 (double, run->rounds);
  run->seconds = seconds;
  run->forget = TRUE;
  watchdog (60, what);
  gint64 begin_us = g_get_monotonic_time ();
  gboolean ok = matrix_multiply (p, run, NULL, &error);
  double left = (g_get_monotonic_time () - begin_us) / 1e6 + 1e-6;
  watchdog (0, NULL);
  if (!ok)
    printf ("\n    %s: %s", what, error->message);
  CU_ASSERT_TRUE (ok);
  for (guint i = 0; i < run->rounds; i++)
    {
      CU_ASSERT_TRUE (seconds[i] >= 0);
      left -= seconds[i];
    }
  CU_ASSERT_TRUE (left >= 0);
  expect_right_product (p, what);
}

/* -- Tiles -------------------------------------------------------------- */

static void
tiles_cover (void)
{
  for (gsize m = 1; m < 12; m++)
    for (gsize n = 1; n < 12; n++)
      for (gsize size = 1; size < 25; size++)
        {
          MatrixProblem p = { .m = m, .k = 1, .n = n };
          guint8 seen[12][12] = { { 0 } };
          gsize n_seen = 0;
          p.tile_rows = MIN (size % 5 + 1, m);
          p.tile_cols = MIN (size / 5 + 1, n);
          for (gsize i = 0; i < matrix_n_tiles (&p); i++)
            {
              MatrixTile t = matrix_tile (&p, i);
              for (gsize r = t.row; r < t.row + t.rows && r < m; r++)
                for (gsize c = t.col; c < t.col + t.cols && c < n; c++)
                  seen[r][c]++;
              n_seen += t.rows * t.cols;
            }
          CU_ASSERT_EQUAL (n_seen, m * n);
          for (gsize r = 0; r < m; r++)
            for (gsize c = 0; c < n; c++)
              CU_ASSERT_EQUAL (seen[r][c], 1);
        }
}

static void
tiles_by_size (void)
{
  static const gsize sizes[] = { 1, 100, 1000, 4096, 16384, 1 << 20 };
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (guint j = 0; j < G_N_ELEMENTS (sizes); j++)
      {
        MatrixProblem p = { .m = sizes[i], .k = 1, .n = sizes[j] };
        matrix_choose_tiles (&p);
        CU_ASSERT_TRUE (p.tile_rows >= 1 && p.tile_rows <= p.m);
        CU_ASSERT_TRUE (p.tile_cols >= 1 && p.tile_cols <= p.n);
      }
  MatrixProblem p = { .m = 16384, .k = 1, .n = 16384 };
  matrix_choose_tiles (&p);
  CU_ASSERT_EQUAL (matrix_n_tiles (&p), 4096);
}

/* 7 x 5 in tiles of 2 x 3: 2 tiles in each of 4 rows; the last row is 1 high,
   every other tile 2 numbers wide. */
static void
rectangles (void)
{
  static const struct
  {
    gsize first[8], n;
    MatrixTile wanted[4];
    gsize n_wanted;
  } cases[] = {
    { { 0, 1, 2, 3, 4, 5, 6, 7 }, 8, { { 0, 0, 7, 5 } }, 1 },
    { { 1, 2, 3, 4 },
      4,
      { { 0, 3, 2, 2 }, { 2, 0, 2, 5 }, { 4, 0, 2, 3 } },
      3 },
    { { 0, 2, 3 }, 3, { { 0, 0, 2, 3 }, { 2, 0, 2, 5 } }, 2 },
    { { 7, 6 }, 2, { { 6, 3, 1, 2 }, { 6, 0, 1, 3 } }, 2 },
    { { 5 }, 1, { { 4, 3, 2, 2 } }, 1 },
  };
  MatrixProblem p = problem_new (MATRIX_DOUBLE, 7, 1, 5);
  p.tile_rows = 2;
  p.tile_cols = 3;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      HassBlock blocks[8] = { { 0 } };
      HassBundle bundle = { .n_blocks = cases[i].n, .blocks = blocks };
      g_autoptr (GArray) found
          = g_array_new (FALSE, FALSE, sizeof (HassRectangle));
      for (gsize j = 0; j < cases[i].n; j++)
        {
          blocks[j].first = cases[i].first[j];
          CU_ASSERT_TRUE (matrix_partition (NULL, blocks[j].first, 1,
                                            &blocks[j], &p, NULL));
        }
      hass_rectangles_find (found, blocks, cases[i].n, TRUE);
      CU_ASSERT_EQUAL (found->len, cases[i].n_wanted);
      for (gsize j = 0; j < MIN (found->len, cases[i].n_wanted); j++)
        {
          MatrixTile t = matrix_rectangle (
              &p, &bundle, &g_array_index (found, HassRectangle, j));
          CU_ASSERT_EQUAL (memcmp (&t, &cases[i].wanted[j], sizeof t), 0);
        }
    }
  problem_clear (&p);
}

/* -- Products on cores -------------------------------------------------- */

static void
odd_sizes (void)
{
  static const gsize sizes[][5]
      = { { 1, 1, 1, 1, 1 },      { 1, 50, 70, 1, 9 },
          { 70, 50, 1, 9, 1 },    { 7, 1, 9, 2, 4 },
          { 64, 64, 64, 64, 64 }, { 65, 33, 129, 64, 64 },
          { 97, 101, 89, 13, 7 } };
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (guint cores = 1; cores <= 4; cores++)
      {
        const gsize *s = sizes[i];
        MatrixProblem p = problem_new (cores % 2 ? MATRIX_FLOAT : MATRIX_DOUBLE,
                                       s[0], s[1], s[2]);
        MatrixRun run = { .rounds = 1, .cpu = TRUE };
        p.tile_rows = s[3];
        p.tile_cols = s[4];
        run.options.n_cores = cores;
        run.options.n_gpus = -1;
        expect_multiplied (&p, &run, "cores");
        problem_clear (&p);
      }
}

/* Fewer tiles than cores: a core still has one when the next round begins,
   if it may. */
static void
rounds_apart (void)
{
  MatrixProblem p = problem_new (MATRIX_DOUBLE, 90, 200, 60);
  MatrixRun run = { .rounds = 200, .cpu = TRUE };
  p.tile_rows = p.tile_cols = 60;
  run.options.n_cores = 4;
  run.options.n_gpus = -1;
  for (guint i = 0; i < 5; i++)
    expect_multiplied (&p, &run, "many rounds");
  problem_clear (&p);
}

/* -- Products on devices ------------------------------------------------ */

/* What cublas.cu enqueues, on host memory. */
static void
kernel (const HassBundle *bundle, gpointer data)
{
  MatrixProblem p = *(const MatrixProblem *)data;
  p.a = bundle->constants[0];
  p.b = bundle->constants[1];
  for (gsize i = 0; i < bundle->n_rectangles; i++)
    {
      const HassRectangle *r = &bundle->rectangles[i];
      MatrixTile tile = matrix_rectangle (&p, bundle, r);
      matrix_compute_tile (&p, &tile, bundle->output + r->offset, tile.cols);
    }
}

/* Bundles that were no whole rows of tiles. */
static _Atomic guint n_ragged;

static gboolean
enqueue (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
         GError **error)
{
  const MatrixProblem *p = data;
  n_ragged += bundle->n_blocks % matrix_tiles_across (p) != 0;
  (void)error;
  stand_in_launch (stream, kernel, bundle, data);
  return TRUE;
}

/* One farm on stand-ins by these plans, with so many cores, 0: none. */
static void
on_devices (MatrixType type, const char *strategy, guint cores,
            const StandInPlan *plans, guint n)
{
  MatrixProblem p = problem_new (type, 91, 40, 83);
  HassDevice *devices[2];
  MatrixRun run = { .rounds = 3, .cpu = cores > 0, .gpu_worker = enqueue };
  for (guint i = 0; i < n; i++)
    devices[i] = stand_in_new (&plans[i]);
  p.tile_rows = 8;
  p.tile_cols = 16;
  run.options.strategy = strategy;
  run.options.n_cores = MAX (cores, 1);
  run.options.devices = devices;
  run.options.n_devices = n;
  expect_multiplied (&p, &run, strategy ? strategy : "devices");
  for (guint i = 0; i < n; i++)
    {
      StandInCounts counts = stand_in_counts (devices[i]);
      CU_ASSERT_PTR_NULL (counts.wrong);
      if (cores == 0 && n == 1)
        CU_ASSERT_TRUE (counts.finished > 0);
      stand_in_free (devices[i]);
    }
  problem_clear (&p);
}

static void
strategies (void)
{
  static const StandInPlan plans[]
      = { { .name = "gpu0", .depth = 2 },
          { .name = "gpu1", .depth = 1, .delay_us = 200 } };
  g_autofree const HassStrategyOps **all = hass_strategy_list ();
  for (gsize i = 0; all[i]; i++)
    if (all[i]->farms & HASS_FARM_PARTITION)
      {
        on_devices (MATRIX_FLOAT, all[i]->name, 2, plans, 2);
        on_devices (MATRIX_DOUBLE, all[i]->name, 1, plans, 1);
      }
}

static void
devices_alone (void)
{
  static const StandInPlan plans[] = { { .depth = 3 }, { .name = "gpu1" } };
  on_devices (MATRIX_DOUBLE, NULL, 0, plans, 1);
  on_devices (MATRIX_FLOAT, NULL, 0, plans, 2);
}

/* GPUs alone get whole rows, whoever asks for one tile at a time. */
static void
whole_rows (void)
{
  static const char *const names[]
      = { "auto", "naive-greedy", "modified-greedy" };
  static const StandInPlan plans[]
      = { { .name = "gpu0", .depth = 2 },
          { .name = "gpu1", .depth = 1, .delay_us = 200 } };
  n_ragged = 0;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    on_devices (MATRIX_DOUBLE, names[i], 0, plans, 2);
  CU_ASSERT_EQUAL (n_ragged, 0);
}

static void
devices_that_fail (void)
{
  static const StandInPlan plans[]
      = { { .depth = 2, .fail_bundle_every = 3, .fail_submit_at = 2 },
          { .name = "gpu1", .lose_at = 2 } };
  on_devices (MATRIX_DOUBLE, NULL, 2, plans, 2);
}

/* Only linked where there is cuBLAS. */
gboolean matrix_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                            gpointer problem, GError **error)
    __attribute__ ((weak));

/* The real ones. Tiles of 1000 numbers make many pieces and small copies. */
static void
gpus (void)
{
  for (int type = 0; type < 2; type++)
    for (int cores = 0; cores <= 2; cores++)
      {
        double seconds[3];
        g_autoptr (GError) error = NULL;
        MatrixProblem p = problem_new (type, 501, 303, 707);
        MatrixRun run = { .rounds = 3,
                          .forget = TRUE,
                          .cpu = cores > 0,
                          .gpu_worker = matrix_gpu_worker,
                          .seconds = seconds };
        p.tile_rows = 20;
        p.tile_cols = 50;
        run.options.n_cores = MAX (cores, 1);
        if (!run.gpu_worker
            || (!matrix_multiply (&p, &run, NULL, &error)
                && g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_DEVICE)))
          {
            hass_test_skip ("no GPU or no cuBLAS");
            problem_clear (&p);
            return;
          }
        if (error)
          printf ("\n    %s", error->message);
        CU_ASSERT_PTR_NULL (error);
        expect_right_product (&p, "GPUs");
        problem_clear (&p);
      }
}

static gboolean
refuse (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  (void)bundle, (void)stream, (void)data;
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "no");
  return FALSE;
}

static void
old_products (void)
{
  static const StandInPlan plan;
  for (int forget = 0; forget < 2; forget++)
    {
      double seconds;
      MatrixProblem p = problem_new (MATRIX_DOUBLE, 50, 20, 40);
      MatrixTile all = { 0, 0, 50, 40 };
      HassDevice *device = stand_in_new (&plan);
      MatrixRun run = {
        .rounds = 1, .forget = forget, .gpu_worker = refuse, .seconds = &seconds
      };
      run.options.devices = &device;
      run.options.n_devices = 1;
      matrix_compute_tile (&p, &all, p.c, p.n);
      CU_ASSERT_FALSE (matrix_multiply (&p, &run, NULL, NULL));
      CU_ASSERT_EQUAL (matrix_check (&p, 1, ALWAYS_FULL).right, !forget);
      CU_ASSERT_EQUAL (matrix_check (&p, 1, NEVER_FULL).right, !forget);
      stand_in_free (device);
      problem_clear (&p);
    }
}

HASS_TEST_SUITE (
    matrix_multiply,
    { "tiles cover the matrix, each number once", tiles_cover },
    { "the default tiles suit the matrix", tiles_by_size },
    { "tiles of a bundle are multiplied in rectangles", rectangles },
    { "products of odd sizes are right on 1 to 4 cores", odd_sizes },
    { "rounds do not meet in the product", rounds_apart },
    { "products are right with every strategy on cores and devices",
      strategies },
    { "products are right on devices alone", devices_alone },
    { "GPUs get whole rows of tiles", whole_rows },
    { "products are right when devices fail", devices_that_fail },
    { "products are right on the machine's GPUs", gpus },
    { "a product of before is forgotten when it shall be", old_products })

#endif
