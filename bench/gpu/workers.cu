/* SPDX-License-Identifier: MIT */
/* workers.cu: see workers.h.
   Thread safety: see workers.h. */
#include "workers.h"

#include <hass/cuda_device.cuh>

#include "cuda_check.cuh"
#include "hand_hybrid.h"
#include "scan.cuh"

#define THREADS 256

/* -- Search ------------------------------------------------------------- */

/* One thread block a load. */
static __global__ void
__launch_bounds__ (THREADS)
    search_kernel (HassView v, ScanNeedle needle, gsize length)
{
  HASS_FOR_BLOCKS (v, i)
  {
    guint64 n_readable = hass_input_bytes (v, i);
    guint64 n_starts = hass_elements (v, i);
    unsigned count = 0;
    if (n_readable >= length)
      count = scan_part (hass_input (v, i),
                         n_starts < n_readable - length + 1
                             ? n_starts
                             : n_readable - length + 1,
                         n_readable, needle, threadIdx.x, blockDim.x);
    count = scan_block_sum (count);
    if (threadIdx.x == 0 && v.accumulator && count > 0)
      atomicAdd ((unsigned long long *)v.accumulator,
                 (unsigned long long)count);
    else if (threadIdx.x == 0 && !v.accumulator)
      *(unsigned long long *)hass_output (v, i) = count;
    /* scan_block_sum's shared memory is used again. */
    __syncthreads ();
  }
}

/* A stretch of a large text is one block, which the whole GPU searches. */
extern "C" gboolean
worker_search (const HassBundle *b, HassGpuStream *s, gpointer data,
               GError **error)
{
  const HandText *text = static_cast<const HandText *> (data);
  cudaStream_t stream = hass_cuda_stream (s);
  if (b->n_blocks == 1 && b->accumulator)
    scan_gpu_launch (b->input + b->input_start, b->n_elements,
                     b->input_bytes - b->input_start,
                     scan_needle (text->needle, text->length),
                     static_cast<unsigned long long *> (b->accumulator),
                     stream);
  else
    {
      gsize each = b->input_bytes / b->n_blocks;
      unsigned threads
          = (unsigned)CLAMP ((each / 16 + 31) / 32 * 32, 32, THREADS);
      search_kernel<<<hass_grid (b->n_blocks * threads, threads, 16), threads,
                      0, stream>>> (hass_view (b),
                                    scan_needle (text->needle, text->length),
                                    text->length);
    }
  return hass_cuda_check (cudaGetLastError (), "search", error);
}

/* -- Nothing and waiting ------------------------------------------------ */

static __global__ void
empty_kernel (void)
{
}

extern "C" gboolean
worker_empty (const HassBundle *, HassGpuStream *s, gpointer, GError **error)
{
  empty_kernel<<<1, 32, 0, hass_cuda_stream (s)>>> ();
  return hass_cuda_check (cudaGetLastError (), "empty kernel", error);
}

static __global__ void
pause_kernel (unsigned long long ns)
{
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do
    {
      __nanosleep (1000);
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    }
  while (now - begin < ns);
}

extern "C" gboolean
worker_pause (const HassBundle *bundle, HassGpuStream *s, gpointer data,
              GError **error)
{
  double ms = *static_cast<const double *> (data);
  for (gsize i = 0; i < bundle->n_blocks; i++)
    pause_kernel<<<1, 1, 0, hass_cuda_stream (s)>>> (
        (unsigned long long)(ms * 1e6));
  return hass_cuda_check (cudaGetLastError (), "pause", error);
}

