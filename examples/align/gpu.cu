/* SPDX-License-Identifier: MIT */
/* gpu.cu: the tiles of align on a GPU: see gpu_tile.h, whose steps this file
   names.
   Thread safety: as hass/codelet.h. */
#include <hass/cuda.h>

#include "gpu.h"

/* Columns on both sides that lanes outside of a tile name. */
#define PAD ALIGN_GPU_LANES
#define ALL (~0u)

/* Memory of a thread block. @row: H and F of the row above, by columns. @codes:
   of the columns, from -PAD on. @scores: [code of a column][code of a row] */
struct Shared
{
  int2 row[ALIGN_MAX_SIDE];
  int8_t codes[ALIGN_MAX_SIDE + 2 * PAD];
  int8_t scores[ALIGN_CODES][ALIGN_CODES];
  int largest, best;
};

__device__ static int
largest_of_warp (int v)
{
  for (int i = ALIGN_GPU_LANES / 2; i > 0; i /= 2)
    v = max (v, __shfl_xor_sync (ALL, v, i));
  return v;
}

/* The largest of the numbers of all threads, which *to, 0 before, gets. */
__device__ static void
largest_of_block (int *to, int v)
{
  v = largest_of_warp (v);
  if (threadIdx.x % ALIGN_GPU_LANES == 0)
    atomicMax (to, v);
}

/* Loads what all warps of the block need. Returns: the largest H of the edges
   that this thread has seen. */
__device__ static int
load (Shared *shared, const AlignGpuScheme *s, const AlignGpuTile *t)
{
  const AlignEdge *top = t->edges.top, *left = t->edges.left;
  int largest = top->corner;
  for (int c = threadIdx.x; c < t->columns; c += blockDim.x)
    {
      int h = top->base + top->cells[c][0];
      shared->row[c] = make_int2 (h, top->base + top->cells[c][1]);
      largest = max (largest, h);
    }
  for (int r = threadIdx.x; r < t->rows; r += blockDim.x)
    largest = max (largest, left->base + left->cells[r][0]);
  for (int c = threadIdx.x; c < t->columns + 2 * PAD; c += blockDim.x)
    shared->codes[c]
        = c >= PAD && c < t->columns + PAD ? t->b[c - PAD] : ALIGN_PAD_B;
  if (!s->simple)
    for (int i = threadIdx.x; i < ALIGN_CODES * ALIGN_CODES; i += blockDim.x)
      shared->scores[i % ALIGN_CODES][i / ALIGN_CODES]
          = s->table[i / ALIGN_CODES][i % ALIGN_CODES];
  return largest;
}

/* Step @step of a warp. INSIDE: all lanes are inside of the columns. */
template <bool SIMPLE, bool INSIDE>
__device__ __forceinline__ static void
step (AlignGpuLane *l, Shared *shared, const AlignGpuScheme *s, int columns,
      int step)
{
  const int lane = threadIdx.x % ALIGN_GPU_LANES, column = step - lane;
  int h = __shfl_up_sync (ALL, l->h_last, 1);
  int f = __shfl_up_sync (ALL, l->f_last, 1);
  if (lane == 0 && (INSIDE || step < columns))
    {
      int2 above = shared->row[step];
      h = above.x;
      f = above.y;
    }
  if (!INSIDE && (column < 0 || column >= columns))
    return;
  int code = shared->codes[column + PAD];
  align_gpu_column (l, s, SIMPLE ? NULL : shared->scores[code], code, h, f);
  if (lane == ALIGN_GPU_LANES - 1)
    shared->row[column] = make_int2 (l->h_last, l->f_last);
}

/* A chunk: step 3. The last lane writes a column 31 steps after lane 0 has read
   it; in between, the warp synchronises. */
