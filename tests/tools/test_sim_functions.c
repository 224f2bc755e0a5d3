/* SPDX-License-Identifier: MIT */
/* test_sim_functions.c: workloads whose tasks call several functions: which
   unit calls which, what it costs, and that strategies are told of it.
   Thread safety: one thread. */
#include <math.h>
#include <string.h>

#include "hass_test.h"
#include "sched/registry.h"
#include "tests/sim/sim_test.h"

#define MACHINE                                                                \
  "[platform]\n[cpu]\ncores = 4\nwork_per_us = 0.001\npull_us = 0\n"           \
  "[gpu0]\nmultiprocessors = 4\nwidth = 1\nwork_per_us = 0.004\nlaunch_us = "  \
  "10\nh2d_gbps = 1\n"

/* Work 1, elements 2. The GPU is 40 times as fast as a core in the first
   function, half as fast in the second. */
#define WORKLOAD                                                               \
  "[workload]\nfarm = function\nunits = 300\nelements = 2\n"                   \
  "[function dense]\npart = 4\ngpu_factor = 0.1\n"                             \
  "[function branching]\npart = 2\ncpu_factor = 3\ngpu_factor = 24\n"

static void
near (double got, double wanted)
{
  gboolean close = fabs (got - wanted) <= 1e-9 * MAX (fabs (wanted), 1);
  CU_ASSERT_TRUE (close);
  if (!close)
    g_printerr ("\n    %g was due, got %g", wanted, got);
}

static void
turns (void)
{
  static const guint8 due[] = { 0, 1, 0, 0, 1, 0, 0, 1, 0 };
  g_autoptr (SimCase) c = sim_test_case (MACHINE, WORKLOAD, 1, NULL, 0);
  const SimWorkload *w = c->workload;
  g_autofree guint8 *of = sim_function_of_units (w);
  CU_ASSERT_EQUAL_FATAL (w->n_functions, 2);
  CU_ASSERT_EQUAL (memcmp (of, due, sizeof due), 0);
  guint n[2] = { 0 };
  for (guint i = 0; i < w->units; i++)
    n[of[i]]++;
  CU_ASSERT_EQUAL (n[0], 200);
  CU_ASSERT_EQUAL (n[1], 100);
  g_autoptr (SimCase) plain
      = sim_test_case (MACHINE, "[workload]\nunits = 3\n", 1, NULL, 0);
  CU_ASSERT_PTR_NULL (sim_function_of_units (plain->workload));
}

/* Factors multiply what the families of costs have drawn. */
static void
costs (void)
{
  g_autoptr (SimCase) equal = sim_test_case (MACHINE, WORKLOAD, 1, NULL, 0);
  near (sim_case_work (equal, 0, FALSE, 0, 1), 1);
  near (sim_case_work (equal, 0, TRUE, 0, 1), 0.1);
  near (sim_case_work (equal, 0, FALSE, 1, 1), 3);
  near (sim_case_work (equal, 0, TRUE, 1, 1), 24);
  near (sim_case_work (equal, 0, TRUE, 0, 300), 200 * 0.1 + 100 * 24);
  static const char drawn[] = "[workload]\nfarm = function\nunits = 300\n"
                              "class = unknown\ncosts = lognormal 0.5\n";
  g_autofree char *both = g_strconcat (
      drawn, "[function a]\n[function b]\ncpu_factor = 3\ngpu_factor = 24\n",
      NULL);
  g_autoptr (SimCase) without = sim_test_case (MACHINE, drawn, 1, NULL, 0);
  g_autoptr (SimCase) with = sim_test_case (MACHINE, both, 1, NULL, 0);
  for (guint i = 0; i < 300; i++)
    {
      double own = sim_case_work (without, 0, FALSE, i, 1);
      near (sim_case_work (with, 0, FALSE, i, 1), own * (i % 2 ? 3 : 1));
      near (sim_case_work (with, 0, TRUE, i, 1), own * (i % 2 ? 24 : 1));
    }
}

/* -- What strategies are told --------------------------------------------- */

static struct
{
  guint n_functions;
  guint64 units[2][2]; /* of function, on device */
  gboolean apart;      /* each unit's function is the workload's */
} seen;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  seen.n_functions = env->n_functions;
  seen.apart = TRUE;
  memset (seen.units, 0, sizeof seen.units);
  return &seen;
}

static void
begin_round (gpointer self, HassRound *round)
{
  (void)self;
  for (guint32 i = 0; i < hass_round_units (round); i++)
    seen.apart = seen.apart && hass_round_function (round, i) == (i % 3 == 1);
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  (void)self, (void)round, (void)force, (void)device;
  grant->source = HASS_FROM_FRONT;
  grant->units = grant->chunk = 1;
  return HASS_TAKE;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  (void)self, (void)round;
  seen.units[done->function % 2][done->device % 2] += done->units;
}

static const HassStrategyOps ops = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "test-of-sim-functions",
  .summary = "looks at functions",
  .farms = HASS_FARM_ANY,
  .create = create,
  .begin_round = begin_round,
  .grant = decide,
  .observe = observe,
};

static void
told (void)
{
  g_autoptr (SimCase) c = sim_test_case (MACHINE, WORKLOAD, 3, NULL, 0);
  CU_ASSERT_TRUE_FATAL (hass_strategy_register (&ops, NULL));
  HassSimResult *r = sim_run (c, ops.name, NULL);
  if (r->refused)
    g_printerr ("\n    %s", r->refused);
  CU_ASSERT_EQUAL (seen.n_functions, 2);
  CU_ASSERT_TRUE (seen.apart);
  CU_ASSERT_EQUAL (seen.units[0][0] + seen.units[0][1], 600);
  CU_ASSERT_EQUAL (seen.units[1][0] + seen.units[1][1], 300);
  CU_ASSERT_TRUE (seen.units[0][0] > 0 && seen.units[0][1] > 0);
  sim_result_free (r);
}

/* The GPU computes what suits it, and the bound counts on it. */
static void
auto_divides (void)
{
  g_autoptr (SimCase) c = sim_test_case (MACHINE, WORKLOAD, 8, NULL, 0);
  HassSimResult *r = sim_run (c, "auto", NULL);
  CU_ASSERT_PTR_NULL (r->refused);
  CU_ASSERT_EQUAL_FATAL (r->n_rounds, 8);
  for (guint i = 0; i < 8; i++)
    CU_ASSERT_EQUAL (
        r->rounds[i].devices[0].units + r->rounds[i].devices[1].units, 300);
  /* 100 tasks of 3 ms on four cores; the GPU has done the others long before
     and computes one or two of these. */
  CU_ASSERT_TRUE (c->bound_ns[0] > 65e6 && c->bound_ns[0] < 76e6);
  CU_ASSERT_TRUE (r->steady_efficiency > 0.8);
  sim_result_free (r);
}

HASS_TEST_SUITE (sim_functions,
                 { "functions take turns in proportion to their parts", turns },
                 { "a function's factors multiply the costs that are drawn",
                   costs },
                 { "strategies are told which function each unit calls", told },
                 { "auto gives a GPU the functions that suit it",
                   auto_divides })
