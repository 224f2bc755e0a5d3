/* SPDX-License-Identifier: MIT */
/* main.c: runs the registered test suites; `hass-tests --help` has the
   options.
   Thread safety: one thread; tests may start threads of their own.

   DESIGN.  Suites register themselves from constructors, whose order the
   linker chooses, so they are sorted by name first.  Each suite runs in a
   process of its own (workers.c), since what one registers would be seen by the
   next; with --here all run in this one, as a debugger wants it.  What failed
   is named once more before CUnit's summary of all processes, which comes last,
   because the last lines of a long log are often all that is kept of it.  Exit
   status: 0 if all tests that ran passed, 1 if one failed or none ran, 2 if a
   suite asked for does not exist or the options are wrong.  */

#include "examples/decimal_options.h"
#include "runner.h"

#include <glib.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/MyMem.h>

static HassTestSuite *all_suites;

static gchar **only, **skip, **first;
static gint n_jobs = 1;
static gboolean here, list, times;

static const GOptionEntry options[] = {
  { "list", 0, 0, G_OPTION_ARG_NONE, &list,
    "Name the suites that would run and their tests", NULL },
  { "suite", 0, 0, G_OPTION_ARG_STRING_ARRAY, &only,
    "Run these suites alone; a name may have * and ?", "NAME,..." },
  { "skip", 0, 0, G_OPTION_ARG_STRING_ARRAY, &skip, "Leave these suites out",
    "NAME,..." },
  { "first", 0, 0, G_OPTION_ARG_STRING_ARRAY, &first,
    "Start these suites, which take longest, before the others", "NAME,..." },
  { "jobs", 0, 0, G_OPTION_ARG_INT, &n_jobs,
    "Run N suites at a time, each in a process of its own", "N" },
  { "here", 0, 0, G_OPTION_ARG_NONE, &here,
    "Run all suites in this process, for a debugger", NULL },
  { "times", 0, 0, G_OPTION_ARG_NONE, &times,
    "List the seconds that each suite took, not only the ten slowest", NULL },
  { NULL, 0, 0, 0, NULL, NULL, NULL }
};

void
hass_test_register (HassTestSuite *suite)
{
  HassTestSuite **at = &all_suites;

  while (*at != NULL && strcmp ((*at)->name, suite->name) < 0)
    at = &(*at)->next;
  suite->next = *at;
  *at = suite;
}

static gboolean
is_named (const char *name, gchar **lists)
{
  for (; lists != NULL && *lists != NULL; lists++)
    {
      g_auto (GStrv) names = g_strsplit (*lists, ",", -1);
      for (gchar **at = names; *at != NULL; at++)
        if (g_pattern_match_simple (*at, name))
          return TRUE;
    }
  return FALSE;
}

/* A misspelt name would run, or leave out, nothing without a word.  */
static gboolean
names_are_suites (gchar **lists)
{
  for (; lists != NULL && *lists != NULL; lists++)
    {
      g_auto (GStrv) names = g_strsplit (*lists, ",", -1);
      for (gchar **at = names; *at != NULL; at++)
        {
          const HassTestSuite *suite = all_suites;
          while (suite != NULL && !g_pattern_match_simple (*at, suite->name))
            suite = suite->next;
          if (suite == NULL)
            {
              g_printerr ("hass-tests: there is no suite \"%s\"\n", *at);
              return FALSE;
            }
        }
    }
  return TRUE;
}

static gboolean
read_options (int *argc, char ***argv)
{
  g_autoptr (GOptionContext) context
      = g_option_context_new ("- runs the tests of hass");
  g_autoptr (GError) error = NULL;

  if (!decimal_options_parse (context, options, argc, argv, &error))
    g_printerr ("hass-tests: %s\n", error->message);
  else if (*argc > 1 || n_jobs < 1)
    g_printerr ("hass-tests: see --help\n");
  else
    return names_are_suites (only) && names_are_suites (skip)
           && names_are_suites (first);
  return FALSE;
}

static GPtrArray *
choose_suites (void)
{
  GPtrArray *chosen = g_ptr_array_new ();

  for (HassTestSuite *suite = all_suites; suite != NULL; suite = suite->next)
    if ((only == NULL || is_named (suite->name, only))
        && !is_named (suite->name, skip))
      g_ptr_array_add (chosen, suite);
  return chosen;
}

static void
list_suites (const GPtrArray *suites)
{
  for (guint s = 0; s < suites->len; s++)
    {
      const HassTestSuite *suite = suites->pdata[s];
      for (size_t i = 0; i < suite->n_tests; i++)
        printf ("%s: %s\n", suite->name, suite->tests[i].claim);
    }
}

static void
append_named (size_t *order, size_t *n, GPtrArray *suites, const char *pattern)
{
  for (size_t s = 0; s < suites->len; s++)
    {
      const HassTestSuite *suite = suites->pdata[s];
      size_t at = 0;
      while (at < *n && order[at] != s)
        at++;
      if (at == *n && g_pattern_match_simple (pattern, suite->name))
        order[(*n)++] = s;
    }
}

