/* SPDX-License-Identifier: MIT */
/* device-private.h: what the library does with devices of any origin.
   Thread safety: any thread. */
#ifndef HASS_DEVICE_PRIVATE_H
#define HASS_DEVICE_PRIVATE_H

#include "hass/device.h"

gboolean hass_device_ops_read (HassDeviceOps *ops, const HassDevice *device,
                               GError **error);

#endif
