/* SPDX-License-Identifier: MIT */
/* find.c: finds workloads, platforms and suites (doc/workloads/suites).
   Thread safety: any thread. */
#include "sim.h"

#include <string.h>

#include "device/model/key_file.h"
#include "device/model/shipped.h"
#include "hass/error.h"

static gboolean
open_suites (HassKeyFile *k, char **path, GError **error)
{
  g_autofree char *folder = hass_shipped_folder ();
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

gboolean
sim_load_platform (const char *workload, const char *on, HassPlatform **p,
                   GError **error)
{
  g_autofree char *path = NULL;
  *p = NULL;
  if (!on)
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                 "workload '%s' names no platform of its own: --platform is "
                 "needed",
                 workload);
  else if ((path = hass_shipped_find ("platforms", on, error)))
    *p = hass_platform_load (path, workload, error);
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
  g_autofree char *path = hass_shipped_find ("workloads", workload, error);
  *w = path ? sim_workload_load (path, error) : NULL;
  if (*w
      && !sim_load_platform ((*w)->name, platform ? platform : (*w)->platform,
                             p, error))
    g_clear_pointer (w, sim_workload_free);
  return *w != NULL;
}
