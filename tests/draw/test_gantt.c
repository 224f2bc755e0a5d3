/* SPDX-License-Identifier: MIT */
/* test_gantt.c: Gantt charts, and the traces that they are drawn from.
   Thread safety: one thread. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "draw/gantt.h"
#include "hass/error.h"
#include "hass_test.h"
#include "svg_parts.h"

#define FARM                                                                   \
  "{\"t\":1000,\"event\":\"farm\",\"farm\":\"a <b>\",\"strategy\":\"s\","      \
  "\"platform\":null,\"devices\":[{\"name\":\"cpu\",\"kind\":\"cpu\","         \
  "\"cores\":2},{\"name\":\"gpu0\",\"kind\":\"gpu\",\"cores\":9}]}\n"
#define ROUND "{\"t\":1000,\"event\":\"round\",\"round\":0,\"units\":9}\n"
#define PULL(core, begin, end)                                                 \
  "{\"t\":" #end ",\"event\":\"pull\",\"round\":0,\"core\":" #core             \
  ",\"begin\":" #begin ",\"first\":0,\"units\":1}\n"
#define BUNDLE(t, in)                                                          \
  "{\"t\":" #t ",\"event\":\"bundle\",\"round\":0,\"device\":\"gpu0\","        \
  "\"first\":0,\"units\":7,\"bytes\":4096,\"in\":" in                          \
  ",\"kernel\":[2000,9000],\"out\":[9000,9900]}\n"

#define FAILED(t, device, begin)                                               \
  "{\"t\":" #t ",\"event\":\"failed\",\"round\":0,\"device\":\"" device        \
  "\",\"begin\":" #begin ",\"first\":0,\"units\":5,\"bytes\":2048}\n"

#define OPEN(t, device, begin, ok)                                             \
  "{\"t\":" #t ",\"event\":\"open\",\"device\":\"" device                      \
  "\",\"begin\":" #begin ok "}\n"
#define YES ",\"ok\":true"
#define NO ",\"ok\":false"

static DrawTrace *
load_farm (const char *text, guint number, GError **error)
{
  g_autofree char *path = NULL;
  int fd = g_file_open_tmp ("hass-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  CU_ASSERT_FATAL (g_file_set_contents (path, text, -1, NULL));
  DrawTrace *trace = draw_trace_load (path, number, error);
  unlink (path);
  return trace;
}

static DrawTrace *
load (const char *text, GError **error)
{
  return load_farm (text, 0, error);
}

static SvgParts
drawn (const char *text, gsize *bytes)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DrawTrace) trace = load (text, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (trace);
  g_autofree char *svg = draw_gantt (trace, NULL);
  *bytes = strlen (svg);
  return svg_parts (svg);
}

static void
inside (const SvgParts *p)
{
  CU_ASSERT_TRUE (p->right > p->left);
  CU_ASSERT_TRUE (p->lowest >= p->left - 0.01);
  CU_ASSERT_TRUE (p->highest <= p->right + 0.01);
}

static void
tiny (void)
{
  gsize bytes;
  SvgParts p = drawn (FARM ROUND PULL (0, 1000, 4000) PULL (1, 1000, 9000)
                          PULL (0, 5000, 9999) BUNDLE (10000, "[1000,2000]"),
                      &bytes);
  CU_ASSERT_EQUAL (p.lanes, 5);
  CU_ASSERT_EQUAL (p.bars, 6);
  CU_ASSERT_EQUAL (p.areas, 0);
  inside (&p);
  CU_ASSERT_TRUE (svg_says (&p, "a <b> on this machine, strategy s: 9 µs"));
  CU_ASSERT_TRUE (svg_says (&p, "2 cores, 1 GPU; 9 units in 1 round"));
  CU_ASSERT_TRUE (svg_says (&p, "core 1"));
  CU_ASSERT_TRUE (svg_says (&p, "round 1"));
  CU_ASSERT_TRUE (svg_says (&p, "[µs]"));
  svg_parts_clear (&p);
}

/* Bars that follow one another closely, the last at the very end. */
static char *
long_trace (guint cores, guint n)
{
  GString *text = g_string_new (NULL);
  g_string_printf (text,
                   "{\"t\":0,\"event\":\"farm\",\"farm\":\"f\",\"strategy\":"
                   "\"s\",\"platform\":\"p\",\"devices\":[{\"name\":\"cpu\","
                   "\"kind\":\"cpu\",\"cores\":%u}]}\n",
                   cores);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text,
                            "{\"t\":%u,\"event\":\"pull\",\"round\":0,"
                            "\"core\":%u,\"begin\":%u,\"first\":0,"
                            "\"units\":1}\n",
                            10 * (i / cores) + 8, i % cores, 10 * (i / cores));
  return g_string_free (text, FALSE);
}

