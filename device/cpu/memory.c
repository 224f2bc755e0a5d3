/* SPDX-License-Identifier: MIT */
/* memory.c: see memory.h.
   Thread safety: see memory.h. */
#include "memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include "limits.h"

/* Returns: bytes of memory that this process may use: of the machine, of its
   control groups and by its limits, as they were when this was first asked. */
guint64
hass_memory_bytes (void)
{
  static gsize known;
  if (g_once_init_enter (&known))
    {
      double bytes
          = (double)sysconf (_SC_PHYS_PAGES) * (double)sysconf (_SC_PAGESIZE);
      bytes = MIN (bytes, hass_limits_memory (""));
      bytes = MIN (bytes, hass_limits_of (RLIMIT_AS));
      bytes = MIN (bytes, hass_limits_of (RLIMIT_DATA));
      g_once_init_leave (&known, (gsize)MAX (bytes, 1));
    }
  return known;
}
