/* SPDX-License-Identifier: MIT */
/* gpu.cu: bit_count's GPU worker.
   Thread safety: as GPU workers. */
#include <hass/cuda_device.cuh>

__global__ void
count (HassView v)
{
  unsigned long long bits = 0;
  HASS_FOR_BYTES (v, at, 1)
  bits += __popc (v.input[at]);
  for (int step = 16; step > 0; step /= 2)
    bits += __shfl_down_sync (~0u, bits, step);
  if (threadIdx.x % 32 == 0)
    atomicAdd ((unsigned long long *)v.accumulator, bits);
}

extern "C" gboolean
bit_count_gpu (const HassBundle *b, HassGpuStream *stream, gpointer,
               GError **error)
{
  count<<<hass_grid (b->input_bytes, 256, 2), 256, 0,
          hass_cuda_stream (stream)>>> (hass_view (b));
  return hass_cuda_check (cudaGetLastError (), "count", error);
}
