/* SPDX-License-Identifier: MIT */
/* program.c: see program.h.
   Thread safety: one thread. */
#include "program.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "hass_test.h"

char *
program_in_build (const char *folder, const char *program)
{
  const char *build = g_getenv ("TEST_BUILD");
  char *path = g_build_filename (build ? build : HASS_TOP "/build", folder,
                                 program, NULL);
  if (!g_file_test (path, G_FILE_TEST_IS_EXECUTABLE))
    {
      printf ("\n    %s is not built; `make check` builds it\n    ", path);
      g_free (path);
      CU_FAIL_FATAL ("a program that this test runs is not built");
    }
  return path;
}

char *
program_path (const char *program)
{
  return program_in_build ("bin", program);
}

const char *
program_self (void)
{
  static char *self;
  const char *other = g_getenv ("TEST_SELF");
  if (!self)
    self = g_file_read_link ("/proc/self/exe", NULL);
  return other ? other : self;
}

static int
run (char **out, char **err, char **argv)
{
  int status = -1;
  if (!g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, out, err,
                     &status, NULL))
    return -1;
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

int
program_run (char **out, char **err, const char *program, ...)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  va_list args;
  g_ptr_array_add (argv, program_path (program));
  va_start (args, program);
  for (char *a = va_arg (args, char *); a; a = va_arg (args, char *))
    g_ptr_array_add (argv, g_strdup (a));
  va_end (args);
  g_ptr_array_add (argv, NULL);
  return run (out, err, (char **)argv->pdata);
}

int
program_run_words (char **out, char **err, const char *program,
                   const char *words)
{
  g_autofree char *path = program_path (program);
  g_autofree char *line = g_strdup_printf ("%s %s", path, words);
  g_auto (GStrv) argv = NULL;
  return g_shell_parse_argv (line, NULL, &argv, NULL) ? run (out, err, argv)
                                                      : -1;
}

void
program_says (const char *text, const char *wanted)
{
  gboolean there = text && strstr (text, wanted);
  CU_ASSERT_TRUE (there);
  if (!there)
    printf ("\n    '%s' is not in: %s", wanted, text ? text : "nothing");
}

void
program_follow (const char *script)
{
  const char *build = g_getenv ("TEST_BUILD");
  char *argv[]
      = { (char *)script, (char *)(build ? build : HASS_TOP "/build"), NULL };
  g_autofree char *out = NULL, *err = NULL;
  int status = -1;
  CU_ASSERT_TRUE (g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                                &out, &err, &status, NULL));
  CU_ASSERT_EQUAL (status, 0);
  if (status != 0)
    printf ("\n%s%s", out ? out : "", err ? err : "");
}
