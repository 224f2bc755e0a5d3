/* SPDX-License-Identifier: MIT */
/* ops.c: reads the ops table of a device, which may have been built with an
   older or a newer header.
   Thread safety: any thread. */
#include "ops.h"

#include "hass/device_data.h"
#include "hass/error.h"
#include "pool/struct_size.h"

/* Returns: FALSE with HASS_ERROR_INVALID if the table is too short or too long,
   or if a function that every dataflow calls is missing. */
static gboolean
check_data (const HassDeviceDataOps *data, GError **error)
{
  HassDeviceDataOps ops;
  const char *missing = NULL;
  if (!hass_struct_read (&ops, sizeof ops,
                         HASS_SIZE_UP_TO (HassDeviceDataOps, wait), data,
                         "HassDeviceDataOps", error))
    return FALSE;
  if (!ops.capacity)
    missing = "capacity";
  else if (!ops.alloc)
    missing = "alloc";
  else if (!ops.free)
    missing = "free";
  else if (!ops.copy)
    missing = "copy";
  else if (!ops.compute)
    missing = "compute";
  else if (!ops.most_computing)
    missing = "most_computing";
  else if (!ops.wait)
    missing = "wait";
  if (!missing)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID, "its data ops have no %s",
               missing);
  return FALSE;
}

/* Copies the function table of @device into @ops; functions added after the
   version of the device's table become NULL. Returns: FALSE with
   HASS_ERROR_INVALID if a function that every farm calls is missing, or one
   that every dataflow calls from its data ops. */
gboolean
hass_device_ops_read (HassDeviceOps *ops, const HassDevice *device,
                      GError **error)
{
  const char *missing = NULL;
  if (!device)
    missing = "it is NULL";
  else if (!device->ops)
    missing = "it has no ops";
  else if (!hass_struct_read (ops, sizeof *ops,
                              HASS_SIZE_UP_TO (HassDeviceOps, close),
                              device->ops, "HassDeviceOps", error))
    return FALSE;
  else if (!ops->describe)
    missing = "it has no describe";
  else if (!ops->open)
    missing = "it has no open";
  else if (!ops->submit)
    missing = "it has no submit";
  else if (!ops->wait)
    missing = "it has no wait";
  else if (!ops->close)
    missing = "it has no close";
  if (!missing)
    return !ops->data || check_data (ops->data, error);
  g_set_error_literal (error, HASS_ERROR, HASS_ERROR_INVALID, missing);
  return FALSE;
}

/* Returns: TRUE if both devices are of one kind. */
gboolean
hass_device_alike (const HassDevice *a, const HassDevice *b)
{
  return g_strcmp0 (a->ops->kind, b->ops->kind) == 0;
}
