/* SPDX-License-Identifier: MIT */
/* kernels.cu: see kernels.h.
   Thread safety: see kernels.h. */
#include "kernels.h"

#include <assert.h>
#include <hass/cuda_device.cuh>

#define THREADS 256

static gboolean
launched (GError **error)
{
  return hass_cuda_check (cudaGetLastError (), "test kernel", error);
}

/* -- Elements ----------------------------------------------------------- */

__device__ static bool
ascends (const HassView &v, guint64 e, guint64 *block, guint64 *index)
{
  *block = hass_find_block (v, e);
  *index = e - hass_elements_before (v, *block);
  const guint8 *in = hass_input (v, *block) + *index;
  return *index + 1 < hass_input_bytes (v, *block)
         && (guint8)(in[0] + 1) == in[1] && in[0] != 255;
}

__global__ void
count_ascents (HassView v)
{
  unsigned long long n = 0;
  guint64 block, index;
  HASS_FOR_ELEMENTS (v, e)
  n += ascends (v, e, &block, &index);
  if (n > 0)
    atomicAdd ((unsigned long long *)v.accumulator, n);
}

__global__ void
list_ascents (HassView v)
{
  guint64 block, index;
  HASS_FOR_ELEMENTS (v, e)
  if (ascends (v, e, &block, &index))
    {
      guint64 *record = (guint64 *)hass_append (v, block);
      if (record)
        *record = index;
    }
}

extern "C" gboolean
kernel_count_ascents (const HassBundle *b, HassGpuStream *s, gpointer,
                      GError **error)
{
  count_ascents<<<hass_grid (b->n_elements, THREADS, 4), THREADS, 0,
                  hass_cuda_stream (s)>>> (hass_view (b));
  return launched (error);
}

extern "C" gboolean
kernel_list_ascents (const HassBundle *b, HassGpuStream *s, gpointer,
                     GError **error)
{
  list_ascents<<<hass_grid (b->n_elements, THREADS, 4), THREADS, 0,
                 hass_cuda_stream (s)>>> (hass_view (b));
  return launched (error);
}

/* -- Loads -------------------------------------------------------------- */

__global__ void
sum (HassView v)
{
  __shared__ unsigned long long total;
  HASS_FOR_BLOCKS (v, i)
  {
    const guint8 *in = hass_input (v, i);
    unsigned long long mine = 0;
    if (threadIdx.x == 0)
      total = 0;
    __syncthreads ();
    for (guint64 k = threadIdx.x; k < hass_input_bytes (v, i); k += blockDim.x)
      mine += in[k];
    atomicAdd (&total, mine);
    __syncthreads ();
    if (threadIdx.x < 8)
      hass_output (v, i)[threadIdx.x] = (guint8)(total >> (8 * threadIdx.x));
    __syncthreads ();
  }
}

extern "C" gboolean
kernel_sum (const HassBundle *b, HassGpuStream *s, gpointer, GError **error)
{
  sum<<<hass_grid (b->n_blocks * THREADS, THREADS, 16), THREADS, 0,
        hass_cuda_stream (s)>>> (hass_view (b));
  return launched (error);
}

__global__ void
add (HassView v, const guint8 *constant)
{
  HASS_FOR_BYTES (v, at, 1)
  v.output[at] = (guint8)(v.input[at] + constant[0]);
}

extern "C" gboolean
kernel_add (const HassBundle *b, HassGpuStream *s, gpointer, GError **error)
{
  add<<<hass_grid (b->input_bytes, THREADS, 8), THREADS, 0,
        hass_cuda_stream (s)>>> (hass_view (b),
                                 (const guint8 *)b->constants[0]);
  return launched (error);
}

__global__ void
fill (guint32 *cells, guint64 n, guint32 first)
{
  for (guint64 c = blockIdx.x * blockDim.x + threadIdx.x; c < n;
       c += gridDim.x * blockDim.x)
    cells[c] = first * 1000 + (guint32)c;
}

extern "C" gboolean
kernel_tile (const HassBundle *b, HassGpuStream *s, gpointer, GError **error)
{
  gsize at = 0;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      gsize n = b->blocks[i].output_bytes / 4;
      fill<<<hass_grid (n, THREADS, 4), THREADS, 0, hass_cuda_stream (s)>>> (
          (guint32 *)(b->output + at), n, (guint32)b->blocks[i].first);
      at += b->blocks[i].output_bytes;
    }
  return launched (error);
}

__global__ void
fill_tile (HassView v, guint64 i, guint64 n, guint64 columns, guint32 first)
{
  guint8 *tile = hass_output (v, i);
  guint64 pitch = hass_output_pitch (v, i, columns * 4);
  for (guint64 c = blockIdx.x * blockDim.x + threadIdx.x; c < n;
       c += gridDim.x * blockDim.x)
    ((guint32 *)(tile + c / columns * pitch))[c % columns]
        = first * 1000 + (guint32)c;
}

