/* SPDX-License-Identifier: MIT */
/* test_flow_times.c: hass-sim --dataflow --times, of a recorded graph.
   Thread safety: one thread. */
#include <string.h>

#include "flow_program.h"
#include "hass_test.h"
#include "tests/program.h"

#define RUN "cholesky:8 -p h200x2 "

static double
run_ns (JsonObject *run, guint i)
{
  JsonArray *runs = json_object_get_array_member (run, "runs_ns");
  CU_ASSERT_TRUE_FATAL (i < json_array_get_length (runs));
  return json_array_get_double_element (runs, i);
}

static guint
n_runs (JsonObject *run)
{
  return json_array_get_length (json_object_get_array_member (run, "runs_ns"));
}

static gboolean
about (double a, double b)
{
  return a > b * (1 - 1e-9) && a < b * (1 + 1e-9);
}

/* Devices keep their copies, so later runs are not as the first one. */
static void
last (void)
{
  g_autoptr (JsonNode) root = NULL, one = NULL;
  JsonObject *run = flow_object (RUN "--times 3", &root);
  JsonObject *first = flow_object (RUN "--times 1", &one);
  JsonArray *devices = json_object_get_array_member (run, "devices");
  double all_ns = run_ns (run, 0) + run_ns (run, 1) + run_ns (run, 2);
  double sum = 0;
  CU_ASSERT_EQUAL (flow_number (run, "times"), 3);
  CU_ASSERT_EQUAL (n_runs (run), 3);
  CU_ASSERT_EQUAL (flow_number (run, "makespan_ns"), run_ns (run, 2));
  CU_ASSERT_TRUE (about (flow_number (run, "total_ns"), all_ns));
  CU_ASSERT_EQUAL (flow_number (first, "makespan_ns"), run_ns (run, 0));
  CU_ASSERT_TRUE (run_ns (run, 1) < run_ns (run, 0));
  for (guint d = 0; d < json_array_get_length (devices); d++)
    sum += flow_number (json_array_get_object_element (devices, d), "tasks");
  CU_ASSERT_EQUAL (sum, 3 * flow_number (run, "tasks"));
}

static void
unrecorded (void)
{
  g_autoptr (JsonNode) root = NULL;
  JsonObject *run = flow_object (RUN, &root);
  CU_ASSERT_EQUAL (flow_number (run, "times"), 1);
  CU_ASSERT_EQUAL (n_runs (run), 1);
  CU_ASSERT_EQUAL (run_ns (run, 0), flow_number (run, "makespan_ns"));
  CU_ASSERT_EQUAL (flow_number (run, "total_ns"),
                   flow_number (run, "makespan_ns"));
}

static double
makespan_ns (const char *words, const char *strategy)
{
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *all = g_strconcat (words, "-s ", strategy, NULL);
  return flow_number (flow_object (all, &root), "makespan_ns");
}

/* Only of a record flow-peft has the table by which it differs from flow-heft.
 */
static void
strategies (void)
{
#define LARGER "cholesky:16 -p h200x8 "
  CU_ASSERT_EQUAL (makespan_ns (LARGER, "flow-heft"),
                   makespan_ns (LARGER, "flow-peft"));
  CU_ASSERT_NOT_EQUAL (makespan_ns (LARGER "--times 2 ", "flow-heft"),
                       makespan_ns (LARGER "--times 2 ", "flow-peft"));
}

static void
disturbed (void)
{
  g_autoptr (JsonNode) root = NULL;
  JsonObject *run = flow_object (RUN "--times 2", &root);
  g_autofree char *words
      = g_strdup_printf (RUN "--times 2 --csv --lose gpu1:%.6fus",
                         0.75e-3 * flow_number (run, "total_ns"));
  g_autofree char *at = flow_prints (words);
  g_autofree char *part = flow_prints (RUN "--times 2 --csv --lose gpu1:75%");
  CU_ASSERT_STRING_EQUAL (part, at);
}

static void
printed (void)
{
  g_autoptr (JsonNode) root = NULL;
  JsonObject *run = flow_object (RUN "--times 2", &root);
  double ns = flow_number (run, "makespan_ns");
  double total_ns = flow_number (run, "total_ns");
  g_autofree char *table = flow_prints (RUN "--times 2");
  g_autofree char *tables
      = flow_prints (RUN "--times 2 -s flow-auto,flow-auto");
  g_autofree char *csv = flow_prints (RUN "--times 2 --csv");
  g_autofree char *last = g_strdup_printf (" %.3f ms\n", ns * 1e-6);
  g_autofree char *all = g_strdup_printf (
      "of the last of 2 runs, which take %.3f ms together", total_ns * 1e-6);
  g_autofree char *line = g_strdup_printf ("%.3f    1.000", ns * 1e-6);
  g_autofree char *end = g_strdup_printf (",2,%.12g\n", total_ns);
  program_says (table, last);
  program_says (table, all);
  program_says (tables, "cholesky:8 on h200x2, run 2: ");
  program_says (tables, line);
  CU_ASSERT_TRUE (g_str_has_suffix (csv, end));
}

static void
refused (void)
{
  g_autofree char *err = NULL, *out = NULL;
  flow_program_refuses (RUN "--times 2 --gantt x.svg",
                        "--gantt does not go with --dataflow cholesky:8: with "
                        "--times: it draws one run");
  flow_program_refuses (RUN "--times 0", "--times belongs to --dataflow, from");
  flow_program_refuses (RUN "--times -1", "--times -1: a number");
  CU_ASSERT_EQUAL (
      program_run_words (&out, &err, "hass-sim", "-w cap-cg --times 2"), 2);
  program_says (err, "--times belongs to --dataflow");
}

HASS_TEST_SUITE (
    sim_flow_times,
    { "the time of a recorded dataflow is that of its last run", last },
    { "a dataflow that is not recorded runs once", unrecorded },
    { "strategies see what only a recorded graph has", strategies },
    { "a part of a recorded dataflow is one of all its runs", disturbed },
    { "table, strategies' table and CSV have the last run and all", printed },
    { "--times is refused without a dataflow, and with a picture", refused })
