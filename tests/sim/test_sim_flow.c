/* SPDX-License-Identifier: MIT */
/* test_sim_flow.c: hass-sim --dataflow: graphs of tasks and their bounds.
   Thread safety: one thread. */
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/trial.h"
#include "tests/program.h"
#include "tools/hass-sim/flow/flow.h"

static const char four_cores[]
    = "[platform]\nname = four\n[cpu]\ncores = 4\nwork_per_us = 7\n"
      "pull_us = 0\n";
static const char with_gpus[]
    = "[platform]\nname = both\n[cpu]\ncores = 4\nwork_per_us = 7\n"
      "[gpu0]\nmultiprocessors = 4\nwidth = 64\nwork_per_us = 70\n"
      "launch_us = 0\nh2d_gbps = 20\nmemory_bytes = 50000000\n"
      "[gpu1]\nmultiprocessors = 4\nwidth = 64\nwork_per_us = 35\n"
      "launch_us = 0\nh2d_gbps = 20\n"
      "[codelet gemm]\ngpu = 2\n[codelet potrf]\ngpu = 0.1\n";

/* Runs a graph on a machine. Returns: the makespan, in ns. */
static double
run (const char *machine, const char *spec, guint64 seed, SimFlowBound *bound)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = trial_file (machine);
  HassPlatform *p = hass_platform_load (path, "test", &error);
  g_autoptr (SimFlow) f = sim_flow_new (spec, seed, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  CU_ASSERT_PTR_NOT_NULL_FATAL (f);
  g_autoptr (HassReport) r = sim_flow_run (f, p, seed, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (r);
  CU_ASSERT_EQUAL (r->loads, f->tasks->len);
  *bound = sim_flow_bound (f, p);
  hass_platform_free (p);
  unlink (path);
  return r->makespan_s * 1e9;
}

static void
exact (void)
{
  SimFlowBound b;
  /* 100 us, eight of 1 ms on four cores, 100 us */
  CU_ASSERT_DOUBLE_EQUAL (run (four_cores, "forkjoin:8", 1, &b), 2.2e6, 1e-3);
  CU_ASSERT_DOUBLE_EQUAL (b.path_ns, 1.2e6, 1e-3);
  CU_ASSERT_DOUBLE_EQUAL (b.area_ns, 2.2e6, 100);
  /* one tile: potrf alone */
  double ns = run (four_cores, "cholesky:1", 1, &b);
  CU_ASSERT_DOUBLE_EQUAL (ns, b.path_ns, 1);
  CU_ASSERT_TRUE (b.area_ns >= ns / 4 && b.area_ns <= ns);
  /* 3 potrf on cores, 2 trsm and 2 syrk of 3 potrf each at 10 times the rate */
  run (with_gpus, "cholesky:3", 1, &b);
  CU_ASSERT_DOUBLE_EQUAL (b.path_ns, (3 + 4 * 0.3) * ns, 10);
  CU_ASSERT_DOUBLE_EQUAL (b.area_ns, (3 + 4 * 0.3) * ns, 10);
  /* 190 of 1 ms at the rates 4 + 10 + 5, and 100 us at 10 at either end */
  run (with_gpus, "forkjoin:190", 1, &b);
  CU_ASSERT_DOUBLE_EQUAL (b.area_ns, 190e6 / 19 + 2 * 1e4, 100);
}

static void
bounded (void)
{
  static const char *const specs[]
      = { "cholesky:9", "stencil:4:6", "forkjoin:40", "random:300" };
  for (guint64 seed = 1; seed <= 20; seed++)
    {
      const char *spec = specs[seed % 4];
      const char *machine = seed % 8 < 4 ? with_gpus : four_cores;
      SimFlowBound b;
      double ns = run (machine, spec, seed, &b);
      CU_ASSERT_TRUE (b.path_ns > 0 && b.area_ns > 0);
      CU_ASSERT_TRUE (ns >= b.path_ns * 0.999999);
      CU_ASSERT_TRUE (ns >= b.area_ns * 0.999999);
      CU_ASSERT_EQUAL (ns, run (machine, spec, seed, &b));
    }
}

static void
wrong_specs (void)
{
  static const char *const specs[]
      = { "cholesky",     "cholesky:0",    "cholesky:201",
          "cholesky:2:2", "stencil:9",     "random:x",
          "lu",           "stencil:900:9", "" };
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      g_autoptr (GError) error = NULL;
      CU_ASSERT_PTR_NULL (sim_flow_new (specs[i], 1, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
    }
}

static void
program (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (program_run_words (&out, &err, "hass-sim",
                                      "--dataflow cholesky:6 -p thesis"),
                   0);
  program_says (out, "cholesky:6 on ");
  program_says (out, "56 tasks");
  program_says (out, "virtual time");
  program_says (out, "critical path");
  program_says (out, ", binds");
  g_clear_pointer (&out, g_free);
  g_clear_pointer (&err, g_free);
  CU_ASSERT_EQUAL (program_run_words (&out, &err, "hass-sim",
                                      "--dataflow cholesky:6 --rounds 2"),
                   2);
  program_says (err, "--rounds does not go with --dataflow cholesky:6");
}

static void
strategies (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (program_run_words (&out, &err, "hass-sim",
                                      "--dataflow cholesky:6 -p thesis -s all"),
                   0);
  program_says (out, "/ best");
  program_says (out, "flow-auto ");
  program_says (out, "flow-eager ");
  program_says (out, "flow-dmda ");
  program_says (out, "flow-dmdas ");
  program_says (out, "flow-heft ");
  program_says (out, "flow-level ");
  program_says (out, "flow-lws ");
  program_says (out, "flow-peft ");
  program_says (out, "flow-heteroprio ");
  program_says (out, "    1.000 ");
  g_clear_pointer (&out, g_free);
  g_clear_pointer (&err, g_free);
  CU_ASSERT_EQUAL (
      program_run_words (&out, &err, "hass-sim",
                         "--dataflow cholesky:6 -s flow-dmda:beta=0,flow-auto"),
      0);
  program_says (out, "flow-dmda:beta=0 ");
  CU_ASSERT_PTR_NULL (strstr (out, "flow-eager"));
  g_clear_pointer (&out, g_free);
  g_clear_pointer (&err, g_free);
  CU_ASSERT_EQUAL (
      program_run_words (&out, &err, "hass-sim",
                         "--dataflow cholesky:6 -s flow-eager,hass-p"),
      2);
  program_says (err, "no strategy \"hass-p\" for dataflows; known are: ");
  program_says (err, "flow-auto");
}

HASS_TEST_SUITE (
    sim_flow,
    { "fork-join and a single task take what their tasks take", exact },
    { "no graph takes less than its bounds, and each the same time twice",
      bounded },
    { "what is no graph is refused", wrong_specs },
    { "hass-sim prints the times of a graph", program },
    { "hass-sim compares strategies of a dataflow and refuses others",
      strategies })