static void
many (void)
{
  g_autofree char *text = long_trace (16, 100000);
  gsize bytes;
  SvgParts p = drawn (text, &bytes);
  CU_ASSERT_EQUAL (p.lanes, 16);
  CU_ASSERT_EQUAL (p.areas, 16);
  CU_ASSERT_EQUAL (p.bars, 0);
  CU_ASSERT_TRUE (bytes < 1000000);
  CU_ASSERT_TRUE (svg_says (&p, "busy for 80 %"));
  svg_parts_clear (&p);
}

/* A bar that is shorter than a pixel, at the end. */
static void
merged (void)
{
  g_autofree char *text = long_trace (1, 3000);
  gsize bytes;
  SvgParts p = drawn (text, &bytes);
  CU_ASSERT_TRUE (p.bars > 100 && p.bars < 1500);
  CU_ASSERT_EQUAL (p.areas, 0);
  inside (&p);
  svg_parts_clear (&p);
}

static void
folded (void)
{
  g_autofree char *text = long_trace (17, 1700);
  gsize bytes;
  SvgParts p = drawn (text, &bytes);
  CU_ASSERT_EQUAL (p.lanes, 1);
  CU_ASSERT_EQUAL (p.areas, 1);
  CU_ASSERT_EQUAL (p.bars, 0);
  CU_ASSERT_TRUE (svg_says (&p, "17 cores"));
  svg_parts_clear (&p);
}

static char *
svg_of (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DrawTrace) trace = load (text, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (trace);
  return draw_gantt (trace, NULL);
}

static void
contains (const char *svg, const char *wanted)
{
  gboolean there = strstr (svg, wanted) != NULL;
  CU_ASSERT_TRUE (there);
  if (!there)
    printf ("\n    '%s' is not in the picture", wanted);
}

/* One that took time, two at its very end; one of no length in mid-air. */
static void
failed (void)
{
  const char *whole = FARM ROUND PULL (0, 1000, 4000) PULL (1, 1000, 9000)
      BUNDLE (10000, "[1000,2000]");
  g_autofree char *without = svg_of (whole);
  g_autofree char *text = g_strconcat (
      whole, FAILED (7000, "gpu0", 7000), FAILED (11000, "gpu0", 9900),
      FAILED (11000, "gpu0", 11000), FAILED (11000, "gpu0", 11000), NULL);
  g_autofree char *svg = svg_of (text);
  SvgParts p = svg_parts (svg), q = svg_parts (without);
  CU_ASSERT_EQUAL (p.bars, q.bars + 2);
  inside (&p);
  CU_ASSERT_TRUE (svg_says (&p, "failed, given back"));
  CU_ASSERT_TRUE (svg_says (&p, "; 4 bundles failed"));
  CU_ASSERT_FALSE (svg_says (&q, "failed"));
  contains (svg, "<title>gpu0, 3 bundles failed\nat 10 \302\265s, after 1.1 "
                 "\302\265s\n15 units were given back, 6.0");
  contains (svg, "width=\"4.00\" height=\"44.0\" class=\"failed\"");
  contains (svg, "<title>gpu0, a bundle failed\nat 6 \302\265s, after 0 ns\n");
  svg_parts_clear (&p);
  svg_parts_clear (&q);
  gsize bytes;
  g_autofree char *at_end
      = g_strconcat (whole, FAILED (10000, "gpu0", 10000), NULL);
  p = drawn (at_end, &bytes);
  inside (&p);
  svg_parts_clear (&p);
}

