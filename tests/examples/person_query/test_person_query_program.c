/* SPDX-License-Identifier: MIT */
/* test_person_query_program.c: the program person_query as users run it.
   Thread safety: one thread. */
#include "hass_test.h"
#include "program.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "person_trial.h"

#define THESIS HASS_TOP "/doc/platforms/thesis.platform"

/* Runs it with a command line; returns its exit status. */
static int
run (const char *arguments, char **out, char **err)
{
  g_autofree char *unseen = NULL;
  g_autofree char *program = program_path ("person_query");
  g_autofree char *line = g_strconcat (program, " ", arguments, NULL);
  int status = -1;
  CU_ASSERT_TRUE_FATAL (g_spawn_command_line_sync (
      line, out, err ? err : &unseen, &status, NULL));
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static void
same_output (void)
{
  static const char *const ways[]
      = { "--cores=3",
          "--departments",
          "--group=999",
          "--strategy=naive-greedy",
          "--strategy=modified-greedy --departments",
          "--cpu-only --verify",
          "--platform=" THESIS };
  g_autofree char *path = temporary_file (), *wanted = NULL, *copy = NULL;
  g_autofree char *make
      = g_strdup_printf ("--persons=30000 --seed=3 --make-table=%s", path);
  CU_ASSERT_EQUAL (
      run ("-n 30000 --seed=3 -b 1966.. -s 1001.. --cores=1", &wanted, NULL),
      0);
  CU_ASSERT_TRUE (strlen (wanted) > 400000);
  CU_ASSERT_EQUAL (run (make, NULL, NULL), 0);
  for (gsize i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_autofree char *out = NULL, *line = NULL;
      line = g_strdup_printf ("-t %s -b 1966.. -s 1001.. %s", path, ways[i]);
      CU_ASSERT_EQUAL (run (line, &out, NULL), 0);
      CU_ASSERT_STRING_EQUAL (out, wanted);
    }
  g_autofree char *to_file
      = g_strdup_printf ("-n 30000 --seed 3 -b 1966.. -s 1001.. -o %s", path);
  CU_ASSERT_EQUAL (run (to_file, NULL, NULL), 0);
  CU_ASSERT_TRUE (g_file_get_contents (path, &copy, NULL, NULL));
  CU_ASSERT_STRING_EQUAL (copy, wanted);
  g_unlink (path);
}

static void
says (const char *arguments, int status, const char *on_out, const char *on_err)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (run (arguments, &out, &err), status);
  if (!strstr (out, on_out) || !strstr (err, on_err))
    {
      printf ("\n    %s: %s%s", arguments, out, err);
      CU_FAIL ("the program does not say what it should");
    }
}

static void
command_line (void)
{
  says ("--help", 0, "Prints the persons of a table", "");
  says ("-n 5000 -c --verify", 0, "5000\n", "verified, 5000 of 5000 persons");
  says ("-n 5000 -q --verify", 0, "", "verified, 5000 of 5000 persons");
  says ("-n 0 --verify", 0, "", "verified, 0 of 0 persons");
  says ("-n 5000 -c --report", 0, "5000\n", "farm person_query, strategy");
  says ("-n 5000 -c --json", 0, "5000\n", "\"farm\" : \"person_query\"");
  says ("-n -1", 2, "", "--persons needs a number from 0 to 4294967295");
  says ("-n 4294967296", 2, "", "not '4294967296'");
  says ("--seed=x", 2, "", "--seed needs a number");
  says ("--group=0", 2, "", "--group needs a number from 1");
  says ("--cores=0", 2, "", "--cores needs a number from 1 to 4096");
  says ("--born=1990..1980", 2, "", "FROM that is not after its TO");
  says ("--salary=9..8", 2, "", "MIN that is not above its MAX");
  says ("--table=/no/table", 2, "", "/no/table: No such file");
  says ("--table=x -n 5", 2, "", "--table brings its own persons");
  says ("--table=x --make-table=y", 2, "", "--make-table makes a table");
  says ("--departments --group=5", 2, "", "choose one");
  says ("--cpu-only --gpu-only", 2, "", "leave no device");
  says ("-c -q", 2, "", "--count has none");
  says ("who", 2, "", "'who' is no option");
  says ("--strategy=none", 2, "", "no strategy \"none\"");
  says ("-n 50000 -o /dev/full", 2, "", "/dev/full: No space left");
  says ("-n 5 -o /dev/full", 2, "", "/dev/full: No space left");
  says ("-n 5 -o /no/file", 2, "", "/no/file: No such file");
}

/* Programs of their own have no suppressions for ThreadSanitizer, under which
   suites of this name do not run. */
HASS_TEST_SUITE (examples_person_query,
                 { "the output is the same, whoever computes it", same_output },
                 { "the program says what is wrong", command_line })
