/* SPDX-License-Identifier: MIT */
/* test_gantt_stages.c: Gantt charts of pipelines.
   Thread safety: one thread. */
#include <string.h>
#include <unistd.h>

#include "draw/gantt.h"
#include "draw/svg.h"
#include "hass/error.h"
#include "hass_test.h"
#include "svg_parts.h"
#include "tests/count.h"

#define PIPELINE(stages)                                                       \
  "{\"t\":1000,\"event\":\"farm\",\"farm\":\"film\",\"strategy\":\"s\","       \
  "\"platform\":null,\"devices\":[{\"name\":\"cpu\",\"kind\":\"cpu\","         \
  "\"cores\":2},{\"name\":\"gpu0\",\"kind\":\"gpu\",\"cores\":9}],"            \
  "\"stages\":" stages "}\n"
#define THREE PIPELINE ("[\"read\",\"blur\",\"write\"]")
#define BATCH(stage, core, begin, end)                                         \
  "{\"t\":" #end ",\"event\":\"stage\",\"stage\":" #stage ",\"core\":" #core   \
  ",\"begin\":" #begin ",\"first\":0,\"tokens\":4}\n"
#define BUNDLE(stages)                                                         \
  "{\"t\":10000,\"event\":\"bundle\",\"round\":0,\"device\":\"gpu0\","         \
  "\"first\":0,\"units\":7,\"bytes\":4096,\"in\":[1000,2000]"                  \
  ",\"kernel\":[2000,9000],\"out\":[9000,9900]" stages "}\n"