template <bool SIMPLE>
__device__ __forceinline__ static void
chunk (AlignGpuLane *l, Shared *shared, const AlignGpuScheme *s, int columns,
       int q)
{
  const int first = q * ALIGN_GPU_LANES, half = ALIGN_GPU_LANES / 2;
  const bool inside = q > 0 && first + ALIGN_GPU_LANES <= columns;
  for (int from = first; from < first + ALIGN_GPU_LANES; from += half)
    {
      if (inside)
        {
#pragma unroll 2
          for (int i = 0; i < half; i++)
            step<SIMPLE, true> (l, shared, s, columns, from + i);
        }
      else
        {
#pragma unroll 1
          for (int i = 0; i < half; i++)
            step<SIMPLE, false> (l, shared, s, columns, from + i);
        }
      __syncwarp ();
    }
}

/* A tile of @diagonal of each task a thread block. */
template <bool SIMPLE>
__global__ void
__launch_bounds__ (ALIGN_GPU_WARPS *ALIGN_GPU_LANES)
    tiles (const __grid_constant__ AlignGpuWave w, int diagonal)
{
  __shared__ Shared shared;
  AlignGpuTile t;
  if (!align_gpu_tile (&w, &w.tasks[blockIdx.y], diagonal, blockIdx.x, &t))
    return;
  const AlignGpuScheme *s = &w.scheme;
  const int warp = threadIdx.x / ALIGN_GPU_LANES;
  const int row = threadIdx.x * ALIGN_ROWS;
  AlignGpuLane lane;
  if (threadIdx.x == 0)
    shared.largest = shared.best = 0;
  __syncthreads ();
  largest_of_block (&shared.largest, load (&shared, s, &t));
  align_gpu_begin (&lane, &t, row);
  const int32_t corner
      = t.edges.left->base + t.edges.left->cells[t.rows - 1][0];
  __syncthreads ();
  const int32_t base = ALIGN_BASE (shared.largest, max (t.rows, t.columns),
                                   s->largest, s->open, s->extend);
  const int n_warps = align_gpu_parts (t.rows, ALIGN_GPU_STRIP);
  const int n_chunks = align_gpu_chunks (t.columns);
  for (int phase = 0; phase < align_gpu_phases (t.rows, t.columns); phase++)
    {
      int q = phase - ALIGN_GPU_LAG * warp;
      if (warp < n_warps && q >= 0 && q < n_chunks)
        chunk<SIMPLE> (&lane, &shared, s, t.columns, q);
      __syncthreads ();
    }
  align_gpu_end (&lane, &t, row, base);
  for (int c = threadIdx.x; c < t.side; c += blockDim.x)
    align_gpu_store (t.edges.bottom->cells[c], c < t.columns, shared.row[c].x,
                     shared.row[c].y, base);
  largest_of_block (&shared.best, lane.best);
  __syncthreads ();
  if (threadIdx.x == 0)
    align_gpu_end_tile (&t, base, corner, shared.best);
}

extern "C" gboolean
align_gpu_wave (const AlignGpuWave *w, HassGpuStream *stream, GError **error)
{
  int diagonals = 0, rows = 0;
  for (int i = 0; i < w->n_tasks; i++)
    {
      const AlignGpuTask *t = &w->tasks[i];
      diagonals = max (diagonals, align_gpu_diagonals (w, t));
      rows = max (rows, align_gpu_parts (min (t->rows, t->columns), w->side));
    }
  const unsigned threads
      = align_gpu_parts (w->side, ALIGN_GPU_STRIP) * ALIGN_GPU_LANES;
  const dim3 blocks (rows, w->n_tasks);
  for (int d = 0; d < diagonals; d++)
    if (w->scheme.simple)
      tiles<true><<<blocks, threads, 0, hass_cuda_stream (stream)>>> (*w, d);
    else
      tiles<false><<<blocks, threads, 0, hass_cuda_stream (stream)>>> (*w, d);
  return hass_cuda_check (cudaGetLastError (), "align's kernel", error);
}

extern "C" gboolean
align_gpu_present (void)
{
  int n = 0;
  return cudaGetDeviceCount (&n) == cudaSuccess && n > 0;
}
