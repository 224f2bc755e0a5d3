/* SPDX-License-Identifier: MIT */
/* gpu_emulator.c: see gpu_emulator.h.
   Thread safety: as gpu_emulator.h. */
#include "gpu_emulator.h"

#include <string.h>

/* A thread block. Lane k of a warp sees column step - k of @codes. */
typedef struct
{
  const AlignGpuScheme *scheme;
  const AlignGpuTile *tile;
  AlignGpuLane lanes[ALIGN_GPU_WARPS][ALIGN_GPU_LANES];
  int8_t scores[ALIGN_CODES][ALIGN_CODES];
  int32_t row[ALIGN_MAX_SIDE][2];
  int32_t largest;
} Block;

static void
load (Block *b)
{
  const AlignGpuTile *t = b->tile;
  const AlignEdge *top = t->edges.top, *left = t->edges.left;
  b->largest = top->corner;
  for (int c = 0; c < t->columns; c++)
    {
      for (int k = 0; k < 2; k++)
        b->row[c][k] = top->base + top->cells[c][k];
      b->largest = MAX (b->largest, b->row[c][0]);
    }
  for (int r = 0; r < t->rows; r++)
    b->largest = MAX (b->largest, left->base + left->cells[r][0]);
  for (int i = 0; i < ALIGN_CODES; i++)
    for (int k = 0; k < ALIGN_CODES; k++)
      b->scores[k][i] = b->scheme->table[i][k];
  for (int w = 0; w < ALIGN_GPU_WARPS; w++)
    for (int k = 0; k < ALIGN_GPU_LANES; k++)
      align_gpu_begin (&b->lanes[w][k], t,
                       (w * ALIGN_GPU_LANES + k) * ALIGN_ROWS);
}

static void
step (Block *b, int warp, int at)
{
  int32_t above[ALIGN_GPU_LANES][2];
  AlignGpuLane *lanes = b->lanes[warp];
  const AlignGpuTile *t = b->tile;
  for (int k = 0; k < ALIGN_GPU_LANES; k++)
    {
      above[k][0] = k > 0             ? lanes[k - 1].h_last
                    : at < t->columns ? b->row[at][0]
                                      : -1;
      above[k][1] = k > 0             ? lanes[k - 1].f_last
                    : at < t->columns ? b->row[at][1]
                                      : -1;
    }
  for (int k = 0; k < ALIGN_GPU_LANES; k++)
    {
      int column = at - k;
      if (column < 0 || column >= t->columns)
        continue;
      int code = t->b[column];
      align_gpu_column (&lanes[k], b->scheme,
                        b->scheme->simple ? NULL : b->scores[code], code,
                        above[k][0], above[k][1]);
      if (k == ALIGN_GPU_LANES - 1)
        {
          b->row[column][0] = lanes[k].h_last;
          b->row[column][1] = lanes[k].f_last;
        }
    }
}

/* In a phase, warps run one after another, in turns from the first and from the
   last: between two phases alone may one need what another has done. */
static void
run_phases (Block *b)
{
  const AlignGpuTile *t = b->tile;
  int n_warps = align_gpu_parts (t->rows, ALIGN_GPU_STRIP);
  for (int phase = 0; phase < align_gpu_phases (t->rows, t->columns); phase++)
    for (int i = 0; i < n_warps; i++)
      {
        int warp = phase % 2 ? i : n_warps - 1 - i;
        int q = phase - ALIGN_GPU_LAG * warp;
        for (int k = 0; k < ALIGN_GPU_LANES; k++)
          if (q >= 0 && q < align_gpu_chunks (t->columns))
            step (b, warp, q * ALIGN_GPU_LANES + k);
      }
}

static void
run_tile (Block *b)
{
  const AlignGpuTile *t = b->tile;
  int32_t best = 0;
  load (b);
  int32_t corner = t->edges.left->base + t->edges.left->cells[t->rows - 1][0];
  int32_t base
      = ALIGN_BASE (b->largest, MAX (t->rows, t->columns), b->scheme->largest,
                    b->scheme->open, b->scheme->extend);
  run_phases (b);
  for (int w = 0; w < ALIGN_GPU_WARPS; w++)
    for (int k = 0; k < ALIGN_GPU_LANES; k++)
      {
        align_gpu_end (&b->lanes[w][k], t,
                       (w * ALIGN_GPU_LANES + k) * ALIGN_ROWS, base);
        best = MAX (best, b->lanes[w][k].best);
      }
  for (int c = 0; c < t->side; c++)
    align_gpu_store (t->edges.bottom->cells[c], c < t->columns, b->row[c][0],
                     b->row[c][1], base);
  align_gpu_end_tile (t, base, corner, best);
}

gboolean
gpu_emulator_wave (const AlignGpuWave *w, HassGpuStream *stream, GError **error)
{
  g_autofree Block *block = g_new (Block, 1);
  (void)stream, (void)error;
  for (int i = 0; i < w->n_tasks; i++)
    for (int d = 0; d < align_gpu_diagonals (w, &w->tasks[i]); d++)
      {
        AlignGpuTile tile;
        for (int k = 0; align_gpu_tile (w, &w->tasks[i], d, k, &tile); k++)
          {
            block->scheme = &w->scheme;
            block->tile = &tile;
            run_tile (block);
          }
      }
  return TRUE;
}
