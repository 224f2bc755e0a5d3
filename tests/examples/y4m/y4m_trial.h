/* SPDX-License-Identifier: MIT */
/* y4m_trial.h: streams of random frames, denoised in this process.
   Thread safety: one thread. */
#ifndef Y4M_TRIAL_H
#define Y4M_TRIAL_H

#include "y4m_denoise/denoise.h"

/* A stream of @n_frames frames of noise in [0, @range) around a moving edge.
   Every third frame has a parameter. @header: the first line without its end.
 */
GString *y4m_trial_stream (const char *header, guint n_frames, guint range,
                           guint seed);

/* Runs y4m_denoise_run() on @stream with the settings of @job, whose files and
   format are filled in. Returns what it wrote; *@ok: what it returned. */
GBytes *y4m_trial_run (const GString *stream, Y4mJob job, gboolean *ok,
                       GError **error);

/* What it should write, computed here frame by frame by one loop. */
GBytes *y4m_trial_expected (const GString *stream, const Y4mJob *job);

#endif
