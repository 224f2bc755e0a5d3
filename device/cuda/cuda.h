/* SPDX-License-Identifier: MIT */
/* hass/cuda.h: what a GPU worker in CUDA needs. This is the only header with
   CUDA types besides hass/cuda_device.cuh. C and C++.
   Thread safety: any thread. */
#ifndef HASS_CUDA_H
#define HASS_CUDA_H

#include <cuda_runtime_api.h>
#include <hass/callbacks.h>

HASS_BEGIN_DECLS

/* Returns: the CUDA stream on which a GPU worker enqueues. */
static inline cudaStream_t
hass_cuda_stream (HassGpuStream *stream)
{
  return (cudaStream_t)stream;
}

/**
 * hass_cuda_check:
 * @code: result of a CUDA call.
 * @what: what was tried, for the message.
 *
 * Checks a result, for instance after a launch:
 * `return hass_cuda_check (cudaGetLastError (), "my kernel", error);`
 *
 * Returns: TRUE for cudaSuccess; else FALSE with HASS_ERROR_DEVICE, after
 * clearing CUDA's last error.
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
