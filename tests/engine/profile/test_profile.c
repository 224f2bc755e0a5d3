/* SPDX-License-Identifier: MIT */
/* test_profile.c: the profile store: what it keeps, and what it makes of
   files that are not what they should be.
   Thread safety: one thread; "threads lose nothing" starts some. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/profile/profile-private.h"
#include "hass/error.h"
#include "hass_test.h"
#include "program.h"
#include "tests/engine/trial.h"

#define WRITERS 3
#define WRITES 40

/* -- A store of the test's own ------------------------------------------ */

static char *folder, *path;
static GString *warnings;

static void
hear (const char *text)
{
  g_string_append (warnings, text);
}

/* Each test has a file of its own, since warnings come once for each. */
static void
begin (void)
{
  folder = g_dir_make_tmp ("hass-profile-XXXXXX", NULL);
  path = g_build_filename (folder, "store.txt", NULL);
  g_setenv ("HASS_PROFILE", path, TRUE);
  warnings = g_string_new (NULL);
  g_set_printerr_handler (hear);
}

static void
end (void)
{
  const char *name;
  g_set_printerr_handler (NULL);
  g_setenv ("HASS_PROFILE", "off", TRUE);
  GDir *dir = g_dir_open (folder, 0, NULL);
  while ((name = g_dir_read_name (dir)))
    {
      g_autofree char *file = g_build_filename (folder, name, NULL);
      g_remove (file);
    }
  g_dir_close (dir);
  CU_ASSERT_EQUAL (g_rmdir (folder), 0);
  g_string_free (warnings, TRUE);
  g_free (folder);
  g_free (path);
}

static gboolean
exists (const char *suffix)
{
  g_autofree char *file = g_strconcat (path, suffix, NULL);
  return g_file_test (file, G_FILE_TEST_EXISTS);
}

static const HassDeviceTraits two[]
    = { { .name = "cpu", .kind = HASS_DEVICE_CPU, .cores = 4, .width = 4 },
        { .name = "gpu0",
          .kind = HASS_DEVICE_GPU,
          .cores = 10,
          .width = 640,
          .model = "Abacus 9" } };

static const HassStrategyEnv search = { .farm_name = "search",
                                        .farm = HASS_FARM_PARTITION,
                                        .cost = HASS_COST_EQUAL,
                                        .n_devices = 2,
                                        .devices = two };

/* Adds one sample for each device; 0: none. */
static gboolean
tell (const HassStrategyEnv *env, double cpu, double gpu)
{
  HassProfileSample samples[] = { { cpu, 0, 3 }, { gpu, 7000 / gpu, 5 } };
  return hass_profile_add (env, samples, 0);
}

static HassProfileRate
known (const HassStrategyEnv *env, guint device)
{
  g_autofree HassProfileRate *rates = hass_profile_find (env, "auto");
  return rates[device];
}

/* Whoever asks next has to read the file. */
static void
forget (void)
{
  g_setenv ("HASS_PROFILE", "/nowhere/store.txt", TRUE);
  known (&search, 0);
  g_setenv ("HASS_PROFILE", path, TRUE);
}

/* -- What is kept ------------------------------------------------------- */

static void
round_trip (void)
{
  begin ();
  g_autofree char *named = hass_profile_path ();
  CU_ASSERT_STRING_EQUAL (named, path);
  CU_ASSERT_EQUAL (known (&search, 0).runs, 0);
  CU_ASSERT_TRUE (tell (&search, 0.25, 2));
  CU_ASSERT_TRUE (tell (&search, 0, 2.5));
  forget ();
  CU_ASSERT_EQUAL (known (&search, 0).work_per_ns, 0.25);
  CU_ASSERT_EQUAL (known (&search, 0).latency_ns, 0);
  CU_ASSERT_EQUAL (known (&search, 0).runs, 1);
  CU_ASSERT_EQUAL (known (&search, 1).work_per_ns, 2.25);
  CU_ASSERT_EQUAL (known (&search, 1).latency_ns, (3500 + 2800) / 2);
  CU_ASSERT_EQUAL (known (&search, 1).runs, 2);
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
  CU_ASSERT_FALSE (exists (".new"));
  CU_ASSERT_STRING_EQUAL (warnings->str, "");
  end ();
}

