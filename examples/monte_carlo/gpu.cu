/* SPDX-License-Identifier: MIT */
/* gpu.cu: the GPU worker of monte_carlo.

   DESIGN. A thread adds up every n-th sample of a block by sample.h, as a
   core would. Sums are integers, so they may be added in any order:

   1. The threads of a warp merge their sums by shuffles.
   2. The first thread merges those of the warps.
   3. It adds them to the accumulator of the bundle with integer atomics; the
      old value of the low half gives the carry into the high half.

   Thread safety: as hass/callbacks.h. */
#include <hass/cuda_device.cuh>

#include "sample.h"

#define THREADS 256
#define WARPS (THREADS / 32)
/* Thread blocks in multiples of what fills the device: more make the merging
   more expensive, fewer make the last blocks delay the bundle. A guess. */
#define WAVES 4

__device__ static void
atomic_add (uint64_t *to, uint64_t n)
{
  if (n > 0)
    atomicAdd ((unsigned long long *)to, (unsigned long long)n);
}

__device__ static void
atomic_add_128 (uint64_t *low, uint64_t *high, uint64_t n_low, uint64_t n_high)
{
  if (n_low > 0)
    {
      uint64_t old
          = atomicAdd ((unsigned long long *)low, (unsigned long long)n_low);
      n_high += old + n_low < old;
    }
  atomic_add (high, n_high);
}

__device__ static McSums
from_lane_below (const McSums &s, unsigned distance)
{
  McSums other;
  other.n = __shfl_down_sync (~0u, s.n, distance);
  other.special = __shfl_down_sync (~0u, s.special, distance);
  other.sum_low = __shfl_down_sync (~0u, s.sum_low, distance);
  other.sum_high = __shfl_down_sync (~0u, s.sum_high, distance);
  other.squares_low = __shfl_down_sync (~0u, s.squares_low, distance);
  other.squares_high = __shfl_down_sync (~0u, s.squares_high, distance);
  return other;
}

template <McKind kind>
__global__ void
__launch_bounds__ (THREADS)
    add_samples (McModel model, uint64_t first, uint64_t end, McSums *to)
{
  __shared__ McSums of_warp[WARPS];
  McSums sums = mc_share (&model, kind, first, end,
                          (uint64_t)blockIdx.x * THREADS + threadIdx.x,
                          (uint64_t)gridDim.x * THREADS);
  for (unsigned distance = 16; distance > 0; distance /= 2)
    {
      McSums other = from_lane_below (sums, distance);
      mc_sums_merge (&sums, &other);
    }
  if (threadIdx.x % 32 == 0)
    of_warp[threadIdx.x / 32] = sums;
  __syncthreads ();
  if (threadIdx.x > 0)
    return;
  for (unsigned w = 1; w < WARPS; w++)
    mc_sums_merge (&sums, &of_warp[w]);
  atomic_add (&to->n, sums.n);
  atomic_add (&to->special, sums.special);
  atomic_add_128 (&to->sum_low, &to->sum_high, sums.sum_low, sums.sum_high);
  atomic_add_128 (&to->squares_low, &to->squares_high, sums.squares_low,
                  sums.squares_high);
}

typedef void Kernel (McModel model, uint64_t first, uint64_t end, McSums *to);

extern "C" gboolean
monte_carlo_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                        gpointer user_data, GError **error)
{
  const McModel *model = (const McModel *)user_data;
  McSums *to = (McSums *)bundle->accumulator;
  cudaStream_t queue = hass_cuda_stream (stream);
  Kernel *kernel = model->kind == MC_PI         ? add_samples<MC_PI>
                   : model->kind == MC_EUROPEAN ? add_samples<MC_EUROPEAN>
                                                : add_samples<MC_ASIAN>;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      uint64_t first = bundle->blocks[i].first;
      uint64_t count = bundle->blocks[i].count;
      /* A thread takes two points at a time. */
      uint64_t items = model->kind == MC_PI ? count / 2 + 1 : count;
      unsigned grid = hass_grid (items, THREADS, WAVES);
      kernel<<<grid, THREADS, 0, queue>>> (*model, first, first + count, to);
    }
  return hass_cuda_check (cudaGetLastError (), "monte_carlo's kernel", error);
}
