/* SPDX-License-Identifier: MIT */
/* store_trial.c: a profile store of a test's own.
   Thread safety: store_trial.h. */
#include "store_trial.h"

#include <glib/gstdio.h>

#include "hass_test.h"

char *store_folder, *store_path;
GString *store_warnings;

static void
hear (const char *text)
{
  g_string_append (store_warnings, text);
}

void
store_begin (void)
{
  store_folder = g_dir_make_tmp ("hass-profile-XXXXXX", NULL);
  store_path = g_build_filename (store_folder, "store.txt", NULL);
  g_setenv ("HASS_PROFILE", store_path, TRUE);
  store_warnings = g_string_new (NULL);
  g_set_printerr_handler (hear);
}

void
store_end (void)
{
  const char *name;
  g_set_printerr_handler (NULL);
  g_setenv ("HASS_PROFILE", "off", TRUE);
  GDir *dir = g_dir_open (store_folder, 0, NULL);
  while ((name = g_dir_read_name (dir)))
    {
      g_autofree char *file = g_build_filename (store_folder, name, NULL);
      g_remove (file);
    }
  g_dir_close (dir);
  CU_ASSERT_EQUAL (g_rmdir (store_folder), 0);
  g_string_free (store_warnings, TRUE);
  g_free (store_folder);
  g_free (store_path);
}

gboolean
store_exists (const char *suffix)
{
  g_autofree char *file = g_strconcat (store_path, suffix, NULL);
  return g_file_test (file, G_FILE_TEST_EXISTS);
}

const HassDeviceTraits store_devices[STORE_DEVICES]
    = { { .name = "cpu", .kind = HASS_DEVICE_CPU, .cores = 4, .width = 4 },
        { .name = "gpu0",
          .kind = HASS_DEVICE_GPU,
          .cores = 10,
          .width = 640,
          .model = "Abacus 9" } };

const HassStrategyEnv store_search = { .farm_name = "search",
                                       .farm = HASS_FARM_PARTITION,
                                       .cost = HASS_COST_EQUAL,
                                       .n_devices = 2,
                                       .devices = store_devices };

gboolean
store_tell (const HassStrategyEnv *env, double cpu, double gpu)
{
  HassProfileSample samples[] = { { cpu, 0, 3 }, { gpu, 7000 / gpu, 5 } };
  return hass_profile_add (env, 1, samples, 0);
}

HassProfileRate
store_known (const HassStrategyEnv *env, guint device)
{
  g_autofree HassProfileRate *rates = hass_profile_find (env, "auto");
  return rates[device];
}

void
store_forget (void)
{
  g_setenv ("HASS_PROFILE", "/nowhere/store.txt", TRUE);
  store_known (&store_search, 0);
  g_setenv ("HASS_PROFILE", store_path, TRUE);
}

void
store_put (const char *text, gssize length)
{
  CU_ASSERT_TRUE_FATAL (g_file_set_contents (store_path, text, length, NULL));
}

char *
store_get (void)
{
  char *text = NULL;
  g_file_get_contents (store_path, &text, NULL, NULL);
  return text;
}