static DrawTrace *
load (const char *text, GError **error)
{
  g_autofree char *path = NULL;
  int fd = g_file_open_tmp ("hass-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  CU_ASSERT_FATAL (g_file_set_contents (path, text, -1, NULL));
  DrawTrace *trace = draw_trace_load (path, 0, error);
  unlink (path);
  return trace;
}

static char *
svg_of (const char *text)
{
  g_autoptr (DrawTrace) trace = load (text, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (trace);
  return draw_gantt (trace, NULL);
}

static void
stages (void)
{
  g_autofree char *svg = svg_of (THREE BATCH (0, 0, 1000, 4000) BATCH (
      2, 0, 5000, 10000) BUNDLE (",\"stage\":0,\"fused\":1"));
  /* a square of the legend each, and the bars of the last stage */
  CU_ASSERT_EQUAL (count (svg, draw_colours[1]), 1);
  CU_ASSERT_EQUAL (count (svg, draw_colours[2]), 2);
  CU_ASSERT_EQUAL (count (svg, "class=\"legend\">blur<"), 1);
  CU_ASSERT_EQUAL (count (svg, "class=\"legend\">a round begins<"), 0);
  CU_ASSERT_EQUAL (count (svg, "4 tokens passed 3 stages"), 1);
  CU_ASSERT_EQUAL (count (svg, "cpu core 0: write\nat 4 "), 1);
  CU_ASSERT_EQUAL (count (svg, "gpu0 kernel: read + blur\nat 1 "), 1);
  CU_ASSERT_EQUAL (count (svg, "\n7 tokens, 4.0"), 3);
  CU_ASSERT_EQUAL (count (svg, "fill=\"#ffffff\">read + blur<"), 1);
}

/* A bundle of the stage before last does not reach the last stage. */
static void
passed (void)
{
  g_autoptr (DrawTrace) one = load (
      THREE BATCH (1, 0, 1000, 4000) BUNDLE (",\"stage\":1,\"fused\":1"), NULL);
  g_autoptr (DrawTrace) none = load (
      THREE BATCH (1, 0, 1000, 4000) BUNDLE (",\"stage\":1,\"fused\":0"), NULL);
  CU_ASSERT_EQUAL (one->units, 7);
  CU_ASSERT_EQUAL (none->units, 0);
}

/* Returns: a trace of two cores that change between stages every us for 10
   ms. */
static char *
short_batches (void)
{
  GString *text = g_string_new (THREE);
  for (guint i = 0; i < 10000; i++)
    g_string_append_printf (text,
                            "{\"t\":%u,\"event\":\"stage\",\"stage\":%u,"
                            "\"core\":%u,\"begin\":%u,\"first\":0,"
                            "\"tokens\":1}\n",
                            2000 + 1000 * i, i % 3, i % 2, 1000 + 1000 * i);
  return g_string_free (text, FALSE);
}

static void
areas (void)
{
  g_autofree char *text = short_batches (), *svg = svg_of (text);
  SvgParts p = svg_parts (svg);
  CU_ASSERT_EQUAL (p.areas, 6);
  CU_ASSERT_EQUAL (count (svg, "<title>cpu core, blur: busy 16.7 %,"), 2);
  CU_ASSERT_TRUE (strlen (svg) < 1000000);
  svg_parts_clear (&p);
}

/* A core that changes between two stages at once has a bar for each. */
static void
neighbours (void)
{
  g_autofree char *svg = svg_of (THREE BATCH (0, 0, 1000, 1100) BATCH (
      0, 0, 1100, 1200) BATCH (1, 0, 1200, 1300) BATCH (0, 1, 1000, 1000000));
  CU_ASSERT_EQUAL (count (svg, "core 0, 2 bars: read\n"), 1);
  CU_ASSERT_EQUAL (count (svg, "core 0: blur\n"), 1);
}

static void
many_stages (void)
{
  GString *names = g_string_new ("[\"first\"");
  for (guint s = 1; s < 32; s++)
    g_string_append_printf (names, ",\"the stage with number %u\"", s);
  g_string_append (names, "]");
  g_autofree char *farm = g_string_free (names, FALSE);
  g_autofree char *text
      = g_strdup_printf (PIPELINE ("%s") BATCH (31, 1, 1000, 9000), farm);
  g_autofree char *svg = svg_of (text);
  SvgParts p = svg_parts (svg);
  CU_ASSERT_EQUAL (count (svg, "class=\"legend\">the stage with "), 31);
  CU_ASSERT_EQUAL (p.lanes, 5);
  CU_ASSERT_TRUE (svg_says (&p, "4 tokens passed 32 stages"));
  /* the first row begins below the last line of the legend */
  CU_ASSERT_EQUAL (count (svg, "y=\"186.0\" class=\"legend\""), 2);
  CU_ASSERT_PTR_NULL (strstr (svg, "y=\"104.0\""));
  svg_parts_clear (&p);
}

static void
broken (void)
{
  static const char *const texts[][2] = {
    { PIPELINE ("3"), "member 'stages' must be an array" },
    { PIPELINE ("[]"), "0 stages, must be 1 to" },
    { PIPELINE ("[\"a\",1]"), "the name of stage 1 must be a string" },
    { THREE BATCH (3, 0, 1000, 2000), "'stage' is 3, must be from 0 to 2" },
    { THREE BATCH (0, 2, 1000, 2000), "'core' is 2, must be from 0 to 1" },
    { THREE BUNDLE (""), "member 'stage' must be a whole number" },
    { THREE BUNDLE (",\"stage\":1,\"fused\":2"),
      "'fused' is 2, must be from 0 to 1" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      CU_ASSERT_PTR_NULL (load (texts[i][0], &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      CU_ASSERT_PTR_NOT_NULL (error ? strstr (error->message, texts[i][1])
                                    : NULL);
    }
}

#define DATAFLOW                                                               \
  "{\"t\":1000,\"event\":\"farm\",\"farm\":\"lu\",\"kind\":\"dataflow\","      \
  "\"strategy\":\"s\",\"platform\":null,\"devices\":[{\"name\":\"cpu\","       \
  "\"kind\":\"cpu\",\"cores\":2},{\"name\":\"gpu0\",\"kind\":\"gpu\","         \
  "\"cores\":9}]}\n"
#define TASK(number, codelet, where, begin, end)                               \
  "{\"t\":" #end ",\"event\":\"task\",\"task\":" #number                       \
  ",\"codelet\":\"" codelet "\"," where ",\"begin\":" #begin "}\n"

static void
codelets (void)
{
  g_autofree char *svg
      = svg_of (DATAFLOW TASK (0, "panel", "\"core\":1", 1000, 4000)
                    TASK (17, "update", "\"core\":0", 4000, 9000)
                        TASK (2, "update", "\"device\":\"gpu0\"", 4000, 9900));
  CU_ASSERT_PTR_NOT_NULL (strstr (svg, "3 tasks of 2 codelets"));
  CU_ASSERT_PTR_NOT_NULL (strstr (svg, "task 17</title>"));
  CU_ASSERT_EQUAL (count (svg, "class=\"legend\">panel<"), 1);
  CU_ASSERT_EQUAL (count (svg, "class=\"legend\">update<"), 1);
  CU_ASSERT_EQUAL (count (svg, "round "), 0);
}

/* Whichever codelet is computed first, and with one row for the GPU. */
static void
same_colours (void)
{
  static const char wanted[]
      = "fill=\"#0072b2\"/>\n<text x=\"150.0\" y=\"66.0\" class=\"legend\">"
        "panel<";
  g_autofree char *one
      = svg_of (DATAFLOW TASK (0, "panel", "\"core\":1", 1000, 4000)
                    TASK (1, "update", "\"device\":\"gpu0\"", 4000, 9000));
  g_autofree char *other
      = svg_of (DATAFLOW TASK (1, "update", "\"device\":\"gpu0\"", 1000, 4000)
                    TASK (0, "panel", "\"core\":1", 4000, 9000));
  CU_ASSERT_PTR_NOT_NULL (strstr (one, wanted));
  CU_ASSERT_PTR_NOT_NULL (strstr (other, wanted));
  SvgParts parts = svg_parts (other);
  CU_ASSERT_EQUAL (parts.lanes, 2 + 1);
  CU_ASSERT_EQUAL (parts.bars, 2);
  svg_parts_clear (&parts);
}

HASS_TEST_SUITE (
    gantt_stages,
    { "bars of a pipeline have colour and name of their stage", stages },
    { "tokens are counted that pass the last stage, fused or not", passed },
    { "neighbours of different stages are not drawn as one", neighbours },
    { "short batches make an area for each stage", areas },
    { "the rows make room for the names of 32 stages", many_stages },
    { "a broken trace of a pipeline is an error", broken },
    { "tasks of a dataflow have the colours of their codelets", codelets },
    { "a codelet of a dataflow has the same colour in each run", same_colours })