/* Names that the file's format must not stumble over. */
static void
strange_names (void)
{
  static const char *const names[]
      = { "[x]",     "a=b;c",      "  two\nlines\t", "\\n",
          "end 7\n", "w\xc3\xa4g", "\xff!" };
  begin ();
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      HassStrategyEnv env = search;
      env.farm_name = names[i];
      CU_ASSERT_TRUE (tell (&env, 1 + i, 0));
    }
  forget ();
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      HassStrategyEnv env = search;
      env.farm_name = names[i];
      CU_ASSERT_EQUAL (known (&env, 0).work_per_ns, 1 + i);
    }
  CU_ASSERT_STRING_EQUAL (warnings->str, "");
  end ();
}

/* Whoever differs in one of these is somebody else. */
static void
keys_differ (void)
{
  HassDeviceTraits other[2];
  HassStrategyEnv env[6];
  begin ();
  memcpy (other, two, sizeof two);
  for (guint i = 0; i < G_N_ELEMENTS (env); i++)
    env[i] = search;
  env[1].farm_name = "sort";
  env[2].farm = HASS_FARM_COMBINE;
  env[3].cost = HASS_COST_SIZED;
  other[1].model = "Abacus 10";
  env[4].devices = other;
  HassDeviceTraits renamed[] = { two[0], two[1] };
  renamed[1].name = "gpu1";
  env[5].devices = renamed;
  for (guint i = 0; i < G_N_ELEMENTS (env); i++)
    {
      CU_ASSERT_EQUAL (known (&env[i], 1).runs, 0);
      CU_ASSERT_TRUE (tell (&env[i], 0, 1 + i));
    }
  for (guint i = 0; i < G_N_ELEMENTS (env); i++)
    {
      CU_ASSERT_EQUAL (known (&search, 1).work_per_ns, 1);
      CU_ASSERT_EQUAL (known (&env[i], 1).work_per_ns, 1 + i);
    }
  g_autoptr (GPtrArray) list = hass_profile_list (NULL);
  CU_ASSERT_EQUAL_FATAL (list->len, G_N_ELEMENTS (env));
  const HassProfileEntry *before_last = list->pdata[4], *last = list->pdata[5];
  CU_ASSERT_STRING_EQUAL (before_last->device, "gpu1");
  CU_ASSERT_STRING_EQUAL (last->farm, "hass-tests/sort");
  /* A pool of more cores is another, faster device. */
  CU_ASSERT_TRUE (tell (&search, 4, 0));
  CU_ASSERT_EQUAL (known (&search, 0).runs, 1);
  other[0].cores = 5;
  other[1].model = two[1].model;
  CU_ASSERT_EQUAL (known (&env[4], 0).runs, 0);
  end ();
}

/* What another program has written is seen by the next who asks. */
static void
change_is_seen (void)
{
  begin ();
  tell (&search, 1, 0);
  g_autofree char *other = g_strconcat (path, ".other", NULL);
  g_setenv ("HASS_PROFILE", other, TRUE);
  tell (&search, 3, 0);
  tell (&search, 3, 0);
  g_setenv ("HASS_PROFILE", path, TRUE);
  CU_ASSERT_EQUAL (known (&search, 0).runs, 1);
  CU_ASSERT_EQUAL (g_rename (other, path), 0);
  g_usleep (20000);
  CU_ASSERT_EQUAL (known (&search, 0).work_per_ns, 3);
  CU_ASSERT_TRUE (tell (&search, 3, 0));
  CU_ASSERT_EQUAL (known (&search, 0).runs, 3);
  CU_ASSERT_EQUAL (g_remove (path), 0);
  g_usleep (20000);
  CU_ASSERT_EQUAL (known (&search, 0).runs, 0);
  end ();
}

