/* SPDX-License-Identifier: MIT */
/* test_flow_bound.c: no schedule of a dataflow takes less than its bound, and
   the bound counts launches and what few tasks at the ends allow.
   Thread safety: one thread. */
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/trial.h"
#include "tools/hass-sim/flow/run.h"

static HassPlatform *
machine (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = trial_file (text);
  HassPlatform *p = hass_platform_load (path, "test", &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  unlink (path);
  return p;
}

/* Returns: a machine with up to three GPUs, alike or not. */
static HassPlatform *
any_machine (GRand *rand)
{
  g_autoptr (GString) text = g_string_new ("[platform]\nname = any\n");
  g_string_append_printf (
      text, "[cpu]\ncores = %d\nwork_per_us = 1\npull_us = %d\n",
      g_rand_int_range (rand, 1, 9), g_rand_int_range (rand, 0, 20));
  gint n = g_rand_int_range (rand, 0, 4), rate = 0;
  for (gint g = 0; g < n; g++)
    {
      if (g == 0 || g_rand_boolean (rand))
        rate = 1 << g_rand_int_range (rand, 0, 9);
      g_string_append_printf (text,
                              "[gpu%d]\nmultiprocessors = 4\nwidth = 64\n"
                              "work_per_us = %d\nlaunch_us = %d\n"
                              "link_us = 5\nh2d_gbps = 40\n",
                              g, rate, g_rand_int_range (rand, 0, 200));
    }
  if (n > 0)
    g_string_append (text, "[codelet gemm]\ngpu = 2\n"
                           "[codelet potrf]\ngpu = 0.05\n");
  return machine (text->str);
}

static void
under_all (void)
{
  static const char *const specs[]
      = { "random:60", "cholesky:6",  "random:200",  "forkjoin:30",
          "qr:4",      "stencil:3:5", "wavefront:6", "lu:5" };
  g_auto (GStrv) strategies = sim_flow_strategies ("all", NULL);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  for (guint64 seed = 1; seed <= 48; seed++)
    {
      HassPlatform *p = any_machine (rand);
      g_autoptr (SimFlow) f = sim_flow_new (specs[seed % 8], seed, NULL);
      SimFlowBound b = sim_flow_bound (f, p);
      CU_ASSERT_TRUE (b.path_ns > 0 && b.area_ns > 0);
      for (char **s = strategies; *s; s++)
        {
          SimFlowOptions o = { .strategy = *s, .modelled = TRUE, .seed = seed };
          SimFlowOutcome *ran = sim_flow_run_times (f, p, &o, NULL);
          CU_ASSERT_PTR_NOT_NULL_FATAL (ran);
          CU_ASSERT_TRUE (sim_flow_last_ns (ran) >= b.path_ns * 0.999999);
          CU_ASSERT_TRUE (sim_flow_last_ns (ran) >= b.area_ns * 0.999999);
          sim_flow_outcome_free (ran);
        }
      hass_platform_free (p);
    }
}

static SimFlowBound
bound_of (const char *spec, const char *text)
{
  HassPlatform *p = machine (text);
  g_autoptr (SimFlow) f = sim_flow_new (spec, 1, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (f);
  SimFlowBound b = sim_flow_bound (f, p);
  hass_platform_free (p);
  return b;
}

#define FOUR_CORES                                                             \
  "[platform]\nname = four\n[cpu]\ncores = 4\nwork_per_us = 7\npull_us = "

static void
overheads (void)
{
  /* pulls of 50 us: 100 us, eight of 1 ms on four cores, 100 us */
  CU_ASSERT_DOUBLE_EQUAL (bound_of ("forkjoin:8", FOUR_CORES "50\n").area_ns,
                          2.4e6, 100);
  /* a GPU as fast as four cores, which launches for 1 ms: the rates of tasks
     of 1 ms are 4 and 1 / 1.25 per ms */
  SimFlowBound b = bound_of ("forkjoin:1000", FOUR_CORES
                             "0\n[gpu0]\nmultiprocessors = 4\nwidth = 64\n"
                             "work_per_us = 28\nlaunch_us = 1000\n"
                             "h2d_gbps = 40\n");
  CU_ASSERT_TRUE (b.area_ns <= 1000 / (4 + 1 / 1.25) * 1e6 + 2e5 + 1);
  CU_ASSERT_TRUE (b.area_ns >= 1000 / (4 + 1 / 1.25) * 1e6 * 0.999);
}

/* Of four tiles, potrf, trsm, syrk or gemm come one after another at the end,
   so that four cores cannot share them. */
static void
ends (void)
{
  double third_ns = bound_of ("cholesky:1", FOUR_CORES "0\n").path_ns;
  SimFlowBound b = bound_of ("cholesky:8", FOUR_CORES "0\n");
  double work_ns = 8 * 8 * 8 * third_ns / 4;
  CU_ASSERT_TRUE (b.area_ns > work_ns + 3 * third_ns);
}

HASS_TEST_SUITE (
    flow_bound,
    { "no strategy takes less than the bound, whatever graph and machine",
      under_all },
    { "the bound counts pulls and launches, each task where it costs least",
      overheads },
    { "the bound counts that few tasks can run at the ends", ends })
