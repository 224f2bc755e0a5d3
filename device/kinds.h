/* SPDX-License-Identifier: MIT */
/* kinds.h: the known kinds of devices.
   Thread safety: any thread. */
#ifndef HASS_KINDS_H
#define HASS_KINDS_H

#include "hass/device_kind.h"

#define HASS_MOST_KINDS 5

/* A kind's index is its order of registration and never changes. */
const HassDeviceKindOps *hass_device_kind_get (guint index);
gint hass_device_kind_find (const char *name);
gboolean hass_device_kinds_chosen (guint32 *mask, GError **error);

/* Host memory that a kind's link copies from and to without staging. */
typedef struct
{
  gboolean (*present) (void);         /* whether memory can be pinned now */
  gpointer (*allocate) (gsize bytes); /* NULL: there is no more */
  void (*release) (gpointer memory, gsize bytes);
  gboolean (*pin) (gpointer memory, gsize bytes, GError **error);
  void (*unpin) (gpointer memory);
} HassPinner;

/* builtin.c: the kinds of the library, NULL-terminated, and the kind that
   pins memory. */
extern const HassDeviceKindOps *const hass_builtin_kinds[];
extern const HassPinner *const hass_pinner;

#endif