/* Farms that run in a loop do not write each time. */
static void
not_too_often (void)
{
  HassProfileSample samples[2] = { { 1, 0, 1 } };
  begin ();
  for (guint i = 0; i < 5; i++)
    CU_ASSERT_TRUE (hass_profile_add (&search, samples, 100));
  CU_ASSERT_FALSE (hass_profile_add (&search, samples, 100));
  CU_ASSERT_TRUE (hass_profile_add (&search, samples, 0));
  CU_ASSERT_EQUAL (known (&search, 0).runs, 6);
  samples[1].work_per_ns = 1; /* a device that is new */
  CU_ASSERT_TRUE (hass_profile_add (&search, samples, 100));
  end ();
}

/* A file that was filled on many machines stays small, and this machine's own
   newest entries stay in it. */
static void
stays_small (void)
{
  begin ();
  for (guint i = 0; i < 300; i++)
    {
      g_autofree char *name = g_strdup_printf ("farm %u", i);
      HassStrategyEnv env = search;
      env.farm_name = name;
      CU_ASSERT_TRUE (tell (&env, 1, 0));
    }
  g_autoptr (GPtrArray) list = hass_profile_list (NULL);
  CU_ASSERT_EQUAL (list->len, 256);
  HassStrategyEnv last = search;
  last.farm_name = "farm 299";
  CU_ASSERT_EQUAL (known (&last, 0).runs, 1);
  end ();
}

/* -- Short farms -------------------------------------------------------- */

static double short_work = 10;

/* A short run that takes so long by what it was told. TRUE: something. */
static gboolean
short_run (const HassStrategyEnv *farm, double untold_ns, double told_ns)
{
  HassStrategyEnv env = *farm;
  HassProfileSample samples[] = { { 0.25, 0, 3 }, { 2, 0, 5 } };
  g_autofree HassProfileRate *rates = hass_profile_find (farm, "auto");
  gboolean told = rates[0].runs > 0;
  CU_ASSERT_EQUAL (rates[0].work_per_ns, told ? 0.25 : 0);
  CU_ASSERT_EQUAL (rates[1].work_per_ns, told ? 2 : 0);
  env.profile = rates;
  hass_profile_remember (&env, "auto", samples, short_work,
                         short_work * (told ? told_ns : untold_ns));
  return told;
}

static guint
short_runs (guint n, double untold_ns, double told_ns)
{
  guint n_told = 0;
  for (guint i = 0; i < n; i++)
    n_told += short_run (&search, untold_ns, told_ns);
  return n_told;
}

/* Four runs, the first of which is no measure, then three that are told, then
   what is faster, and once in 64 the other. */
static void
short_farms (void)
{
  begin ();
  CU_ASSERT_EQUAL (short_runs (4, 3, 2), 0);
  CU_ASSERT_EQUAL (short_runs (3, 3, 2), 3);
  CU_ASSERT_EQUAL (short_runs (640, 3, 2), 630);
  CU_ASSERT_TRUE (short_runs (64, 3, 4) <= 4);
  CU_ASSERT_TRUE (short_runs (640, 3, 4) <= 10);
  CU_ASSERT_TRUE (short_runs (640, 3, 2) >= 400);
  /* Twice as much is no other farm, a hundred times is. */
  short_work = 20;
  CU_ASSERT_TRUE (short_runs (8, 3, 2) >= 7);
  short_work = 2000;
  CU_ASSERT_EQUAL (short_runs (1, 3, 4), 1);
  CU_ASSERT_EQUAL (short_runs (6, 3, 4), 3);
  CU_ASSERT_TRUE (short_runs (50, 3, 4) <= 1);
  short_work = 10;
  CU_ASSERT_FALSE (exists (""));
  CU_ASSERT_FALSE (exists (".lock"));
  CU_ASSERT_STRING_EQUAL (warnings->str, "");
  end ();
}

