/* SPDX-License-Identifier: MIT */
/* test_sim_run.c: what a bench adds to the virtual engine does what it says:
   hidden costs, entry copies, merges, devices that slow down or are lost.
   Thread safety: one thread. */
#include <math.h>
#include <string.h>

#include "hass_test.h"
#include "sim_test.h"

#define MACHINE                                                                \
  "[platform]\n[cpu]\ncores = 4\nwork_per_us = 1\npull_us = 0\n"               \
  "[gpu0]\nmultiprocessors = 4\nwidth = 1\nwork_per_us = 4\n"                  \
  "launch_us = 10\nlink_us = 5\nh2d_gbps = 1\ndepth = 1\n"

static double
round_us (const HassSimResult *r, guint i)
{
  return (double)(r->rounds[i].end_ns - r->rounds[i].begin_ns) * 1e-3;
}

static void
near (double got, double wanted, double part)
{
  gboolean close = fabs (got - wanted) <= part * wanted;
  CU_ASSERT_TRUE (close);
  if (!close)
    g_printerr ("\n    %g was due, got %g", wanted, got);
}

static HassSimResult *
run (const SimCase *c, const char *strategy)
{
  HassSimResult *r = sim_run (c, strategy, NULL);
  if (r->refused)
    g_printerr ("\n    %s", r->refused);
  CU_ASSERT_PTR_NULL_FATAL (r->refused);
  CU_ASSERT_EQUAL (r->n_rounds, c->rounds);
  for (guint i = 0; i < r->n_rounds; i++)
    {
      guint64 units = 0;
      for (guint d = 0; d < c->n_devices; d++)
        units += r->rounds[i].devices[d].units;
      CU_ASSERT_EQUAL (units, c->workload->units);
    }
  return r;
}

static void
entry_and_merge (void)
{
  g_autoptr (SimCase) plain
      = sim_test_case (MACHINE, "[workload]\nunits = 8000\n", 2, NULL, 0);
  g_autoptr (SimCase) dear
      = sim_test_case (MACHINE,
                       "[workload]\nunits = 8000\nentry_bytes = 100000\n"
                       "merge_us = 70\n",
                       2, NULL, 0);
  HassSimResult *a = run (plain, "static:cpu=0,gpu0=1");
  HassSimResult *b = run (dear, "static:cpu=0,gpu0=1");
  /* One device: an entry, no merge. */
  near (round_us (a, 1), 10 + 2000, 1e-6);
  near (round_us (b, 1), 5 + 100 + 10 + 2000, 1e-6);
  CU_ASSERT_EQUAL (a->bytes, 0);
  CU_ASSERT_EQUAL (b->bytes, 200000);
  sim_result_free (a);
  sim_result_free (b);
  a = run (plain, "static:cpu=0.2,gpu0=0.8");
  b = run (dear, "static:cpu=0.2,gpu0=0.8");
  near (round_us (a, 0), 10 + 1600, 1e-6);
  near (round_us (b, 0), 5 + 100 + 10 + 1600 + 70, 1e-6);
  /* A device's finish is without the merge. */
  near (b->rounds[0].devices[1].finish_ns, (5 + 100 + 10 + 1600) * 1e3, 1e-6);
  sim_result_free (a);
  sim_result_free (b);
  /* Only the first of its bundles enters. */
  b = run (dear, "naive-greedy");
  CU_ASSERT_TRUE (b->rounds[0].devices[1].bundles > 2);
  CU_ASSERT_EQUAL (b->bytes, 200000);
  sim_result_free (b);
}

/* The GPU's costs are not the CPU's, and neither strategy nor report sees
   them. */
static void
hidden_costs (void)
{
  g_autoptr (SimCase) c = sim_test_case (
      MACHINE,
      "[workload]\nunits = 4000\nclass = unknown\ngpu_ramp = 9\n"
      "repeat = yes\ncosts = ramp-down 3\n",
      1, NULL, 0);
  HassSimResult *r = run (c, "static:cpu=0.5,gpu0=0.5");
  double cpu = sim_case_work (c, 0, FALSE, 0, 2000);
  double gpu = sim_case_work (c, 0, TRUE, 2000, 2000);
  near (r->rounds[0].devices[0].busy_ns, cpu / 4 * 1e3, 0.01);
  near (r->rounds[0].devices[1].finish_ns, 10e3 + gpu / 4 * 1e3, 1e-3);
  CU_ASSERT_TRUE (gpu > 1.1 * sim_case_work (c, 0, FALSE, 2000, 2000));
  near (r->rounds[0].devices[0].work, 2000, 1e-6);
  sim_result_free (r);
}

static void
slower (void)
{
  HassVirtualEvent event = { .device = 1, .slower = 3, .round = 2 };
  g_autoptr (SimCase) c
      = sim_test_case (MACHINE, "[workload]\nunits = 8000\n", 4, &event, 1);
  HassSimResult *r = run (c, "static:cpu=0,gpu0=1");
  near (round_us (r, 1), 10 + 2000, 1e-6);
  near (round_us (r, 2), 3 * (10 + 2000), 1e-6);
  near (round_us (r, 3), 3 * (10 + 2000), 1e-6);
  CU_ASSERT_TRUE (c->bound_ns[2] > 1.3 * c->bound_ns[1]);
  sim_result_free (r);
}

