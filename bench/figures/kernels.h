/* SPDX-License-Identifier: MIT */
/* kernels.h: the GPU workers of the figures, whose user data is a pointer to
   FiguresSteps, and which GPUs there are. Weak: without nvcc they are NULL.
   Thread safety: as GPU workers; the rest by one thread. */
#ifndef FIGURES_KERNELS_H
#define FIGURES_KERNELS_H

#include <hass/hass.h>

G_BEGIN_DECLS

#define FIGURES_WORKER(name)                                                   \
  gboolean name (const HassBundle *bundle, HassGpuStream *stream,              \
                 gpointer user_data, GError **error) __attribute__ ((weak))

/* A thread for each element: its hash. */
FIGURES_WORKER (figures_gpu_elements);
/* A thread block for each load: the hash of each element. */
FIGURES_WORKER (figures_gpu_loads);
/* A thread block for each load: the first element from 1 on whose hash is
   the first word of the load; where there is none, their number. */
FIGURES_WORKER (figures_gpu_search);

/* 0 also without a driver. */
guint figures_gpu_count (void) __attribute__ ((weak));
/* Free with g_free(). */
char *figures_gpu_name (guint index) __attribute__ ((weak));

G_END_DECLS

#endif
