/* SPDX-License-Identifier: MIT */
/* counting.h: workers that count their units, on cores and on GPUs of the
   stand-in for the CUDA runtime.
   Thread safety: workers any thread, the rest one. */
#ifndef COUNTING_H
#define COUNTING_H

#include <stdatomic.h>

#include "hass/hass.h"

/* Units since counting_reset(). */
extern _Atomic guint counting_on_cpu, counting_on_gpu;

void counting_reset (void);
gboolean counting_cpu_worker (const HassBlock *block, HassWorker *worker,
                              gpointer data, GError **error);
gboolean counting_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                              gpointer data, GError **error);

#endif