/* They are the process's, for a file and devices of which it knows nothing. */
static void
short_farms_go_second (void)
{
  HassStrategyEnv other = search;
  begin ();
  other.farm_name = "another";
  CU_ASSERT_EQUAL (short_runs (7, 3, 2), 3);
  CU_ASSERT_FALSE (short_run (&other, 3, 2));
  CU_ASSERT_EQUAL (short_runs (1, 3, 2), 1);
  g_autofree HassProfileRate *by_cap = hass_profile_find (&search, "cap");
  CU_ASSERT_EQUAL (by_cap[0].runs, 0);
  CU_ASSERT_EQUAL (short_runs (1, 3, 2), 1);
  forget ();
  CU_ASSERT_EQUAL (short_runs (7, 3, 2), 3);
  CU_ASSERT_TRUE (tell (&search, 0, 3));
  CU_ASSERT_EQUAL (known (&search, 0).work_per_ns, 0.25);
  CU_ASSERT_EQUAL (known (&search, 1).work_per_ns, 3);
  CU_ASSERT_TRUE (tell (&search, 4, 3));
  HassProfileSample samples[] = { { 0.25, 0, 3 }, { 2, 0, 5 } };
  hass_profile_remember (&search, "auto", samples, 1, 1);
  CU_ASSERT_EQUAL (known (&search, 0).work_per_ns, 4);
  CU_ASSERT_EQUAL (known (&search, 1).work_per_ns, 3);
  g_setenv ("HASS_PROFILE", "off", TRUE);
  hass_profile_remember (&search, "auto", samples, 1, 1);
  CU_ASSERT_PTR_NULL (hass_profile_find (&search, "auto"));
  end ();
}

/* Names without end do not take memory without end. */
static void
short_farms_are_forgotten (void)
{
  HassStrategyEnv other = search;
  begin ();
  CU_ASSERT_EQUAL (short_runs (7, 3, 2), 3);
  for (guint i = 0; i < 1000; i++)
    {
      g_autofree char *name = g_strdup_printf ("search %u", i);
      other.farm_name = name;
      CU_ASSERT_FALSE (short_run (&other, 3, 2));
      CU_ASSERT_TRUE (i > 50 || short_run (&search, 3, 2));
    }
  CU_ASSERT_FALSE (short_run (&search, 3, 2));
  end ();
}

/* -- Files -------------------------------------------------------------- */

static void
put (const char *text, gssize length)
{
  CU_ASSERT_TRUE_FATAL (g_file_set_contents (path, text, length, NULL));
}

static char *
get (void)
{
  char *text = NULL;
  g_file_get_contents (path, &text, NULL, NULL);
  return text;
}

