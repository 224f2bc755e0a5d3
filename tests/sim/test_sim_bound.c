/* SPDX-License-Identifier: MIT */
/* test_sim_bound.c: the clairvoyant bound is one, and it is near where the
   best is known; the best static split is the best.
   Thread safety: one thread. */
#include <math.h>
#include <stdio.h>

#include "hass_test.h"
#include "sim_test.h"

#define CPU "[platform]\n[cpu]\ncores = 4\nwork_per_us = 1\npull_us = 0\n"
#define GPU(n, rate)                                                           \
  "[gpu" n "]\nmultiprocessors = 4\nwidth = 1\nwork_per_us = " rate "\n"       \
  "launch_us = 10\nlink_us = 5\nh2d_gbps = 1\ndepth = 1\n"

static double
bound_us (const char *platform, const char *workload)
{
  g_autoptr (SimCase) c = sim_test_case (platform, workload, 2, NULL, 0);
  return c->bound_ns[0] * 1e-3;
}

static void
near (double got, double wanted)
{
  gboolean close = fabs (got - wanted) <= 1e-3 * wanted;
  CU_ASSERT_TRUE (close);
  if (!close)
    g_printerr ("\n    %g was due, got %g", wanted, got);
}

static void
by_hand (void)
{
  /* 100 units of 1 us on 4 cores; 101 need one core for 26. */
  near (bound_us (CPU, "[workload]\nunits = 100\n"), 25);
  near (bound_us (CPU, "[workload]\nunits = 101\n"), 26);
  /* A GPU alone: launch, and 1000 bytes in at 1 byte a ns. */
  near (bound_us ("[platform]\n" GPU ("0", "10"),
                  "[workload]\nunits = 100\ninput_bytes = 10\n"),
        10 + 5 + 1 + 10);
  /* Both, in whole units: 4 floor (t) + 10 (t - 10) = 1000. */
  near (bound_us (CPU GPU ("0", "10"), "[workload]\nunits = 1000\n"), 78.8);
  /* An entry of 20 us. */
  near (bound_us (CPU GPU ("0", "10"),
                  "[workload]\nunits = 1000\nentry_bytes = 20000\n"),
        96.6);
  /* A merge is dearer than the CPU alone. */
  near (bound_us (CPU GPU ("0", "10"),
                  "[workload]\nunits = 100\nmerge_us = 50\n"),
        20);
  /* Two entries, one after another: 4 t + 10 (t - 15 - 20) + 10 (t - 30 - 40)
     = 10000, without units' bytes. */
  near (bound_us (CPU GPU ("0", "10") "link = a\n" GPU ("1", "10") "link = a\n",
                  "[workload]\nunits = 10000\nentry_bytes = 20000\n"),
        (10000 + 350 + 600) / 24.0);
}

/* No strategy is faster than the bound; no round of it either. */
static guint
hold_against (SimCase *c)
{
  g_auto (GStrv) all = sim_test_strategies ();
  guint n = 0;
  CU_ASSERT_TRUE (sim_best_static (c, NULL));
  for (char **s = all; *s; s++)
    {
      HassSimResult *r = sim_run (c, *s, NULL);
      CU_ASSERT_TRUE (!r->refused || r->unfit);
      if (r->refused && !r->unfit)
        g_printerr ("\n    %s: %s", *s, r->refused);
      for (guint i = 0; i < r->n_rounds; i++)
        {
          double ns = (double)(r->rounds[i].end_ns - r->rounds[i].begin_ns);
          gboolean over = ns >= c->bound_ns[i] * (1 - 1e-5) - 20;
          n++;
          CU_ASSERT_TRUE (over);
          if (!over)
            g_printerr ("\n    %s on %s, %s, round %u: %.0f ns, bound %.0f",
                        c->workload->name, c->platform->name, *s, i, ns,
                        c->bound_ns[i]);
        }
      sim_result_free (r);
    }
  return n;
}

static void
random_cases (void)
{
  guint n = 0;
  for (guint i = 0; i < 16; i++)
    {
      g_autoptr (SimCase) c = sim_random_case (4242, i, 3);
      sim_bounds (c);
      n += hold_against (c);
    }
  printf ("\n    %u rounds ...", n);
  CU_ASSERT_TRUE (n > 1000);
}

static void
entries_and_merges (void)
{
  for (guint i = 0; i < 8; i++)
    {
      g_autoptr (SimCase) c = sim_random_case (77, i, 2);
      c->workload->entry_bytes = 1000.0 * c->workload->units;
      c->workload->merge_ns = i % 2 ? 2e6 : 0;
      sim_bounds (c);
      hold_against (c);
    }
}

static void
events (void)
{
  for (guint i = 0; i < 8; i++)
    {
      g_autoptr (SimCase) c = sim_random_case (99, i, 4);
      if (c->n_devices < 2)
        continue;
      HassVirtualEvent list[]
          = { { .device = 0, .slower = 3, .round = 1.5 },
              { .device = 1, .slower = i % 2 ? 0 : 2, .round = 2 } };
      c->events = g_memdup2 (list, sizeof list);
      c->n_events = G_N_ELEMENTS (list);
      sim_bounds (c);
      hold_against (c);
    }
}

static void
shipped_suites (void)
{
  g_auto (GStrv) suites = sim_suite_names ();
  for (char **s = suites; *s; s++)
    {
      g_auto (GStrv) members = sim_suite (*s, NULL);
      for (char **m = members; *m; m++)
        {
          g_autoptr (SimCase) c = sim_test_shipped (*m, 2, 1, NULL, 0);
          hold_against (c);
        }
    }
}

/* Every split of two devices, run by the engine. */
static void
best_of_all_splits (void)
{
  static const char *const workloads[]
      = { "[workload]\nunits = 4000\ninput_bytes = 2\n",
          "[workload]\nunits = 4000\nmerge_us = 30\nentry_bytes = 9000\n",
          "[workload]\nunits = 4000\nclass = unknown\ncosts = ramp-up 5\n" };
  for (guint i = 0; i < G_N_ELEMENTS (workloads); i++)
    {
      g_autoptr (SimCase) c
          = sim_test_case (CPU GPU ("0", "9"), workloads[i], 2, NULL, 0);
      double best = INFINITY;
      CU_ASSERT_TRUE_FATAL (sim_best_static (c, NULL));
      for (guint p = 0; p <= 100; p++)
        {
          g_autofree char *text = g_strdup_printf ("static:cpu=%.2f,gpu0=%.2f",
                                                   p / 100.0, 1 - p / 100.0);
          HassSimResult *r = sim_run (c, text, NULL);
          best = MIN (best, r->makespan_ns);
          sim_result_free (r);
        }
      double found = c->static_ns[0] + c->static_ns[1];
      gboolean right = found <= best * 1.002;
      CU_ASSERT_TRUE (right);
      if (!right)
        g_printerr ("\n    %s: found %.0f ns (%s), best %.0f", workloads[i],
                    found, c->static_split, best);
    }
}

HASS_TEST_SUITE (
    sim_bound, { "bounds that can be computed by hand", by_hand },
    { "no strategy beats the bound on random workloads", random_cases },
    { "no strategy beats the bound with entry copies and merges",
      entries_and_merges },
    { "no strategy beats the bound when devices become slower or are lost",
      events },
    { "no strategy beats the bound on any shipped workload", shipped_suites },
    { "the best static split is the best of all splits", best_of_all_splits })
