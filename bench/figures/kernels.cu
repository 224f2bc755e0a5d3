/* SPDX-License-Identifier: MIT */
/* kernels.cu: see kernels.h.
   Thread safety: see kernels.h. */
#include "kernels.h"

#include <hass/cuda_device.cuh>

#include "work.h"

#define ELEMENT_THREADS 256
#define LOAD_THREADS 256
/* Elements that a search tests before it may stop. */
#define SEARCH_THREADS 64
#define WAVES 8

__device__ static inline const guint64 *
element (const HassView &v, guint64 block, guint64 index)
{
  return (const guint64 *)hass_input (v, block) + index * FIGURES_WORDS;
}

__global__ void
hash_elements (HassView v, FiguresSteps steps)
{
  HASS_FOR_ELEMENTS (v, e)
  {
    guint64 block = hass_find_block (v, e);
    guint64 index = e - hass_elements_before (v, block);
    guint64 *out = (guint64 *)hass_output (v, block);
    out[index] = figures_hash (element (v, block, index), steps);
  }
}

__global__ void
hash_loads (HassView v, FiguresSteps steps)
{
  HASS_FOR_BLOCKS (v, i)
  {
    guint64 *out = (guint64 *)hass_output (v, i);
    guint64 n = hass_elements (v, i);
    for (guint64 e = threadIdx.x; e < n; e += blockDim.x)
      out[e] = figures_hash (element (v, i, e), steps);
  }
}

/* All threads of a block leave the inner loop together, and none touches
   `first` after that but thread 0. */
__global__ void
search_loads (HassView v, FiguresSteps steps)
{
  __shared__ unsigned long long first;
  HASS_FOR_BLOCKS (v, i)
  {
    guint64 n = hass_elements (v, i);
    if (threadIdx.x == 0)
      first = n;
    __syncthreads ();
    guint64 target = *element (v, i, 0);
    for (guint64 from = 0; from < n; from += blockDim.x)
      {
        guint64 e = from + threadIdx.x;
        bool hit = e > 0 && e < n
                   && figures_hash (element (v, i, e), steps) == target;
        if (hit)
          atomicMin (&first, (unsigned long long)e);
        if (__syncthreads_or (hit))
          break;
      }
    if (threadIdx.x == 0)
      *(guint64 *)hass_output (v, i) = first;
  }
}

static gboolean
launched (const char *what, GError **error)
{
  return hass_cuda_check (cudaGetLastError (), what, error);
}

extern "C" gboolean
figures_gpu_elements (const HassBundle *b, HassGpuStream *stream,
                      gpointer user_data, GError **error)
{
  hash_elements<<<hass_grid (b->n_elements, ELEMENT_THREADS, WAVES),
                  ELEMENT_THREADS, 0, hass_cuda_stream (stream)>>> (
      hass_view (b), *(const FiguresSteps *)user_data);
  return launched ("hash of elements", error);
}

extern "C" gboolean
figures_gpu_loads (const HassBundle *b, HassGpuStream *stream,
                   gpointer user_data, GError **error)
{
  hash_loads<<<hass_grid (b->n_blocks * LOAD_THREADS, LOAD_THREADS, WAVES),
               LOAD_THREADS, 0, hass_cuda_stream (stream)>>> (
      hass_view (b), *(const FiguresSteps *)user_data);
  return launched ("hash of loads", error);
}

extern "C" gboolean
figures_gpu_search (const HassBundle *b, HassGpuStream *stream,
                    gpointer user_data, GError **error)
{
  search_loads<<<hass_grid (b->n_blocks * SEARCH_THREADS, SEARCH_THREADS,
                            WAVES),
                 SEARCH_THREADS, 0, hass_cuda_stream (stream)>>> (
      hass_view (b), *(const FiguresSteps *)user_data);
  return launched ("search of loads", error);
}

extern "C" guint
figures_gpu_count (void)
{
  int n = 0;
  return cudaGetDeviceCount (&n) == cudaSuccess && n > 0 ? (guint)n : 0;
}

extern "C" char *
figures_gpu_name (guint index)
{
  cudaDeviceProp p;
  if (cudaGetDeviceProperties (&p, (int)index) != cudaSuccess)
    return g_strdup ("unknown GPU");
  return g_strdup_printf ("%s, %d multiprocessors", p.name,
                          p.multiProcessorCount);
}
