/* SPDX-License-Identifier: MIT */
/* gpu.h: align's functions in CUDA, NULL in a program that was built without
   nvcc.
   Thread safety: any thread. */
#ifndef ALIGN_GPU_H
#define ALIGN_GPU_H

#include "gpu_tile.h"

G_BEGIN_DECLS

/* An #AlignGpuFunc, on the GPU that is current. */
gboolean align_gpu_wave (const AlignGpuWave *wave, HassGpuStream *stream,
                         GError **error) __attribute__ ((weak));

/* Returns: TRUE if CUDA finds a GPU, for which it starts the driver. */
gboolean align_gpu_present (void) __attribute__ ((weak));

G_END_DECLS

#endif
