/* SPDX-License-Identifier: MIT */
/* test_bakeoff_skeletons.c: hass-bakeoff with programs that have pipelines.
   Thread safety: one thread. */
#include <json-glib/json-glib.h>
#include <string.h>

#include "hass/strategy.h"
#include "hass_test.h"
#include "tests/program.h"

static JsonArray *
strategies_of (JsonNode *node)
{
  CU_ASSERT_FATAL (node && JSON_NODE_HOLDS_OBJECT (node));
  return json_object_get_array_member (json_node_get_object (node),
                                       "strategies");
}

/* A script that runs the example of a pipeline, and collatz, a farm. */
static char *
two_skeletons (void)
{
  g_autofree char *pipeline = program_path ("pipeline");
  g_autofree char *farm = program_path ("collatz");
  return g_strdup_printf ("%s " HASS_TOP "/README.md && %s", pipeline, farm);
}

/* Runs hass-bakeoff in virtual time for one round. Returns: its JSON. */
static JsonNode *
measured (const char *strategies, const char *script)
{
  g_autofree char *out = NULL, *err = NULL;
  g_setenv ("HASS_PLATFORM", HASS_TOP "/doc/platforms/thesis.platform", TRUE);
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", "--json", "-n", "1",
                                "-w", "0", "-s", strategies, "sh", "-c", script,
                                NULL),
                   0);
  g_unsetenv ("HASS_PLATFORM");
  return json_from_string (out, NULL);
}

/* Returns: why a strategy was not measured, or NULL. */
static const char *
problem_of (JsonNode *node, const char *name)
{
  JsonArray *list = strategies_of (node);
  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonObject *o = json_array_get_object_element (list, i);
      if (!strcmp (json_object_get_string_member (o, "strategy"), name))
        return json_object_get_string_member (o, "problem");
    }
  return "it is missing";
}

static void
pipelines (void)
{
  g_autofree char *program = program_path ("pipeline");
  g_autofree char *script
      = g_strdup_printf ("%s " HASS_TOP "/README.md", program);
  g_autoptr (JsonNode) node = measured ("all", script);
  JsonArray *list = strategies_of (node);
  CU_ASSERT_TRUE (json_array_get_length (list) >= 5);
  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonObject *o = json_array_get_object_element (list, i);
      const HassStrategyOps *ops = hass_strategy_find (
          json_object_get_string_member (o, "strategy"), NULL);
      CU_ASSERT_TRUE (ops && ops->farms & HASS_FARM_PIPELINE);
    }
  CU_ASSERT_PTR_NULL (problem_of (node, "pipe-auto"));
  CU_ASSERT_PTR_NULL (problem_of (node, "pipe-lp"));
  g_autoptr (JsonNode) wrong = measured ("auto,pipe-lp", script);
  program_says (problem_of (wrong, "auto"),
                "auto does not serve the program's pipelines, which ran under "
                "'pipe-auto'");
}

/* Returns what hass-bakeoff prints first of a script; g_free(). */
static char *
head_of (const char *script)
{
  char *out = NULL;
  g_autofree char *err = NULL;
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", "-n", "1", "-w",
                                "0", "-s", "pipe-lp", "sh", "-c", script, NULL),
                   0);
  return out;
}

static void
named (void)
{
  g_autofree char *program = program_path ("pipeline");
  g_autofree char *one = g_strdup_printf ("%s " HASS_TOP "/README.md", program);
  g_autofree char *two = two_skeletons ();
  g_autofree char *of_one = head_of (one), *of_two = head_of (two);
  program_says (of_one, "of the 1 pipeline of a run");
  program_says (of_two, "of the 2 farms and pipelines of a run");
}

static void
for_each_skeleton (void)
{
  g_autofree char *script = two_skeletons ();
  g_autoptr (JsonNode) node = measured (
      "naive-greedy,pipe-lp,static:cpu=1e-1,gpu0=9e-1+pipe-fixed:tokens=1e+1",
      script);
  CU_ASSERT_PTR_NULL (problem_of (node, "naive-greedy"));
  CU_ASSERT_PTR_NULL (problem_of (node, "pipe-lp"));
  CU_ASSERT_PTR_NULL (
      problem_of (node, "static:cpu=1e-1,gpu0=9e-1+pipe-fixed:tokens=1e+1"));
}

HASS_TEST_SUITE (
    bakeoff_skeletons,
    { "the strategies of a pipeline are those that serve pipelines",
      pipelines },
    { "what was measured is called what it is", named },
    { "a farm and a pipeline of one program have a strategy each",
      for_each_skeleton })
