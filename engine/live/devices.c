/* SPDX-License-Identifier: MIT */
/* devices.c: which devices of the machine a live farm runs on.
   Thread safety: any thread. */
#include "live-private.h"
#include "device/cuda/gpus-private.h"
#include "engine/core/environment.h"

static gboolean
has_gpu_work (const HassFarm *farm)
{
  return farm->gpu_worker || farm->gpu_worker_of;
}

/* Cores for the farm: option, HASS_NCPU, or what is available. */
static gboolean
choose_cores (const HassFarm *farm, guint *n_cores, GError **error)
{
  guint64 n = hass_cpu_pool_available ();
  if (!hass_environment_uint ("HASS_NCPU", 1, 4096, &n, error))
    return FALSE;
  *n_cores = farm->run->n_cores > 0 ? farm->run->n_cores : (guint)n;
  return TRUE;
}

/* GPUs of the machine for the farm: option, HASS_NGPU, or all. None where
   devices are given. A farm whose loads all could run on the CPU takes those
   that are remembered; each of a function farm's tasks may be for GPUs
   alone. */
static gboolean
choose_gpus (const HassFarm *farm, guint *n_gpus, GError **error)
{
  const HassRunOptions *run = farm->run;
  guint64 unused;
  *n_gpus = 0;
  if (!hass_gpus_memory_limit (&unused, error))
    return FALSE;
  if (!has_gpu_work (farm) || run->n_devices > 0 || run->n_gpus < 0)
    return TRUE;
  *n_gpus = farm->cpu_worker && farm->kind != HASS_FARM_FUNCTION
                ? hass_gpus_expected ()
                : hass_gpus_count ();
  if (run->n_gpus > 0)
    *n_gpus = MIN (*n_gpus, (guint)run->n_gpus);
  return TRUE;
}

static void
add_gpu (HassDevice *device, HassDeviceTraits *devices, HassDevice **gpus,
         guint *n)
{
  device->ops->describe (device, &devices[*n]);
  gpus[(*n)++] = device;
}

/* The CPU pool, if the farm has a CPU worker; then, if it has a GPU worker,
   the devices given in its options or else the machine's GPUs, which
   hass_live_free_devices takes back. */
gboolean
hass_live_devices (const HassFarm *farm, HassCpuPool **pool,
                   HassDeviceTraits **devices, HassDevice ***gpus,
                   guint *n_devices, GError **error)
{
  const HassRunOptions *run = farm->run;
  guint n = 0, n_cores, n_gpus;
  if (!choose_gpus (farm, &n_gpus, error))
    return FALSE;
  *devices = g_new0 (HassDeviceTraits, 1 + run->n_devices + n_gpus);
  *gpus = g_new0 (HassDevice *, 1 + run->n_devices + n_gpus);
  if (farm->cpu_worker)
    {
      if (!choose_cores (farm, &n_cores, error)
          || !(*pool = hass_cpu_pool_get (n_cores, error)))
        return FALSE;
      n_cores = hass_cpu_pool_cores (*pool);
      (*devices)[n++] = (HassDeviceTraits){ .name = "cpu",
                                            .kind = HASS_DEVICE_CPU,
                                            .cores = n_cores,
                                            .width = n_cores,
                                            .max_in_flight = 1 };
    }
  for (guint i = 0; has_gpu_work (farm) && i < run->n_devices; i++)
    add_gpu (run->devices[i], *devices, *gpus, &n);
  for (guint i = 0; i < n_gpus; i++)
    {
      HassDevice *device = hass_cuda_device_new (i);
      if (device)
        add_gpu (device, *devices, *gpus, &n);
    }
  *n_devices = n;
  if (n > 0)
    return TRUE;
  const char *why = hass_gpus_problem ();
  g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
               "farm '%s' has only a GPU worker, and no GPU is present%s%s",
               farm->name, why ? ": " : "", why ? why : "");
  return FALSE;
}

/* Frees the devices that hass_live_devices made itself. */
void
hass_live_free_devices (const HassFarm *farm, HassDevice **gpus,
                        guint n_devices)
{
  for (guint d = 0; d < n_devices && farm->run->n_devices == 0; d++)
    if (gpus[d])
      hass_cuda_device_free (gpus[d]);
}
