/* SPDX-License-Identifier: MIT */
/* gpu_limit.h: what --gpus and --cpu-only mean in HassRunOptions.
   Thread safety: any thread. */
#ifndef HASS_EXAMPLES_GPU_LIMIT_H
#define HASS_EXAMPLES_GPU_LIMIT_H

#include <glib.h>

/* The value of --gpus before it is given: all GPUs. */
#define ALL_GPUS G_MININT

/* Returns: the n_gpus for the value of --gpus, of which 0 means none, whereas
   there 0 means all and -1 none. */
static inline gint
gpu_limit (gint gpus, gboolean cpu_only)
{
  if (cpu_only || gpus == 0)
    return -1;
  return gpus == ALL_GPUS ? 0 : gpus;
}

#endif