/* The suites of --first in the order in which it names them, then the others by
   name. */
static size_t *
starting_order (GPtrArray *suites)
{
  size_t *order = g_new (size_t, suites->len + 1);
  size_t n = 0;

  for (gchar **lists = first; lists != NULL && *lists != NULL; lists++)
    {
      g_auto (GStrv) names = g_strsplit (*lists, ",", -1);
      for (gchar **at = names; *at != NULL; at++)
        append_named (order, &n, suites, *at);
    }
  append_named (order, &n, suites, "*");
  return order;
}

static int
by_seconds (gconstpointer a, gconstpointer b, gpointer results)
{
  double x = ((const RunnerResult *)results)[*(const size_t *)a].seconds;
  double y = ((const RunnerResult *)results)[*(const size_t *)b].seconds;

  return (x < y) - (x > y);
}

/* The suites that took longest: all with --times, otherwise ten. */
static void
print_times (GPtrArray *suites, const RunnerResult *results)
{
  g_autofree size_t *order = starting_order (suites);
  guint n = times ? suites->len : MIN (suites->len, 10);
  double cpu = 0;

  g_qsort_with_data (order, (gint)suites->len, sizeof *order, by_seconds,
                     (gpointer)results);
  printf ("\n%10s %10s  suite\n", "seconds", "CPU");
  for (guint s = 0; s < suites->len; s++)
    {
      const RunnerResult *r = &results[order[s]];
      const HassTestSuite *suite = suites->pdata[order[s]];
      if (s < n)
        printf ("%10.2f %10.2f  %s\n", r->seconds, r->cpu_seconds, suite->name);
      cpu += r->cpu_seconds;
    }
  printf ("%10s %10.2f  all %u\n", "", cpu, suites->len);
}

/* CUnit's summary, as if all suites had run in this process. Returns whether
   tests ran and none failed.  */
static gboolean
print_summary (const RunnerResult *results, size_t n, double seconds)
{
  CU_RunSummary *sum = CU_get_run_summary ();
  unsigned n_skipped = 0, n_criticals = 0;
  char *text;

  memset (sum, 0, sizeof *sum);
  for (size_t s = 0; s < n; s++)
    {
      const CU_RunSummary *counts = &results[s].counts;
      sum->nSuitesRun += counts->nSuitesRun;
      sum->nSuitesFailed += counts->nSuitesFailed;
      sum->nTestsRun += counts->nTestsRun;
      sum->nTestsFailed += counts->nTestsFailed;
      sum->nAsserts += counts->nAsserts;
      sum->nAssertsFailed += counts->nAssertsFailed;
      sum->nFailureRecords += counts->nFailureRecords;
      n_skipped += results[s].n_skipped;
      n_criticals += results[s].n_criticals;
    }
  sum->ElapsedTime = seconds;
  if (n_criticals > 0)
    printf ("\n%u critical messages of hass, each a FAILED test\n",
            n_criticals);
  printf ("\n%u skipped\n", n_skipped);
  text = CU_get_run_results_string ();
  if (text != NULL)
    printf ("%s\n", text);
  CU_FREE (text);
  return sum->nTestsRun > 0 && sum->nFailureRecords == 0 && n_criticals == 0;
}

static gboolean
run_suites (GPtrArray *suites)
{
  HassTestSuite **chosen = (HassTestSuite **)suites->pdata;
  g_autofree size_t *order = starting_order (suites);
  g_autofree RunnerResult *results = g_new0 (RunnerResult, suites->len + 1);
  gint64 begin = g_get_monotonic_time ();

  if (!runner_add (chosen, suites->len))
    {
      g_printerr ("hass-tests: %s\n", CU_get_error_msg ());
      return FALSE;
    }
  if (here)
    runner_run_here (suites->len, results);
  else
    runner_run_apart (chosen, suites->len, order, (unsigned)n_jobs, results);
  print_times (suites, results);
  return print_summary (results, suites->len,
                        1e-6 * (double)(g_get_monotonic_time () - begin));
}

int
main (int argc, char **argv)
{
  gboolean passed;

  setlocale (LC_ALL, "");
  setenv ("HASS_PROFILE", "off", 1); /* the user's own is none of ours */
  if (!read_options (&argc, &argv))
    return 2;
  g_autoptr (GPtrArray) suites = choose_suites ();
  if (list)
    {
      list_suites (suites);
      return 0;
    }
  if (CU_initialize_registry () != CUE_SUCCESS)
    {
      g_printerr ("hass-tests: %s\n", CU_get_error_msg ());
      return 1;
    }
  passed = run_suites (suites);
  CU_cleanup_registry ();
  g_strfreev (only);
  g_strfreev (skip);
  g_strfreev (first);
  return passed ? 0 : 1;
}
