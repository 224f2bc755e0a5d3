/* SPDX-License-Identifier: MIT */
/* devices.c: which devices a farm may run on, and where it runs: on the real
   machine or on a modelled one.
   Thread safety: any thread. */
#include "live-private.h"
#include "device/model.h"
#include "environment.h"

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

/* The CPU pool, if the farm has a CPU worker, then the devices given in the
   farm's options, if it has a GPU worker. */
gboolean
hass_live_devices (const HassFarm *farm, HassCpuPool **pool,
                   HassDeviceTraits **devices, HassDevice ***gpus,
                   guint *n_devices, GError **error)
{
  const HassRunOptions *run = farm->run;
  guint n = 0, n_cores;
  *devices = g_new0 (HassDeviceTraits, 1 + run->n_devices);
  *gpus = g_new0 (HassDevice *, 1 + run->n_devices);
  if (farm->cpu_worker)
    {
      if (!choose_cores (farm, &n_cores, error)
          || !(*pool = hass_cpu_pool_get (n_cores, error)))
        return FALSE;
      (*devices)[n++] = (HassDeviceTraits){ .name = "cpu",
                                            .kind = HASS_DEVICE_CPU,
                                            .cores = n_cores,
                                            .width = n_cores,
                                            .max_in_flight = 1 };
    }
  for (guint i = 0; has_gpu_work (farm) && i < run->n_devices; i++)
    {
      HassDevice *device = run->devices[i];
      device->ops->describe (device, &(*devices)[n]);
      (*gpus)[n++] = device;
    }
  *n_devices = n;
  if (n > 0)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
               "farm '%s' has only a GPU worker, and no GPU is present",
               farm->name);
  return FALSE;
}

/* Runs a farm where its options or the environment say. */
gboolean
hass_engine_run (const HassFarm *farm, HassReport **report, GError **error)
{
  const char *platform = farm->run->platform;
  if (report)
    *report = NULL;
  if (!hass_environment_check (error))
    return FALSE;
  if (!platform)
    platform = g_getenv ("HASS_PLATFORM");
  if (!platform || !*platform)
    return hass_live_run (farm, report, error);
  HassPlatform *model = hass_platform_load (platform, farm->name, error);
  if (!model)
    return FALSE;
  gboolean ok = hass_virtual_run (farm, model, report, error);
  hass_platform_free (model);
  return ok;
}