/* As kernel_tile, wherever the tiles lie. */
extern "C" gboolean
kernel_joined_tile (const HassBundle *b, HassGpuStream *s, gpointer,
                    GError **error)
{
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      gsize n = b->blocks[i].output_bytes / 4;
      fill_tile<<<hass_grid (n, THREADS, 4), THREADS, 0,
                  hass_cuda_stream (s)>>> (hass_view (b), i, n,
                                           b->blocks[i].output_row_bytes / 4,
                                           (guint32)b->blocks[i].first);
    }
  return launched (error);
}

/* -- Tasks -------------------------------------------------------------- */

typedef guint64 (*Function) (guint64 x);

__device__ static guint64
triple (guint64 x)
{
  return 3 * x;
}

__device__ static guint64
add_hundred (guint64 x)
{
  return x + 100;
}

__device__ static const Function table[] = { triple, add_hundred };

/* @which: a function of the table; -1: the task's own. */
__global__ void
task (HassView v, int which)
{
  if (threadIdx.x > 0)
    return;
  HASS_FOR_BLOCKS (v, i)
  {
    guint64 x = *(const guint64 *)hass_input (v, i);
    guint32 f = which < 0 ? hass_function (v, i) : (guint32)which;
    *(guint64 *)hass_output (v, i) = table[f](x);
  }
}

static gboolean
run_task (const HassBundle *b, HassGpuStream *s, int which, GError **error)
{
  task<<<hass_grid (b->n_blocks, 1, 16), 32, 0, hass_cuda_stream (s)>>> (
      hass_view (b), which);
  return launched (error);
}

extern "C" gboolean
kernel_task_triple (const HassBundle *b, HassGpuStream *s, gpointer,
                    GError **error)
{
  return run_task (b, s, 0, error);
}

extern "C" gboolean
kernel_task_add (const HassBundle *b, HassGpuStream *s, gpointer,
                 GError **error)
{
  return run_task (b, s, 1, error);
}

extern "C" gboolean
kernel_task_table (const HassBundle *b, HassGpuStream *s, gpointer,
                   GError **error)
{
  return run_task (b, s, -1, error);
}

/* -- Faults ------------------------------------------------------------- */

__global__ void
fail_assert (int never)
{
  assert (never != 0);
}

/* Ends after so many ms of the GPU's clock. */
__global__ void
spin (double ms)
{
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do
    {
      __nanosleep (1000);
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    }
  while (now - begin < (unsigned long long)(ms * 1e6));
}

extern "C" gboolean
kernel_bad_launch (const HassBundle *b, HassGpuStream *s, gpointer data,
                   GError **)
{
  /* More threads than a block may have; the error is left to be found. */
  sum<<<1, 4096, 0, hass_cuda_stream (s)>>> (hass_view (b));
  return TRUE;
}

extern "C" gboolean
kernel_assert (const HassBundle *b, HassGpuStream *s, gpointer data,
               GError **error)
{
  fail_assert<<<1, 1, 0, hass_cuda_stream (s)>>> (0);
  return kernel_sum (b, s, data, error);
}

extern "C" gboolean
kernel_loop (const HassBundle *b, HassGpuStream *s, gpointer data,
             GError **error)
{
  spin<<<1, 1, 0, hass_cuda_stream (s)>>> (4000);
  return kernel_sum (b, s, data, error);
}

extern "C" gboolean
kernel_slow (const HassBundle *b, HassGpuStream *s, gpointer data,
             GError **error)
{
  spin<<<1, 1, 0, hass_cuda_stream (s)>>> (*(const double *)data);
  return kernel_sum (b, s, data, error);
}

extern "C" gboolean
kernel_empty (const HassBundle *, HassGpuStream *, gpointer, GError **)
{
  return TRUE;
}

/* -- Dataflows ---------------------------------------------------------- */

__global__ void
add_bytes (guint8 *data, gsize bytes, guint8 what)
{
  gsize step = (gsize)gridDim.x * blockDim.x;
  for (gsize i = (gsize)blockIdx.x * blockDim.x + threadIdx.x; i < bytes;
       i += step)
    data[i] += what;
}

extern "C" void
kernel_add_bytes (HassGpuStream *s, gpointer data, gsize bytes, guint8 what)
{
  add_bytes<<<hass_grid (bytes, THREADS, 4), THREADS, 0,
              hass_cuda_stream (s)>>> ((guint8 *)data, bytes, what);
}

extern "C" void
kernel_spin (HassGpuStream *s, double ms)
{
  spin<<<1, 1, 0, hass_cuda_stream (s)>>> (ms);
}

extern "C" void
kernel_fail (HassGpuStream *s)
{
  fail_assert<<<1, 1, 0, hass_cuda_stream (s)>>> (0);
}