/* The file is there and stays as it is. */
static void
leaves_alone (const char *text, gssize length)
{
  begin ();
  put (text, length);
  CU_ASSERT_EQUAL (known (&search, 0).runs, 0);
  CU_ASSERT_FALSE (tell (&search, 1, 1));
  CU_ASSERT_PTR_NOT_NULL (strstr (warnings->str, path));
  CU_ASSERT_PTR_NULL (strstr (warnings->str, "replaced"));
  CU_ASSERT_EQUAL (strlen (warnings->str),
                   strcspn (warnings->str, "\n") + 1); /* one line */
  CU_ASSERT_EQUAL (known (&search, 0).runs, 0);
  GError *error = NULL;
  CU_ASSERT_PTR_NULL (hass_profile_list (&error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
  g_clear_error (&error);
  g_autofree char *now = NULL;
  gsize n = 0;
  CU_ASSERT_TRUE (g_file_get_contents (path, &now, &n, NULL));
  CU_ASSERT_EQUAL (n, length < 0 ? strlen (text) : (gsize)length);
  CU_ASSERT_EQUAL (memcmp (now, text, n), 0);
  CU_ASSERT_FALSE (exists (".lock"));
  end ();
}

static void
foreign_files (void)
{
  g_autofree char *big = g_strnfill (3 << 20, '#');
  memcpy (big, "hass-profile 1\n", 15);
  leaves_alone ("Dear diary,\n", -1);
  leaves_alone ("\x7f\x45LF\0\x01\xff\xfehass-profile 1", 22);
  leaves_alone ("hass-profile 2\nend 0\n", -1);
  leaves_alone (big, 3 << 20);
}

/* What is left of a store of ours is not believed, and replaced. */
static void
replaces (const char *text, gssize length)
{
  begin ();
  put (text, length);
  CU_ASSERT_EQUAL (known (&search, 0).runs, 0);
  CU_ASSERT_TRUE (tell (&search, 1, 1));
  CU_ASSERT_PTR_NOT_NULL (strstr (warnings->str, "it will be replaced"));
  CU_ASSERT_EQUAL (strlen (warnings->str), strcspn (warnings->str, "\n") + 1);
  CU_ASSERT_EQUAL (known (&search, 0).runs, 1);
  end ();
}

/* A good file with one value changed. */
static char *
good_file (const char *from, const char *to)
{
  begin ();
  tell (&search, 0.5, 4);
  tell (&search, 0.25, 5);
  g_autofree char *text = get ();
  end ();
  CU_ASSERT_PTR_NOT_NULL_FATAL (from ? strstr (text, from) : text);
  g_auto (GStrv) parts = g_strsplit (text, from ? from : "\001", 2);
  return g_strjoinv (to, parts);
}

static void
corrupt_files (void)
{
  static const char *const changes[][2]
      = { { "\t0.5:0", "\t-0.5:0" },      { "\t0.5:0", "\t0:0" },
          { "\t0.5:0", "\tnan:0" },       { "\t0.5:0", "\t1e999:0" },
          { "\t0.5:0", "\t0.5" },         { "\t0.5:0", "\t0.5:-1" },
          { "\t0.5:0", "\t0.5:0:0" },     { "\t0.5:0\t0.25:0", "" },
          { "\tpartition\t", "\tbig\t" }, { "\tequal\t", "\tfree\t" },
          { "\t2\t3\t", "\tmany\t3\t" },  { "\t2\t3\t", "\t0\t3\t" },
          { "\t2\t3\t", "\t2\tinf\t" },   { "end 2", "end 1" },
          { "end 2", "end 20" },          { "end 2\n", "" },
          { "end 2", "end two" } };
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      g_autofree char *text = good_file (changes[i][0], changes[i][1]);
      replaces (text, -1);
    }
  g_autoptr (GString) many = g_string_new (NULL);
  for (guint i = 0; i < 50000; i++)
    g_string_append (many, "\t0.5:0");
  g_autofree char *text = good_file ("\t0.5:0", many->str);
  replaces (text, -1);
}

/* Where only a line makes no sense, the others do. */
static void
bad_lines (void)
{
  static const char *const lines[] = { "", "a\tb", "\t\t\t\t\t\t\t\t\t\t\t\t" };
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_autofree char *more = g_strconcat (lines[i], "\nend 3", NULL);
      g_autofree char *text = good_file ("end 2", more);
      GError *error = NULL;
      begin ();
      put (text, -1);
      CU_ASSERT_EQUAL (known (&search, 0).runs, 2);
      CU_ASSERT_PTR_NULL (hass_profile_list (&error));
      CU_ASSERT_TRUE (error && strstr (error->message, ".txt:4: "));
      g_clear_error (&error);
      CU_ASSERT_TRUE (tell (&search, 1, 1));
      CU_ASSERT_PTR_NOT_NULL (strstr (warnings->str, "bad line"));
      g_autoptr (GPtrArray) list = hass_profile_list (NULL);
      CU_ASSERT_TRUE (list && list->len == 2);
      CU_ASSERT_EQUAL (known (&search, 0).runs, 3);
      end ();
    }
}

/* Wherever it is cut off, it is not believed. */
static void
cut_files (void)
{
  g_autofree char *text = good_file (NULL, NULL);
  gsize whole = strlen (text);
  for (gsize n = strlen ("h"); n < whole; n += 7)
    replaces (text, n);
}

