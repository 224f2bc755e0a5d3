/* SPDX-License-Identifier: MIT */
/* denoise.h: the pipeline of y4m_denoise.
   Thread safety: a run blocks its thread; files must not be used meanwhile. */
#ifndef Y4M_DENOISE_H
#define Y4M_DENOISE_H

#include <hass/hass.h>
#include <hass/pipeline.h>

#include "y4m.h"

/**
 * Y4mJob: a stream to denoise.
 * @in: at the first frame.
 * @out: gets a stream with the same header, from the first frame that is
 *   done on, or at the end if there are none.
 * @replaces: what the file @out holds is removed before that.
 * @format: that of @in.
 * @nlm: see nlm_params().
 * @temporal: strength of y4m_blend(); 0: frames are not blended.
 * @frames: most frames in flight; 0: two a core and 16, at least 64 MiB.
 * @no_cpu: cores do not denoise.
 * @gpu: GPUs denoise, too, if the program was built with CUDA.
 * @run: but for loads_expected, which is set if @in is a regular file.
 */
typedef struct
{
  FILE *in, *out;
  const Y4mFormat *format;
  NlmParams nlm;
  guint temporal, frames;
  gboolean replaces, no_cpu, gpu;
  HassRunOptions run;
} Y4mJob;

/**
 * y4m_denoise_run:
 * @report: (out) (optional): as of hass_pipeline().
 *
 * Returns: FALSE with the error of y4m_read_frame_line(), y4m_read_samples(),
 * the writing functions or hass_pipeline(). If the input is malformed or ends
 * early, the frames before are written first.
 */
gboolean y4m_denoise_run (const Y4mJob *job, HassReport **report,
                          GError **error);

/* The GPU worker, whose user_data is an #NlmFrame, in nlm.cu; NULL in a
   program built without CUDA. */
gboolean y4m_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                         gpointer user_data, GError **error)
    __attribute__ ((weak));

#endif
