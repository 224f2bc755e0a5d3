/* SPDX-License-Identifier: MIT */
/* gpu.cu: the GPU worker of string_search; what it computes is described in
   gpu_filter.h.
   Thread safety: no state.

   DESIGN. A thread block takes one tile after another, whatever block of the
   bundle it is of, 16 bytes a thread and step, so that a warp's loads are
   512 bytes in a row. What a tile gives is gathered in shared memory and
   appended when the tile is done. */
#include <hass/cuda_device.cuh>

#include "gpu_filter.h"

#define THREADS 256
#define ALL 0xffffffffu

/* What a tile has given so far. */
struct Tile
{
  guint32 segments[GPU_FILTER_TILE_WORDS];
  guint32 newlines, first_nul;
};

__device__ static void
append (const HassView &view, guint64 block, GpuRecordKind kind, guint64 index,
        guint32 value)
{
  guint64 *record = (guint64 *)hass_append (view, block);
  if (record)
    *record = gpu_record (kind, index, value);
}

/* All threads of the block; searches tile @index of bundle block @block. */
__device__ static void
search_tile (const HassView &view, const GpuFilterView &filter,
             const GpuText &text, guint64 block, guint64 index, Tile *tile)
{
  guint64 first = text.start + index * GPU_FILTER_TILE;
  guint64 last = text.start + gpu_text_positions (&filter, &text);
  guint32 newlines = 0;
  if (last > first + GPU_FILTER_TILE)
    last = first + GPU_FILTER_TILE;

  if (threadIdx.x < GPU_FILTER_TILE_WORDS)
    tile->segments[threadIdx.x] = 0;
  if (threadIdx.x == 0)
    {
      tile->newlines = 0;
      tile->first_nul = GPU_FILTER_NO_NUL;
    }
  __syncthreads ();

  for (guint64 at = (first & ~(guint64)(GPU_FILTER_CHUNK - 1))
                    + threadIdx.x * GPU_FILTER_CHUNK;
       at < last; at += THREADS * GPU_FILTER_CHUNK)
    {
      GpuChunk found = gpu_chunk_search (&filter, &text, at, first, last);
      newlines += __popc (found.newlines);
      if (found.nuls)
        atomicMin (&tile->first_nul,
                   (guint32)(at + __ffs (found.nuls) - 1 - first));
      for (guint32 hits = found.hits; hits; hits &= hits - 1)
        {
          guint32 segment
              = (guint32)(at + __ffs (hits) - 1 - first) / GPU_FILTER_SEGMENT;
          atomicOr (&tile->segments[segment / 32], 1u << (segment % 32));
        }
    }
  if (filter.head.flags & GPU_FILTER_NEWLINES)
    {
      __syncwarp ();
      for (int other = 16; other > 0; other /= 2)
        newlines += __shfl_down_sync (ALL, newlines, other);
      if (threadIdx.x % 32 == 0)
        atomicAdd (&tile->newlines, newlines);
    }
  __syncthreads ();

  if (threadIdx.x < GPU_FILTER_TILE_WORDS && tile->segments[threadIdx.x])
    append (view, block, GPU_RECORD_SEGMENTS,
            index * GPU_FILTER_TILE_WORDS + threadIdx.x,
            tile->segments[threadIdx.x]);
  if (threadIdx.x == 32 && tile->newlines)
    append (view, block, GPU_RECORD_NEWLINES, index, tile->newlines);
  if (threadIdx.x == 64 && tile->first_nul != GPU_FILTER_NO_NUL)
    append (view, block, GPU_RECORD_NUL, index, tile->first_nul);
  /* The next tile clears what was read here. */
  __syncthreads ();
}

__global__ static void
__launch_bounds__ (THREADS) search_kernel (HassView view, const void *constant)
{
  __shared__ guint32 bitmap[GPU_FILTER_BITMAP_WORDS];
  __shared__ Tile tile;
  GpuFilterView filter = gpu_filter_view (constant);
  guint64 turn = 0; /* tiles of the blocks before, modulo the grid */

  for (guint i = threadIdx.x; i < GPU_FILTER_BITMAP_WORDS; i += THREADS)
    bitmap[i] = filter.bitmap[i];
  filter.bitmap = bitmap;
  __syncthreads ();

  for (guint64 i = 0; i < view.n_blocks; i++)
    {
      GpuText text;
      text.base = view.input;
      text.bytes = view.input_bytes;
      text.start = (guint64)(hass_input (view, i) - view.input);
      text.count = hass_elements (view, i);
      text.end = text.start + hass_input_bytes (view, i);
      guint64 n_tiles = gpu_text_tiles (&filter, &text);
      for (guint64 t = (blockIdx.x + gridDim.x - turn) % gridDim.x; t < n_tiles;
           t += gridDim.x)
        search_tile (view, filter, text, i, t, &tile);
      turn = (turn + n_tiles) % gridDim.x;
    }
}

extern "C" gboolean
string_search_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                          gpointer user_data, GError **error)
{
  guint64 tiles = bundle->n_elements / GPU_FILTER_TILE + 2 * bundle->n_blocks;
  (void)user_data;
  search_kernel<<<hass_grid (tiles * THREADS, THREADS, 1), THREADS, 0,
                  hass_cuda_stream (stream)>>> (hass_view (bundle),
                                                bundle->constants[0]);
  return hass_cuda_check (cudaGetLastError (), "string search", error);
}
