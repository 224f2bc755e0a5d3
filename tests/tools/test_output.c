/* SPDX-License-Identifier: MIT */
/* test_output.c: programs whose output cannot be written, or that cannot make
   threads, say so.
   Thread safety: one thread. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/program.h"

#define NOBODY 65534
#define ALONE 1000000000 /* and a process's number: no machine's user */
#define NOT_LIMITED 99

/* -- A full disk -------------------------------------------------------- */

static gboolean
there_is_a_full_disk (void)
{
  struct stat st;
  if (stat ("/dev/full", &st) == 0 && S_ISCHR (st.st_mode))
    return TRUE;
  hass_test_skip ("there is no /dev/full");
  return FALSE;
}

/* Runs a program, in its folder, with standard output on a full disk. */
static int
run_on_full_disk (char **err, const char *program, const char *words)
{
  g_autofree char *path = program_path (program);
  g_autofree char *line = g_strdup_printf ("'%s' %s >/dev/full", path, words);
  char *argv[] = { "/bin/sh", "-c", line, NULL };
  g_autofree char *folder = g_path_get_dirname (path);
  int status = -1;
  *err = NULL;
  if (!g_spawn_sync (folder, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, err,
                     &status, NULL))
    return -1;
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static void
full_disk (void)
{
  static const struct
  {
    const char *program, *words;
  } runs[] = {
    { "hass-sim", "--list" },
    { "hass-sim", "--workload '" HASS_TOP "/doc/workloads/cap-cg.workload' "
                  "--platform '" HASS_TOP "/doc/platforms/cap.platform'" },
    { "hass-info", "--no-measure" },
    { "hass-gantt", "--help" },
    { "hass-bakeoff", "-n 1 -w 0 -s auto -- ./collatz 1000" },
    { "collatz", "1000" },
    { "quicksort", "1000" },
    { "bit_count", "1000" },
    { "edit_distance", "100" },
    { "byte_histogram", "'" HASS_TOP "/README.md'" },
    { "own_strategy", "'" HASS_TOP "/doc/platforms/thesis.platform'" },
    { "monte_carlo", "--samples 1000" },
    { "string_search", "hass '" HASS_TOP "/README.md'" },
    { "person_query", "--persons 1000 --count" },
    { "string_search", "--help" },
    { "person_query", "--help" },
    { "heat", "--help" },
    { "monte_carlo", "--help" },
    { "align", "--help" },
    { "y4m_denoise", "--help" },
#ifndef WITHOUT_cholesky
    { "cholesky", "--help" },
#endif
#ifndef WITHOUT_hzip
    { "hzip", "--help" },
#endif
  };
  if (!there_is_a_full_disk ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      g_autofree char *err = NULL;
      int status = run_on_full_disk (&err, runs[i].program, runs[i].words);
      CU_ASSERT_TRUE (status > 0);
      if (status <= 0)
        printf ("\n    %s %s: status %d", runs[i].program, runs[i].words,
                status);
      if (strcmp (runs[i].words, "--help") != 0)
        program_says (err, "No space left on device");
    }
}

/* Files beside standard output, with the reason. */
static void
full_files (void)
{
  static const char *const variables[]
      = { "HASS_TRACE", "HASS_EXPLAIN", "HASS_RECORD" };
  g_autofree char *path = program_path ("collatz");
  if (!there_is_a_full_disk ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    {
      g_autofree char *line
          = g_strdup_printf ("%s=/dev/full HASS_PLATFORM='" HASS_TOP
                             "/doc/platforms/thesis.platform' '%s' 100000",
                             variables[i], path);
      g_autofree char *err = NULL;
      char *argv[] = { "/bin/sh", "-c", line, NULL };
      int status = -1;
      CU_ASSERT_TRUE_FATAL (g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT,
                                          NULL, NULL, NULL, &err, &status,
                                          NULL));
      CU_ASSERT_TRUE (WIFEXITED (status) && WEXITSTATUS (status) == 1);
      program_says (err, "could not be written whole: No space left on device");
    }
}

static void
pictures_replace_no_device (void)
{
  struct stat st;
  g_autofree char *out = NULL, *err = NULL;
  if (!there_is_a_full_disk ())
    return;
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-sim", "--workload",
                                HASS_TOP "/doc/workloads/cap-cg.workload",
                                "--platform",
                                HASS_TOP "/doc/platforms/cap.platform",
                                "--rounds", "1", "--gantt", "/dev/full", NULL),
                   1);
  program_says (err, "/dev/full");
  CU_ASSERT_TRUE (stat ("/dev/full", &st) == 0 && S_ISCHR (st.st_mode));
}

/* -- No threads --------------------------------------------------------- */

/* Runs a program that can make so many threads besides its first, as another
   user where this one is root, whom the kernel does not limit: one that has no
   other process, as these count, or nobody where there is no such user. */
