/* SPDX-License-Identifier: MIT */
/* test_dataflow.c: random graphs have the values of the sequential program, by
   graph_plan.h, on several core counts and with several windows.
   Thread safety: one thread. */
#include "hass_test.h"
#include "graph_run.h"

/* @paces: see graph_run.h. */
static void
must_be (guint32 seed, guint flags, gsize window, gboolean paces)
{
  g_autoptr (GraphPlan) p = graph_plan_new (seed, 30 + seed % 170, flags);
  GraphSettings settings
      = { .window = window, .n_cores = 1 + seed % 4, .paces = paces };
  g_autofree char *wrong = flags & PLAN_RECORDS
                               ? graph_run_recorded (p, &settings)
                               : graph_run (p, &settings);
  CU_ASSERT_PTR_NULL (wrong);
  if (wrong)
    g_printerr ("\n    seed %u: %s\n", seed, wrong);
}

static void
must_be_right (guint32 seed, guint flags, gsize window)
{
  must_be (seed, flags, window, FALSE);
}

static void
random_graphs (void)
{
  static const gsize windows[] = { 2, 16, 0 };
  for (guint32 seed = 1; seed <= 300; seed++)
    must_be_right (seed, 0, windows[seed % 3]);
}

static void
failing_graphs (void)
{
  for (guint32 seed = 1; seed <= 200; seed++)
    must_be_right (seed, PLAN_FAILS, seed % 2 == 0 ? 8 : 0);
}

static void
recorded_graphs (void)
{
  for (guint32 seed = 1; seed <= 100; seed++)
    must_be_right (seed, PLAN_RECORDS, 0);
}

static void
short_tasks (void)
{
  static const gsize windows[] = { 2, 16, 0 };
  for (guint32 seed = 1; seed <= 300; seed++)
    must_be (seed, seed % 4 == 0 ? PLAN_FAILS : 0, windows[seed % 3], TRUE);
  for (guint32 seed = 1; seed <= 100; seed++)
    must_be (seed, PLAN_RECORDS, 0, TRUE);
}

HASS_TEST_SUITE (
    dataflow,
    { "random graphs leave the values of the sequential program",
      random_graphs },
    { "tasks fail with the data that they need, and no others",
      failing_graphs },
    { "a recorded graph does the same each time, on other data too",
      recorded_graphs },
    { "the same where tasks seem short or long at random", short_tasks })
