/* SPDX-License-Identifier: MIT */
/* devices.c: which devices of the machine a live farm runs on.
   Thread safety: any thread. */
#include "live-private.h"

#include <string.h>

#include "device/kinds.h"
#include "device/ops.h"
#include "engine/core/environment.h"

/* Sets @n_cores to the number of cores for the farm: the option of the run,
   else HASS_NCPU, else the cores that the process may use. */
static gboolean
choose_cores (const HassFarm *farm, guint *n_cores, GError **error)
{
  guint64 n = hass_cpu_pool_available ();
  if (!hass_environment_uint ("HASS_NCPU", 1, 4096, &n, error))
    return FALSE;
  *n_cores = farm->run->n_cores > 0 ? farm->run->n_cores : (guint)n;
  return TRUE;
}

/* Returns the farm's worker function for a kind of device; NULL: the farm has
   none, or each of its tasks has its own. */
static HassGpuWorkerFunc
worker_for (const HassFarm *farm, const char *kind)
{
  for (const HassKindWorker *w = farm->workers; w && w->kind; w++)
    if (strcmp (w->kind, kind) == 0)
      return w->worker;
  return NULL;
}

/* -- Devices that were given -------------------------------------------- */

/* Returns: TRUE if a device that the user gave runs the farm's GPU worker,
   because its kind is neither registered nor has a worker of its own in the
   farm. */
static gboolean
stands_in (const HassFarm *farm, const HassDevice *device)
{
  const char *kind = device->ops->kind;
  return !kind
         || (!worker_for (farm, kind) && hass_device_kind_find (kind) < 0);
}

/* Returns: TRUE if a device can compute tasks of dataflows. */
static gboolean
has_data (const HassDevice *device)
{
  HassDeviceOps ops;
  return hass_device_ops_read (&ops, device, NULL) && ops.data;
}

static gboolean
takes_given (const HassFarm *farm, const HassDevice *device)
{
  if (farm->kind == HASS_FARM_DATAFLOW)
    return has_data (device);
  if (stands_in (farm, device))
    return farm->gpu_worker || farm->gpu_worker_of;
  return farm->worker_of || worker_for (farm, device->ops->kind);
}

static gboolean
any_stands_in (const HassFarm *farm)
{
  for (guint i = 0; i < farm->run->n_devices; i++)
    if (stands_in (farm, farm->run->devices[i]))
      return TRUE;
  return FALSE;
}

/* -- Devices of the machine --------------------------------------------- */

static gboolean
may_use (const HassFarm *farm, const HassDeviceKindOps *kind)
{
  if (strcmp (kind->name, farm->gpu_kind) == 0 && any_stands_in (farm))
    return FALSE;
  if (farm->kind == HASS_FARM_DATAFLOW)
    return TRUE;
  return farm->may_use ? farm->may_use (farm->cpu_worker_data, kind->name)
                       : worker_for (farm, kind->name) != NULL;
}

/* Returns TRUE if an inexact count of devices (that of an earlier probe) will
   not do, because cores cannot compute all that is known: then a device that is
   missing matters. */
static gboolean
needs_devices (const HassFarm *farm)
{
  gboolean all = farm->cpu_worker != NULL;
  for (gsize i = 0; i < farm->n_loads && farm->kind == HASS_FARM_FUNCTION; i++)
    all = all && farm->loads[i].flags & HASS_LOAD_CPU;
  return !all;
}

/* Adds to @linked the machine's devices of the chosen kinds, at most as many as
   the options allow. */
static gboolean
make_devices (const HassFarm *farm, GPtrArray *linked, GError **error)
{
  const HassDeviceKindOps *kind;
  gboolean exact = needs_devices (farm);
  guint most = farm->run->n_gpus > 0 ? (guint)farm->run->n_gpus : G_MAXUINT;
  guint32 chosen;
  if (!hass_device_kinds_chosen (&chosen, error))
    return FALSE;
  for (guint k = 0; (kind = hass_device_kind_get (k)); k++)
    {
      if (kind->check && !kind->check (error))
        return FALSE;
      if (!(chosen >> k & 1) || farm->run->n_gpus < 0 || !may_use (farm, kind))
        continue;
      guint n = MIN (kind->count (exact), most);
      most -= n;
      for (guint i = 0; i < n; i++)
        {
          HassDevice *device = kind->create (i);
          if (device && farm->kind == HASS_FARM_DATAFLOW && !has_data (device))
            kind->destroy (device);
          else if (device)
            g_ptr_array_add (linked, device);
        }
    }
  return TRUE;
}

static const HassDeviceKindOps *
kind_of (const HassDevice *device)
{
  return hass_device_kind_get (
      (guint)hass_device_kind_find (device->ops->kind));
}

