/* SPDX-License-Identifier: MIT */
/* test_plot.c: plots of lines, bars, groups and areas.
   Thread safety: one thread. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/plot.h"
#include "draw/svg.h"
#include "hass_test.h"
#include "svg_parts.h"

static const double a[] = { 0.5, NAN, 0.75, 1 }, b[] = { 0.5, 0.25, 0.25, 0 };

static SvgParts
drawn (DrawKind kind, guint n_points, const double *first)
{
  DrawSeries series[] = { { .name = "one & two", .values = first },
                          { .name = "three", .values = b } };
  DrawPlot plot = { .kind = kind,
                    .title = "a <title>",
                    .y_title = "part",
                    .series = series,
                    .n_series = 2,
                    .n_points = n_points,
                    .top = 1,
                    .percent = TRUE };
  g_autofree char *svg = draw_plots (&plot, 1);
  SvgParts p = svg_parts (svg);
  CU_ASSERT_TRUE (svg_says (&p, "a <title>"));
  CU_ASSERT_TRUE (svg_says (&p, "one & two"));
  CU_ASSERT_TRUE (svg_says (&p, "three"));
  CU_ASSERT_TRUE (svg_says (&p, "100 %"));
  CU_ASSERT_TRUE (svg_says (&p, "round"));
  return p;
}

static void
lines (void)
{
  SvgParts p = drawn (DRAW_LINES, 4, a);
  CU_ASSERT_EQUAL (p.lines, 3); /* one has a gap */
  svg_parts_clear (&p);
}

static void
bars (void)
{
  SvgParts p = drawn (DRAW_BARS, 4, b);
  CU_ASSERT_EQUAL (p.bars, 8);
  CU_ASSERT_EQUAL (p.areas, 0);
  svg_parts_clear (&p);
}

/* Decades are as far apart as values ten times as large, and none is without
   a value. */
static void
decades (void)
{
  static const double values[] = { 0.2, 2, 20 };
  DrawSeries series = { .name = "one", .values = values };
  DrawPlot plot = { .kind = DRAW_LINES,
                    .title = "t",
                    .y_title = "us",
                    .series = &series,
                    .n_series = 1,
                    .n_points = 3,
                    .log = TRUE };
  g_autofree char *svg = draw_plots (&plot, 1);
  SvgParts p = svg_parts (svg);
  double x[3], y[3];
  const char *points = strstr (svg, "points=\"");
  CU_ASSERT_TRUE (svg_says (&p, "0.1"));
  CU_ASSERT_TRUE (svg_says (&p, "1"));
  CU_ASSERT_TRUE (svg_says (&p, "10"));
  CU_ASSERT_TRUE (svg_says (&p, "100"));
  CU_ASSERT_FALSE (svg_says (&p, "1000"));
  CU_ASSERT_PTR_NOT_NULL_FATAL (points);
  CU_ASSERT_EQUAL_FATAL (sscanf (points, "points=\"%lf,%lf %lf,%lf %lf,%lf",
                                 &x[0], &y[0], &x[1], &y[1], &x[2], &y[2]),
                         6);
  CU_ASSERT_TRUE (y[0] - y[1] > 20);
  CU_ASSERT_DOUBLE_EQUAL (y[0] - y[1], y[1] - y[2], 0.2);
  svg_parts_clear (&p);
}

/* Bars stand side by side, none for what is missing; names that are too wide
   for their places lie askew. */
