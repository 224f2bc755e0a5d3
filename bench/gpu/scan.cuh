/* SPDX-License-Identifier: MIT */
/* scan.cuh: counts a literal in device memory.

   DESIGN. A thread takes 16 starts: one vector of 16 bytes, and the next one
   for matches that extend into it. So a warp reads 512 adjacent bytes, each
   twice, the second time from the cache. At each start four bytes are compared,
   and the remaining ones if these are equal. Vectors are aligned for any text;
   the first and the last are read byte by byte where they extend beyond it.

   Thread safety: any thread may launch. */
#ifndef GPU_BENCH_SCAN_CUH
#define GPU_BENCH_SCAN_CUH

#include <cuda_runtime.h>
#include <glib.h>
#include <string.h>

/* A literal of up to 16 bytes, with ones in the mask where it has bytes; a
   kernel gets it by value. */
struct ScanNeedle
{
  unsigned word[4], mask[4];
  unsigned length; /* bytes */
};

static inline ScanNeedle
scan_needle (const guint8 *needle, gsize length)
{
  ScanNeedle n;
  guint8 mask[16] = { 0 }, bytes[16] = { 0 };
  n.length = (unsigned)length;
  memset (mask, 0xff, length);
  memcpy (bytes, needle, length);
  memcpy (n.word, bytes, sizeof bytes);
  memcpy (n.mask, mask, sizeof mask);
  return n;
}

/* The vector at @at, which is aligned, of the bytes in [begin, end). */
static __device__ __forceinline__ uint4
scan_load (const guint8 *at, const guint8 *begin, const guint8 *end)
{
  if (at >= begin && at + 16 <= end)
    return __ldg (reinterpret_cast<const uint4 *> (at));
  unsigned w[4] = { 0, 0, 0, 0 };
#pragma unroll
  for (int i = 0; i < 16; i++)
    if (at + i >= begin && at + i < end)
      w[i / 4] |= (unsigned)at[i] << (8 * (i % 4));
  return make_uint4 (w[0], w[1], w[2], w[3]);
}

/**
 * scan_part: what thread @thread of @n_threads counts of the matches that
 * begin in the first @n_starts bytes of @text; all of them lie within the
 * first @n_readable, n_starts + length - 1 at least.
 */
static __device__ __forceinline__ unsigned
scan_part (const guint8 *text, gsize n_starts, gsize n_readable,
           const ScanNeedle &needle, gsize thread, gsize n_threads)
{
  const gsize skip = reinterpret_cast<gsize> (text) & 15;
  const guint8 *base = text - skip, *end = text + n_readable;
  const gsize n_vectors = (skip + n_starts + 15) / 16;
  unsigned count = 0;
  for (gsize v = thread; v < n_vectors; v += n_threads)
    {
      const guint8 *at = base + 16 * v;
      const uint4 low = scan_load (at, text, end);
      const uint4 high = scan_load (at + 16, text, end);
      const unsigned w[8]
          = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };
#pragma unroll
      for (int s = 0; s < 16; s++)
        {
          const int q = s / 4, shift = 8 * (s % 4);
          if (__funnelshift_r (w[q], w[q + 1], shift) != needle.word[0])
            continue;
          unsigned differ = 0;
#pragma unroll
          for (int j = 1; j < 4; j++)
            {
              unsigned next = q + j + 1 < 8 ? w[q + j + 1] : 0;
              differ
                  |= (__funnelshift_r (w[q + j], next, shift) ^ needle.word[j])
                     & needle.mask[j];
            }
          gsize start = 16 * v + s;
          count += differ == 0 && start >= skip && start - skip < n_starts;
        }
    }
  return count;
}

/* For lane 0. */
static __device__ __forceinline__ unsigned
scan_warp_sum (unsigned count)
{
  for (int step = 16; step > 0; step /= 2)
    count += __shfl_down_sync (0xffffffffu, count, step);
  return count;
}

/* The sum over the threads of a block, for its thread 0; blocks of up to
   1024 threads, all of them here. */
static __device__ __forceinline__ unsigned
scan_block_sum (unsigned count)
{
  __shared__ unsigned part[32];
  const unsigned n_warps = (blockDim.x + 31) / 32;
  count = scan_warp_sum (count);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = count;
  __syncthreads ();
  if (threadIdx.x < 32)
    count = scan_warp_sum (threadIdx.x < n_warps ? part[threadIdx.x] : 0);
  return count;
}

static __global__ void __launch_bounds__ (256)
    scan_kernel (const guint8 *text, gsize n_starts, gsize n_readable,
                 ScanNeedle needle, unsigned long long *count)
{
  unsigned mine = scan_part (text, n_starts, n_readable, needle,
                             (gsize)blockIdx.x * blockDim.x + threadIdx.x,
                             (gsize)gridDim.x * blockDim.x);
  mine = scan_block_sum (mine);
  if (threadIdx.x == 0 && mine > 0)
    atomicAdd (count, (unsigned long long)mine);
}

/**
 * scan_gpu_launch: enqueues on @stream, for the current device, the addition
 * to *@d_count of what scan_cpu() would return. The caller asks
 * cudaGetLastError().
 */
static inline void
scan_gpu_launch (const guint8 *d_text, gsize n_starts, gsize n_readable,
                 const ScanNeedle &needle, unsigned long long *d_count,
                 cudaStream_t stream)
{
  if (n_readable < needle.length || n_starts == 0)
    return;
  if (n_starts > n_readable - needle.length + 1)
    n_starts = n_readable - needle.length + 1;
  gsize n_vectors = (n_starts + 30) / 16;
  gsize n_blocks = (n_vectors + 255) / 256;
  scan_kernel<<<(unsigned)(n_blocks < 2048 ? n_blocks : 2048), 256, 0,
                stream>>> (d_text, n_starts, n_readable, needle, d_count);
}

#endif
