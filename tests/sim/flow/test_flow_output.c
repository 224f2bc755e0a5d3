/* SPDX-License-Identifier: MIT */
/* test_flow_output.c: what hass-sim --dataflow prints as JSON, CSV and table.
   Thread safety: one thread. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "flow_program.h"
#include "hass_test.h"
#include "tests/engine/trial.h"
#include "tests/program.h"
#include "tools/hass-sim/flow/flow.h"

#define SPEC "cholesky:6"
#define MACHINE "h200x2"

/* A run of SPEC on MACHINE in this process. */
typedef struct
{
  HassReport *report;
  SimFlowBound bound;
  guint n_tasks, n_data, n_codelets;
} Known;

static Known
known (void)
{
  Known k = { NULL };
  HassPlatform *p = NULL;
  g_autoptr (SimFlow) f = sim_flow_new (SPEC, 1, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (f);
  CU_ASSERT_TRUE_FATAL (sim_load_platform ("test", MACHINE, &p, NULL));
  k.report = sim_flow_run (f, p, 1, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (k.report);
  k.bound = sim_flow_bound (f, p);
  k.n_tasks = f->tasks->len;
  k.n_data = f->sizes->len;
  k.n_codelets = f->codelets->len;
  hass_platform_free (p);
  return k;
}

/* Equal but for what decimal digits of the output leave out. */
static void
same (double printed, double exact)
{
  CU_ASSERT_TRUE (fabs (printed - exact) <= 1e-9 * MAX (fabs (exact), 1));
}

static void
json_devices (JsonArray *devices, const HassReport *r)
{
  CU_ASSERT_EQUAL_FATAL (json_array_get_length (devices), r->n_devices);
  for (guint d = 0; d < r->n_devices; d++)
    {
      JsonObject *o = json_array_get_object_element (devices, d);
      const HassDeviceReport *v = &r->devices[d];
      CU_ASSERT_STRING_EQUAL (json_object_get_string_member (o, "name"),
                              v->name);
      same (flow_number (o, "busy_ns"), v->kernel_s * 1e9);
      same (flow_number (o, "busy"), v->kernel_s / r->makespan_s);
      CU_ASSERT_EQUAL (flow_number (o, "tasks"), v->units);
      CU_ASSERT_EQUAL (flow_number (o, "copied_bytes"), v->bytes);
      CU_ASSERT_FALSE (json_object_get_boolean_member (o, "lost"));
    }
}

static void
json (void)
{
  Known k = known ();
  g_autoptr (JsonNode) root = NULL;
  JsonObject *o = flow_object (SPEC " -p " MACHINE, &root);
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (o, "dataflow"), SPEC);
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (o, "strategy"),
                          k.report->strategy);
  CU_ASSERT_EQUAL (flow_number (o, "seed"), 1);
  CU_ASSERT_EQUAL (flow_number (o, "tasks"), k.n_tasks);
  CU_ASSERT_EQUAL (flow_number (o, "data"), k.n_data);
  CU_ASSERT_EQUAL (flow_number (o, "data_bytes"), k.n_data * 1048576.0);
  same (flow_number (o, "makespan_ns"), k.report->makespan_s * 1e9);
  same (flow_number (o, "path_ns"), k.bound.path_ns);
  same (flow_number (o, "area_ns"), k.bound.area_ns);
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (o, "binds"),
                          k.bound.path_ns >= k.bound.area_ns ? "path" : "area");
  json_devices (json_object_get_array_member (o, "devices"), k.report);
  JsonArray *codelets = json_object_get_array_member (o, "codelets");
  CU_ASSERT_EQUAL_FATAL (json_array_get_length (codelets), k.n_codelets);
  double tasks = 0;
  for (guint c = 0; c < k.n_codelets; c++)
    tasks += flow_number (json_array_get_object_element (codelets, c), "tasks");
  CU_ASSERT_EQUAL (tasks, k.n_tasks);
  hass_report_free (k.report);
}

/* The value of a column of a line of CSV; the text belongs to @cells. */
static const char *
cell (char **names, char **cells, const char *name)
{
  for (guint i = 0; names[i]; i++)
    if (strcmp (names[i], name) == 0)
      return cells[i];
  CU_FAIL ("a column is missing");
  return "";
}