/* Nothing crashes, and what is read can be written. */
static void
random_damage (void)
{
  g_autofree char *text = good_file (NULL, NULL);
  gsize whole = strlen (text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  for (guint i = 0; i < 300; i++)
    {
      begin ();
      g_autofree char *bad = g_memdup2 (text, whole);
      for (guint k = 0; k < 1 + i % 3; k++)
        bad[g_rand_int_range (rand, 0, whole)]
            = g_rand_int_range (rand, 0, 256);
      put (bad, whole);
      HassProfileRate rate = known (&search, 0);
      CU_ASSERT_TRUE (isfinite (rate.work_per_ns) && rate.work_per_ns >= 0);
      gboolean told = tell (&search, 1, 1);
      CU_ASSERT_EQUAL (told, known (&search, 0).work_per_ns > 0);
      end ();
    }
}

static void
empty_file (void)
{
  begin ();
  put ("", 0);
  CU_ASSERT_TRUE (tell (&search, 1, 1));
  CU_ASSERT_STRING_EQUAL (warnings->str, "");
  CU_ASSERT_EQUAL (known (&search, 0).runs, 1);
  end ();
}

/* No plain file; a pipe would block whoever opens it to read. */
static void
not_a_file (void)
{
  for (int kind = 0; kind < 2; kind++)
    {
      begin ();
      CU_ASSERT_EQUAL (kind ? mkfifo (path, 0600) : g_mkdir (path, 0700), 0);
      CU_ASSERT_EQUAL (known (&search, 0).runs, 0);
      CU_ASSERT_FALSE (tell (&search, 1, 1));
      CU_ASSERT_PTR_NOT_NULL (strstr (warnings->str, "not a regular file"));
      CU_ASSERT_FALSE (g_file_test (path, G_FILE_TEST_IS_REGULAR));
      CU_ASSERT_FALSE (exists (".lock"));
      end ();
    }
}

/* Below a file no folder can be made, not even by root. */
static void
unwritable (void)
{
  begin ();
  put ("", 0);
  g_autofree char *below = g_build_filename (path, "sub", "store.txt", NULL);
  g_setenv ("HASS_PROFILE", below, TRUE);
  CU_ASSERT_EQUAL (known (&search, 0).runs, 0);
  CU_ASSERT_FALSE (tell (&search, 1, 1));
  CU_ASSERT_FALSE (tell (&search, 1, 1));
  CU_ASSERT_PTR_NOT_NULL (strstr (warnings->str, below));
  CU_ASSERT_EQUAL (strlen (warnings->str), strcspn (warnings->str, "\n") + 1);
  g_string_truncate (warnings, 0);
  /* A folder where nobody can make a file. */
  g_setenv ("HASS_PROFILE", "/proc/self/store.txt", TRUE);
  CU_ASSERT_FALSE (tell (&search, 1, 1));
  CU_ASSERT_PTR_NOT_NULL (strstr (warnings->str, "/proc/self/store.txt"));
  end ();
}

/* A folder that is misspelt is not made. */
static void
missing_folder (void)
{
  begin ();
  g_autofree char *absent = g_build_filename (folder, "absent", NULL);
  g_autofree char *below = g_build_filename (absent, "store.txt", NULL);
  g_setenv ("HASS_PROFILE", below, TRUE);
  CU_ASSERT_FALSE (tell (&search, 1, 1));
  CU_ASSERT_PTR_NOT_NULL (strstr (warnings->str, below));
  CU_ASSERT_FALSE (g_file_test (absent, G_FILE_TEST_EXISTS));
  end ();
}

/* Programs that name a farm alike do not share what they know of it. */
static void
programs_differ (void)
{
  begin ();
  char *own = program_invocation_short_name;
  CU_ASSERT_TRUE (tell (&search, 1, 1));
  program_invocation_short_name = (char *)"another";
  CU_ASSERT_TRUE (tell (&search, 1, 1));
  program_invocation_short_name = own;
  CU_ASSERT_EQUAL (known (&search, 1).runs, 1);
  g_autoptr (GPtrArray) list = hass_profile_list (NULL);
  CU_ASSERT_EQUAL_FATAL (list->len, 4);
  const HassProfileEntry *e = list->pdata[0];
  CU_ASSERT_STRING_EQUAL (e->farm, "another/search");
  end ();
}

/* A process that keeps the lock costs others one sample, and they go on. */
static void
held_lock (void)
{
  begin ();
  int lock = hass_profile_file_lock (path, NULL);
  CU_ASSERT_TRUE (lock >= 0);
  watchdog (60, "a farm that waits for the lock of the profile");
  CU_ASSERT_FALSE (tell (&search, 1, 1));
  watchdog (0, NULL);
  CU_ASSERT_FALSE (exists (""));
  close (lock);
  CU_ASSERT_TRUE (tell (&search, 1, 1));
  end ();
}

/* Half a file that somebody left when he died is in nobody's way. */
static void
left_over (void)
{
  begin ();
  g_autofree char *beside = g_strconcat (path, ".new", NULL);
  CU_ASSERT_TRUE (g_file_set_contents (beside, "hass-pro", -1, NULL));
  CU_ASSERT_TRUE (tell (&search, 1, 1));
  CU_ASSERT_EQUAL (known (&search, 0).runs, 1);
  CU_ASSERT_FALSE (exists (".new"));
  end ();
}

static void
switched_off (void)
{
  static const char *const words[] = { "off", "0" };
  begin ();
  tell (&search, 1, 1);
  g_autofree char *before = get ();
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_setenv ("HASS_PROFILE", words[i], TRUE);
      CU_ASSERT_PTR_NULL (hass_profile_path ());
      CU_ASSERT_PTR_NULL (hass_profile_find (&search, "auto"));
      CU_ASSERT_FALSE (tell (&search, 1, 1));
      g_autoptr (GPtrArray) list = hass_profile_list (NULL);
      CU_ASSERT_EQUAL (list->len, 0);
      CU_ASSERT_FALSE (g_file_test (words[i], G_FILE_TEST_EXISTS));
    }
  g_autofree char *after = get ();
  CU_ASSERT_STRING_EQUAL (before, after);
  end ();
}

