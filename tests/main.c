/* SPDX-License-Identifier: MIT */
/* Runs the registered test suites: main [--list] [--suite NAME]...
   Thread safety: single-threaded; tests may start threads of their own.

   DESIGN.  Suites register themselves from constructors, whose order the
   linker chooses, so they are sorted by name first.  The messages are our
   own, in the layout of CUnit's basic interface: that one would call a
   skipped test passed.  Skipped tests make no assertion; they are counted
   here, in a line before CUnit's summary, which comes last; what failed is
   named once more before it.  Exit status: 0 if all tests that ran passed, 1
   if one failed, 2 if a suite asked for does not exist or the options are
   wrong.  */

#include "hass_test.h"

#include <glib.h>
#include <locale.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/MyMem.h>
#include <CUnit/TestRun.h>

static HassTestSuite *all_suites;
static unsigned n_skipped;
static const char *skip_reason; /* of the running test, or NULL */

void
hass_test_register (HassTestSuite *suite)
{
  HassTestSuite **at = &all_suites;

  while (*at != NULL && strcmp ((*at)->name, suite->name) < 0)
    at = &(*at)->next;
  suite->next = *at;
  *at = suite;
}

void
hass_test_skip (const char *reason)
{
  n_skipped++;
  skip_reason = reason;
}

static void
test_starts (const CU_pTest test, const CU_pSuite suite)
{
  static const struct CU_Suite *last_suite;

  if (suite != last_suite)
    printf ("\nSuite: %s", suite->pName);
  last_suite = suite;
  printf ("\n  Test: %s ...", test->pName);
  fflush (stdout);
  skip_reason = NULL;
}

static void
test_ends (const CU_pTest test, const CU_pSuite suite,
           const CU_pFailureRecord failures)
{
  (void)test;
  (void)suite;
  if (failures != NULL)
    printf ("FAILED");
  else if (skip_reason != NULL)
    printf ("SKIPPED: %s", skip_reason);
  else
    printf ("passed");
  for (CU_pFailureRecord f = failures; f != NULL; f = f->pNext)
    printf ("\n    %s:%u  - %s", f->strFileName, f->uiLineNumber,
            f->strCondition);
  fflush (stdout);
}

/* The library has found itself, or its caller, to be wrong. */
static atomic_uint n_criticals;

static void
count_critical (const char *domain, GLogLevelFlags level, const char *message,
                gpointer user_data)
{
  (void)user_data;
  atomic_fetch_add (&n_criticals, 1);
  g_log_default_handler (domain, level, message, NULL);
}

/* The last lines of a long log are often all that is kept of it, so these
   name every failed assertion once more. */
static void
print_failures (void)
{
  for (CU_pFailureRecord f = CU_get_failure_list (); f != NULL; f = f->pNext)
    printf ("\nFAILED %s: %s\n    %s:%u  - %s",
            f->pSuite != NULL ? f->pSuite->pName : "?",
            f->pTest != NULL ? f->pTest->pName : "?", f->strFileName,
            f->uiLineNumber, f->strCondition);
}

static void
print_summary (void)
{
  char *summary = CU_get_run_results_string ();

  if (n_criticals > 0)
    printf ("\n\n%u critical messages of hass, each a FAILED test",
            n_criticals);
  printf ("\n");
  print_failures ();
  printf ("\n%u skipped\n", n_skipped);
  if (summary != NULL)
    printf ("%s\n", summary);
  CU_FREE (summary);
}

static const HassTestSuite *
find_suite (const char *name)
{
  const HassTestSuite *suite = all_suites;

  while (suite != NULL && strcmp (suite->name, name) != 0)
    suite = suite->next;
  return suite;
}

static int
wanted (const HassTestSuite *suite, int argc, char **argv)
{
  int any = 0;

  for (int i = 1; i + 1 < argc; i++)
    if (strcmp (argv[i], "--suite") == 0)
      {
        any = 1;
        if (strcmp (argv[++i], suite->name) == 0)
          return 1;
      }
  return !any;
}

static void
list_suites (void)
{
  for (const HassTestSuite *suite = all_suites; suite != NULL;
       suite = suite->next)
    for (size_t i = 0; i < suite->n_tests; i++)
      printf ("%s: %s\n", suite->name, suite->tests[i].claim);
}

static int
add_suite (const HassTestSuite *suite)
{
  CU_pSuite added = CU_add_suite (suite->name, NULL, NULL);

  if (added == NULL)
    return 0;
  for (size_t i = 0; i < suite->n_tests; i++)
    if (CU_add_test (added, suite->tests[i].claim, suite->tests[i].run) == NULL)
      return 0;
  return 1;
}

/* Returns 0, or the exit status that the options call for.  */
static int
check_options (int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    {
      if (strcmp (argv[i], "--list") == 0)
        continue;
      if (strcmp (argv[i], "--suite") != 0 || i + 1 == argc)
        {
          fprintf (stderr, "usage: %s [--list] [--suite NAME]...\n", argv[0]);
          return 2;
        }
      if (find_suite (argv[++i]) == NULL)
        {
          fprintf (stderr, "%s: there is no suite \"%s\"\n", argv[0], argv[i]);
          return 2;
        }
    }
  return 0;
}

int
main (int argc, char **argv)
{
  int status = check_options (argc, argv);

  setlocale (LC_ALL, "");
  setenv ("HASS_PROFILE", "off", 1); /* the user's own is none of ours */
  if (status != 0)
    return status;
  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--list") == 0)
      {
        list_suites ();
        return 0;
      }

  if (CU_initialize_registry () != CUE_SUCCESS)
    {
      fprintf (stderr, "%s: %s\n", argv[0], CU_get_error_msg ());
      return 1;
    }
  for (const HassTestSuite *suite = all_suites; suite != NULL;
       suite = suite->next)
    if (wanted (suite, argc, argv) && !add_suite (suite))
      {
        fprintf (stderr, "%s: suite %s: %s\n", argv[0], suite->name,
                 CU_get_error_msg ());
        CU_cleanup_registry ();
        return 1;
      }

  g_log_set_handler ("hass", G_LOG_LEVEL_CRITICAL, count_critical, NULL);
  CU_set_test_start_handler (test_starts);
  CU_set_test_complete_handler (test_ends);
  CU_run_all_tests ();
  print_summary ();
  status = CU_get_number_of_failure_records () > 0
           || CU_get_number_of_tests_run () == 0 || n_criticals > 0;
  CU_cleanup_registry ();
  return status;
}
