/* SPDX-License-Identifier: MIT */
/* test_flow_workflow.c: workflows of WfCommons in virtual time.
   Thread safety: one thread. */
#include <string.h>

#include "flow_file.h"
#include "hass_test.h"
#include "tests/program.h"

/* cut of 3 s, then two blasts of 4 and 5 s, then join of 2 s. The file a is an
   input, b1 and b2 are what cut writes. */
static const char diamond_1_4[]
    = "{ 'name': 'x', 'schemaVersion': '1.4', 'workflow': { 'tasks': ["
      "{ 'name': 'join_ID0004', 'id': 'ID0004', 'runtimeInSeconds': 2.0,"
      "  'parents': [ 'blast_ID0002', 'blast_ID0003' ], 'files': ["
      "    { 'name': 'c1', 'sizeInBytes': 10, 'link': 'input' },"
      "    { 'name': 'c2', 'sizeInBytes': 0, 'link': 'input' } ] },"
      "{ 'name': 'blast_ID0002', 'runtimeInSeconds': 4, 'children': [], "
      "'files':"
      "  [ { 'name': 'b1', 'sizeInBytes': 1000000, 'link': 'input' },"
      "    { 'name': 'c1', 'sizeInBytes': 20, 'link': 'output' } ] },"
      "{ 'name': 'blast_ID0003', 'runtimeInSeconds': 5, 'files': ["
      "    { 'name': 'b2', 'sizeInBytes': 2000000, 'link': 'input' },"
      "    { 'name': 'c2', 'sizeInBytes': 0, 'link': 'output' } ] },"
      "{ 'name': 'cut_ID0001', 'id': 'ID0001', 'runtimeInSeconds': 3,"
      "  'children': [ 'blast_ID0002', 'blast_ID0003' ], 'files': ["
      "    { 'name': 'a', 'sizeInBytes': 3000000, 'link': 'input' },"
      "    { 'name': 'b1', 'sizeInBytes': 1000000, 'link': 'output' },"
      "    { 'name': 'b2', 'sizeInBytes': 2000000, 'link': 'output' } ] }"
      "] } }";

static const char diamond_1_5[]
    = "{ 'name': 'x', 'schemaVersion': '1.5', 'workflow': { 'specification': {"
      " 'tasks': ["
      "{ 'name': 'cut', 'id': '1', 'parents': [], 'children': [ '2', '3' ],"
      "  'inputFiles': [ 'a' ], 'outputFiles': [ 'b1', 'b2' ] },"
      "{ 'name': 'blast', 'id': '2', 'parents': [ '1' ], 'children': [ '4' ],"
      "  'inputFiles': [ 'b1' ], 'outputFiles': [ 'c1' ] },"
      "{ 'name': 'blast', 'id': '3', 'parents': [ '1' ], 'children': [ '4' ],"
      "  'inputFiles': [ 'b2' ], 'outputFiles': [ 'c2' ] },"
      "{ 'name': 'join', 'id': '4', 'parents': [ '2', '3' ], 'children': [],"
      "  'inputFiles': [ 'c1', 'c2' ] } ],"
      " 'files': [ { 'id': 'a', 'sizeInBytes': 3000000 },"
      "  { 'id': 'b1', 'sizeInBytes': 1000000 },"
      "  { 'id': 'b2', 'sizeInBytes': 2000000 },"
      "  { 'id': 'c1', 'sizeInBytes': 20 }, { 'id': 'c2', 'sizeInBytes': 0 } ]"
      " }, 'execution': { 'makespanInSeconds': 11, 'tasks': ["
      "{ 'id': '4', 'runtimeInSeconds': 2 }, { 'id': '3', 'runtimeInSeconds': 5"
      "}, { 'id': '2', 'runtimeInSeconds': 4 },"
      "{ 'id': '1', 'runtimeInSeconds': 3, 'coreCount': 2 } ] } } }";

/* With quotes as JSON has them; free with g_free(). */
static char *
quoted (const char *text)
{
  return g_strdelimit (g_strdup (text), "'", '"');
}

