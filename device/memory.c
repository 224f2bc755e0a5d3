/* SPDX-License-Identifier: MIT */
/* memory.c: host memory that devices copy without staging.

   DESIGN. A kind of devices allocates and pins the memory (HassPinner). If no
   more memory can be pinned, hass_memory_alloc() returns pageable memory,
   which is copied more slowly.

   Thread safety: any thread. */
#include "hass/memory.h"

#include <stdint.h>
#include <stdlib.h>

#include "hass/error.h"
#include "kinds.h"
#include "pinned.h"

#define PAGE_BYTES 4096

gpointer
hass_memory_alloc (gsize bytes, GError **error)
{
  gsize wanted = MAX (bytes, 1);
  gpointer memory
      = hass_pinner->present () ? hass_pinner->allocate (wanted) : NULL;
  gboolean pinned = memory != NULL;
  if (!pinned && posix_memalign (&memory, PAGE_BYTES, wanted) != 0)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                   "no host memory for %zu bytes", bytes);
      return NULL;
    }
  guintptr begin = (guintptr)memory;
  HassPinnedRange range = { begin, begin + wanted, TRUE, pinned };
  hass_pinned_add (&range);
  return memory;
}

gboolean
hass_memory_pins_at_once (void)
{
  return hass_pinner->at_once () && hass_pinner->present ();
}

void
hass_memory_free (gpointer memory)
{
  HassPinnedRange range;
  if (!memory)
    return;
  g_return_if_fail (hass_pinned_remove (memory, TRUE, &range));
  if (range.pinned)
    hass_pinner->release (memory, range.end - range.begin);
  else
    free (memory);
}

gboolean
hass_memory_register (gpointer memory, gsize bytes, GError **error)
{
  guintptr begin = (guintptr)memory;
  HassPinnedRange range = { begin, begin + bytes, FALSE, FALSE };
  if (!memory || bytes == 0 || bytes > UINTPTR_MAX - begin)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "%zu bytes at %p cannot be registered", bytes, memory);
      return FALSE;
    }
  if (!hass_pinned_add (&range))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "a part of the %zu bytes at %p is registered already", bytes,
                   memory);
      return FALSE;
    }
  if (!hass_pinner->present ())
    return TRUE;
  if (hass_pinner->pin (memory, bytes, error))
    {
      hass_pinned_confirm (memory);
      return TRUE;
    }
  hass_pinned_remove (memory, FALSE, &range);
  return FALSE;
}

void
hass_memory_unregister (gpointer memory)
{
  HassPinnedRange range;
  if (memory && hass_pinned_remove (memory, FALSE, &range) && range.pinned)
    hass_pinner->unpin (memory);
}

gpointer
hass_alloc (gsize bytes, GError **error)
{
  return hass_memory_alloc (bytes, error);
}

void
hass_free (gpointer memory)
{
  hass_memory_free (memory);
}

gboolean
hass_register (gpointer memory, gsize bytes, GError **error)
{
  return hass_memory_register (memory, bytes, error);
}

void
hass_unregister (gpointer memory)
{
  hass_memory_unregister (memory);
}
