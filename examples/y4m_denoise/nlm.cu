/* SPDX-License-Identifier: MIT */
/* nlm.cu: the GPU worker of y4m_denoise.

   DESIGN. A thread block computes a tile of a plane of a frame; its samples and
   their halo lie in shared memory. A thread computes ROWS samples, one below
   another, and visits all offsets of the search window. The arithmetic is that
   of nlm.h: a distance is summed exactly here, and 65535 and more have the
   weight 0 as well.

   1. For the usual sizes of patches, PATCH > 0, a lane sums squared differences
      of one column, sliding down; lanes exchange these sums, so that each gets
      the sum of PATCH columns. The last PATCH - 1 lanes of a warp only help.
   2. For any other size, PATCH = 0, a thread sums all columns itself, sliding
      down.

   Thread safety: as hass/callbacks.h. */
#include <hass/cuda_device.cuh>

#include "nlm.h"

#define WARP 32
/* Warps side by side and one above another in a thread block. */
#define WARPS_X 2
#define WARPS_Y 4
#define THREADS (WARP * WARPS_X * WARPS_Y)
/* Samples of a thread: more slide further, and need more registers. A guess. */
#define ROWS 8
#define TILE_HEIGHT (WARPS_Y * ROWS)
/* What a kernel may use of shared memory without asking for it. */
#define SHARED_BYTES (48 << 10)

/* Samples that a warp computes in a row. */
template <int PATCH>
__host__ __device__ constexpr int
warp_width ()
{
  return PATCH > 0 ? WARP - PATCH + 1 : WARP;
}

/* The sum of @v of this lane and the PATCH - 1 lanes above it. */
template <int PATCH>
__device__ static uint32_t
sum_lanes (uint32_t v)
{
  uint32_t sum = 0;
  int at = 0;
#pragma unroll
  for (int size = 1; size <= PATCH; size *= 2)
    {
      if (PATCH & size)
        {
          sum += at > 0 ? __shfl_down_sync (~0u, v, at) : v;
          at += size;
        }
      if (2 * size <= PATCH)
        v += __shfl_down_sync (~0u, v, size);
    }
  return sum;
}

/* Step 1: @own: the lane's column of the patches around the thread's samples;
   @b: likewise, moved by the offset. */
template <int PATCH>
__device__ static void
column_distances (const NlmParams &n, const uint8_t *own, const uint8_t *b,
                  int stride, uint32_t *distances)
{
  uint32_t squares[ROWS + PATCH - 1], sum = 0;
#pragma unroll
  for (int j = 0; j < ROWS + PATCH - 1; j++)
    {
      squares[j] = nlm_square (&n, own[j], b[j * stride]);
      sum += squares[j];
      if (j >= PATCH)
        sum -= squares[j - PATCH];
      if (j >= PATCH - 1)
        distances[j - PATCH + 1] = sum_lanes<PATCH> (sum);
    }
}

__device__ static uint32_t
row_distance (const NlmParams &n, const uint8_t *a, const uint8_t *b)
{
  uint32_t sum = 0;
  for (int i = 0; i <= 2 * n.patch; i++)
    sum += nlm_square (&n, a[i], b[i]);
  return sum;
}

/* Step 2. */
__device__ static void
patch_distances (const NlmParams &n, const uint8_t *a, const uint8_t *b,
                 int stride, uint32_t *distances)
{
  uint32_t sum = 0;
  int last = 2 * n.patch;
  for (int j = 0; j < last; j++)
    sum += row_distance (n, a + j * stride, b + j * stride);
#pragma unroll
  for (int k = 0; k < ROWS; k++)
    {
      sum += row_distance (n, a + (k + last) * stride, b + (k + last) * stride);
      distances[k] = sum;
      sum -= row_distance (n, a + k * stride, b + k * stride);
    }
}

/* The means of the thread's samples. @a: the upper left corner of the patch
   around the first one. */
template <int PATCH>
__device__ static void
means (const NlmParams &n, const uint8_t *a, int stride, uint8_t *to)
{
  uint32_t sums[ROWS] = { 0 }, totals[ROWS] = { 0 }, distances[ROWS];
  uint8_t own[PATCH > 0 ? ROWS + PATCH - 1 : 1];
  (void)own;
  if constexpr (PATCH > 0)
    {
#pragma unroll
      for (int j = 0; j < ROWS + PATCH - 1; j++)
        own[j] = a[j * stride];
    }
  for (int dy = -n.search; dy <= n.search; dy++)
    for (int dx = -n.search; dx <= n.search; dx++)
      {
        const uint8_t *b = a + dy * stride + dx;
        if constexpr (PATCH > 0)
          column_distances<PATCH> (n, own, b, stride, distances);
        else
          patch_distances (n, a, b, stride, distances);
#pragma unroll
        for (int k = 0; k < ROWS; k++)
          {
            uint32_t w = nlm_weight (&n, distances[k]);
            sums[k] += w * b[(k + n.patch) * stride + n.patch];
            totals[k] += w;
          }
      }
#pragma unroll
  for (int k = 0; k < ROWS; k++)
    to[k] = (uint8_t)nlm_mean (sums[k], totals[k]);
}

