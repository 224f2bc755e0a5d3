/* SPDX-License-Identifier: MIT */
/* struct_size.c: reads structs that begin with their size, as Linux's
   copy_struct_from_user() does.
   Thread safety: any thread. */
#include "struct_size.h"

#include <string.h>

#include "hass/error.h"

/* Upper limit of the size in bytes of a user's struct in any version: about 10
   times the largest today. A size field that was never set most likely exceeds
   the limit; the struct is then refused and none of its other fields is read.
 */
#define MOST_BYTES 4096

/* Copies the user's struct at @from, which begins with its own size, into the
   library's struct @into of @size bytes. If the user's is shorter, the rest is
   0; the size field of the copy is @size. Returns: FALSE with
   HASS_ERROR_INVALID, which names both sizes, if @from is NULL, if its size is
   less than @least or invalid, or if it has non-zero bytes beyond @size
   (fields of a later version). */
gboolean
hass_struct_read (gpointer into, gsize size, gsize least, gconstpointer from,
                  const char *type, GError **error)
{
  gsize theirs, i = size;
  if (!from)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID, "%s is NULL", type);
      return FALSE;
    }
  memcpy (&theirs, from, sizeof theirs);
  /* A struct whose size is not a multiple of a pointer's size would end within
     a field. */
  if (theirs < least || theirs > MOST_BYTES || theirs % sizeof (gpointer) != 0)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "%s.struct_size is %zu, this library's is %zu and takes %zu "
                   "to %u: set it to sizeof (%s)",
                   type, theirs, size, least, MOST_BYTES, type);
      return FALSE;
    }
  while (i < theirs && ((const guint8 *)from)[i] == 0)
    i++;
  if (i < theirs)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "%s.struct_size is %zu, this library's is %zu, and byte %zu "
                   "is not 0: the program sets a field of a newer version",
                   type, theirs, size, i);
      return FALSE;
    }
  memset (into, 0, size);
  memcpy (into, from, MIN (theirs, size));
  memcpy (into, &size, sizeof size);
  return TRUE;
}