static void
groups (void)
{
  static const char *const narrow[] = { "p", "q", "r", "s" };
  static const char *const wide[]
      = { "a rather wide name", "of a benchmark & more", "that does not fit",
          "into its place, ever, at all" };
  static const double marks[] = { 0.9, NAN, NAN, 0.1 };
  DrawSeries series[] = { { .name = "one", .values = a, .marks = marks },
                          { .name = "two", .values = b } };
  DrawPlot plot = { .kind = DRAW_GROUPS,
                    .title = "t",
                    .y_title = "part",
                    .series = series,
                    .n_series = 2,
                    .n_points = 4,
                    .labels = narrow,
                    .marks_name = "expected" };
  g_autofree char *plain = draw_plots (&plot, 1);
  SvgParts p = svg_parts (plain);
  CU_ASSERT_EQUAL (p.bars, 7);
  CU_ASSERT_TRUE (svg_says (&p, "q"));
  CU_ASSERT_TRUE (svg_says (&p, "expected"));
  CU_ASSERT_PTR_NOT_NULL (strstr (plain, "p, one: 0.5; expected: 0.9"));
  CU_ASSERT_PTR_NULL (strstr (plain, "rotate(-37"));
  CU_ASSERT_PTR_NULL (strstr (plain, "nan"));
  CU_ASSERT_PTR_NULL (strstr (plain, "stroke-dasharray"));
  svg_parts_clear (&p);
  plot.labels = wide;
  plot.line = 0.5;
  g_autofree char *turned = draw_plots (&plot, 1);
  p = svg_parts (turned);
  CU_ASSERT_TRUE (svg_says (&p, "of a benchmark & more"));
  CU_ASSERT_PTR_NOT_NULL (strstr (turned, "rotate(-37"));
  CU_ASSERT_PTR_NOT_NULL (strstr (turned, "stroke-dasharray"));
  svg_parts_clear (&p);
}

static void
areas (void)
{
  SvgParts p = drawn (DRAW_AREAS, 4, b);
  CU_ASSERT_EQUAL (p.bars, 0);
  CU_ASSERT_EQUAL (p.areas, 2);
  svg_parts_clear (&p);
  p = drawn (DRAW_AREAS, 1, b);
  CU_ASSERT_EQUAL (p.bars, 2);
  svg_parts_clear (&p);
}

/* Where decimals are written with a comma, SVG is not. */
static void
commas (void)
{
  g_autofree char *before = g_strdup (setlocale (LC_NUMERIC, NULL));
  if (!setlocale (LC_NUMERIC, "de_DE.UTF-8"))
    {
      hass_test_skip ("there is no locale with decimal commas");
      return;
    }
  DrawSvg *image = draw_svg_new (10, 10, "t");
  draw_rect (image, (DrawBox){ 1.25, 2, 3, 4 }, "", NULL);
  g_autofree char *svg = draw_svg_end (image);
  CU_ASSERT_PTR_NOT_NULL (strstr (svg, "x=\"1.25\""));
  setlocale (LC_NUMERIC, before);
}

static void
steps (void)
{
  CU_ASSERT_DOUBLE_EQUAL (draw_step (100, 10), 10, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (draw_step (0.9, 10), 0.1, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (draw_step (3000, 8), 500, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (draw_step (11, 10), 2, 1e-9);
  g_autofree char *ms = draw_duration (1.25e6), *us = draw_duration (999);
  CU_ASSERT_STRING_EQUAL (ms, "1.25 ms");
  CU_ASSERT_STRING_EQUAL (us, "999 ns");
}

static void
fits (void)
{
  g_autofree char *all = draw_fit ("µµµµ", 10, 24);
  g_autofree char *cut = draw_fit ("µµµµµ", 10, 24);
  CU_ASSERT_STRING_EQUAL (all, "µµµµ");
  CU_ASSERT_STRING_EQUAL (cut, "µµµ…");
}

HASS_TEST_SUITE (plot, { "a line has a gap where there is no value", lines },
                 { "a logarithmic axis has whole decades", decades },
                 { "bars are stacked, one for each point", bars },
                 { "bars side by side, with names and marks", groups },
                 { "areas become bars where there are few points", areas },
                 { "numbers are written with points everywhere", commas },
                 { "steps of axes are 1, 2 or 5; durations are short", steps },
                 { "texts are cut to fit", fits })
