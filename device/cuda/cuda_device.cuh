/* SPDX-License-Identifier: MIT */
/* hass/cuda_device.cuh: access to a bundle from CUDA kernels.

   DESIGN. hass_view() copies the device pointers of a bundle to a plain struct
   that is passed to a kernel by value. A kernel finds its work in one of three
   ways:

   1. One thread an element: HASS_FOR_ELEMENTS visits the elements of all
      blocks, and hass_find_block() returns the block of an element.
   2. One thread block a load: HASS_FOR_BLOCKS (Zhang 2011, section 3.5,
      HASS_i: M loads of similar size on M multiprocessors).
   3. Grid-stride over the bytes of the bundle: HASS_FOR_BYTES.

   hass_grid() computes the number of thread blocks of a launch. Kernels write
   results of varying number with hass_append(). In a function farm whose tasks
   share a GPU worker, hass_function() says which device function a task calls.

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

/* Returns: the number of thread blocks of @threads threads for @n items, one
   thread an item, but at most as many as fill the current device @waves times.
   For kernels that use the loops below, which cover any number of items. */
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

/* Visits each block of the bundle with one thread block, for any grid. */
#  define HASS_FOR_BLOCKS(view, i)                                             \
    for (guint64 i = blockIdx.x; i < (view).n_blocks; i += gridDim.x)

/* Visits each element of the bundle with one thread. */
#  define HASS_FOR_ELEMENTS(view, e)                                           \
    for (guint64 e = (guint64)blockIdx.x * blockDim.x + threadIdx.x;           \
         e < (view).n_elements; e += (guint64)gridDim.x * blockDim.x)

/* Visits offsets into the input of the bundle, halos included, @step bytes a
   thread. */
#  define HASS_FOR_BYTES(view, at, step)                                       \
    for (guint64 at                                                            \
         = ((guint64)blockIdx.x * blockDim.x + threadIdx.x) * (step);          \
         at < (view).input_bytes;                                              \
         at += (guint64)gridDim.x * blockDim.x * (step))

/* Returns: the first element of block @i. */
__device__ static inline const guint8 *
hass_input (const HassView &v, guint64 i)
{
  if (!v.offsets)
    return v.input + v.input_start;
  return v.input + v.offsets[i] + (v.halos ? v.halos[i] : 0);
}

/* Returns: bytes from the first element of block @i to the end of its halo. */
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

/* Returns: bytes from one row of block @i's tile to the next, where a row has
   @row_bytes. */
__device__ static inline guint64
hass_output_pitch (const HassView &v, guint64 i, guint64 row_bytes)
{
  return v.output_pitches ? v.output_pitches[i] : row_bytes;
}

/* hass_elements() returns the number of elements of block @i,
   hass_elements_before() the number of elements of the bundle before it. */
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

/* Returns: the block that element @e of the bundle belongs to.
   O(log n_blocks). */
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

/* Returns: HassTask.gpu_function of task @i. */
__device__ static inline guint32
hass_function (const HassView &v, guint64 i)
{
  return v.functions ? v.functions[i] : 0;
}

/* Returns: room for one more record of block @i; or NULL if the capacity is
   exceeded, in which case the library computes the bundle again with more
   room. Threads of a warp that append together share one atomic addition. */
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
