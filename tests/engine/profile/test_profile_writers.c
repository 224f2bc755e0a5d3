/* SPDX-License-Identifier: MIT */
/* test_profile_writers.c: threads and processes that write to one profile
   store lose nothing.
   Thread safety: one thread; "threads lose nothing" starts some. */
#include <errno.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hass_test.h"
#include "program.h"
#include "store_trial.h"
#include "tests/engine/trial.h"

#define WRITERS 3
#define WRITES 40

/* -- What others leave -------------------------------------------------- */

/* A process that keeps the lock costs the others one sample each. */
static void
held_lock (void)
{
  store_begin ();
  int lock = hass_profile_file_lock (store_path, NULL);
  CU_ASSERT_TRUE (lock >= 0);
  watchdog (60, "a farm that waits for the lock of the profile");
  CU_ASSERT_FALSE (store_tell (&store_search, 1, 1));
  watchdog (0, NULL);
  CU_ASSERT_FALSE (store_exists (""));
  close (lock);
  CU_ASSERT_TRUE (store_tell (&store_search, 1, 1));
  store_end ();
}

/* The incomplete file of a writer that died is overwritten. */
static void
left_over (void)
{
  store_begin ();
  g_autofree char *beside = g_strconcat (store_path, ".new", NULL);
  CU_ASSERT_TRUE (g_file_set_contents (beside, "hass-pro", -1, NULL));
  CU_ASSERT_TRUE (store_tell (&store_search, 1, 1));
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 1);
  CU_ASSERT_FALSE (store_exists (".new"));
  store_end ();
}

/* -- Several writers ---------------------------------------------------- */

/* Writes for a farm of its own and for one that all writers share. Returns how
   many samples of the latter were reported as stored. */
static guint
write_many (guint who)
{
  g_autofree char *name = g_strdup_printf ("writer %u", who);
  HassStrategyEnv own = store_search;
  guint n = 0;
  own.farm_name = name;
  for (guint i = 0; i < WRITES; i++)
    {
      n += store_tell (&store_search, 1, 1);
      while (!store_tell (&own, 1, 1))
        ;
    }
  return n;
}

static void
nothing_lost (guint n_told)
{
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, n_told);
  for (guint i = 0; i < WRITERS; i++)
    {
      g_autofree char *name = g_strdup_printf ("writer %u", i);
      HassStrategyEnv own = store_search;
      own.farm_name = name;
      CU_ASSERT_EQUAL (store_known (&own, 1).runs, WRITES);
    }
  CU_ASSERT_TRUE (n_told > 0);
  CU_ASSERT_STRING_EQUAL (store_warnings->str, "");
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
  store_begin ();
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
  store_end ();
}

/* This program, with the one suite and TEST_PROFILE. */
static GPid
spawn (const char *role, const char *cache)
{
  /* Under its own name, which is a part of the keys. */
  const char *argv[]
      = { program_self (), "--here", "--suite", "profile_child", NULL };
  g_auto (GStrv) env = g_get_environ ();
  GPid pid = 0;
  env = g_environ_setenv (env, "TEST_PROFILE", role, TRUE);
  env = g_environ_setenv (env, "TEST_PROFILE_PATH", store_path, TRUE);
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
  store_begin ();
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
      g_autofree char *file = g_strdup_printf ("%s.%u", store_path, i);
      g_autofree char *text = NULL;
      CU_ASSERT_TRUE_FATAL (g_file_get_contents (file, &text, NULL, NULL));
      CU_ASSERT_TRUE (
          g_ascii_string_to_unsigned (text, 10, 0, WRITES, &one, NULL));
      n += one;
    }
  nothing_lost (n);
  store_end ();
}

/* Without HASS_PROFILE the store lies where XDG says. */
static void
default_place (void)
{
  store_begin ();
  CU_ASSERT_TRUE (ended_well (spawn ("default", store_folder)));
  g_autofree char *below = g_build_filename (store_folder, "hass", NULL);
  g_free (store_path);
  store_path = g_build_filename (below, "profile-v1.txt", NULL);
  g_setenv ("HASS_PROFILE", store_path, TRUE);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).runs, 1);
  g_autofree char *lock = g_strconcat (store_path, ".lock", NULL);
  g_remove (store_path);
  g_remove (lock);
  store_end ();
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
      CU_ASSERT_TRUE (store_tell (&store_search, 1, 1));
      return;
    }
  store_path = g_strdup (g_getenv ("TEST_PROFILE_PATH"));
  g_setenv ("HASS_PROFILE", store_path, TRUE);
  g_autofree char *file = g_strdup_printf ("%s.%s", store_path, role);
  g_autofree char *text = g_strdup_printf ("%u", write_many (atoi (role)));
  CU_ASSERT_TRUE (g_file_set_contents (file, text, -1, NULL));
  g_free (store_path);
}

HASS_TEST_SUITE (profile_writers,
                 { "a lock that is never released holds nobody up", held_lock },
                 { "a dead writer's file is in nobody's way", left_over },
                 { "threads lose nothing", threads },
                 { "processes lose nothing", processes },
                 { "the store lies in the user's cache", default_place })

HASS_TEST_SUITE (profile_child,
                 { "tests leave the user's own store alone", child })
