/* SPDX-License-Identifier: MIT */
/* test_profile.c: what the profile store keeps, for which farms and devices.
   Thread safety: one thread. */
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#include "hass_test.h"
#include "store_trial.h"

static void
round_trip (void)
{
  store_begin ();
  g_autofree char *named = hass_profile_path ();
  CU_ASSERT_STRING_EQUAL (named, store_path);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 0);
  CU_ASSERT_TRUE (store_tell (&store_search, 0.25, 2));
  CU_ASSERT_TRUE (store_tell (&store_search, 0, 2.5));
  store_forget ();
  CU_ASSERT_EQUAL (store_known (&store_search, 0).work_per_ns, 0.25);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).latency_ns, 0);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 1);
  CU_ASSERT_EQUAL (store_known (&store_search, 1).work_per_ns, 2.25);
  CU_ASSERT_EQUAL (store_known (&store_search, 1).latency_ns,
                   (3500 + 2800) / 2);
  CU_ASSERT_EQUAL (store_known (&store_search, 1).runs, 2);
  g_autoptr (GPtrArray) list = hass_profile_list (NULL);
  CU_ASSERT_EQUAL_FATAL (list->len, 2);
  const HassProfileEntry *e = list->pdata[1];
  CU_ASSERT_STRING_EQUAL (e->machine, hass_profile_machine ());
  CU_ASSERT_STRING_EQUAL (e->farm, "hass-tests/search");
  CU_ASSERT_EQUAL (e->kind, HASS_FARM_PARTITION);
  CU_ASSERT_EQUAL (e->cost, HASS_COST_EQUAL);
  CU_ASSERT_STRING_EQUAL (e->device, "gpu0");
  CU_ASSERT_STRING_EQUAL (e->model, "Abacus 9, 10 cores, width 640");
  CU_ASSERT_EQUAL (e->n_samples, 2);
  CU_ASSERT_EQUAL (e->work_per_ns[1], 2.5);
  CU_ASSERT_EQUAL (e->latency_ns[0], 3500);
  CU_ASSERT_EQUAL (e->unit_work, 5);
  CU_ASSERT_EQUAL (e->drifted_s, 0);
  CU_ASSERT_TRUE (ABS (e->updated_s - g_get_real_time () / G_USEC_PER_SEC)
                  < 100);
  CU_ASSERT_FALSE (store_exists (".new"));
  CU_ASSERT_STRING_EQUAL (store_warnings->str, "");
  store_end ();
}

/* Names that the file's format must not stumble over. */
static void
strange_names (void)
{
  static const char *const names[]
      = { "[x]",     "a=b;c",      "  two\nlines\t", "\\n",
          "end 7\n", "w\xc3\xa4g", "\xff!" };
  store_begin ();
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      HassStrategyEnv env = store_search;
      env.farm_name = names[i];
      CU_ASSERT_TRUE (store_tell (&env, 1 + i, 0));
    }
  store_forget ();
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      HassStrategyEnv env = store_search;
      env.farm_name = names[i];
      CU_ASSERT_EQUAL (store_known (&env, 0).work_per_ns, 1 + i);
    }
  CU_ASSERT_STRING_EQUAL (store_warnings->str, "");
  store_end ();
}

/* Entries that differ in one of these are kept apart. */
static void
keys_differ (void)
{
  HassDeviceTraits other[2];
  HassStrategyEnv env[6];
  store_begin ();
  memcpy (other, store_devices, sizeof store_devices);
  for (guint i = 0; i < G_N_ELEMENTS (env); i++)
    env[i] = store_search;
  env[1].farm_name = "sort";
  env[2].farm = HASS_FARM_COMBINE;
  env[3].cost = HASS_COST_SIZED;
  other[1].model = "Abacus 10";
  env[4].devices = other;
  HassDeviceTraits renamed[] = { store_devices[0], store_devices[1] };
  renamed[1].name = "gpu1";
  env[5].devices = renamed;
  for (guint i = 0; i < G_N_ELEMENTS (env); i++)
    {
      CU_ASSERT_EQUAL (store_known (&env[i], 1).runs, 0);
      CU_ASSERT_TRUE (store_tell (&env[i], 0, 1 + i));
    }
  for (guint i = 0; i < G_N_ELEMENTS (env); i++)
    {
      CU_ASSERT_EQUAL (store_known (&store_search, 1).work_per_ns, 1);
      CU_ASSERT_EQUAL (store_known (&env[i], 1).work_per_ns, 1 + i);
    }
  g_autoptr (GPtrArray) list = hass_profile_list (NULL);
  CU_ASSERT_EQUAL_FATAL (list->len, G_N_ELEMENTS (env));
  const HassProfileEntry *before_last = list->pdata[4], *last = list->pdata[5];
  CU_ASSERT_STRING_EQUAL (before_last->device, "gpu1");
  CU_ASSERT_STRING_EQUAL (last->farm, "hass-tests/sort");
  /* A pool of more cores is another, faster device. */
  CU_ASSERT_TRUE (store_tell (&store_search, 4, 0));
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 1);
  other[0].cores = 5;
  other[1].model = store_devices[1].model;
  CU_ASSERT_EQUAL (store_known (&env[4], 0).runs, 0);
  store_end ();
}