static SimFlow *
flow_of (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *json = quoted (text);
  SimFlow *f = flow_file (".json", json, strlen (json), &error);
  if (error)
    g_printerr ("\n    %s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL (f);
  return f;
}

static double
seconds (const char *text, const char *machine)
{
  g_autofree char *json = quoted (text);
  return flow_file_ms (".json", json, machine) / 1e3;
}

static double
on_cores (const char *text, guint cores)
{
  g_autofree char *machine = flow_cores (cores);
  return seconds (text, machine);
}

static void
diamonds (void)
{
  static const char *const texts[] = { diamond_1_4, diamond_1_5 };
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (SimFlow) f = flow_of (texts[i]);
      CU_ASSERT_DOUBLE_EQUAL (on_cores (texts[i], 1), 14, 1e-6);
      CU_ASSERT_DOUBLE_EQUAL (on_cores (texts[i], 2), 10, 1e-6);
      CU_ASSERT_EQUAL (f->tasks->len, 4);
      CU_ASSERT_EQUAL (f->codelets->len, 3);
      /* Five files, and a datum that stands for c2, which has no bytes. */
      CU_ASSERT_EQUAL (f->sizes->len, 6);
      gsize bytes = 0;
      for (guint d = 0; d < f->sizes->len; d++)
        bytes += g_array_index (f->sizes, gsize, d);
      CU_ASSERT_EQUAL (bytes, 6000020);
    }
}

/* Two tasks of 1 and 2 s, with what is said of the second and of both. */
static char *
two_tasks (const char *first, const char *second)
{
  return g_strdup_printf ("{ 'workflow': { 'tasks': ["
                          "{ 'name': 'a', 'runtimeInSeconds': 1%s },"
                          "{ 'name': 'b', 'runtimeInSeconds': 2%s } ] } }",
                          first, second);
}

#define FILE_IS(name, link)                                                    \
  ", 'files': [ { 'name': '" name "', 'link': '" link "', 'sizeInBytes': 8 } " \
  "]"