/* Copies the tile that begins at @at, with its halo. */
__device__ static void
load_tile (uint8_t *tile, int stride, int rows, const uint8_t *plane,
           NlmSize size, int2 at)
{
  for (int i = threadIdx.x; i < stride * rows; i += THREADS)
    {
      int column = min (max (at.x + i % stride, 0), size.width - 1);
      int row = min (max (at.y + i / stride, 0), size.height - 1);
      tile[i] = plane[(size_t)row * size.width + column];
    }
  __syncthreads ();
}

__host__ __device__ static int
tiles_across (NlmSize size, int width)
{
  return (size.width + width - 1) / width;
}

__host__ __device__ static int
tiles (NlmSize size, int width)
{
  return tiles_across (size, width)
         * ((size.height + TILE_HEIGHT - 1) / TILE_HEIGHT);
}

template <int PATCH>
__global__ void
__launch_bounds__ (THREADS) denoise (NlmFrame f, HassView v)
{
  extern __shared__ uint8_t tile[];
  constexpr int width = WARPS_X * warp_width<PATCH> ();
  const NlmParams &n = f.params;
  int halo = n.patch + n.search, stride = width + 2 * halo;
  int i = blockIdx.x, plane = 0;
  size_t offset = 0;
  for (; i >= tiles (f.planes[plane], width); plane++)
    {
      i -= tiles (f.planes[plane], width);
      offset += (size_t)f.planes[plane].width * f.planes[plane].height;
    }
  NlmSize size = f.planes[plane];
  int across = tiles_across (size, width);
  int x = i % across * width, y = i / across * TILE_HEIGHT;
  load_tile (tile, stride, TILE_HEIGHT + 2 * halo,
             hass_input (v, blockIdx.y) + offset, size,
             make_int2 (x - halo, y - halo));

  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  int column = warp % WARPS_X * warp_width<PATCH> () + lane;
  int row = warp / WARPS_X * ROWS;
  /* The last column that a lane reads is that of the halo. Of lanes that only
     help, the samples in the middle of the patch lie in the next row. */
  uint8_t to[ROWS];
  means<PATCH> (n, tile + (row + n.search) * stride + column + n.search, stride,
                to);
  if (lane >= warp_width<PATCH> () || x + column >= size.width)
    return;
  uint8_t *out = hass_output (v, blockIdx.y) + offset + x + column;
  for (int k = 0; k < ROWS && y + row + k < size.height; k++)
    out[(size_t)(y + row + k) * size.width] = to[k];
}

typedef void Kernel (NlmFrame f, HassView v);

template <int PATCH>
static gboolean
launch (const HassBundle *bundle, cudaStream_t queue, const NlmFrame *f,
        GError **error)
{
  int width = WARPS_X * warp_width<PATCH> (), n = 0;
  int halo = 2 * (f->params.patch + f->params.search);
  size_t bytes = (size_t)(width + halo) * (TILE_HEIGHT + halo);
  Kernel *kernel = denoise<PATCH>;
  for (int p = 0; p < f->n_planes; p++)
    n += tiles (f->planes[p], width);
  if (bytes > SHARED_BYTES
      && !hass_cuda_check (
          cudaFuncSetAttribute (
              kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
          "y4m_denoise's shared memory", error))
    return FALSE;
  kernel<<<dim3 (n, (unsigned)bundle->n_blocks), THREADS, bytes, queue>>> (
      *f, hass_view (bundle));
  return hass_cuda_check (cudaGetLastError (), "y4m_denoise's kernel", error);
}

extern "C" gboolean
y4m_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                gpointer user_data, GError **error)
{
  const NlmFrame *f = (const NlmFrame *)user_data;
  cudaStream_t queue = hass_cuda_stream (stream);
  switch (f->params.patch)
    {
    case 1:
      return launch<3> (bundle, queue, f, error);
    case 2:
      return launch<5> (bundle, queue, f, error);
    case 3:
      return launch<7> (bundle, queue, f, error);
    case 4:
      return launch<9> (bundle, queue, f, error);
    default:
      return launch<0> (bundle, queue, f, error);
    }
}
