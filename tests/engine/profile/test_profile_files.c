/* SPDX-License-Identifier: MIT */
/* test_profile_files.c: what the profile store makes of files that are
   foreign, damaged or in places where none can be written.
   Thread safety: one thread. */
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "hass/error.h"
#include "hass_test.h"
#include "store_trial.h"

/* -- Contents ----------------------------------------------------------- */

/* The file is there and stays as it is. */
static void
leaves_alone (const char *text, gssize length)
{
  store_begin ();
  store_put (text, length);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 0);
  CU_ASSERT_FALSE (store_tell (&store_search, 1, 1));
  CU_ASSERT_PTR_NOT_NULL (strstr (store_warnings->str, store_path));
  CU_ASSERT_PTR_NULL (strstr (store_warnings->str, "replaced"));
  CU_ASSERT_EQUAL (strlen (store_warnings->str),
                   strcspn (store_warnings->str, "\n") + 1); /* one line */
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 0);
  GError *error = NULL;
  CU_ASSERT_PTR_NULL (hass_profile_list (&error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
  g_clear_error (&error);
  g_autofree char *now = NULL;
  gsize n = 0;
  CU_ASSERT_TRUE (g_file_get_contents (store_path, &now, &n, NULL));
  CU_ASSERT_EQUAL (n, length < 0 ? strlen (text) : (gsize)length);
  CU_ASSERT_EQUAL (memcmp (now, text, n), 0);
  CU_ASSERT_FALSE (store_exists (".lock"));
  store_end ();
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

/* A damaged store is ignored, and replaced. */
static void
replaces (const char *text, gssize length)
{
  store_begin ();
  store_put (text, length);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 0);
  CU_ASSERT_TRUE (store_tell (&store_search, 1, 1));
  CU_ASSERT_PTR_NOT_NULL (strstr (store_warnings->str, "it will be replaced"));
  CU_ASSERT_EQUAL (strlen (store_warnings->str),
                   strcspn (store_warnings->str, "\n") + 1);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 1);
  store_end ();
}

/* A good file with one value changed. */
static char *
good_file (const char *from, const char *to)
{
  store_begin ();
  store_tell (&store_search, 0.5, 4);
  store_tell (&store_search, 0.25, 5);
  g_autofree char *text = store_get ();
  store_end ();
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

/* The lines beside a bad one are used. */
static void
bad_lines (void)
{
  static const char *const lines[] = { "", "a\tb", "\t\t\t\t\t\t\t\t\t\t\t\t" };
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_autofree char *more = g_strconcat (lines[i], "\nend 3", NULL);
      g_autofree char *text = good_file ("end 2", more);
      GError *error = NULL;
      store_begin ();
      store_put (text, -1);
      CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 2);
      CU_ASSERT_PTR_NULL (hass_profile_list (&error));
      CU_ASSERT_TRUE (error && strstr (error->message, ".txt:4: "));
      g_clear_error (&error);
      CU_ASSERT_TRUE (store_tell (&store_search, 1, 1));
      CU_ASSERT_PTR_NOT_NULL (strstr (store_warnings->str, "bad line"));
      g_autoptr (GPtrArray) list = hass_profile_list (NULL);
      CU_ASSERT_TRUE (list && list->len == 2);
      CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 3);
      store_end ();
    }
}

/* A store that is cut off anywhere is ignored. */
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
      store_begin ();
      g_autofree char *bad = g_memdup2 (text, whole);
      for (guint k = 0; k < 1 + i % 3; k++)
        bad[g_rand_int_range (rand, 0, whole)]
            = g_rand_int_range (rand, 0, 256);
      store_put (bad, whole);
      HassProfileRate rate = store_known (&store_search, 0);
      CU_ASSERT_TRUE (isfinite (rate.work_per_ns) && rate.work_per_ns >= 0);
      gboolean told = store_tell (&store_search, 1, 1);
      CU_ASSERT_EQUAL (told, store_known (&store_search, 0).work_per_ns > 0);
      store_end ();
    }
}

static void
empty_file (void)
{
  store_begin ();
  store_put ("", 0);
  CU_ASSERT_TRUE (store_tell (&store_search, 1, 1));
  CU_ASSERT_STRING_EQUAL (store_warnings->str, "");
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 1);
  store_end ();
}

