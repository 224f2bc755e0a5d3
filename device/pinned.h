/* SPDX-License-Identifier: MIT */
/* pinned.h: which ranges of host memory are pinned.
   Thread safety: any thread. */
#ifndef HASS_PINNED_H
#define HASS_PINNED_H

#include <glib.h>

typedef struct
{
  guintptr begin, end;
  gboolean allocated; /* by hass_alloc, else registered */
  gboolean pinned;
} HassPinnedRange;

/* Whether one range of pinned memory holds all of the bytes. */
gboolean hass_memory_is_pinned (gconstpointer memory, gsize bytes);

gboolean hass_pinned_add (const HassPinnedRange *range);
void hass_pinned_confirm (gconstpointer memory);
gboolean hass_pinned_remove (gconstpointer memory, gboolean allocated,
                             HassPinnedRange *found);

#endif
