/* SPDX-License-Identifier: MIT */
/* hass/cuda.h: what a GPU worker in CUDA needs; the one header of hass with
   CUDA types. C and C++.
   Thread safety: any thread. */
#ifndef HASS_CUDA_H
#define HASS_CUDA_H

#include <cuda_runtime_api.h>
#include <hass/callbacks.h>

HASS_BEGIN_DECLS

/* The stream that a GPU worker's kernels go to. */
static inline cudaStream_t
hass_cuda_stream (HassGpuStream *stream)
{
  return (cudaStream_t)stream;
}

/**
 * hass_cuda_check:
 * @what: what was tried, for the message.
 *
 * Returns: TRUE for cudaSuccess; else FALSE with HASS_ERROR_DEVICE, after
 * clearing CUDA's own last error. After launches:
 * `return hass_cuda_check (cudaGetLastError (), "my kernel", error);`
 */
static inline gboolean
hass_cuda_check (cudaError_t code, const char *what, GError **error)
{
  if (code == cudaSuccess)
    return TRUE;
  cudaGetLastError ();
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "%s: %s (%s)", what,
               cudaGetErrorString (code), cudaGetErrorName (code));
  return FALSE;
}

HASS_END_DECLS

#endif