static int
run_with_threads (rlim_t threads, char **err, const char *program, char **argv)
{
  g_autofree char *path = program_path (program);
  struct rlimit limit = { 1 + threads, 1 + threads };
  int status = -1, fds[2];
  int fd = open (path, O_RDONLY);
  g_autoptr (GString) text = g_string_new (NULL);
  if (fd < 0 || pipe (fds) != 0)
    return -1;
  pid_t child = fork ();
  if (child == 0)
    {
      int null = open ("/dev/null", O_WRONLY);
      dup2 (null, STDOUT_FILENO);
      dup2 (fds[1], STDERR_FILENO);
      close (fds[0]);
      close (fds[1]);
      setenv ("HASS_NCPU", "4", 1);
      setenv ("HASS_NGPU", "0", 1); /* those of GPUs want threads, too */
      setenv ("ASAN_OPTIONS", "detect_leaks=0", 1); /* wants a thread */
      if (setrlimit (RLIMIT_NPROC, &limit) != 0
          || (getuid () == 0 && setuid (ALONE + (uid_t)getpid ()) != 0
              && setuid (NOBODY) != 0))
        _exit (NOT_LIMITED);
      fexecve (fd, argv, environ);
      _exit (NOT_LIMITED);
    }
  close (fds[1]);
  close (fd);
  char piece[1024];
  for (ssize_t n; (n = read (fds[0], piece, sizeof piece)) > 0;)
    g_string_append_len (text, piece, n);
  close (fds[0]);
  if (child > 0)
    waitpid (child, &status, 0);
  *err = g_string_free (g_steal_pointer (&text), FALSE);
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

/* One that has no threads yet fails at its first, one that has some at a
   later one, which oneTBB makes from a thread of its own. */
static void
without_threads (void)
{
  for (rlim_t n = 0; n < 3; n++)
    {
      g_autofree char *err = NULL;
      char *argv[] = { "bit_count", "1000000", NULL };
      int status = run_with_threads (n, &err, argv[0], argv);
      if (status == NOT_LIMITED)
        {
          hass_test_skip ("threads cannot be limited here");
          return;
        }
      CU_ASSERT_EQUAL (status, 0);
      g_autofree char *wanted = g_strdup_printf (
          "cpu: %d of 3 threads cannot be made: ", 3 - (int)n);
      if (getuid () == 0) /* else others of this user's count, too */
        program_says (err, wanted);
    }
}

static void
tools_without_threads (void)
{
  char *bakeoff[] = { "hass-bakeoff", "/bin/true", NULL };
  char *info[] = { "hass-info", "--no-measure", NULL };
  g_autofree char *err = NULL, *no_err = NULL;
  int status = run_with_threads (0, &err, bakeoff[0], bakeoff);
  if (status == NOT_LIMITED)
    {
      hass_test_skip ("threads cannot be limited here");
      return;
    }
  CU_ASSERT_EQUAL (status, 1);
  program_says (err, "hass-bakeoff: no thread can be made: ");
  CU_ASSERT_EQUAL (run_with_threads (0, &no_err, info[0], info), 0);
}

/* Not even one that removes what a signal leaves unfinished. */
static void
hzip_without_threads (void)
{
#ifdef WITHOUT_hzip
  hass_test_skip ("hzip is left out: no libdeflate");
#else
  char *argv[] = { "hzip", "-cf", "/bin/sh", NULL };
  g_autofree char *err = NULL;
  int status = run_with_threads (0, &err, argv[0], argv);
  if (status == NOT_LIMITED)
    hass_test_skip ("threads cannot be limited here");
  else
    CU_ASSERT_EQUAL (status, 0);
#endif
}

/* -- Another locale ----------------------------------------------------- */

/* Where numbers have commas, strategies are still given numbers with points,
   and so are programs that read the output. */
static void
commas (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "de_DE.UTF-8", NULL);
  g_autofree char *make
      = g_strdup_printf ("localedef -i de_DE -f UTF-8 '%s'", path);
  g_autofree char *clean = g_strdup_printf ("rm -rf '%s'", folder);
  g_autofree char *program = program_path ("hass-sim");
  g_autofree char *plain = NULL, *german = NULL;
  const char *argv[] = { program, "--suite", "thesis",    "-p", "thesis",
                         "-n",    "2",       "--summary", NULL };
  int status = -1;
  if (!g_spawn_command_line_sync (make, NULL, NULL, &status, NULL)
      || status != 0)
    hass_test_skip ("there is no localedef, or no source of de_DE");
  else
    {
      g_auto (GStrv) env = g_get_environ ();
      env = g_environ_setenv (env, "LC_ALL", "C", TRUE);
      env = g_environ_setenv (env, "LOCPATH", folder, TRUE);
      g_spawn_sync (NULL, (char **)argv, env, 0, NULL, NULL, &plain, NULL, NULL,
                    NULL);
      env = g_environ_setenv (env, "LC_ALL", "de_DE.UTF-8", TRUE);
      g_spawn_sync (NULL, (char **)argv, env, 0, NULL, NULL, &german, NULL,
                    &status, NULL);
      CU_ASSERT_EQUAL (status, 0);
      CU_ASSERT_TRUE (plain && strstr (plain, "auto"));
      CU_ASSERT_PTR_NOT_NULL_FATAL (german);
      CU_ASSERT_STRING_EQUAL (german, plain);
    }
  g_spawn_command_line_sync (clean, NULL, NULL, NULL, NULL);
}

HASS_TEST_SUITE (
    output, { "programs on a full disk say so and fail", full_disk },
    { "trace, explanation and record on a full disk are an error with its "
      "reason",
      full_files },
    { "numbers have points where the user's have commas", commas },
    { "a picture written to a device does not replace it",
      pictures_replace_no_device },
    { "a farm runs on as many threads as can be made", without_threads },
    { "hass-bakeoff and hass-info need no thread to say what is wrong",
      tools_without_threads },
    { "hzip compresses a file where no thread can be made",
      hzip_without_threads });