/* -- Several writers ---------------------------------------------------- */

/* Each writes for a farm of its own and for one of all; what it was told is
   stored is to be in the file. */
static guint
write_many (guint who)
{
  g_autofree char *name = g_strdup_printf ("writer %u", who);
  HassStrategyEnv own = search;
  guint n = 0;
  own.farm_name = name;
  for (guint i = 0; i < WRITES; i++)
    {
      n += tell (&search, 1, 1);
      while (!tell (&own, 1, 1))
        ;
    }
  return n;
}

static void
nothing_lost (guint n_told)
{
  CU_ASSERT_EQUAL (known (&search, 0).runs, n_told);
  for (guint i = 0; i < WRITERS; i++)
    {
      g_autofree char *name = g_strdup_printf ("writer %u", i);
      HassStrategyEnv own = search;
      own.farm_name = name;
      CU_ASSERT_EQUAL (known (&own, 1).runs, WRITES);
    }
  CU_ASSERT_TRUE (n_told > 0);
  CU_ASSERT_STRING_EQUAL (warnings->str, "");
}

static void *
writer (void *data)
{
  return GUINT_TO_POINTER (write_many (GPOINTER_TO_UINT (data)));
}

static void
threads (void)
{
  pthread_t ids[WRITERS];
  guint n = 0;
  begin ();
  for (guint i = 0; i < WRITERS; i++)
    CU_ASSERT_EQUAL_FATAL (
        pthread_create (&ids[i], NULL, writer, GUINT_TO_POINTER (i)), 0);
  for (guint i = 0; i < WRITERS; i++)
    {
      void *told;
      pthread_join (ids[i], &told);
      n += GPOINTER_TO_UINT (told);
    }
  nothing_lost (n);
  end ();
}

/* This program, with the one suite and TEST_PROFILE. */
static GPid
spawn (const char *role, const char *cache)
{
  /* Under its own name, which belongs to the keys. */
  const char *argv[] = { program_self (), "--suite", "profile_child", NULL };
  g_auto (GStrv) env = g_get_environ ();
  GPid pid = 0;
  env = g_environ_setenv (env, "TEST_PROFILE", role, TRUE);
  env = g_environ_setenv (env, "TEST_PROFILE_PATH", path, TRUE);
  if (cache)
    env = g_environ_setenv (env, "XDG_CACHE_HOME", cache, TRUE);
  CU_ASSERT_TRUE (
      g_spawn_async (NULL, (char **)argv, env,
                     G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
                     NULL, NULL, &pid, NULL));
  return pid;
}

