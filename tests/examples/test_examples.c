/* SPDX-License-Identifier: MIT */
/* test_examples.c: the examples of the user guide run and are right, on the
   real machine and on a modelled one; string_search says what is wrong.
   Thread safety: single-threaded. */
#include "hass_test.h"
#include "tests/program.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THESIS HASS_TOP "/doc/platforms/thesis.platform"

static void
check (const char *program, const char *argument, const char *wanted)
{
  for (int modelled = 0; modelled < 2; modelled++)
    {
      g_autofree char *out = NULL, *err = NULL;
      if (modelled)
        g_setenv ("HASS_PLATFORM", THESIS, TRUE);
      CU_ASSERT_EQUAL (program_run (&out, &err, program, argument, NULL), 0);
      g_unsetenv ("HASS_PLATFORM");
      program_says (out, wanted);
      if (modelled)
        program_says (strstr (out, "farm ") ? out : err,
                      "virtual time on thesis");
    }
}

static void
collatz (void)
{
  check ("collatz", "1000000", "837799 takes 524 steps");
}

static void
histogram (void)
{
  g_autofree char *path = NULL, *text = g_strnfill (3000000, 'a');
  int fd = g_file_open_tmp ("hass-histogram-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  text[1234567] = 'z';
  CU_ASSERT_TRUE (g_file_set_contents (path, text, 3000000, NULL));
  check ("byte_histogram", path, " 97 a 2999999\n122 z 1\n");
  remove (path);
}

/* A file whose block 700 repeats block 3 and whose last block, which is short,
   repeats none; all others differ. */
static void
repeated_blocks (void)
{
  const gsize length = 1000 * 4096 + 5;
  g_autofree char *path = NULL, *out = NULL, *bytes = g_malloc0 (length);
  int fd = g_file_open_tmp ("hass-pipeline-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  for (guint32 b = 0; b < 1000; b++)
    memcpy (bytes + b * 4096, b == 699 ? &(guint32){ 2 } : &b, sizeof b);
  CU_ASSERT_TRUE (g_file_set_contents (path, bytes, (gssize)length, NULL));
  check ("pipeline", path, "block 700 repeats block 3\n");
  CU_ASSERT_EQUAL (program_run (&out, NULL, "pipeline", path, NULL), 0);
  CU_ASSERT_STRING_EQUAL (out, "block 700 repeats block 3\n");
  remove (path);
}

/* Roads between places 0, 5, 10, ...; a plain loop over the table of all pairs
   finds the same two places. */
static void
farthest_places (void)
{
  enum
  {
    N = 200
  };
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autoptr (GString) roads = g_string_new (NULL);
  g_autofree char *path = NULL;
  int ways[N][N], most = 0, *way = &ways[0][0];
  for (int i = 0; i < N * N; i++)
    way[i] = i % (N + 1) == 0 ? 0 : 1000000;
  for (int i = 0; i < 3 * N; i++)
    {
      int from = i % N, to = g_rand_int_range (random, 0, N);
      if (from == to)
        continue;
      ways[from][to] = g_rand_int_range (random, 1, 100);
      g_string_append_printf (roads, "%d %d %d\n", 5 * from, 5 * to,
                              ways[from][to]);
    }
  for (int k = 0; k < N; k++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        ways[i][j] = MIN (ways[i][j], ways[i][k] + ways[k][j]);
  for (int i = 0; i < N * N; i++)
    most = way[i] < 1000000 && way[i] > way[most] ? i : most;
  g_autofree char *wanted = g_strdup_printf (
      "it is %d from %d to %d\n", way[most], most / N * 5, most % N * 5);
  g_autofree char *out = NULL;
  int fd = g_file_open_tmp ("hass-graph-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  CU_ASSERT_TRUE (g_file_set_contents (path, roads->str, -1, NULL));
  CU_ASSERT_EQUAL (program_run (&out, NULL, "graph", path, NULL), 0);
  CU_ASSERT_STRING_EQUAL (out, wanted);
  CU_ASSERT_TRUE (g_file_set_contents (path, "0 1 2\n1 x 2\n", -1, NULL));
  CU_ASSERT_EQUAL (program_run (NULL, NULL, "graph", path, NULL), 2);
  CU_ASSERT_EQUAL (program_run (NULL, NULL, "graph", g_get_tmp_dir (), NULL),
                   2);
  remove (path);
}

static void
distances (void)
{
  check ("edit_distance", "2000",
         "pair 0: distance 39\npair 1: distance 153\n");
}

static void
tasks (void)
{
  check ("quicksort", "400000", "400000 numbers sorted");
}

static void
own_strategy (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (program_run (&out, &err, "own_strategy", THESIS, NULL), 0);
  const char *naive = strstr (out, "naive-greedy");
  const char *guided = strstr (out, "guided");
  CU_ASSERT_FATAL (naive && guided);
  double a = g_ascii_strtod (naive + strlen ("naive-greedy"), NULL);
  double b = g_ascii_strtod (guided + strlen ("guided"), NULL);
  CU_ASSERT_TRUE (a > 0 && b > 0 && b < a);
}

static void
bit_count (void)
{
  g_autofree char *out = NULL, *err = NULL;
  guint64 bits = 0;
  for (guint i = 0; i < 1000003; i++)
    bits += (guint64)__builtin_popcount (i % 256);
  CU_ASSERT_EQUAL (program_run (&out, &err, "bit_count", "1000003", NULL), 0);
  g_autofree char *wanted = g_strdup_printf (
      "1000003 bytes have %" G_GUINT64_FORMAT " bits set\n", bits);
  CU_ASSERT_STRING_EQUAL (out, wanted);
  program_says (err, "farm bit_count");
}

static void
no_number (void)
{
  static const char *const programs[]
      = { "collatz", "edit_distance", "quicksort", "bit_count" };
  static const char *const wrong[] = { "--help", "-1", "1e6", "" };
  for (gsize i = 0; i < G_N_ELEMENTS (programs); i++)
    for (gsize k = 0; k < G_N_ELEMENTS (wrong); k++)
      {
        g_autofree char *out = NULL, *err = NULL;
        g_autofree char *usage = g_strdup_printf ("usage: %s [", programs[i]);
        CU_ASSERT_EQUAL (program_run (&out, &err, programs[i], wrong[k], NULL),
                         2);
        CU_ASSERT_STRING_EQUAL (out, "");
        program_says (err, usage);
      }
}

/* Examples that are given no such file name it; own_device is given no such
   kind of farm. */
static void
no_file (void)
{
  static const char *const programs[]
      = { "byte_histogram", "graph", "pipeline", "own_strategy", "own_device" };
  for (gsize i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      g_autofree char *out = NULL, *err = NULL;
      CU_ASSERT_NOT_EQUAL (
          program_run (&out, &err, programs[i], "/no-such-file", NULL), 0);
      CU_ASSERT_STRING_EQUAL (out, "");
      program_says (err, "/no-such-file");
      program_says (err, programs[i]);
    }
}

static void
refuses (const char *wanted, const char *a, const char *b, const char *c)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (program_run (&out, &err, "string_search", a, b, c, NULL), 2);
  program_says (err, wanted);
}

static void
wrong_options (void)
{
  refuses ("refused: -v", "-v", "x", HASS_TOP "/doc");
  refuses ("an argument is missing for -e", "-e", NULL, NULL);
  refuses ("no-such-file: No such file", "x", "/no-such-file", NULL);
  refuses ("known are", "--strategy=no-such", "x", HASS_TOP "/doc");
  refuses ("platform file", "--platform=/no-such-file", "x", HASS_TOP "/doc");
  refuses ("line 1", "--platform=" HASS_TOP "/LICENSE", "x", HASS_TOP "/doc");
  refuses ("--cores needs", "--cores=0", "x", HASS_TOP "/doc");
}

static void
no_progress (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (program_run (&out, &err, "string_search", "-c", "farm",
                                HASS_TOP "/README.md", NULL),
                   0);
  CU_ASSERT_STRING_EQUAL (err, "");
}

/* The first run is long enough to be remembered; the second says what it
   knows of it while its strategy is made. */
static void
explained_from_the_start (void)
{
  g_autofree char *store
      = g_strdup_printf ("%s/hass-explained-%d", g_get_tmp_dir (), getpid ());
  g_autofree char *lock = g_strconcat (store, ".lock", NULL);
  g_autofree char *before = g_strdup (g_getenv ("HASS_NCPU"));
  g_setenv ("HASS_PROFILE", store, TRUE);
  g_setenv ("HASS_EXPLAIN", "-", TRUE);
  g_setenv ("HASS_NCPU", "1", TRUE);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *out = NULL, *err = NULL;
      CU_ASSERT_EQUAL (program_run (&out, &err, "collatz", "1000000", NULL), 0);
      if (i == 1)
        {
          program_says (err, "from earlier runs");
          program_says (err, "collatz 0.000 ms: ");
        }
    }
  g_unsetenv ("HASS_EXPLAIN");
  g_setenv ("HASS_PROFILE", "off", TRUE);
  if (before)
    g_setenv ("HASS_NCPU", before, TRUE);
  else
    g_unsetenv ("HASS_NCPU");
  unlink (store);
  unlink (lock);
}

HASS_TEST_SUITE (
    examples, { "collatz finds the number", collatz },
    { "byte_histogram counts", histogram }, { "bit_count counts", bit_count },
    { "pipeline finds repeated blocks", repeated_blocks },
    { "graph finds the places that are farthest apart", farthest_places },
    { "edit_distance is right and in order", distances },
    { "quicksort sorts", tasks },
    { "an application's own strategy beats naive greedy", own_strategy },
    { "what is no number gets the usage", no_number },
    { "a file that is not there is named", no_file },
    { "what earlier runs taught is explained at 0 ms",
      explained_from_the_start },
    { "string_search says what is wrong", wrong_options },
    { "string_search shows no progress when redirected", no_progress })
