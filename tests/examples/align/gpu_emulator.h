/* SPDX-License-Identifier: MIT */
/* gpu_emulator.h: what examples/align/gpu.cu computes, on the host: the lanes
   of a warp in lockstep, the warps of a thread block phase by phase.
   Thread safety: as AlignGpuFunc. */
#ifndef GPU_EMULATOR_H
#define GPU_EMULATOR_H

#include "align/gpu_tile.h"

/* An #AlignGpuFunc, in host memory. @stream is not used. */
gboolean gpu_emulator_wave (const AlignGpuWave *wave, HassGpuStream *stream,
                            GError **error);

#endif