/* Opening a pipe to read would block. */
static void
not_a_file (void)
{
  for (int kind = 0; kind < 2; kind++)
    {
      store_begin ();
      CU_ASSERT_EQUAL (
          kind ? mkfifo (store_path, 0600) : g_mkdir (store_path, 0700), 0);
      CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 0);
      CU_ASSERT_FALSE (store_tell (&store_search, 1, 1));
      CU_ASSERT_PTR_NOT_NULL (
          strstr (store_warnings->str, "not a regular file"));
      CU_ASSERT_FALSE (g_file_test (store_path, G_FILE_TEST_IS_REGULAR));
      CU_ASSERT_FALSE (store_exists (".lock"));
      store_end ();
    }
}

/* -- Places ------------------------------------------------------------- */

/* Below a file no folder can be made, not even by root. */
static void
unwritable (void)
{
  store_begin ();
  store_put ("", 0);
  g_autofree char *below
      = g_build_filename (store_path, "sub", "store.txt", NULL);
  g_setenv ("HASS_PROFILE", below, TRUE);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 0);
  CU_ASSERT_FALSE (store_tell (&store_search, 1, 1));
  CU_ASSERT_FALSE (store_tell (&store_search, 1, 1));
  CU_ASSERT_PTR_NOT_NULL (strstr (store_warnings->str, below));
  CU_ASSERT_EQUAL (strlen (store_warnings->str),
                   strcspn (store_warnings->str, "\n") + 1);
  g_string_truncate (store_warnings, 0);
  /* A folder where no file can be made. */
  g_setenv ("HASS_PROFILE", "/proc/self/store.txt", TRUE);
  CU_ASSERT_FALSE (store_tell (&store_search, 1, 1));
  CU_ASSERT_PTR_NOT_NULL (strstr (store_warnings->str, "/proc/self/store.txt"));
  store_end ();
}

/* A process that may write no byte goes on, and keeps what it does with the
   signal of such a write. */
static void
no_byte (void)
{
  struct rlimit before, none;
  sigset_t blocked, pending;
  store_begin ();
  getrlimit (RLIMIT_FSIZE, &before);
  none = (struct rlimit){ 0, before.rlim_max };
  setrlimit (RLIMIT_FSIZE, &none);
  gboolean told = store_tell (&store_search, 1, 1);
  setrlimit (RLIMIT_FSIZE, &before);
  CU_ASSERT_FALSE (told);
  CU_ASSERT_PTR_NOT_NULL (strstr (store_warnings->str, store_path));
  pthread_sigmask (SIG_BLOCK, NULL, &blocked);
  sigpending (&pending);
  CU_ASSERT_FALSE (sigismember (&blocked, SIGXFSZ));
  CU_ASSERT_FALSE (sigismember (&pending, SIGXFSZ));
  store_end ();
}

/* The folder of a misspelt path is not made. */
static void
missing_folder (void)
{
  store_begin ();
  g_autofree char *absent = g_build_filename (store_folder, "absent", NULL);
  g_autofree char *below = g_build_filename (absent, "store.txt", NULL);
  g_setenv ("HASS_PROFILE", below, TRUE);
  CU_ASSERT_FALSE (store_tell (&store_search, 1, 1));
  CU_ASSERT_PTR_NOT_NULL (strstr (store_warnings->str, below));
  CU_ASSERT_FALSE (g_file_test (absent, G_FILE_TEST_EXISTS));
  store_end ();
}

HASS_TEST_SUITE (profile_files,
                 { "files that are not ours are ignored and left alone",
                   foreign_files },
                 { "corrupt stores are ignored and replaced", corrupt_files },
                 { "a bad line of the store costs that line alone", bad_lines },
                 { "a store that is cut off is not believed", cut_files },
                 { "damage at random breaks nothing", random_damage },
                 { "an empty file is an empty store", empty_file },
                 { "folders and pipes are no stores", not_a_file },
                 { "where nothing can be written, one warning is all",
                   unwritable },
                 { "nor is more where files may have no byte", no_byte },
                 { "the folder of a file that HASS_PROFILE names is not made",
                   missing_folder })
