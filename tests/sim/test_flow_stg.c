/* SPDX-License-Identifier: MIT */
/* test_flow_stg.c: graphs of the Standard Task Graph Set in virtual time.
   Thread safety: one thread. */
#include <string.h>
#include <unistd.h>

#include "flow_file.h"
#include "hass_test.h"
#include "tests/engine/trial.h"
#include "tests/program.h"

/* Task 1 of 3 units, then 2 of 4 and 3 of 5, then 4 of 2, then 5 of 1. */
static const char diamond[] = "          5\n"
                              "          0          0          0\n"
                              "          1          3          1          0\n"
                              "          2          4          1          1\n"
                              "          3          5          1          1\n"
                              "          4          2          2          2"
                              "          3\n"
                              "          5          1          1          4\n"
                              "          6          0          1          5\n"
                              "# Tasks : 5\n7 7 7\n";

static double
ms (const char *text, guint cores)
{
  g_autofree char *machine = flow_cores (cores);
  return flow_file_ms (".stg", text, machine);
}

static void
chain (void)
{
  static const char text[] = "3\n0 0 0\n1 3 1 0\n2 4 1 1\n3 5 1 2\n4 0 1 3\n";
  CU_ASSERT_DOUBLE_EQUAL (ms (text, 1), 12, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (ms (text, 4), 12, 1e-6);
}

static void
fork_join (void)
{
  static const char text[] = "6\n0 0 0\n1 2 1 0\n2 3 1 1\n3 3 1 1\n4 3 1 1\n"
                             "5 3 1 1\n6 1 4 2 3 4 5\n7 0 1 6\n";
  CU_ASSERT_DOUBLE_EQUAL (ms (text, 1), 15, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (ms (text, 2), 9, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (ms (text, 4), 6, 1e-6);
}

static void
diamonds (void)
{
  /* Comments before, between and after; lines and predecessors in any order;
     carriage returns; a predecessor twice. */
  static const char odd[] = "# a\n5\r\n6 0 1 5\r\n4 2 3 3 2 3\n# b\n\n5 1 1 4\n"
                            "0 0 0\n3 5 1 1\n2 4 1 1\n1 3.0 1 0";
  CU_ASSERT_DOUBLE_EQUAL (ms (diamond, 1), 15, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (ms (diamond, 2), 11, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (ms (odd, 1), 15, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (ms (odd, 2), 11, 1e-6);
}

static void
dummies (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SimFlow) f = flow_file (".stg", diamond, strlen (diamond), &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (f);
  CU_ASSERT_EQUAL (f->tasks->len, 5);
  CU_ASSERT_EQUAL (f->sizes->len, 4); /* none waits for task 5 but the exit */
  /* An entry and an exit that take time are tasks. */
  CU_ASSERT_DOUBLE_EQUAL (ms ("1\n0 2 0\n1 3 1 0\n2 4 1 1\n", 2), 9, 1e-6);
  /* A task of 0 units takes none. */
  CU_ASSERT_DOUBLE_EQUAL (
      ms ("3\n0 0 0\n1 3 1 0\n2 0 1 1\n3 5 1 2\n4 0 1 3\n", 2), 8, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (ms ("1\n0 0 0\n1 0 1 0\n2 0 1 1\n", 2), 0, 1e-5);
}

static const FlowBad bad[] = {
  { "", "line 0: the number of tasks is missing" },
  { "# none\n", "line 1: the number of tasks is missing" },
  { "x\n", "line 1: the number of tasks is no number: 'x'" },
  { "10 3\n", "line 1: more than is needed: '3'" },
  { "0\n0 0 0\n1 0 1 0\n", "line 1: there are 0 tasks" },
  { "-4\n", "line 1: the number of tasks is -4, not in 0 to 2000000" },
  { "2000001\n",
    "line 1: the number of tasks is 2000001, not in 0 to 2000000" },
  { "2.5\n", "line 1: the number of tasks is 2.5, not a whole number" },
  { "nan\n", "line 1: the number of tasks is nan" },
  { "2\n0 0 0\n1 3 1 0\n",
    "line 3: the file ends after 2 of 4 tasks, entry and exit included" },
  { "2\n0 0 0\n1 3 1 0\n2 3\n",
    "line 4: the number of predecessors is missing" },
  { "2\n0 0 0\n1 3 2 0\n", "line 3: predecessor 2 of 2 is missing" },
  { "2\n0 0 0\n1 3 1 0 0\n", "line 3: more than is needed: '0'" },
  { "2\n0 0 0\n1 -3 1 0\n", "line 3: the processing time is -3, not in 0 to" },
  { "2\n0 0 0\n1 inf 1 0\n", "line 3: the processing time is inf" },
  { "2\n0 0 0\n1 3 4 0\n",
    "line 3: the number of predecessors is 4, not in 0 to 3" },
  { "2\n0 0 0\n1 3 1 9\n", "line 3: predecessor 1 of 1 is 9, not in 0 to 3" },
  { "2\n0 0 0\n1 3 1 x\n", "line 3: predecessor 1 of 1 is no number: 'x'" },
  { "2\n0 0 0\n1 3 1 0\n1 3 1 0\n", "line 4: task 1 is in line 3, too" },
  { "2\n0 0 0\n4 3 1 0\n",
    "line 3: the number of the task is 4, not in 0 to 3" },
  { "2\n0 0 1 1\n", "line 2: task 0, the entry, has 1 predecessors" },
  { "2\n0 0 0\n1 3 1 3\n", "line 3: task 1 waits for task 3, the exit" },
  { "1\n0 0 0\n1 3 1 0\n2 0 1 1\n3 0 1 2\n",
    "line 5: after 3 tasks there is more: '3 0 1 2'" },
  { "2\n0 0 0\n1 3 1 1\n2 3 1 1\n3 0 1 2\n",
    "line 3: task 1 waits for task 1 (line 3), which waits for it" },
  { "4\n0 0 0\n1 3 1 0\n2 3 2 1 3\n3 3 1 2\n4 1 1 3\n5 0 1 4\n",
    "waits for it" },
  { "2\n0 0 0\n1 6e11 1 0\n2 6e11 1 0\n3 0 1 2\n",
    "line 4: the tasks up to here take 1.2e+12 together, more than 1e+12" },
};

static void
refused (void)
{
  g_autoptr (GError) error = NULL;
  flow_refuses (".stg", bad, G_N_ELEMENTS (bad));
  CU_ASSERT_PTR_NULL (flow_file (".stg", "2\n0 0 \0 0\n", 10, &error));
  program_says (error ? error->message : "", "is no text: byte 7 is 0");
  g_clear_error (&error);
  CU_ASSERT_PTR_NULL (sim_flow_new ("/nowhere/x.stg", 1, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
  program_says (error ? error->message : "", "/nowhere/x.stg");
}

static void
mutated (void)
{
  flow_mutates (".stg", diamond, 3000);
}

/* A task that @n tasks wait for, and one that waits for these; free with
   g_free(). */
static char *
join_of (guint n)
{
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, "%u\n0 0 0\n1 1 1 0\n", n + 2);
  for (guint i = 2; i < n + 2; i++)
    g_string_append_printf (text, "%u 1 1 1\n", i);
  g_string_append_printf (text, "%u 1 %u", n + 2, n);
  for (guint i = 2; i < n + 2; i++)
    g_string_append_printf (text, " %u", i);
  g_string_append_printf (text, "\n%u 0 1 %u\n", n + 3, n + 2);
  return g_string_free (text, FALSE);
}

static void
many (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *most = join_of (65535), *more = join_of (65536);
  g_autofree char *cores = flow_cores (2), *machine = trial_file (cores);
  CU_ASSERT_DOUBLE_EQUAL (ms (most, 2), 2 + 32768, 1e-3);
  g_autoptr (SimFlow) f = flow_file (".stg", more, strlen (more), &error);
  HassPlatform *p = hass_platform_load (machine, "test", &error);
  CU_ASSERT_TRUE_FATAL (f != NULL && p != NULL);
  CU_ASSERT_PTR_NULL (sim_flow_run (f, p, 1, &error));
  program_says (error ? error->message : "", ".stg: dataflow ");
  program_says (error ? error->message : "", "has 65536 accesses; at most "
                                             "65535 are possible");
  hass_platform_free (p);
  unlink (machine);
}

static void
program (void)
{
  g_autofree char *path = g_strconcat (g_get_tmp_dir (), "/hass-XXXXXX", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (g_mkdtemp (path));
  g_autofree char *file = g_build_filename (path, "a.stg", NULL);
  g_autofree char *words = g_strdup_printf ("--dataflow %s -p thesis", file);
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_TRUE (g_file_set_contents (file, diamond, -1, NULL));
  CU_ASSERT_EQUAL (program_run_words (&out, &err, "hass-sim", words), 0);
  program_says (out, "a.stg on thesis: 5 tasks, 4 data");
  program_says (out, "critical path");
  g_clear_pointer (&out, g_free);
  g_clear_pointer (&err, g_free);
  CU_ASSERT_TRUE (g_file_set_contents (file, "3\n1 2\n", -1, NULL));
  CU_ASSERT_EQUAL (program_run_words (&out, &err, "hass-sim", words), 2);
  program_says (err, "a.stg, line 2: the number of predecessors is missing");
  unlink (file);
  rmdir (path);
}

HASS_TEST_SUITE (
    sim_flow_stg, { "a chain takes the sum of its times", chain },
    { "a fork takes its longest path, or its work by the cores", fork_join },
    { "a diamond may be written in any order, with comments", diamonds },
    { "an entry and an exit without time are no tasks", dummies },
    { "each malformed file is refused with its line and numbers", refused },
    { "no change of a few bytes crashes the reader", mutated },
    { "a join of 65,535 tasks runs, and one of more is refused", many },
    { "hass-sim runs a file, and refuses a bad one with status 2", program })
