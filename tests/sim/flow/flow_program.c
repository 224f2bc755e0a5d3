/* SPDX-License-Identifier: MIT */
/* flow_program.c: see flow_program.h.
   Thread safety: one thread. */
#include "flow_program.h"

#include "hass_test.h"
#include "tests/program.h"

char *
flow_prints (const char *words)
{
  g_autofree char *err = NULL;
  g_autofree char *all = g_strconcat ("--dataflow ", words, NULL);
  char *out = NULL;
  CU_ASSERT_EQUAL (program_run_words (&out, &err, "hass-sim", all), 0);
  CU_ASSERT_STRING_EQUAL (err ? err : "it did not run", "");
  CU_ASSERT_PTR_NOT_NULL_FATAL (out);
  return out;
}

JsonObject *
flow_object (const char *words, JsonNode **root)
{
  g_autofree char *all = g_strconcat (words, " --json", NULL);
  g_autofree char *out = flow_prints (all);
  *root = json_from_string (out, NULL);
  CU_ASSERT_TRUE_FATAL (*root && JSON_NODE_HOLDS_ARRAY (*root));
  JsonArray *runs = json_node_get_array (*root);
  CU_ASSERT_EQUAL_FATAL (json_array_get_length (runs), 1);
  return json_array_get_object_element (runs, 0);
}

double
flow_number (JsonObject *o, const char *name)
{
  CU_ASSERT_TRUE_FATAL (json_object_has_member (o, name));
  return json_node_get_double (json_object_get_member (o, name));
}

void
flow_program_refuses (const char *words, const char *message)
{
  g_autofree char *out = NULL, *err = NULL;
  g_autofree char *all = g_strconcat ("--dataflow ", words, NULL);
  CU_ASSERT_EQUAL (program_run_words (&out, &err, "hass-sim", all), 2);
  program_says (err ? err : "", message);
  CU_ASSERT_STRING_EQUAL (out ? out : "", "");
}