static void
slower_at_a_time (void)
{
  HassVirtualEvent event = { .device = 0, .slower = 2, .at_ns = 3000000 };
  g_autoptr (SimCase) c
      = sim_test_case (MACHINE, "[workload]\nunits = 8000\n", 4, &event, 1);
  HassSimResult *r = run (c, "static:cpu=1,gpu0=0");
  near (round_us (r, 0), 2000, 0.02);
  CU_ASSERT_TRUE (round_us (r, 1) > 2500 && round_us (r, 1) < 3500);
  near (round_us (r, 2), 4000, 0.02);
  sim_result_free (r);
}

/* Whatever the strategy: units of a lost GPU are computed by others, and it
   computes no more. */
static void
lost (void)
{
  HassVirtualEvent event = { .device = 1, .round = 1.3 };
  g_autoptr (SimCase) c = sim_test_case (
      MACHINE, "[workload]\nunits = 8000\nfarm = combine\ninput_bytes = 1\n", 4,
      &event, 1);
  g_auto (GStrv) all = sim_test_strategies ();
  CU_ASSERT_TRUE (sim_best_static (c, NULL));
  for (char **s = all; *s; s++)
    {
      HassSimResult *r = sim_run (c, *s, NULL);
      if (!r->unfit)
        {
          sim_result_free (r);
          r = run (c, *s);
          /* Who gave it all in one bundle had that back before it was lost. */
          const SimDevice *gpu = &r->rounds[1].devices[1];
          CU_ASSERT_TRUE (gpu->units < 7000 || gpu->bundles == 1);
          CU_ASSERT_EQUAL (r->rounds[2].devices[1].units, 0);
          CU_ASSERT_EQUAL (r->rounds[3].devices[1].units, 0);
        }
      sim_result_free (r);
    }
}

/* The bundle in flight fails at once, not when it would have ended. */
static void
lost_at_a_time (void)
{
  HassVirtualEvent event = { .device = 1, .at_ns = 100000 };
  g_autoptr (SimCase) c
      = sim_test_case (MACHINE, "[workload]\nunits = 8000\n", 1, &event, 1);
  HassSimResult *r = run (c, "static:cpu=0,gpu0=1");
  CU_ASSERT_EQUAL (r->rounds[0].devices[1].units, 0);
  near (round_us (r, 0), 100 + 2000, 0.02);
  sim_result_free (r);
}

static void
seeds (void)
{
  for (guint i = 0; i < 6; i++)
    {
      g_autoptr (SimCase) a = sim_random_case (5, i, 4);
      g_autoptr (SimCase) b = sim_random_case (5, i, 4);
      g_autoptr (SimCase) c = sim_random_case (6, i, 4);
      a->platform->noise = b->platform->noise = c->platform->noise = 0.1;
      sim_bounds (a);
      sim_bounds (b);
      sim_bounds (c);
      HassSimResult *x = run (a, "auto"), *y = run (b, "auto"),
                    *z = run (c, "auto");
      CU_ASSERT_EQUAL (x->makespan_ns, y->makespan_ns);
      CU_ASSERT_EQUAL (x->bundles, y->bundles);
      CU_ASSERT_EQUAL (a->bound_ns[0], b->bound_ns[0]);
      CU_ASSERT_NOT_EQUAL (x->makespan_ns, z->makespan_ns);
      sim_result_free (x);
      sim_result_free (y);
      sim_result_free (z);
    }
}

/* The limit counts the time of all rounds together, as the makespan does. */
static void
is_late_past_the_limit (void)
{
  g_autoptr (SimCase) c
      = sim_test_case (MACHINE, "[workload]\nunits = 40000\n", 3, NULL, 0);
  HassSimResult *free_run = run (c, "auto");
  double ms = free_run->makespan_ns / 1e6;
  CU_ASSERT_TRUE (ms > 10);
  c->most_ms = (gint64)floor (ms);
  HassSimResult *late = sim_run (c, "auto", NULL);
  CU_ASSERT_TRUE (late->refused && late->late && !late->unfit);
  CU_ASSERT_EQUAL (late->n_rounds, 2);
  c->most_ms = (gint64)floor (ms) + 1;
  HassSimResult *in_time = run (c, "auto");
  CU_ASSERT_FALSE (in_time->late);
  CU_ASSERT_EQUAL (in_time->makespan_ns, free_run->makespan_ns);
  sim_result_free (free_run);
  sim_result_free (late);
  sim_result_free (in_time);
}

HASS_TEST_SUITE (sim_run,
                 { "entry copies and merges cost what they should",
                   entry_and_merge },
                 { "a GPU's own costs are used and hidden", hidden_costs },
                 { "a device becomes slower at a round's begin", slower },
                 { "or at a time", slower_at_a_time },
                 { "a lost GPU loses no unit, under any strategy", lost },
                 { "what a lost GPU has in flight fails at once",
                   lost_at_a_time },
                 { "the same seed gives the same run", seeds },
                 { "a run is late if its rounds take longer than the case "
                   "allows",
                   is_late_past_the_limit })
