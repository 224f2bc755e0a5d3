/* SPDX-License-Identifier: MIT */
/* kernel.cu: the query on a GPU, one thread a person.
   Thread safety: the worker runs on its device's proxy thread. */
#include <hass/cuda_device.cuh>

#include "query.h"

#define THREADS 256
#define WHOLE_WARP 0xffffffffu

/* Element @e of the bundle, the block it is of and its number there. */
__device__ static inline const Person *
find_person (const HassView &view, guint64 e, guint64 *block, guint64 *within)
{
  *block = hass_find_block (view, e);
  *within = e - hass_elements_before (view, *block);
  return (const Person *)(const void *)hass_input (view, *block) + *within;
}

static __global__ void
append_matches (HassView view, const PersonWanted *wanted_at)
{
  const PersonWanted wanted = *wanted_at;
  HASS_FOR_ELEMENTS (view, e)
  {
    guint64 block, within;
    const Person *person = find_person (view, e, &block, &within);
    if (person_matches (person, &wanted))
      {
        guint32 *record = (guint32 *)hass_append (view, block);
        if (record)
          *record = (guint32)within;
      }
  }
}

static __global__ void
count_matches (HassView view, const PersonWanted *wanted_at)
{
  const PersonWanted wanted = *wanted_at;
  unsigned long long n = 0;
  HASS_FOR_ELEMENTS (view, e)
  {
    guint64 block, within;
    n += person_matches (find_person (view, e, &block, &within), &wanted);
  }
  /* No thread has returned: the warp is whole again. */
  __syncwarp (WHOLE_WARP);
  for (int lanes = 16; lanes > 0; lanes /= 2)
    n += __shfl_down_sync (WHOLE_WARP, n, lanes);
  if (threadIdx.x % 32 == 0 && n > 0)
    atomicAdd ((unsigned long long *)view.accumulator, n);
}

extern "C" gboolean
person_query_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                         gpointer user_data, GError **error)
{
  HassView view = hass_view (bundle);
  const PersonWanted *wanted = (const PersonWanted *)bundle->constants[0];
  void *arguments[] = { &view, &wanted };
  unsigned grid = hass_grid (view.n_elements, THREADS, 4);
  (void)user_data;
  return hass_cuda_check (
      cudaLaunchKernel (view.accumulator ? count_matches : append_matches,
                        dim3 (grid), dim3 (THREADS), arguments, 0,
                        hass_cuda_stream (stream)),
      "person_query", error);
}
