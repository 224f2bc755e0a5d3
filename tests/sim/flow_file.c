/* SPDX-License-Identifier: MIT */
/* flow_file.c: see flow_file.h.
   Thread safety: one thread. */
#include "flow_file.h"

#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/trial.h"
#include "tests/program.h"

SimFlow *
flow_file (const char *ending, const char *text, gsize bytes, GError **error)
{
  g_autofree char *template = g_strconcat ("hass-test-XXXXXX", ending, NULL);
  g_autofree char *path = NULL;
  int fd = g_file_open_tmp (template, &path, NULL);
  CU_ASSERT_TRUE_FATAL (fd >= 0);
  CU_ASSERT_EQUAL (write (fd, text, bytes), (gssize)bytes);
  close (fd);
  SimFlow *f = sim_flow_new (path, 1, error);
  unlink (path);
  return f;
}

/* Returns: the makespan in ms, or -1 with an error. */
static double
run (SimFlow *f, const char *machine, GError **error)
{
  g_autofree char *path = trial_file (machine);
  HassPlatform *p = hass_platform_load (path, "test", error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  SimFlowBound b = sim_flow_bound (f, p);
  g_autoptr (HassReport) r = sim_flow_run (f, p, NULL, 1, error);
  hass_platform_free (p);
  unlink (path);
  if (!r)
    return -1;
  CU_ASSERT_EQUAL (r->loads, f->tasks->len);
  CU_ASSERT_TRUE (r->makespan_s * 1e9 >= b.path_ns * 0.999999 - 1);
  CU_ASSERT_TRUE (r->makespan_s * 1e9 >= b.area_ns * 0.999999 - 1);
  return r->makespan_s * 1e3;
}

double
flow_file_ms (const char *ending, const char *text, const char *machine)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SimFlow) f = flow_file (ending, text, strlen (text), &error);
  double ms = f ? run (f, machine, &error) : -1;
  CU_ASSERT_PTR_NULL (error);
  if (error)
    g_printerr ("\n    %s\n", error->message);
  return ms;
}

char *
flow_cores (guint n)
{
  return g_strdup_printf ("[platform]\nname = cores\n[cpu]\ncores = %u\n"
                          "work_per_us = 7\npull_us = 0\n",
                          n);
}

void
flow_refuses (const char *ending, const FlowBad *bad, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GError) error = NULL;
      CU_ASSERT_PTR_NULL (
          flow_file (ending, bad[i].text, strlen (bad[i].text), &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      program_says (error ? error->message : "no error", bad[i].message);
      program_says (error ? error->message : "no error", "dataflow file /");
      program_says (error ? error->message : "no error", ending);
    }
}

void
flow_mutates (const char *ending, const char *text, guint n)
{
  static const char often[] = "0123456789-.#\"{}[]:, \n\t";
  g_autofree char *machine = flow_cores (2);
  gsize bytes = strlen (text);
  GRand *rand = g_rand_new_with_seed (1);
  guint n_graphs = 0;
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *copy = g_memdup2 (text, bytes);
      g_autoptr (GError) error = NULL;
      gsize left = g_rand_int_range (rand, 0, 4) > 0
                       ? bytes
                       : (gsize)g_rand_int_range (rand, 0, (gint)bytes);
      gint changes = g_rand_int_range (rand, 0, 4);
      for (gint k = 0; k < changes; k++)
        copy[g_rand_int_range (rand, 0, (gint)bytes)]
            = g_rand_boolean (rand)
                  ? often[g_rand_int_range (rand, 0, sizeof often - 1)]
                  : (char)g_rand_int_range (rand, 0, 256);
      g_autoptr (SimFlow) f = flow_file (ending, copy, left, &error);
      CU_ASSERT_EQUAL (f == NULL, error != NULL);
      if (f)
        CU_ASSERT_TRUE (run (f, machine, &error) >= 0);
      n_graphs += f != NULL;
    }
  CU_ASSERT_TRUE (n_graphs > n / 50 && n_graphs < n);
  g_rand_free (rand);
}
