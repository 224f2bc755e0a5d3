/* SPDX-License-Identifier: MIT */
/* struct_size.c: reads structs that begin with their size, as Linux's
   copy_struct_from_user() does.
   Thread safety: any thread. */
#include "struct_size.h"

#include <string.h>

#include "hass/error.h"

/* Upper limit of a struct's size in any version, in bytes: about 10 times the
   largest today. A size that was never set most likely exceeds it, and nothing
   beyond the size is then read. */
#define MOST_BYTES 4096

/* Copies the struct at @from into @into [@size], zero where it is shorter; the
   size of the copy is @size.
   Refuses with HASS_ERROR_INVALID, naming both sizes, a struct of less than
   @least bytes and one with non-zero bytes beyond @size. */
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
  /* A size that is no multiple of a pointer's ends within a field. */
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
