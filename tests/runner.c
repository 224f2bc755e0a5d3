/* SPDX-License-Identifier: MIT */
/* runner.c: one suite in this process; see runner.h.
   Thread safety: one thread; the library's messages come from any.

   DESIGN. The lines have the layout of CUnit's basic interface, which would
   call a skipped test passed. Skipped tests make no assertion; they are
   counted here. A test that takes SLOW_S of CPU time says so. */
#include "runner.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define SLOW_S 1.0 /* a suite has a dozen tests, all suites have 750 */

static unsigned n_skipped;
static const char *skip_reason; /* of the running test, or NULL */
static atomic_uint n_criticals; /* the library found misuse or a defect */
static double test_began_cpu_s;

static double
cpu_seconds (void)
{
  struct rusage self, children;

  getrusage (RUSAGE_SELF, &self);
  getrusage (RUSAGE_CHILDREN, &children);
  return self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec
         + children.ru_stime.tv_sec
         + 1e-6
               * (self.ru_utime.tv_usec + self.ru_stime.tv_usec
                  + children.ru_utime.tv_usec + children.ru_stime.tv_usec);
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
  test_began_cpu_s = cpu_seconds ();
}

static void
test_ends (const CU_pTest test, const CU_pSuite suite,
           const CU_pFailureRecord failures)
{
  double cpu_s = cpu_seconds () - test_began_cpu_s;

  (void)test;
  (void)suite;
  if (failures != NULL)
    printf ("FAILED");
  else if (skip_reason != NULL)
    printf ("SKIPPED: %s", skip_reason);
  else
    printf ("passed");
  if (cpu_s >= SLOW_S)
    printf (", %.1f s of CPU time", cpu_s);
  for (CU_pFailureRecord f = failures; f != NULL; f = f->pNext)
    printf ("\n    %s:%u  - %s", f->strFileName, f->uiLineNumber,
            f->strCondition);
  fflush (stdout);
}

static void
count_critical (const char *domain, GLogLevelFlags level, const char *message,
                gpointer user_data)
{
  (void)user_data;
  atomic_fetch_add_explicit (&n_criticals, 1, memory_order_relaxed);
  g_log_default_handler (domain, level, message, NULL);
}

int
runner_add (HassTestSuite *const *suites, size_t n)
{
  for (size_t s = 0; s < n; s++)
    {
      CU_pSuite added = CU_add_suite (suites[s]->name, NULL, NULL);

      if (added == NULL)
        return 0;
      for (size_t i = 0; i < suites[s]->n_tests; i++)
        if (CU_add_test (added, suites[s]->tests[i].claim,
                         suites[s]->tests[i].run)
            == NULL)
          return 0;
    }
  g_log_set_handler ("hass", G_LOG_LEVEL_CRITICAL, count_critical, NULL);
  CU_set_test_start_handler (test_starts);
  CU_set_test_complete_handler (test_ends);
  return 1;
}

void
runner_run_suite (size_t at, RunnerResult *result)
{
  gint64 begin = g_get_monotonic_time ();
  double cpu = cpu_seconds ();

  n_skipped = 0;
  atomic_store_explicit (&n_criticals, 0, memory_order_relaxed);
  CU_run_suite (CU_get_suite_by_index ((unsigned)at + 1, CU_get_registry ()));
  result->counts = *CU_get_run_summary ();
  result->n_skipped = n_skipped;
  result->n_criticals
      = atomic_load_explicit (&n_criticals, memory_order_relaxed);
  result->over = 1;
  result->seconds = 1e-6 * (double)(g_get_monotonic_time () - begin);
  result->cpu_seconds = cpu_seconds () - cpu;
}

void
runner_print_failures (FILE *to)
{
  for (CU_pFailureRecord f = CU_get_failure_list (); f != NULL; f = f->pNext)
    fprintf (to, "\nFAILED %s: %s\n    %s:%u  - %s",
             f->pSuite != NULL ? f->pSuite->pName : "?",
             f->pTest != NULL ? f->pTest->pName : "?", f->strFileName,
             f->uiLineNumber, f->strCondition);
}

void
runner_run_here (size_t n, RunnerResult *results)
{
  char *failed = NULL;
  size_t size;
  FILE *to = open_memstream (&failed, &size);

  for (size_t s = 0; s < n; s++)
    {
      runner_run_suite (s, &results[s]);
      runner_print_failures (to);
    }
  fclose (to);
  printf ("\n%s", failed);
  free (failed);
}
