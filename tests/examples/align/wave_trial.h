/* SPDX-License-Identifier: MIT */
/* wave_trial.h: align's tiles by a function for GPUs beside those by cores.
   Thread safety: one thread. */
#ifndef WAVE_TRIAL_H
#define WAVE_TRIAL_H

#include "align_trial.h"

/* Computes a call, whose pointers are into @memory, [@bytes]. */
typedef gboolean (*WaveRun) (const AlignGpuWave *wave, char *memory,
                             gsize bytes, GError **error);

/**
 * WaveTrial: what computes.
 * @gpu: called by a dataflow with @devices; NULL and 0: the machine's.
 * @run: computes a call outside of a dataflow.
 * @no_cpu: cores do not help.
 * @small: fewer and smaller tables.
 */
typedef struct
{
  AlignGpuFunc gpu;
  HassDevice *const *devices;
  guint n_devices;
  WaveRun run;
  gboolean no_cpu, small;
} WaveTrial;

/* Assert that all edges, the score and its tile have the bits that cores give.
   Random tables of all sizes, of one row or one column, and with scores around
   the limits of 8 and 16 bits; a tile with scores near the limit of 32. */
void wave_trial_random (const WaveTrial *w);
void wave_trial_thin (const WaveTrial *w);
void wave_trial_limits (const WaveTrial *w);
void wave_trial_largest (const WaveTrial *w);

/* Assert that alignments, whose way back passes several bands, are those that
   cores find. */
void wave_trial_ways (const WaveTrial *w);

#endif