/* Two programs that name a farm alike have an entry each. */
static void
programs_differ (void)
{
  store_begin ();
  char *own = program_invocation_short_name;
  CU_ASSERT_TRUE (store_tell (&store_search, 1, 1));
  program_invocation_short_name = (char *)"another";
  CU_ASSERT_TRUE (store_tell (&store_search, 1, 1));
  program_invocation_short_name = own;
  CU_ASSERT_EQUAL (store_known (&store_search, 1).runs, 1);
  g_autoptr (GPtrArray) list = hass_profile_list (NULL);
  CU_ASSERT_EQUAL_FATAL (list->len, 4);
  const HassProfileEntry *e = list->pdata[0];
  CU_ASSERT_STRING_EQUAL (e->farm, "another/search");
  store_end ();
}

/* What another program has written is read by the next question. */
static void
change_is_seen (void)
{
  store_begin ();
  store_tell (&store_search, 1, 0);
  g_autofree char *other = g_strconcat (store_path, ".other", NULL);
  g_setenv ("HASS_PROFILE", other, TRUE);
  store_tell (&store_search, 3, 0);
  store_tell (&store_search, 3, 0);
  g_setenv ("HASS_PROFILE", store_path, TRUE);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 1);
  CU_ASSERT_EQUAL (g_rename (other, store_path), 0);
  g_usleep (20000);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).work_per_ns, 3);
  CU_ASSERT_TRUE (store_tell (&store_search, 3, 0));
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 3);
  CU_ASSERT_EQUAL (g_remove (store_path), 0);
  g_usleep (20000);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 0);
  store_end ();
}

/* Farms that run in a loop do not write each time. */
static void
not_too_often (void)
{
  HassProfileSample samples[2] = { { 1, 0, 1 } };
  store_begin ();
  for (guint i = 0; i < 5; i++)
    CU_ASSERT_TRUE (hass_profile_add (&store_search, 1, samples, 100));
  CU_ASSERT_FALSE (hass_profile_add (&store_search, 1, samples, 100));
  CU_ASSERT_TRUE (hass_profile_add (&store_search, 1, samples, 0));
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 6);
  samples[1].work_per_ns = 1; /* a device that is new */
  CU_ASSERT_TRUE (hass_profile_add (&store_search, 1, samples, 100));
  store_end ();
}

/* A file that was filled on many machines stays small, and this machine's own
   newest entries stay in it. */
static void
stays_small (void)
{
  store_begin ();
  for (guint i = 0; i < 300; i++)
    {
      g_autofree char *name = g_strdup_printf ("farm %u", i);
      HassStrategyEnv env = store_search;
      env.farm_name = name;
      CU_ASSERT_TRUE (store_tell (&env, 1, 0));
    }
  g_autoptr (GPtrArray) list = hass_profile_list (NULL);
  CU_ASSERT_EQUAL (list->len, 256);
  HassStrategyEnv last = store_search;
  last.farm_name = "farm 299";
  CU_ASSERT_EQUAL (store_known (&last, 0).runs, 1);
  store_end ();
}

static void
switched_off (void)
{
  static const char *const words[] = { "off", "0" };
  store_begin ();
  store_tell (&store_search, 1, 1);
  g_autofree char *before = store_get ();
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_setenv ("HASS_PROFILE", words[i], TRUE);
      CU_ASSERT_PTR_NULL (hass_profile_path ());
      CU_ASSERT_PTR_NULL (hass_profile_find (&store_search, "auto"));
      CU_ASSERT_FALSE (store_tell (&store_search, 1, 1));
      g_autoptr (GPtrArray) list = hass_profile_list (NULL);
      CU_ASSERT_EQUAL (list->len, 0);
      CU_ASSERT_FALSE (g_file_test (words[i], G_FILE_TEST_EXISTS));
    }
  g_autofree char *after = store_get ();
  CU_ASSERT_STRING_EQUAL (before, after);
  store_end ();
}

HASS_TEST_SUITE (
    profile, { "what is stored is read back", round_trip },
    { "any farm name will do", strange_names },
    { "farm, kind, cost class, device and model tell entries apart",
      keys_differ },
    { "programs tell entries apart", programs_differ },
    { "what others write is seen", change_is_seen },
    { "what is well known is not written too often", not_too_often },
    { "the file stays small", stays_small },
    { "switched off, nothing is read or written", switched_off })
