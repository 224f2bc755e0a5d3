/* SPDX-License-Identifier: MIT */
/* names.c: see names.h.
   Thread safety: see names.h. */
#include "names.h"

#include <string.h>

const char *
name_suffix (const char *path, const char *suffix)
{
  const char *const known[]
      = { suffix, ".gz", ".z", ".taz", ".tgz", "-gz", "-z", "_z" };
  gsize n = strlen (path);
  for (gsize k = 0; k < G_N_ELEMENTS (known); k++)
    {
      gsize length = strlen (known[k]);
      const char *end = path + n - length;
      if (n > length && end[-1] != '/'
          && g_ascii_strcasecmp (end, known[k]) == 0)
        return end;
    }
  return NULL;
}

char *
name_without_suffix (const char *path, const char *end)
{
  if (!end)
    return g_strdup (path);
  g_autofree char *stem = g_strndup (path, (gsize)(end - path));
  gboolean tar = g_ascii_strcasecmp (end, ".tgz") == 0
                 || g_ascii_strcasecmp (end, ".taz") == 0;
  return g_strconcat (stem, tar ? ".tar" : "", NULL);
}

char *
name_restored (const char *path, const char *stored)
{
  const char *slash = strrchr (path, '/');
  const char *base = strrchr (stored, '/');
  base = base ? base + 1 : stored;
  if (*base == '\0')
    return g_strdup (path);
  g_autofree char *folder
      = g_strndup (path, slash ? (gsize)(slash + 1 - path) : 0);
  return g_strconcat (folder, base, NULL);
}
