/* SPDX-License-Identifier: MIT */
/* pinned.h: which ranges of host memory are pinned.
   Thread safety: any thread. */
#ifndef HASS_PINNED_H
#define HASS_PINNED_H

#include <glib.h>

typedef struct
{
  guintptr begin, end;
  /* Allocated by hass_memory_alloc(); else registered by the user. */
  gboolean allocated;
  gboolean pinned;
} HassPinnedRange;

/* Returns: whether all @bytes bytes at @memory lie in one range of pinned
   memory, which a device copies without staging. */
gboolean hass_memory_is_pinned (gconstpointer memory, gsize bytes);

/* Returns: whether hass_memory_alloc() would pin memory, and would not have to
   wait for the start of a device. */
gboolean hass_memory_pins_at_once (void);

gboolean hass_pinned_add (const HassPinnedRange *range);
void hass_pinned_confirm (gconstpointer memory);
gboolean hass_pinned_remove (gconstpointer memory, gboolean allocated,
                             HassPinnedRange *found);

#endif
