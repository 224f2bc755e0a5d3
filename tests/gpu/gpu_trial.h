/* SPDX-License-Identifier: MIT */
/* gpu_trial.h: farms of the tests on real GPUs, and their data.
   Thread safety: one thread. */
#ifndef HASS_TEST_GPU_TRIAL_H
#define HASS_TEST_GPU_TRIAL_H

#include <hass/hass.h>

/* Where there is no GPU, or what runs there was not @built, for lack of nvcc:
   skips the test and returns TRUE. */
gboolean gpu_skips (gboolean built);
/* The same of the kernels in kernels.h. */
gboolean gpu_absent (void);

/* Runs a suite with a fault that breaks the process's CUDA context or a GPU: in
   a process of its own, this program again, told so by TEST_GPU_FAULT. */
void gpu_in_child (const char *suite, const char *fault);

/* @n, or less of it under a sanitizer. */
gsize scaled (gsize n);

/* [n], the same sequence in each run; free with hass_memory_free() if pinned,
 * else with g_free(). */
guint8 *random_bytes (gsize n, gboolean pinned);

/* Runs a farm, hass_data_farm_combine() say. The test fails if it does. */
HassReport *must_run (gboolean (*run) (const HassDataFarm *, HassReport **,
                                       GError **),
                      const HassDataFarm *farm);

/* The sum of the report's GPUs, until the next call. */
const HassDeviceReport *gpu_of (const HassReport *report);

typedef struct
{
  guint8 *bytes;
  HassLoad *loads;
  guint64 *sums;
  gsize n;
} Scattered;

/* @n loads of @least to @most bytes each, in pageable memory. */
Scattered scattered_new (gsize n, gsize least, gsize most);
/* The outputs are the sums of the loads; forgets them. */
void scattered_check (Scattered *s);
void scattered_free (Scattered *s);
/* A farm that sums the loads, on cores too where @cpu. */
HassDataFarm scattered_farm (Scattered *s, gboolean cpu, HassGpuWorkerFunc gpu);

#endif
