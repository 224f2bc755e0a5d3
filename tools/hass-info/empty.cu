/* SPDX-License-Identifier: MIT */
/* empty.cu: a kernel that does nothing.
   Thread safety: any thread, its own stream. */
#include <cuda_runtime.h>
#include <glib.h>

static __global__ void
empty ()
{
}

extern "C" int info_launch_empty (gpointer stream);

extern "C" int
info_launch_empty (gpointer stream)
{
  return cudaLaunchKernel (empty, dim3 (1), dim3 (1), NULL, 0,
                           (cudaStream_t)stream);
}
