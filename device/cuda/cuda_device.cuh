/* SPDX-License-Identifier: MIT */
/* hass/cuda_device.cuh: a bundle as kernels see it.

   DESIGN. hass_view() makes a plain value of a bundle's device pointers that
   a kernel takes as an argument. A kernel finds its work in one of three
   ways:

   1. One thread per element: HASS_FOR_ELEMENTS visits the elements of all
      blocks, hass_find_block() tells whose they are.
   2. One thread block per load: HASS_FOR_BLOCKS with blockIdx.x (Zhang 2011,
      3.5, HASS_i: M loads of similar size, M multiprocessors).
   3. Grid-stride over the bytes of the whole bundle: HASS_FOR_BYTES.

   hass_grid() gives the number of thread blocks to launch. Results of
   varying number go to hass_append(). Tasks of a function farm that share
   one worker call hass_function() to know which device function is theirs.

   Thread safety: views are values. */
#ifndef HASS_CUDA_DEVICE_CUH
#define HASS_CUDA_DEVICE_CUH

#include <hass/cuda.h>

/* Fields as in HassBundle; all pointers are device pointers. */
struct HassView
{
  guint64 n_blocks;
  guint64 n_elements;
  const guint8 *input;
  guint64 input_start, input_bytes;
  guint8 *output;
  guint64 output_bytes;
  const guint64 *offsets, *output_offsets, *output_pitches;
  const guint64 *elements, *halos;
  const guint32 *functions;
  void *accumulator;
  guint8 *records;
  guint32 *record_blocks;
  unsigned long long *n_records;
  guint64 record_capacity, record_bytes;
};

static inline HassView
hass_view (const HassBundle *b)
{
  HassView v;
  v.n_blocks = b->n_blocks;
  v.n_elements = b->n_elements;
  v.input = b->input;
  v.input_start = b->input_start;
  v.input_bytes = b->input_bytes;
  v.output = b->output;
  v.output_bytes = b->output_bytes;
  v.offsets = b->offsets;
  v.output_offsets = b->output_offsets;
  v.output_pitches = b->output_pitches;
  v.elements = b->elements;
  v.halos = b->halos;
  v.functions = b->functions;
  v.accumulator = b->accumulator;
  v.records = (guint8 *)b->records;
  v.record_blocks = b->record_blocks;
  v.n_records = (unsigned long long *)b->n_records;
  v.record_capacity = b->record_capacity;
  v.record_bytes = b->record_bytes;
  return v;
}

/* Thread blocks of @threads for @n items, one each, but no more than fill
   the present device @waves times over: use it with the loops below. */
static inline unsigned
hass_grid (guint64 n, unsigned threads, unsigned waves)
{
  int device = 0, multiprocessors = 1, resident = 2048;
  cudaGetDevice (&device);
  cudaDeviceGetAttribute (&multiprocessors, cudaDevAttrMultiProcessorCount,
                          device);
  cudaDeviceGetAttribute (&resident, cudaDevAttrMaxThreadsPerMultiProcessor,
                          device);
  guint64 most = (guint64)multiprocessors
                 * (resident / threads > 0 ? resident / threads : 1) * waves;
  guint64 blocks = (n + threads - 1) / threads;
  return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

#ifdef __CUDACC__

/* Each load by one thread block, whatever the grid. */
#  define HASS_FOR_BLOCKS(view, i)                                             \
    for (guint64 i = blockIdx.x; i < (view).n_blocks; i += gridDim.x)

/* Each element of the bundle by one thread. */
#  define HASS_FOR_ELEMENTS(view, e)                                           \
    for (guint64 e = (guint64)blockIdx.x * blockDim.x + threadIdx.x;           \
         e < (view).n_elements; e += (guint64)gridDim.x * blockDim.x)

/* Offsets into the bundle's input, halos included, @step bytes a thread. */
#  define HASS_FOR_BYTES(view, at, step)                                       \
    for (guint64 at                                                            \
         = ((guint64)blockIdx.x * blockDim.x + threadIdx.x) * (step);          \
         at < (view).input_bytes;                                              \
         at += (guint64)gridDim.x * blockDim.x * (step))

/* First element of block @i. */
__device__ static inline const guint8 *
hass_input (const HassView &v, guint64 i)
{
  if (!v.offsets)
    return v.input + v.input_start;
  return v.input + v.offsets[i] + (v.halos ? v.halos[i] : 0);
}

/* Bytes from there to the end of the block's halo. */
__device__ static inline guint64
hass_input_bytes (const HassView &v, guint64 i)
{
  if (!v.offsets)
    return v.input_bytes - v.input_start;
  return v.offsets[i + 1] - v.offsets[i] - (v.halos ? v.halos[i] : 0);
}

__device__ static inline guint8 *
hass_output (const HassView &v, guint64 i)
{
  return v.output + (v.output_offsets ? v.output_offsets[i] : 0);
}

/* Bytes from a row of block @i's tile to the next one, if it has rows of
   @row_bytes. */
__device__ static inline guint64
hass_output_pitch (const HassView &v, guint64 i, guint64 row_bytes)
{
  return v.output_pitches ? v.output_pitches[i] : row_bytes;
}

/* Elements of block @i, and how many the bundle has before it. */
__device__ static inline guint64
hass_elements (const HassView &v, guint64 i)
{
  return v.elements ? v.elements[i + 1] - v.elements[i] : v.n_elements;
}

__device__ static inline guint64
hass_elements_before (const HassView &v, guint64 i)
{
  return v.elements ? v.elements[i] : 0;
}

/* The block that element @e of the bundle belongs to; O(log n_blocks). */
__device__ static inline guint64
hass_find_block (const HassView &v, guint64 e)
{
  guint64 lo = 0, hi = v.n_blocks;
  if (!v.elements)
    return 0;
  while (hi - lo > 1)
    {
      guint64 middle = lo + (hi - lo) / 2;
      if (v.elements[middle] <= e)
        lo = middle;
      else
        hi = middle;
    }
  return lo;
}

/* gpu_function of task @i. */
__device__ static inline guint32
hass_function (const HassView &v, guint64 i)
{
  return v.functions ? v.functions[i] : 0;
}

/* Room for one more record of block @i, or NULL: the bundle has more than
   were expected and will be computed again. Threads of a warp that append
   together share one atomic addition. */
__device__ static inline void *
hass_append (const HassView &v, guint64 i)
{
  unsigned peers = __activemask ();
  int lane
      = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  lane &= 31;
  int leader = __ffs (peers) - 1;
  unsigned long long at = 0;
  if (lane == leader)
    at = atomicAdd (v.n_records, (unsigned long long)__popc (peers));
  at = __shfl_sync (peers, at, leader) + __popc (peers & ((1u << lane) - 1));
  if (at >= v.record_capacity)
    return NULL;
  v.record_blocks[at] = (guint32)i;
  return v.records + at * v.record_bytes;
}

#endif

#endif
