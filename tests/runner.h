/* SPDX-License-Identifier: MIT */
/* runner.h: runs suites in this process or in several, and sums them up.
   Thread safety: one thread. */
#ifndef HASS_TEST_RUNNER_H
#define HASS_TEST_RUNNER_H

#include "hass_test.h"

#include <stdio.h>

#include <CUnit/TestRun.h>

/**
 * RunnerResult: what one suite came to.
 * @counts: as CUnit counts them; failed tests include @n_criticals.
 * @n_skipped: tests that called hass_test_skip().
 * @n_criticals: critical messages of the library, each of which is a failure.
 * @over: the suite ran to its end; FALSE where its process died.
 * @seconds: between its begin and its end.
 * @cpu_seconds: used by all its threads and by the programs that it ran.
 */
typedef struct
{
  CU_RunSummary counts;
  unsigned n_skipped, n_criticals;
  int over;
  double seconds, cpu_seconds;
} RunnerResult;

/* Adds the suites to CUnit's registry. Returns 0 where CUnit refuses one.  */
int runner_add (HassTestSuite *const *suites, size_t n);

/* Runs the suite @at of the registry in this process, prints its tests and
   sets *result.  */
void runner_run_suite (size_t at, RunnerResult *result);

/* Prints the failed assertions of the suite that ran last.  */
void runner_print_failures (FILE *to);

/* Runs all suites one after another in this process.  */
void runner_run_here (size_t n, RunnerResult *results);

/* Runs each suite in a process of its own, @n_jobs of them at a time, and
   prints what they print in the order of the suites. Suites are started in the
   order of @order, indices of suites. Ends with the failed assertions.  */
void runner_run_apart (HassTestSuite *const *suites, size_t n,
                       const size_t *order, unsigned n_jobs,
                       RunnerResult *results);

#endif