/* Each fails, on eight devices by turns. */
static void
many_failed (void)
{
  gsize bytes;
  g_autoptr (GString) text = g_string_new (
      "{\"t\":0,\"event\":\"farm\",\"farm\":\"f\",\"strategy\":\"s\","
      "\"platform\":\"p\",\"devices\":[");
  for (guint i = 0; i < 8; i++)
    g_string_append_printf (
        text, "%s{\"name\":\"gpu%u\",\"kind\":\"gpu\",\"cores\":9}",
        i > 0 ? "," : "", i);
  g_string_append (text, "]}\n");
  for (guint i = 0; i < 20000; i++)
    g_string_append_printf (
        text,
        "{\"t\":%u,\"event\":\"failed\",\"round\":0,\"device\":\"gpu%u\","
        "\"begin\":%u,\"first\":0,\"units\":1,\"bytes\":0}\n",
        1000 * i + 999, i % 8, 1000 * (i - i % 8));
  g_string_append (text, BUNDLE (20000000, "[1000,2000]"));
  SvgParts p = drawn (text->str, &bytes);
  CU_ASSERT_TRUE (p.bars > 100 && p.bars <= 1002);
  CU_ASSERT_TRUE (bytes < 300000);
  CU_ASSERT_TRUE (svg_says (&p, "; 20000 bundles failed"));
  inside (&p);
  svg_parts_clear (&p);
}

/* XML has no way to write control characters, which names may have. */
static void
control_characters (void)
{
  gsize bytes;
  SvgParts p = drawn (
      "{\"t\":0,\"event\":\"farm\",\"farm\":\"a\\u0001b\\u001b\\t\\u007fc\","
      "\"strategy\":\"s\",\"platform\":null,\"devices\":[{\"name\":\"cpu\","
      "\"kind\":\"cpu\",\"cores\":1}],\"stages\":[\"x\\u0002\"]}\n"
      "{\"t\":9000,\"event\":\"stage\",\"stage\":0,\"core\":0,\"begin\":0,"
      "\"first\":0,\"tokens\":1}\n",
      &bytes);
  CU_ASSERT_EQUAL (p.bars, 1);
  CU_ASSERT_TRUE (svg_says (&p, "a\357\277\275b\357\277\275"));
  svg_parts_clear (&p);
}

/* From pixel 60 of 1080 to 360. */
static void
opened (void)
{
  const char *rest = BUNDLE (10000, "[4000,5000]");
  g_autofree char *text
      = g_strconcat (FARM ROUND, OPEN (4000, "gpu0", 1500, YES), rest, NULL);
  g_autofree char *plain = g_strconcat (FARM ROUND, rest, NULL);
  g_autofree char *svg = svg_of (text), *without = svg_of (plain);
  SvgParts p = svg_parts (svg), q = svg_parts (without);
  CU_ASSERT_EQUAL (p.bars, q.bars + 1);
  CU_ASSERT_EQUAL (p.lanes, 5);
  inside (&p);
  CU_ASSERT_TRUE (svg_says (&p, "being made ready"));
  CU_ASSERT_FALSE (svg_says (&q, "made ready"));
  CU_ASSERT_PTR_NULL (strstr (without, "\"open\""));
  CU_ASSERT_FALSE (svg_says (&p, "not started"));
  contains (svg, "<title>gpu0 is made ready\nat 500 ns for 2.5 \302\265s</");
  contains (svg, "<rect x=\"188.00\" y=\"154.0\" width=\"300.00\" "
                 "height=\"44.0\" class=\"open\"");
  svg_parts_clear (&p);
  svg_parts_clear (&q);
}

/* 3 pixels of 1080 are 25 ns of 9000. */
static void
opened_soon (void)
{
  const char *texts[]
      = { FARM PULL (0, 1000, 10000) OPEN (1524, "gpu0", 1500, YES),
          FARM PULL (0, 1000, 10000) OPEN (1525, "gpu0", 1500, YES) };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      gsize bytes;
      SvgParts p = drawn (texts[i], &bytes);
      CU_ASSERT_EQUAL (p.bars, 1 + i);
      CU_ASSERT_EQUAL (svg_says (&p, "being made ready"), i == 1);
      CU_ASSERT_FALSE (svg_says (&p, "not started"));
      svg_parts_clear (&p);
    }
}