static void
csv_line (const Known *k, char **names, const char *line, guint d)
{
  const HassDeviceReport *v = &k->report->devices[d];
  g_auto (GStrv) cells = g_strsplit (line, ",", -1);
  CU_ASSERT_EQUAL_FATAL (g_strv_length (cells), g_strv_length (names));
  CU_ASSERT_STRING_EQUAL (cell (names, cells, "dataflow"), "\"" SPEC "\"");
  const struct
  {
    const char *name;
    double value;
  } numbers[] = { { "seed", 1 },
                  { "tasks", k->n_tasks },
                  { "data", k->n_data },
                  { "data_bytes", k->n_data * 1048576.0 },
                  { "makespan_ns", k->report->makespan_s * 1e9 },
                  { "path_ns", k->bound.path_ns },
                  { "area_ns", k->bound.area_ns },
                  { "busy_ns", v->kernel_s * 1e9 },
                  { "busy", v->kernel_s / k->report->makespan_s },
                  { "device_tasks", (double)v->units },
                  { "copied_bytes", (double)v->bytes },
                  { "lost", 0 } };
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    same (g_ascii_strtod (cell (names, cells, numbers[i].name), NULL),
          numbers[i].value);
  g_autofree char *name = g_strdup_printf ("\"%s\"", v->name);
  CU_ASSERT_STRING_EQUAL (cell (names, cells, "device"), name);
}

static void
csv (void)
{
  Known k = known ();
  g_autofree char *out = flow_prints (SPEC " -p " MACHINE " --csv");
  g_auto (GStrv) lines = g_strsplit (out, "\n", -1);
  CU_ASSERT_EQUAL_FATAL (g_strv_length (lines), k.report->n_devices + 2);
  CU_ASSERT_STRING_EQUAL (lines[k.report->n_devices + 1], "");
  g_auto (GStrv) names = g_strsplit (lines[0], ",", -1);
  for (guint d = 0; d < k.report->n_devices; d++)
    csv_line (&k, names, lines[d + 1], d);
  hass_report_free (k.report);
}

/* The table rounds the same numbers. */
static void
table (void)
{
  Known k = known ();
  g_autofree char *out = flow_prints (SPEC " -p " MACHINE);
  g_autofree char *time
      = g_strdup_printf ("%.3f ms\n", k.report->makespan_s * 1e3);
  g_autofree char *path = g_strdup_printf ("%.3f ms", k.bound.path_ns * 1e-6);
  g_autofree char *area = g_strdup_printf ("%.3f ms", k.bound.area_ns * 1e-6);
  program_says (out, time);
  program_says (out, path);
  program_says (out, area);
  for (guint d = 0; d < k.report->n_devices; d++)
    {
      const HassDeviceReport *v = &k.report->devices[d];
      g_autofree char *line = g_strdup_printf (
          "busy %5.1f %%, %" G_GUINT64_FORMAT " tasks, ",
          100 * v->kernel_s / k.report->makespan_s, v->units);
      program_says (out, line);
    }
  hass_report_free (k.report);
}

static void
explained (void)
{
  g_autofree char *path = trial_file (""), *text = NULL;
  g_autofree char *words = g_strdup_printf (
      SPEC " -p " MACHINE " -s flow-auto,flow-dmda --explain %s", path);
  g_autofree char *out = flow_prints (words);
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  unlink (path);
  CU_ASSERT_PTR_NOT_NULL (strstr (text, " takes gemm: gpu"));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "cores do not try gemm: "));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "gemm waits for gpu1: gpu0 "));
}

static void
refused (void)
{
  static const struct
  {
    const char *more, *message;
  } bad[] = {
    { "--json --csv", "--json and --csv exclude each other" },
    { "--workload cap-cg", "--workload and --dataflow exclude each other" },
    { "--summary",
      "--summary does not go with --dataflow " SPEC ": there is one case" },
    { "--rounds 3", "--rounds does not go with --dataflow " SPEC
                    ": a dataflow has no rounds" },
    { "--plot p.svg", "--plot draws one case: --workload is needed" },
    { "--parts 4", "--parts does not go with --dataflow " SPEC
                   ": a task is not cut into parts" },
    { "--kernels 4", "--kernels does not go with --dataflow " SPEC
                     ": a modelled GPU computes one task of a dataflow at a "
                     "time" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autofree char *words = g_strconcat (SPEC " ", bad[i].more, NULL);
      flow_program_refuses (words, bad[i].message);
    }
}

HASS_TEST_SUITE (
    sim_flow_output,
    { "--explain writes what strategies of a dataflow decide", explained },
    { "JSON of a dataflow has the numbers of its report and bounds", json },
    { "CSV of a dataflow has them too, in a line for each device", csv },
    { "the table of a dataflow has them, rounded", table },
    { "options that a dataflow does not have are refused with the reason",
      refused })
