/* SPDX-License-Identifier: MIT */
/* find.c: platforms, workloads and suites by name.

   DESIGN. Shipped files lie in doc/ of the source tree and in share/hass of
   an installation. Both are found from where the program lies, so neither
   path is built in; HASS_DATADIR names another place.

   Thread safety: any thread. */
#include "sim.h"

#include <string.h>

#include "device/key_file-private.h"
#include "hass/error.h"

/* The folder with platforms/ and workloads/ in it, or NULL. */
static char *
data_folder (void)
{
  static const char *const below[] = { "doc", "share/hass" };
  const char *given = g_getenv ("HASS_DATADIR");
  if (given && *given)
    return g_strdup (given);
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  char *folder = program ? g_path_get_dirname (program) : NULL;
  for (guint up = 0; folder && up < 5; up++)
    {
      for (guint i = 0; i < G_N_ELEMENTS (below); i++)
        {
          char *path = g_build_filename (folder, below[i], NULL);
          g_autofree char *inside = g_build_filename (path, "workloads", NULL);
          if (g_file_test (inside, G_FILE_TEST_IS_DIR))
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

/* ".platform" of "platforms". */
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
sim_names (const char *kind)
{
  g_autofree char *folder = data_folder ();
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
sim_find (const char *kind, const char *name, GError **error)
{
  g_autofree char *folder = data_folder ();
  g_autofree char *suffix = suffix_of (kind);
  g_autofree char *file = g_strconcat (name, suffix, NULL);
  if (strchr (name, '/') || g_file_test (name, G_FILE_TEST_IS_REGULAR))
    return g_strdup (name);
  char *path = folder ? g_build_filename (folder, kind, file, NULL) : NULL;
  if (path && g_file_test (path, G_FILE_TEST_IS_REGULAR))
    return path;
  g_free (path);
  g_auto (GStrv) names = sim_names (kind);
  g_autofree char *list = g_strjoinv (", ", names);
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "no %s is called '%s', and there is no such file; known are %s",
               suffix + 1, name, *list ? list : "none");
  return NULL;
}

static gboolean
open_suites (HassKeyFile *k, char **path, GError **error)
{
  g_autofree char *folder = data_folder ();
  *path = folder ? g_build_filename (folder, "workloads", "suites", NULL)
                 : g_strdup ("suites");
  return hass_key_file_open (k, "suite", *path, error);
}

static char **
names_in (const char *group)
{
  HassKeyFile k;
  g_autofree char *path = NULL;
  if (!open_suites (&k, &path, NULL))
    return g_new0 (char *, 1);
  char **names = g_key_file_get_keys (k.file, group, NULL, NULL);
  hass_key_file_close (&k);
  return names ? names : g_new0 (char *, 1);
}

char **
sim_suite_names (void)
{
  return names_in ("suites");
}

char **
sim_hard_suite_names (void)
{
  return names_in ("hard");
}

char **
sim_suite (const char *name, GError **error)
{
  HassKeyFile k;
  g_autofree char *path = NULL;
  if (!open_suites (&k, &path, error))
    return NULL;
  g_autofree char *text = g_key_file_get_value (k.file, "suites", name, NULL);
  if (!text)
    text = g_key_file_get_value (k.file, "hard", name, NULL);
  hass_key_file_close (&k);
  if (!text)
    {
      g_auto (GStrv) names = sim_suite_names ();
      g_auto (GStrv) hard = sim_hard_suite_names ();
      g_autofree char *list = g_strjoinv (", ", names);
      g_autofree char *more = g_strjoinv (", ", hard);
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "no suite is called '%s'; known are all, %s, hard, %s", name,
                   list, more);
      return NULL;
    }
  g_auto (GStrv) words = g_strsplit_set (text, " ,\t", -1);
  GPtrArray *list = g_ptr_array_new ();
  for (char **w = words; *w; w++)
    if (**w)
      g_ptr_array_add (list, g_strdup (*w));
  g_ptr_array_add (list, NULL);
  return (char **)g_ptr_array_free (list, FALSE);
}

/* -- A workload and its machine ------------------------------------------ */

static gboolean
load_platform (const SimWorkload *w, const char *on, HassPlatform **p,
               GError **error)
{
  g_autofree char *path = NULL;
  *p = NULL;
  if (!on)
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                 "workload '%s' names no platform of its own: --platform is "
                 "needed",
                 w->name);
  else if ((path = sim_find ("platforms", on, error)))
    *p = hass_platform_load (path, w->name, error);
  if (*p && (*p)->n_gpus > SIM_MOST_GPUS)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "platform %s has %u GPUs; hass-sim takes at most %d",
                   (*p)->name, (*p)->n_gpus, SIM_MOST_GPUS);
      g_clear_pointer (p, hass_platform_free);
    }
  return *p != NULL;
}

gboolean
sim_load (const char *workload, const char *platform, SimWorkload **w,
          HassPlatform **p, GError **error)
{
  g_autofree char *path = sim_find ("workloads", workload, error);
  *w = path ? sim_workload_load (path, error) : NULL;
  if (*w && !load_platform (*w, platform ? platform : (*w)->platform, p, error))
    g_clear_pointer (w, sim_workload_free);
  return *w != NULL;
}
