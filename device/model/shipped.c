/* SPDX-License-Identifier: MIT */
/* shipped.c: platforms and workloads by name.

   DESIGN. Shipped files lie in doc/ of the source tree and in share/hass of
   an installation. Both are found from where the program lies, or else from
   where the shared library does; otherwise those in the system's data folders
   (XDG_DATA_DIRS, /usr/local/share, /usr/share) are found. HASS_DATADIR names
   another place.

   Thread safety: see shipped.h. */
#include "shipped.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "hass/error.h"

static gboolean
has_shipped (const char *folder)
{
  g_autofree char *inside = g_build_filename (folder, "workloads", NULL);
  return g_file_test (inside, G_FILE_TEST_IS_DIR);
}

/* Returns: the folder of shipped files that belongs to the same tree as @file,
   which may be NULL; NULL: there is none. */
static char *
beside (const char *file)
{
  static const char *const below[] = { "doc", "share/hass" };
  char *folder = file ? g_path_get_dirname (file) : NULL;
  for (guint up = 0; folder && up < 5; up++)
    {
      for (guint i = 0; i < G_N_ELEMENTS (below); i++)
        {
          char *path = g_build_filename (folder, below[i], NULL);
          if (has_shipped (path))
            {
              g_free (folder);
              return path;
            }
          g_free (path);
        }
      char *parent = g_path_get_dirname (folder);
      g_free (folder);
      folder = parent;
    }
  g_free (folder);
  return NULL;
}

static char *
beside_program (void)
{
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  return beside (program);
}

/* As beside_program(); in a program that is linked statically the same. */
static char *
beside_library (void)
{
  static const char here[] = "";
  Dl_info info;
  char *real = dladdr (here, &info) != 0 && info.dli_fname
                   ? realpath (info.dli_fname, NULL)
                   : NULL;
  char *found = beside (real);
  free (real);
  return found;
}

char *
hass_shipped_folder (void)
{
  const char *given = g_getenv ("HASS_DATADIR");
  if (given && *given)
    return g_strdup (given);
  char *found = beside_program ();
  if (!found)
    found = beside_library ();
  const char *const *all = g_get_system_data_dirs ();
  for (guint i = 0; !found && all[i]; i++)
    {
      char *path = g_build_filename (all[i], "hass", NULL);
      if (has_shipped (path))
        found = path;
      else
        g_free (path);
    }
  return found;
}

/* Returns: the suffix of the files of a kind, as ".platform" for "platforms";
   free with g_free(). */
static char *
suffix_of (const char *kind)
{
  return g_strdup_printf (".%.*s", (int)strlen (kind) - 1, kind);
}

static gint
by_name (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

char **
hass_shipped_names (const char *kind)
{
  g_autofree char *folder = hass_shipped_folder ();
  g_autofree char *path = folder ? g_build_filename (folder, kind, NULL) : NULL;
  g_autofree char *suffix = suffix_of (kind);
  GPtrArray *names = g_ptr_array_new ();
  GDir *dir = path ? g_dir_open (path, 0, NULL) : NULL;
  const char *name;
  while (dir && (name = g_dir_read_name (dir)))
    if (g_str_has_suffix (name, suffix))
      g_ptr_array_add (names,
                       g_strndup (name, strlen (name) - strlen (suffix)));
  if (dir)
    g_dir_close (dir);
  g_ptr_array_sort (names, by_name);
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (names, FALSE);
}

char *
hass_shipped_find (const char *kind, const char *name, GError **error)
{
  g_autofree char *folder = hass_shipped_folder ();
  g_autofree char *suffix = suffix_of (kind);
  g_autofree char *file = g_strconcat (name, suffix, NULL);
  if (strchr (name, '/') || g_file_test (name, G_FILE_TEST_IS_REGULAR))
    return g_strdup (name);
  char *path = folder ? g_build_filename (folder, kind, file, NULL) : NULL;
  if (path && g_file_test (path, G_FILE_TEST_IS_REGULAR))
    return path;
  g_free (path);
  g_auto (GStrv) names = hass_shipped_names (kind);
  g_autofree char *list = g_strjoinv (", ", names);
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "no %s is called '%s', and there is no such file; %s%s",
               suffix + 1, name,
               *list ? "known are "
                     : "none is found: HASS_DATADIR must name "
                       "the folder that has them, in ",
               *list ? list : kind);
  return NULL;
}