static void
dependences (void)
{
  static const struct
  {
    const char *first, *second;
    double s;
  } cases[] = {
    { "", "", 2 },
    { ", 'children': [ 'b' ]", "", 3 },
    { "", ", 'parents': [ 'a', 'a' ]", 3 },
    { FILE_IS ("f", "output"), FILE_IS ("f", "input"), 3 },
    { FILE_IS ("f", "input"), FILE_IS ("f", "output"), 3 },
    { FILE_IS ("f", "input"), FILE_IS ("f", "input"), 2 },
    { FILE_IS ("f", "input"), FILE_IS ("g", "output"), 2 },
    { FILE_IS ("f", "output"), FILE_IS ("f", "output"), 3 },
    { ", 'files': [ { 'name': 'f', 'link': 'output', 'sizeInBytes': 0 } ]",
      ", 'files': [ { 'name': 'f', 'link': 'input', 'sizeInBytes': 0 } ]", 3 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = two_tasks (cases[i].first, cases[i].second);
      CU_ASSERT_DOUBLE_EQUAL (on_cores (text, 2), cases[i].s, 1e-6);
    }
}

static void
moved (void)
{
  /* Tasks take a tenth on the GPU; its link carries 1 MB a ms. */
  static const char gpu[]
      = "[platform]\nname = one\n[cpu]\ncores = 1\nwork_per_us = 7\n"
        "pull_us = 0\n[gpu0]\nmultiprocessors = 4\nwidth = 1\n"
        "work_per_us = 70\nlaunch_us = 0\nh2d_gbps = 1\nd2h_gbps = 1\n"
        "[codelet work]\ncpu = 0.001\n";
  static const char text[]
      = "{ 'workflow': { 'tasks': [ { 'name': 'work_0001', 'runtimeInSeconds':"
        " 1, 'files': [ { 'name': 'f', 'link': 'input', 'sizeInBytes': %s },"
        " { 'name': 'g', 'link': 'output', 'sizeInBytes': 50000000 } ] } ] } }";
  g_autofree char *small = g_strdup_printf (text, "0");
  g_autofree char *large = g_strdup_printf (text, "200000000");
  g_autofree char *huge = g_strdup_printf (text, "9e12");
  g_autofree char *machine
      = g_strconcat (gpu,
                     "[gpu1]\nmultiprocessors = 4\nwidth = 1\n"
                     "work_per_us = 700\nlaunch_us = 0\nh2d_gbps = 1\n"
                     "d2h_gbps = 1\nmemory_bytes = 100000000\n"
                     "[codelet none]\ncpu = 1\n",
                     NULL);
  double s = seconds (small, gpu);
  CU_ASSERT_DOUBLE_EQUAL (s, 0.1 + 0.05, 0.001);
  CU_ASSERT_DOUBLE_EQUAL (seconds (large, gpu) - s, 0.2, 0.001);
  /* gpu1 is faster, but has no room for the file. */
  CU_ASSERT_DOUBLE_EQUAL (seconds (large, machine) - s, 0.2, 0.001);
  CU_ASSERT_TRUE (seconds (huge, gpu) > 100);
}

static void
kinds (void)
{
  static const struct
  {
    const char *name, *kind;
  } cases[] = { { "blast_ID0000001", "blast" },
                { "blast_00001", "blast" },
                { "blast12", "blast" },
                { "mProject", "mProject" },
                { "grid_3", "grid" },
                { "grid3", "grid" },
                { "a.id7", "a" },
                { "7", "task" },
                { "_7", "task" },
                { "ID01", "ID" },
                { "a_", "a_" } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text
          = g_strdup_printf ("{ 'workflow': { 'tasks': [ { 'name': '%s',"
                             " 'runtimeInSeconds': 1 } ] } }",
                             cases[i].name);
      g_autoptr (SimFlow) f = flow_of (text);
      CU_ASSERT_STRING_EQUAL (f->codelets->pdata[0], cases[i].kind);
    }
  g_autofree char *text = two_tasks (", 'category': 'c_1'", "");
  g_autoptr (SimFlow) f = flow_of (text);
  CU_ASSERT_STRING_EQUAL (f->codelets->pdata[0], "c_1");
  CU_ASSERT_STRING_EQUAL (f->codelets->pdata[1], "b");
}

#define TASKS(text) "{\"workflow\":{\"tasks\":[" text "]}}"
#define TASK_IS(text) TASKS ("{\"name\":\"a\",\"runtimeInSeconds\":1" text "}")
#define OWN_FILE(text) TASK_IS (",\"files\":[{" text "}]")
#define SPECIFIED(tasks, more)                                                 \
  "{\"workflow\":{\"specification\":{\"tasks\":[" tasks "]" more "}}"

static const FlowBad bad[] = {
  { "", "it is no JSON" },
  { "{", "it is no JSON" },
  { "7", "it is no workflow: the JSON is not an object" },
  { "{}", "'workflow' is missing" },
  { "{\"workflow\":[]}", "'workflow' is not an object" },
  { "{\"workflow\":{}}", "'tasks' is missing" },
  { "{\"workflow\":{\"tasks\":{}}}", "'tasks' is not an array" },
  { TASKS (""), "it has 0 tasks, not 1 to 2000000" },
  { TASKS ("7"), ".json: task 1 is not an object" },
  { TASKS ("{}"), "task 1: 'id' is missing" },
  { TASKS ("{\"id\":7}"), "task 1: 'id' is not a string" },
  { TASKS ("{\"id\":\"\"}"), "task 1: 'id' is empty" },
  { TASKS ("{\"id\":\"x\"}"), "task 1 ('x'): 'runtimeInSeconds' is missing" },
  { TASKS ("{\"id\":\"x\",\"runtimeInSeconds\":\"1\"}"),
    "task 1 ('x'): 'runtimeInSeconds' is not a number" },
  { TASKS ("{\"id\":\"x\",\"runtimeInSeconds\":-1}"),
    "task 1 ('x'): 'runtimeInSeconds' is -1, not in 0 to 1000000000" },
  { TASKS ("{\"id\":\"x\",\"runtimeInSeconds\":1e999}"), "task 1 ('x')" },
  { TASKS ("{\"id\":\"x\",\"runtimeInSeconds\":6e8},"
           "{\"id\":\"y\",\"runtimeInSeconds\":6e8}"),
    "task 2 ('y'): the tasks up to here take 1.2e+09 s together" },
  { TASKS ("{\"id\":\"x\"},{\"id\":\"x\"}"),
    "task 2: 'x' is the id of task 1, too" },
  { TASK_IS (",\"parents\":7"), "task 1 ('a'): 'parents' is not an array" },
  { TASK_IS (",\"parents\":[7]"), "'parents', element 1 is not a string" },
  { TASK_IS (",\"parents\":[\"z\"]"),
    "task 1 ('a'): 'parents': there is no task 'z'" },
  { TASK_IS (",\"children\":[\"z\"]"),
    "task 1 ('a'): 'children': there is no task 'z'" },
  { TASK_IS (",\"children\":[\"a\"]"),
    "task 1 ('a'): it waits for task 1 ('a'), which waits for it" },
  { TASKS ("{\"id\":\"x\",\"runtimeInSeconds\":1,\"parents\":[\"y\"]},"
           "{\"id\":\"y\",\"runtimeInSeconds\":1,\"parents\":[\"x\"]}"),
    "which waits for it" },
  { TASKS ("{\"id\":\"1\",\"name\":\"x\",\"runtimeInSeconds\":1},"
           "{\"id\":\"2\",\"name\":\"x\",\"runtimeInSeconds\":1,"
           "\"parents\":[\"x\"]}"),
    "task 2 ('2'): 'parents': there is no task 'x'" },
  { OWN_FILE (""), "task 1 ('a'): 'name' is missing" },
  { OWN_FILE ("\"name\":\"f\""), "task 1 ('a'): 'sizeInBytes' is missing" },
  { OWN_FILE ("\"name\":\"f\",\"sizeInBytes\":-8"),
    "task 1 ('a'): 'sizeInBytes' is -8, not in 0 to 100000000000000" },
  { OWN_FILE ("\"name\":\"f\",\"sizeInBytes\":8"), "'link' is missing" },
  { OWN_FILE ("\"name\":\"f\",\"sizeInBytes\":8,\"link\":\"in\""),
    "file 'f' has the link 'in'; known are input and output" },
  { OWN_FILE ("\"name\":\"f\",\"sizeInBytes\":9e13},{\"name\":\"g\","
              "\"sizeInBytes\":9e13"),
    "task 1 ('a'): the files up to 'g' have 1.8e+14 bytes together" },
  { SPECIFIED ("{\"id\":\"x\"}", "") "}", "'execution' is missing" },
  { SPECIFIED ("{\"id\":\"x\"}", "") ",\"execution\":{\"tasks\":[]}}}",
    "it is no JSON" },
};

/* Of version 1.5: what the execution says, and the message. */
static const FlowBad bad_1_5[] = {
  { "{'tasks':[]}", "task 1 ('x'): 'execution' has no runtimeInSeconds of it" },
  { "{'tasks':[{'id':'y','runtimeInSeconds':1}]}",
    "task 1 of 'execution': 'id': there is no task 'y'" },
  { "{'tasks':[{'id':'x'}]}",
    "task 1 of 'execution': 'runtimeInSeconds' is missing" },
  { "{'tasks':[{'id':'x','runtimeInSeconds':1},{'id':'x'}]}",
    "task 2 of 'execution': 'x' is there twice" },
  { "{'tasks':[{'id':'x','runtimeInSeconds':1}]}",
    "task 1 ('x'): there is no file 'f'" },
};

static void
refused (void)
{
  flow_refuses (".json", bad, G_N_ELEMENTS (bad));
  for (guint i = 0; i < G_N_ELEMENTS (bad_1_5); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "{'workflow':{'specification':{'tasks':[{'id':'x','inputFiles':['f']}"
          "]},'execution':%s}}",
          bad_1_5[i].text);
      g_autofree char *json = quoted (text);
      FlowBad one = { json, bad_1_5[i].message };
      flow_refuses (".json", &one, 1);
    }
}

static void
too_many_kinds (void)
{
  g_autoptr (GString) text = g_string_new ("{\"workflow\":{\"tasks\":[");
  for (guint i = 0; i < 257; i++)
    g_string_append_printf (text,
                            "%s{\"name\":\"k%ux\",\"runtimeInSeconds\":1}",
                            i > 0 ? "," : "", i);
  g_string_append (text, "]}}");
  FlowBad one = { text->str, "task 257 ('k256x'): 'k256x' is one kind of task "
                             "more than the 256 that are possible" };
  flow_refuses (".json", &one, 1);
}

static void
mutated (void)
{
  g_autofree char *old = quoted (diamond_1_4), *new = quoted (diamond_1_5);
  flow_mutates (".json", old, 2000);
  flow_mutates (".json", new, 2000);
}

HASS_TEST_SUITE (
    sim_flow_workflow,
    { "a diamond of either version takes its longest path", diamonds },
    { "parents, children and files make dependences", dependences },
    { "files move over the link of a GPU that has room for them", moved },
    { "a task's codelet is its category, or its name without a number", kinds },
    { "each malformed workflow is refused, with the task", refused },
    { "more kinds of tasks than codelets are refused", too_many_kinds },
    { "no change of a few bytes crashes the reader", mutated })
