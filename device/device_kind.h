/* SPDX-License-Identifier: MIT */
/* hass/device_kind.h: kinds of devices, and adding one.

   DESIGN. A kind lists the devices of the machine and makes one for each farm.
   CUDA is a kind of the library; an application registers its own before its
   first farm. A farm runs on a device when it has a worker for the device's
   kind: #HassDataFarm.workers, #HassTask.workers.
   doc/writing-a-device.md walks through an example.

   Thread safety: any thread. */
#ifndef HASS_DEVICE_KIND_H
#define HASS_DEVICE_KIND_H

#include <hass/device.h>

HASS_BEGIN_DECLS

/**
 * HassDeviceKindOps: one kind of devices.
 * @struct_size: sizeof (HassDeviceKindOps). A table may end after @destroy;
 *   ops behind its end are NULL.
 * @name: [a-z0-9-]+, as in HASS_DEVICES and #HassKindWorker; not "cpu" or
 *   "gpu". The same as #HassDeviceOps.kind of the kind's devices.
 * @summary: one line for people.
 * @count: the number of devices of this kind in the machine. @exact: FALSE
 *   where the farm also runs without them, so that a number remembered from an
 *   earlier process may be returned when asking the machine takes long. Called
 *   once per farm.
 * @create: makes device @index, less than @count, for one farm; NULL: the
 *   device is not present. The device is not opened yet.
 * @destroy: frees what @create returned, after the device was closed.
 * @problem: optional: why there are no devices, or NULL.
 * @check: optional: refuses wrong environment variables of this kind, before
 *   each farm.
 *
 * The table and its strings must stay valid until the process ends.
 */
typedef struct
{
  gsize struct_size;
  const char *name;
  const char *summary;
  guint (*count) (gboolean exact);
  HassDevice *(*create) (guint index);
  void (*destroy) (HassDevice *device);
  const char *(*problem) (void);
  gboolean (*check) (GError **error);
} HassDeviceKindOps;

/**
 * hass_device_kind_register:
 *
 * Adds a kind. Farms that begin later use its devices. HASS_ERROR_INVALID when
 * the table is malformed, when a kind of this name exists, or when there are
 * already 5 kinds.
 */
gboolean hass_device_kind_register (const HassDeviceKindOps *ops,
                                    GError **error);

HASS_END_DECLS

#endif