static gboolean
ended_well (GPid pid)
{
  int status = -1;
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  return g_spawn_check_wait_status (status, NULL);
}

static void
processes (void)
{
  GPid pids[WRITERS];
  begin ();
  for (guint i = 0; i < WRITERS; i++)
    {
      char role[8];
      g_snprintf (role, sizeof role, "%u", i);
      pids[i] = spawn (role, NULL);
    }
  guint64 n = 0, one;
  for (guint i = 0; i < WRITERS; i++)
    {
      CU_ASSERT_TRUE (ended_well (pids[i]));
      g_autofree char *file = g_strdup_printf ("%s.%u", path, i);
      g_autofree char *text = NULL;
      CU_ASSERT_TRUE_FATAL (g_file_get_contents (file, &text, NULL, NULL));
      CU_ASSERT_TRUE (
          g_ascii_string_to_unsigned (text, 10, 0, WRITES, &one, NULL));
      n += one;
    }
  nothing_lost (n);
  end ();
}

/* Without HASS_PROFILE the store lies where XDG says. */
static void
default_place (void)
{
  begin ();
  CU_ASSERT_TRUE (ended_well (spawn ("default", folder)));
  g_autofree char *below = g_build_filename (folder, "hass", NULL);
  g_free (path);
  path = g_build_filename (below, "profile-v1.txt", NULL);
  g_setenv ("HASS_PROFILE", path, TRUE);
  CU_ASSERT_EQUAL (known (&search, 0).runs, 1);
  g_autofree char *lock = g_strconcat (path, ".lock", NULL);
  g_remove (path);
  g_remove (lock);
  end ();
}

/* The tests above run it in processes of their own, with a role. */
static void
child (void)
{
  const char *role = g_getenv ("TEST_PROFILE");
  CU_ASSERT_PTR_NULL (hass_profile_path ());
  if (!role)
    return;
  if (strcmp (role, "default") == 0)
    {
      g_unsetenv ("HASS_PROFILE");
      CU_ASSERT_TRUE (tell (&search, 1, 1));
      return;
    }
  path = g_strdup (g_getenv ("TEST_PROFILE_PATH"));
  g_setenv ("HASS_PROFILE", path, TRUE);
  g_autofree char *file = g_strdup_printf ("%s.%s", path, role);
  g_autofree char *text = g_strdup_printf ("%u", write_many (atoi (role)));
  CU_ASSERT_TRUE (g_file_set_contents (file, text, -1, NULL));
  g_free (path);
}

HASS_TEST_SUITE (
    profile,
    { "the folder of a file that HASS_PROFILE names is not made",
      missing_folder },
    { "programs tell entries apart", programs_differ },
    { "what is stored is read back", round_trip },
    { "any farm name will do", strange_names },
    { "farm, kind, cost class, device and model tell entries apart",
      keys_differ },
    { "what others write is seen", change_is_seen },
    { "what is well known is not written too often", not_too_often },
    { "of short farms the process tells while that is faster", short_farms },
    { "without a file the process tells of its short farms",
      short_farms_go_second },
    { "the process remembers no more than a fixed number of short farms",
      short_farms_are_forgotten },
    { "the file stays small", stays_small },
    { "files that are not ours are ignored and left alone", foreign_files },
    { "corrupt stores are ignored and replaced", corrupt_files },
    { "a bad line of the store costs that line alone", bad_lines },
    { "a store that is cut off is not believed", cut_files },
    { "damage at random breaks nothing", random_damage },
    { "an empty file is an empty store", empty_file },
    { "folders and pipes are no stores", not_a_file },
    { "where nothing can be written, one warning is all", unwritable },
    { "a lock that is never released holds nobody up", held_lock },
    { "a dead writer's file is in nobody's way", left_over },
    { "switched off, nothing is read or written", switched_off },
    { "threads lose nothing", threads },
    { "processes lose nothing", processes },
    { "the store lies in the user's cache", default_place })

HASS_TEST_SUITE (profile_child,
                 { "tests leave the user's own store alone", child })
