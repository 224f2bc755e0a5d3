/* SPDX-License-Identifier: MIT */
/* memory_limit.c: how much memory of GPUs the library may hold.
   Thread safety: any thread. */
#include "memory_limit.h"

#include <string.h>

#include "hass/error.h"

/* Reads HASS_GPU_MEM, a number with an optional K, M, G or T: sets @bytes to
   the device memory that the library may hold on each GPU, G_MAXUINT64 if the
   variable is not set. Returns: FALSE with HASS_ERROR_INVALID for an invalid
   value. */
gboolean
hass_gpu_memory_limit (guint64 *bytes, GError **error)
{
  const char *text = g_getenv ("HASS_GPU_MEM");
  char *end;
  *bytes = G_MAXUINT64;
  if (!text || !*text)
    return TRUE;
  guint64 n = g_ascii_strtoull (text, &end, 10);
  const char *units = "KMGT";
  const char *unit = *end ? strchr (units, g_ascii_toupper (*end)) : NULL;
  guint shift = unit ? 10 * (guint)(unit - units + 1) : 0;
  gboolean ok = g_ascii_isdigit (*text) && n > 0 && n <= G_MAXUINT64 >> shift
                && (*end == '\0' || (unit && end[1] == '\0'));
  if (ok)
    *bytes = n << shift;
  else
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                 "HASS_GPU_MEM='%s': a number of bytes from 1 to 2^64 - 1 is "
                 "needed, with K, M, "
                 "G or T behind it if you like",
                 text);
  return ok;
}
