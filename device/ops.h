/* SPDX-License-Identifier: MIT */
/* ops.h: what the library does with devices of any origin.
   Thread safety: any thread. */
#ifndef HASS_OPS_H
#define HASS_OPS_H

#include "hass/device.h"

gboolean hass_device_ops_read (HassDeviceOps *ops, const HassDevice *device,
                               GError **error);
gboolean hass_device_alike (const HassDevice *a, const HassDevice *b);

#endif
