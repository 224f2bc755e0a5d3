/* SPDX-License-Identifier: MIT */
/* kinds.h: the known kinds of devices.
   Thread safety: any thread. */
#ifndef HASS_KINDS_H
#define HASS_KINDS_H

#include "hass/device_kind.h"

#define HASS_MOST_KINDS 5

/* The registered kinds of devices. The index of a kind is its position in the
   order of registration, from 0; it never changes. */
const HassDeviceKindOps *hass_device_kind_get (guint index);
gint hass_device_kind_find (const char *name);
gboolean hass_device_kinds_chosen (guint32 *mask, GError **error);

/* Functions that pin host memory, so that a device's link copies from and to
   it directly, without staging. */
typedef struct
{
  gboolean (*present) (void);         /* whether memory can be pinned now */
  gboolean (*at_once) (void);         /* and no device has to start for it */
  gpointer (*allocate) (gsize bytes); /* NULL: memory is insufficient */
  void (*release) (gpointer memory, gsize bytes);
  gboolean (*pin) (gpointer memory, gsize bytes, GError **error);
  void (*unpin) (gpointer memory);
} HassPinner;

/* Defined in builtin.c: the library's own kinds of devices, NULL-terminated,
   and the functions that pin memory. */
extern const HassDeviceKindOps *const hass_builtin_kinds[];
extern const HassPinner *const hass_pinner;

#endif