/* Sets an error that says why the machine has no device for the farm. */
static void
say_none (const HassFarm *farm, GError **error)
{
  const HassDeviceKindOps *kind;
  g_autoptr (GString) why = g_string_new (NULL), kinds = g_string_new (NULL);
  gboolean others = FALSE;
  for (const HassKindWorker *w = farm->workers; w && w->kind; w++)
    {
      others |= strcmp (w->kind, farm->gpu_kind) != 0;
      g_string_append_printf (kinds, "%s%s", kinds->len > 0 ? ", " : "",
                              w->kind);
    }
  for (guint k = 0; (kind = hass_device_kind_get (k)); k++)
    if (kind->problem && may_use (farm, kind))
      {
        const char *text = kind->problem ();
        if (text)
          g_string_append_printf (why, ": %s", text);
      }
  if (others)
    g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                 "%s '%s' has workers for %s only, and no such device is "
                 "present%s",
                 hass_farm_noun (farm), farm->name, kinds->str, why->str);
  else
    g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                 "%s '%s' has only a GPU worker, and no GPU is present%s",
                 hass_farm_noun (farm), farm->name, why->str);
}

/* -- All together ------------------------------------------------------- */

static void
describe (const HassFarm *farm, HassDevice *device, HassDeviceTraits *traits)
{
  device->ops->describe (device, traits);
  gint kind = stands_in (farm, device)
                  ? -1
                  : hass_device_kind_find (device->ops->kind);
  if (farm->worker_of && kind >= 0
      && strcmp (device->ops->kind, farm->gpu_kind) != 0)
    traits->load_flag = HASS_LOAD_KIND ((guint)kind);
}

/* Returns the kind of device whose worker the farm runs on @device; NULL: it
   runs the GPU worker. */
const char *
hass_live_device_kind (const HassFarm *farm, const HassDevice *device)
{
  return stands_in (farm, device) ? NULL : device->ops->kind;
}

/* Returns the worker that a data farm runs on one of its devices. */
HassGpuWorkerFunc
hass_live_device_worker (const HassFarm *farm, const HassDevice *device)
{
  const char *kind = hass_live_device_kind (farm, device);
  return kind ? worker_for (farm, kind) : farm->gpu_worker;
}

/* Frees the devices that hass_live_devices() created, but not those that the
   user gave. */
void
hass_live_free_devices (const HassFarm *farm, HassDevice **gpus,
                        guint n_devices)
{
  const HassRunOptions *run = farm->run;
  for (guint d = 0; d < n_devices; d++)
    {
      gboolean given = FALSE;
      for (guint i = 0; i < run->n_devices; i++)
        given |= run->devices[i] == gpus[d];
      if (gpus[d] && !given)
        kind_of (gpus[d])->destroy (gpus[d]);
    }
}

/* Makes the list of the farm's devices: the CPU pool, if the farm has a CPU
   worker; then the devices given in its options; then those of the machine that
   it has workers for. The caller frees the latter with
   hass_live_free_devices(). Returns: FALSE with an error if there is no device.
 */
gboolean
hass_live_devices (const HassFarm *farm, HassCpuPool **pool,
                   HassDeviceTraits **devices, HassDevice ***gpus,
                   guint *n_devices, GError **error)
{
  const HassRunOptions *run = farm->run;
  guint n = 0, n_cores;
  g_autoptr (GPtrArray) linked = g_ptr_array_new ();
  for (guint i = 0; i < run->n_devices; i++)
    if (takes_given (farm, run->devices[i]))
      g_ptr_array_add (linked, run->devices[i]);
  gboolean ok = make_devices (farm, linked, error);
  *devices = g_new0 (HassDeviceTraits, 1 + linked->len);
  *gpus = g_new0 (HassDevice *, 1 + linked->len);
  if (ok && farm->cpu_worker)
    {
      ok = choose_cores (farm, &n_cores, error)
           && (*pool = hass_cpu_pool_get (n_cores, error));
      if (ok)
        n_cores = hass_cpu_pool_cores (*pool);
      if (ok)
        (*devices)[n++] = (HassDeviceTraits){ .name = "cpu",
                                              .kind = HASS_DEVICE_CPU,
                                              .cores = n_cores,
                                              .width = n_cores,
                                              .max_in_flight = 1 };
    }
  for (guint i = 0; i < linked->len; i++)
    {
      (*gpus)[n] = linked->pdata[i];
      describe (farm, (*gpus)[n], &(*devices)[n]);
      n++;
    }
  *n_devices = n;
  if (!ok)
    hass_live_free_devices (farm, *gpus, n);
  else if (n == 0)
    say_none (farm, error);
  return ok && n > 0;
}
