/* SPDX-License-Identifier: MIT */
/* text_file.c: a file of text that tells what happened in a farm.
   Thread safety: see observe-private.h. */
#include "observe-private.h"

#include <errno.h>

#include "hass/error.h"

/* Opens the file; @what says in messages what it is for, @mode is that of
   fopen(). Returns: FALSE with an error if the file cannot be written. */
gboolean
hass_text_file_open (HassTextFile *f, const char *what, const char *path,
                     const char *mode, GError **error)
{
  FILE *file = fopen (path, mode);
  if (!file)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                   "%s file '%s' cannot be written: %s", what, path,
                   g_strerror (errno));
      return FALSE;
    }
  *f = (HassTextFile){ what, g_strdup (path), file, 0 };
  return TRUE;
}

/* Writes; a failure is reported when the file is closed. */
void
hass_text_file_write (HassTextFile *f, const char *text, gsize bytes)
{
  if (fwrite (text, 1, bytes, f->file) != bytes && f->failure == 0)
    f->failure = errno;
}

/* Closes the file, unless it is closed or stderr. Returns: FALSE with an error
   if something was not written. */
gboolean
hass_text_file_close (HassTextFile *f, GError **error)
{
  FILE *file = g_steal_pointer (&f->file);
  g_autofree char *path = g_steal_pointer (&f->path);
  if (!file)
    return TRUE;
  if (file != stderr && fclose (file) != 0 && f->failure == 0)
    f->failure = errno;
  if (f->failure == 0)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
               "%s file '%s' could not be written whole: %s", f->what, path,
               g_strerror (f->failure));
  return FALSE;
}

gboolean
hass_text_file_again (_Atomic (const char *) *last, const char *path)
{
  path = g_intern_string (path);
  return atomic_exchange_explicit (last, path, memory_order_relaxed) == path;
}