extern "C" void
plain_pauses (double ms, guint n)
{
  cudaStream_t stream;
  cudaEvent_t done;
  CU (cudaSetDevice (0));
  CU (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
  CU (cudaEventCreateWithFlags (&done, cudaEventBlockingSync
                                           | cudaEventDisableTiming));
  for (guint i = 0; i < n; i++)
    {
      pause_kernel<<<1, 1, 0, stream>>> ((unsigned long long)(ms * 1e6));
      CU (cudaGetLastError ());
      CU (cudaEventRecord (done, stream));
      CU (cudaEventSynchronize (done));
    }
  CU (cudaEventDestroy (done));
  CU (cudaStreamDestroy (stream));
}

/* -- Steps -------------------------------------------------------------- */

static __global__ void
__launch_bounds__ (THREADS)
    steps_kernel (Steps s, guint64 first, guint64 n, unsigned long long *sum)
{
  unsigned long long mine = 0;
  for (guint64 e = (guint64)blockIdx.x * blockDim.x + threadIdx.x; e < n;
       e += (guint64)gridDim.x * blockDim.x)
    {
      guint32 x = 0;
      for (guint32 r = 0; r < s.gpu_repeat; r++)
        {
          x = steps_seed (first + e) + (x & s.zero);
          for (guint32 i = 0; i < s.n_steps; i++)
            x = x * s.a + s.c;
        }
      mine += x;
    }
  for (int step = 16; step > 0; step /= 2)
    mine += __shfl_down_sync (~0u, mine, step);
  if (threadIdx.x % 32 == 0)
    atomicAdd (sum, mine);
}

extern "C" gboolean
worker_steps (const HassBundle *b, HassGpuStream *s, gpointer data,
              GError **error)
{
  const Steps *steps = static_cast<const Steps *> (data);
  for (gsize i = 0; i < b->n_blocks; i++)
    steps_kernel<<<hass_grid (b->blocks[i].count, THREADS, 4), THREADS, 0,
                   hass_cuda_stream (s)>>> (
        *steps, b->blocks[i].first, b->blocks[i].count,
        static_cast<unsigned long long *> (b->accumulator));
  return hass_cuda_check (cudaGetLastError (), "steps", error);
}

/* Word @at of token @i; a warp computes one result. */
static __device__ __forceinline__ void
token_word (const HassView &v, gsize i, unsigned at, const TokenSteps &s)
{
  guint32 x = ((const guint32 *)hass_input (v, i))[at];
  for (guint32 k = 0; k < s.gpu_steps; k++)
    x = x * s.a + s.c;
  x = x * s.leap_a + s.leap_c;
  for (int step = WORDS_SUMMED / 2; step > 0; step /= 2)
    x += __shfl_down_sync (~0u, x, step);
  if (at % WORDS_SUMMED == 0)
    ((guint32 *)hass_output (v, i))[at / WORDS_SUMMED] = x;
}

static __global__ void
__launch_bounds__ (THREADS) token_steps_kernel (HassView v, TokenSteps s)
{
  token_word (v, blockIdx.y, blockIdx.x * THREADS + threadIdx.x, s);
}

static __global__ void
__launch_bounds__ (THREADS) token_blocks_kernel (HassView v, TokenSteps s)
{
  HASS_FOR_BLOCKS (v, i)
  for (unsigned at = threadIdx.x; at < s.n_words; at += THREADS)
    token_word (v, i, at, s);
}

static gboolean
launch_token_steps (const HassBundle *b, HassGpuStream *s,
                    const TokenSteps *steps, GError **error)
{
  token_steps_kernel<<<dim3 (steps->n_words / THREADS, (unsigned)b->n_blocks),
                       THREADS, 0, hass_cuda_stream (s)>>> (hass_view (b),
                                                            *steps);
  return hass_cuda_check (cudaGetLastError (), "steps of tokens", error);
}

extern "C" gboolean
worker_token_steps (const HassBundle *b, HassGpuStream *s, gpointer data,
                    GError **error)
{
  return launch_token_steps (b, s, static_cast<const TokenSteps *> (data),
                             error);
}

extern "C" gboolean
worker_token_steps_slow (const HassBundle *b, HassGpuStream *s, gpointer data,
                         GError **error)
{
  return launch_token_steps (b, s, static_cast<const TokenSteps *> (data) + 1,
                             error);
}

static gboolean
launch_token_blocks (const HassBundle *b, HassGpuStream *s,
                     const TokenSteps *steps, GError **error)
{
  token_blocks_kernel<<<(unsigned)b->n_blocks, THREADS, 0,
                        hass_cuda_stream (s)>>> (hass_view (b), *steps);
  return hass_cuda_check (cudaGetLastError (), "blocks of steps", error);
}

extern "C" gboolean
worker_token_blocks (const HassBundle *b, HassGpuStream *s, gpointer data,
                     GError **error)
{
  return launch_token_blocks (b, s, static_cast<const TokenSteps *> (data),
                              error);
}

extern "C" gboolean
worker_token_blocks_slow (const HassBundle *b, HassGpuStream *s, gpointer data,
                          GError **error)
{
  return launch_token_blocks (b, s, static_cast<const TokenSteps *> (data) + 1,
                              error);
}