/* That one with bars, or a failure, was not ready at some time is no news. */
static void
not_started (void)
{
#define OPEN_TOO_LATE PULL (0, 1000, 10000) OPEN (10000, "gpu0", 1500, NO)
  const char *texts[]
      = { FARM OPEN_TOO_LATE, FARM OPEN_TOO_LATE BUNDLE (10000, "[1000,2000]"),
          FARM OPEN_TOO_LATE FAILED (7000, "gpu0", 7000),
          FARM PULL (0, 1000, 10000) };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      gsize bytes;
      SvgParts p = drawn (texts[i], &bytes);
      CU_ASSERT_EQUAL (svg_says (&p, "not started"), i == 0);
      CU_ASSERT_FALSE (svg_says (&p, "being made ready"));
      CU_ASSERT_EQUAL (p.bars, i == 1 ? 4 : i == 2 ? 2 : 1);
      svg_parts_clear (&p);
    }
}

/* Two kernels, from 2 to 9 us of 1 to 10, are 78 % of the time. */
static void
overlapping (void)
{
  gsize bytes;
  SvgParts p = drawn (
      FARM BUNDLE (10000, "[1000,2000]") BUNDLE (10000, "[1000,2000]"), &bytes);
  CU_ASSERT_TRUE (svg_says (&p, "78 %"));
  CU_ASSERT_FALSE (svg_says (&p, "100 %"));
  svg_parts_clear (&p);
  const char *two = BUNDLE (10000, "[1000,2000]") BUNDLE (10000, "[1000,2000]");
  g_autofree char *text
      = g_strconcat (FARM PULL (0, 1000, 10000000), two, NULL);
  g_autofree char *svg = svg_of (text);
  contains (svg, "kernel, 2 bars\nat 1 \302\265s for 7 \302\265s, busy 100 %");
}

/* A legend of all there is has no room for the areas' note. */
static void
full_legend (void)
{
  g_autofree char *farm = long_trace (17, 17);
  char *end = strstr (farm, "}]}");
  *end = 0;
  g_autofree char *plain = g_strconcat (
      farm, "},{\"name\":\"gpu0\",\"kind\":\"gpu\",\"cores\":9}]}", end + 3,
      BUNDLE (10000, "[1000,2000]"), NULL);
  g_autofree char *text = g_strconcat (plain, OPEN (2000, "gpu0", 100, YES),
                                       FAILED (7000, "gpu0", 7000), NULL);
  g_autofree char *full = svg_of (text), *usual = svg_of (plain);
  contains (usual, "y=\"66.0\" fill=\"#66727f\">height of an area");
  contains (full, "y=\"66.0\" class=\"legend\">being made ready");
  contains (full, "y=\"66.0\" class=\"legend\">failed, given back");
  contains (full, "<text x=\"128.0\" y=\"86.0\" fill=\"#66727f\">height of");
}

static void
refuses (const char *text, const char *line, const char *why)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DrawTrace) trace = load (text, &error);
  CU_ASSERT_PTR_NULL (trace);
  CU_ASSERT_PTR_NOT_NULL_FATAL (error);
  gboolean ok = g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID)
                && strstr (error->message, line) && strstr (error->message, why)
                && strstr (error->message, "hass-");
  CU_ASSERT_TRUE (ok);
  if (!ok)
    printf ("\n    %s", error->message);
}

