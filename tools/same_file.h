/* SPDX-License-Identifier: MIT */
/* same_file.h: whether a tool would write a file over another one of its own.
   Thread safety: any thread. */
#ifndef HASS_TOOLS_SAME_FILE_H
#define HASS_TOOLS_SAME_FILE_H

#include <glib.h>
#include <string.h>
#include <sys/stat.h>

/* Returns: TRUE if both paths name one file, which may not exist yet. Devices
   and pipes are written to in turn. */
static inline gboolean
same_file (const char *a, const char *b)
{
  struct stat of_a, of_b;
  if (stat (a, &of_a) == 0 && stat (b, &of_b) == 0)
    return S_ISREG (of_a.st_mode) && of_a.st_dev == of_b.st_dev
           && of_a.st_ino == of_b.st_ino;
  g_autofree char *path_a = g_canonicalize_filename (a, NULL);
  g_autofree char *path_b = g_canonicalize_filename (b, NULL);
  return strcmp (path_a, path_b) == 0;
}

#endif
