/* SPDX-License-Identifier: MIT */
/* test_gpu_outputs.c: what real GPUs write arrives where it should; skipped
   where there is no GPU.
   Thread safety: one test at a time. */
#include "hass_test.h"

#include <stdio.h>
#include <string.h>

#include "gpu_trial.h"
#include "kernels.h"

/* -- Outputs, tiles, constants ------------------------------------------ */

static void
writes_outputs (void)
{
  gsize n = scaled (50000000);
  guint8 seven = 7;
  HassConstant constant = { &seven, 1 };
  if (gpu_absent ())
    return;
  guint8 *in = random_bytes (n, TRUE);
  guint8 *outs[] = { hass_memory_alloc (n, NULL), g_malloc (n) };
  for (guint o = 0; o < 2; o++)
    {
      HassLoad load = { .input = in,
                        .input_bytes = n,
                        .size = n,
                        .output = outs[o],
                        .output_bytes = n };
      HassDataFarm farm = HASS_DATA_FARM_INIT;
      farm.name = "add";
      farm.loads = &load;
      farm.n_loads = 1;
      farm.gpu_worker = kernel_add;
      farm.block_elements = 65536;
      farm.constants = &constant;
      farm.n_constants = 1;
      hass_report_free (must_run (hass_data_farm_partition, &farm));
      gsize wrong = 0;
      for (gsize i = 0; i < n; i++)
        wrong += outs[o][i] != (guint8)(in[i] + 7);
      CU_ASSERT_EQUAL (wrong, 0);
    }
  hass_memory_free (in);
  hass_memory_free (outs[0]);
  g_free (outs[1]);
}

#define SIDE 1000
#define TILE 96
#define TILES ((SIDE + TILE - 1) / TILE)

static gboolean
cut_tiles (const HassLoad *load, gsize first, gsize count, HassBlock *block,
           gpointer data, GError **error)
{
  gsize row = first / TILES * TILE, column = first % TILES * TILE;
  gsize rows = MIN (TILE, SIDE - row), columns = MIN (TILE, SIDE - column);
  (void)load;
  (void)count;
  (void)error;
  block->output = (guint8 *)((guint32 *)data + row * SIDE + column);
  block->output_row_bytes = columns * 4;
  block->output_pitch = SIDE * 4;
  block->output_bytes = rows * columns * 4;
  return TRUE;
}

static void
writes_tiles (void)
{
  if (gpu_absent ())
    return;
  guint32 *matrices[] = { hass_memory_alloc (SIDE * SIDE * 4, NULL),
                          g_malloc (SIDE * SIDE * 4) };
  for (guint i = 0; i < 4; i++)
    {
      guint m = i / 2, join = i % 2;
      HassLoad load = { .size = TILES * TILES };
      HassDataFarm farm = HASS_DATA_FARM_INIT;
      memset (matrices[m], 0xff, SIDE * SIDE * 4);
      farm.name = "tiles";
      farm.user_data = matrices[m];
      farm.loads = &load;
      farm.n_loads = 1;
      farm.partition = cut_tiles;
      farm.block_elements = 1;
      farm.join_tiles = join;
      farm.gpu_worker = join ? kernel_joined_tile : kernel_tile;
      hass_report_free (must_run (hass_data_farm_partition, &farm));
      gsize wrong = 0;
      for (gsize r = 0; r < SIDE; r++)
        for (gsize c = 0; c < SIDE; c++)
          {
            gsize tile = r / TILE * TILES + c / TILE;
            gsize columns = MIN (TILE, SIDE - c / TILE * TILE);
            gsize cell = r % TILE * columns + c % TILE;
            wrong += matrices[m][r * SIDE + c] != tile * 1000 + cell;
          }
      CU_ASSERT_EQUAL (wrong, 0);
    }
  hass_memory_free (matrices[0]);
  g_free (matrices[1]);
}

/* -- Tasks -------------------------------------------------------------- */

static gboolean
task_on_cpu (const HassTask *task, HassWorker *worker, gpointer data,
             GError **error)
{
  guint64 x = *(const guint64 *)task->input;
  (void)worker;
  (void)data;
  (void)error;
  *(guint64 *)task->output = task->gpu_function == 0 ? 3 * x : x + 100;
  return TRUE;
}

static void
runs_tasks (void)
{
  enum
  {
    N = 3000
  };
  static guint64 in[N], out[N];
  static HassTask tasks[N];
  if (gpu_absent ())
    return;
  for (guint way = 0; way < 4; way++)
    {
      for (guint i = 0; i < N; i++)
        {
          guint f = i % 3 == 0;
          in[i] = i * 17;
          out[i] = 0;
          tasks[i] = (HassTask){ .cpu = way % 2 && i % 5 ? task_on_cpu : NULL,
                                 .gpu = way >= 2 ? kernel_task_table
                                        : f      ? kernel_task_add
                                                 : kernel_task_triple,
                                 .gpu_function = f,
                                 .input = &in[i],
                                 .input_bytes = 8,
                                 .output = &out[i],
                                 .output_bytes = 8,
                                 .expected_time = 1 + i % 7,
                                 .parallelism = i % 4 == 0 ? 64 : 1 };
        }
      HassFunctionFarm farm = HASS_FUNCTION_FARM_INIT;
      GError *error = NULL;
      farm.name = "tasks";
      farm.tasks = tasks;
      farm.n_tasks = N;
      CU_ASSERT_TRUE (hass_function_farm (&farm, NULL, &error));
      if (error)
        fprintf (stderr, "%s\n", error->message);
      g_clear_error (&error);
      guint wrong = 0;
      for (guint i = 0; i < N; i++)
        wrong += out[i] != (i % 3 == 0 ? in[i] + 100 : 3 * in[i]);
      CU_ASSERT_EQUAL (wrong, 0);
    }
}

HASS_TEST_SUITE (gpu_outputs,
                 { "outputs go to pinned and other memory", writes_outputs },
                 { "tiles go to their places", writes_tiles },
                 { "tasks run by worker and by table", runs_tasks })
