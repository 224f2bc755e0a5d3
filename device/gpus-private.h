/* SPDX-License-Identifier: MIT */
/* gpus-private.h: the GPUs of the machine, one process's view of them.
   Thread safety: any thread. */
#ifndef HASS_GPUS_PRIVATE_H
#define HASS_GPUS_PRIVATE_H

#include "cudart-private.h"
#include "hass/device.h"

guint hass_gpus_count (void);
const char *hass_gpus_problem (void);
HassDevice *hass_cuda_device_new (guint index);
void hass_cuda_device_free (HassDevice *device);
const HassCudaProperties *hass_cuda_device_properties (guint index);

/* memory.c */
gboolean hass_memory_is_pinned (gconstpointer memory, gsize bytes);

#endif
