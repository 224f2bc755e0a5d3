/* SPDX-License-Identifier: MIT */
/* test_hostile.c: files that are too large for the corpus of fuzzing, and what
   their errors say.

   Thread safety: one thread. */
#include <string.h>
#include <unistd.h>

#include "draw/json_line.h"
#include "draw/trace_file.h"
#include "engine/trial.h"
#include "hass/error.h"
#include "hass_test.h"
#include "tools/hass-sim/replay/replay.h"
#include "tools/hass-sim/sim.h"

#define BRACKETS 3000000 /* frames of that many are more than a stack */

/* A file with so many opening brackets after the text. */
static char *
nested_file (const char *text)
{
  GString *all = g_string_new (text);
  gsize n = all->len;
  g_string_set_size (all, n + BRACKETS);
  memset (all->str + n, '[', BRACKETS);
  char *path = trial_file (all->str);
  g_string_free (all, TRUE);
  return path;
}

static void
deep_files (void)
{
  static const char *const begins[]
      = { "", "{\"t\":", "{\"t\":\"\\\"]\",\"u\":" };
  for (guint i = 0; i < G_N_ELEMENTS (begins); i++)
    {
      g_autoptr (GError) of_trace = NULL, of_record = NULL;
      g_autofree char *path = nested_file (begins[i]);
      CU_ASSERT_PTR_NULL (draw_trace_load (path, 0, &of_trace));
      CU_ASSERT_PTR_NULL (record_read (path, &of_record));
      CU_ASSERT_TRUE (of_trace && strstr (of_trace->message, "line 1")
                      && strstr (of_trace->message, "nested"));
      CU_ASSERT_TRUE (of_record && strstr (of_record->message, "line 1")
                      && strstr (of_record->message, "nested"));
      unlink (path);
    }
}

static void
nesting_is_counted_outside_strings (void)
{
  static const struct
  {
    const char *text;
    gboolean ok;
  } lines[] = { { "[1, -2.5e+3, true, null, {\"a\": []}]", TRUE },
                { "\"[[[[\"", TRUE },
                { "[\"\\\"[[\", \"\\\\\"]", TRUE },
                { "", FALSE },
                { "[", FALSE },
                { "\"", FALSE },
                { "[1] // [", FALSE },
                { "[1]\r\n", TRUE },
                { "{\"a\": 1}}", FALSE },
                { "{\"a\": 1} 2", FALSE },
                { "[1] [2]", FALSE },
                { "/* \" */ [1]", FALSE },
                { "['\"']", FALSE } };
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (JsonNode) node = draw_json_line (lines[i].text, &error);
      CU_ASSERT_EQUAL (node != NULL, lines[i].ok);
      CU_ASSERT_EQUAL (error == NULL, lines[i].ok);
    }
  for (guint depth = DRAW_JSON_MOST_NESTED; depth < DRAW_JSON_MOST_NESTED + 2;
       depth++)
    {
      g_autofree char *open = g_strnfill (depth, '[');
      g_autofree char *close = g_strnfill (depth, ']');
      g_autofree char *text = g_strconcat (open, close, NULL);
      g_autoptr (JsonNode) node = draw_json_line (text, NULL);
      CU_ASSERT_EQUAL (node != NULL, depth <= DRAW_JSON_MOST_NESTED);
    }
}

#define HEADER                                                                 \
  "{\"hass_record\":1,\"farm\":\"f\",\"kind\":\"combine\",\"cost\":\"equal\"," \
  "\"engine\":\"live\",\"platform\":null,\"strategy\":\"static\",\"seed\":0,"  \
  "\"date\":\"d\",\"host\":\"h\",\"round_loads\":9,\"constants\":[],"          \
  "\"devices\":[{\"name\":\"cpu\",\"kind\":\"cpu\",\"model\":\"m\","           \
  "\"cores\":4096,\"width\":1,\"latency_ns\":0,\"link_bytes_per_ns\":0,"       \
  "\"work_per_ns\":0,\"max_in_flight\":1,\"link\":0,\"memory_bytes\":0,"       \
  "\"part_bytes\":0}]}\n"
#define ROUND(first, units)                                                    \
  "{\"event\":\"round\",\"round\":3,\"rounds\":" units ",\"first\":" first     \
  ",\"span\":" units ",\"units\":" units ",\"loads\":1,\"block\":1,"           \
  "\"begin\":0,\"end\":9,\"work\":4}\n"
#define END(units)                                                             \
  "{\"event\":\"end\",\"at\":9,\"rounds\":1,\"units\":" units ",\"ok\":true}"  \
  "\n"

static void
rounds_outside_the_farm (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = trial_file (HEADER ROUND ("4000000", "8") END ("8"));
  CU_ASSERT_PTR_NULL (record_read (path, &error));
  CU_ASSERT_TRUE (error
                  && strstr (error->message,
                             "round 3 has the units 4000000 to 4000007, but "
                             "the farm has only 8"));
  unlink (path);
}

/* 1e8 rounds on 4096 cores. */
static void
more_than_memory (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = trial_file (HEADER ROUND (
      "0", "100000000") "{\"event\":\"pulls\",\"core\":0,\"rows\":"
                        "[[0,8,8,1,0,9,9,8,8,0,0,1]]}\n" END ("100000000"));
  GPtrArray *farms = record_read (path, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
  CU_ASSERT_PTR_NULL (replay_fit (farms->pdata[0], &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY));
  g_ptr_array_unref (farms);
  unlink (path);
}

static void
workloads (void)
{
  static const struct
  {
    const char *text, *says;
  } bad[]
      = { { "[workload]\nunits = 3\nclass = unknown\ncosts =\n",
            "no known family" },
          { "[workload]\nunits = 1e8\nelements = 1e12\n", "1e+18 in all" },
          { "[workload]\nunits = 1e4\nfarm = combine\noutput_bytes = 1e15\n",
            "1e+18 in all" } };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *path = trial_file (bad[i].text);
      CU_ASSERT_PTR_NULL (sim_workload_load (path, &error));
      CU_ASSERT_TRUE (error && strstr (error->message, bad[i].says));
      unlink (path);
    }
}

HASS_TEST_SUITE (
    hostile,
    { "3,000,000 opening brackets are an error of a trace and a record",
      deep_files },
    { "nesting is counted as a JSON parser sees it",
      nesting_is_counted_outside_strings },
    { "a record's round outside the farm is named", rounds_outside_the_farm },
    { "a record of more than memory holds is an error", more_than_memory },
    { "a workload without a cost family, or too large, is an error",
      workloads })