static void
broken (void)
{
  refuses ("", "line 0", "nothing was computed");
  refuses (FARM ROUND, "line 2", "nothing was computed");
  refuses (FARM "{\"t\":1,", "line 2", "");
  refuses (FARM "[1]\n", "line 2", "not a JSON object");
  refuses (ROUND, "line 1", "begins with the event 'farm'");
  refuses (FARM FARM PULL (2, 1000, 4000), "line 3", "'core' is 2");
  refuses (FARM ROUND PULL (2, 1000, 4000), "line 3", "'core' is 2");
  refuses (FARM PULL (0, 4000, 3000), "line 2", "ends before it begins");
  refuses (FARM PULL (0, 999, 3000), "line 2", "'begin' is 999");
  refuses (FARM PULL (0, "x", 3000), "line 2", "'begin' must be a whole");
  refuses (FARM BUNDLE (10000, "[1000]"), "line 2", "two times");
  refuses (FARM BUNDLE (10000, "[1000,\"x\"]"), "line 2", "two times");
  refuses (FARM BUNDLE (9000, "[1000,2000]"), "line 2", "'out' is from");
  refuses (FARM BUNDLE (10000, "[100,2000]"), "line 2", "'in' is from -900");
  refuses (FARM FAILED (3000, "gpu0", 3001), "line 2", "before it began");
  refuses (FARM FAILED (3000, "gpu0", 999), "line 2", "'begin' is 999");
  refuses (FARM FAILED (3000, "cpu", 3000), "line 2", "on a CPU pool");
  refuses (FARM FAILED (3000, "gpu1", 3000), "line 2", "'gpu1' is not in");
  refuses (FARM FAILED (3000, "gpu0", 2000), "line 2", "nothing was computed");
  refuses (FARM OPEN (3000, "gpu1", 2000, YES), "line 2", "'gpu1' is not in");
  refuses (FARM OPEN (3000, "cpu", 2000, YES), "line 2", "'cpu' is a CPU pool");
  refuses (FARM OPEN (3000, "gpu0", 999, YES), "line 2", "'begin' is 999");
  refuses (FARM OPEN (3000, "gpu0", 3001, NO), "line 2",
           "'gpu0' is ready before that begins");
  refuses (FARM OPEN (3000, "gpu0", "x", YES), "line 2", "'begin' must be a");
  refuses (FARM OPEN (3000, "gpu0", 2000, ""), "line 2", "'ok' must be true");
  refuses (FARM OPEN (3000, "gpu0", 2000, ",\"ok\":1"), "line 2",
           "'ok' must be true or false");
  refuses (FARM OPEN (3000, "gpu0", 2000, ",\"ok\":null"), "line 2",
           "'ok' must be true or false");
  refuses (FARM OPEN (3000, "gpu0", 2000, YES), "line 2", "nothing was comp");
}

static void
one_of_several (void)
{
  const char *text = FARM PULL (0, 1000, 2000) FARM PULL (0, 1000, 1500)
      PULL (1, 1000, 4000) FARM;
  for (guint i = 0; i <= 4; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DrawTrace) trace = load_farm (text, i, &error);
      if (i >= 3)
        {
          CU_ASSERT_PTR_NULL (trace);
          CU_ASSERT_PTR_NOT_NULL_FATAL (error);
          CU_ASSERT_PTR_NOT_NULL (strstr (
              error->message, i == 3 ? "line 6: nothing was computed"
                                     : "line 6: the end, after 3 farms"));
          continue;
        }
      CU_ASSERT_PTR_NOT_NULL_FATAL (trace);
      CU_ASSERT_EQUAL (trace->n_farms, 3);
      CU_ASSERT_EQUAL (trace->number, i == 0 ? 2 : i);
      CU_ASSERT_EQUAL (trace->bars->len, i == 1 ? 1 : 2);
    }
}

static void
no_file (void)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_PTR_NULL (draw_trace_load ("/nowhere/t.jsonl", 0, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
}

HASS_TEST_SUITE (
    gantt, { "a tiny trace has a row for each core and stage", tiny },
    { "100 000 events make less than 1 MB", many },
    { "short bars become one, and none leaves the plot", merged },
    { "a large CPU pool is one area", folded },
    { "bundles that failed are boxes of their own, all inside", failed },
    { "20 000 of them stay few", many_failed },
    { "the time in which a GPU is made ready is a box, with a legend", opened },
    { "one too short to be seen is left out", opened_soon },
    { "a GPU that was not started says so", not_started },
    { "kernels over one another are one time at work", overlapping },
    { "control characters in names leave the image well-formed",
      control_characters },
    { "a full legend goes on in a second line", full_legend },
    { "a broken trace is an error with file and line", broken },
    { "of several farms one is drawn, the longest or another", one_of_several },
    { "a trace that is not there is an error", no_file })
