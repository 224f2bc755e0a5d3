/* SPDX-License-Identifier: MIT */
/* plot.c: see plot.h.
   Thread safety: see plot.h. */
#include "plot.h"

#include <math.h>

#include "svg.h"

#define WIDTH 960
#define HEIGHT 440
#define LEFT 76
#define RIGHT 290 /* px, for the legend */
#define TOP 72
#define BOTTOM 60
#define PLOT_WIDTH (WIDTH - LEFT - RIGHT)
#define LEGEND_X (LEFT + PLOT_WIDTH + 22)
#define LEGEND_ROW 22
#define X_LABELS 14
#define GROUP 0.84      /* part of a point's place that its bars fill */
#define LABEL_SIZE 11.5 /* px, of a point's name */
#define LABEL_SLOPE 0.6 /* height over width of a slanting name */
#define MOST_MARKS 4000 /* maximum number of dots with tooltips */

typedef struct
{
  const DrawPlot *plot;
  DrawSvg *svg;
  double y, height;      /* of this plot in the image, px */
  double bottom;         /* px below the plot, for slanting names too */
  double low, top, step; /* of the y axis */
  gboolean bars;
} View;

static double
plot_height (const View *v)
{
  return v->height - TOP - v->bottom;
}

static double
y_of (const View *v, double value)
{
  double part = v->plot->log ? log (value / v->low) / log (v->top / v->low)
                             : (value - v->low) / (v->top - v->low);
  return v->y + TOP + plot_height (v) * (1 - CLAMP (part, 0, 1));
}

/* The centre of a point's place; areas and lines reach both sides. */
static double
x_of (const View *v, guint i)
{
  guint n = v->plot->n_points;
  if (v->bars || n == 1)
    return LEFT + PLOT_WIDTH * (i + 0.5) / n;
  double margin = v->plot->kind == DRAW_AREAS ? 0 : 12;
  return LEFT + margin + (PLOT_WIDTH - 2 * margin) * i / (n - 1);
}

static const char *
colour_of (const View *v, guint i)
{
  const char *own = v->plot->series[i].colour;
  return own ? own : draw_colours[i % DRAW_N_COLOURS];
}

static const char *
dashes_of (const View *v, guint i)
{
  static const char *const dashes[]
      = { "", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 3\"",
          " stroke-dasharray=\"9 3 2 3\"" };
  const DrawSeries *s = &v->plot->series[i];
  guint turn = s->colour ? 0 : i / DRAW_N_COLOURS % G_N_ELEMENTS (dashes);
  return dashes[s->dashed ? MAX (turn, 1) : turn];
}

static double
most_of (const DrawPlot *p)
{
  double most = 0;
  for (guint k = 0; k < p->n_points; k++)
    {
      double sum = 0;
      for (guint i = 0; i < p->n_series; i++)
        {
          double value = p->series[i].values[k];
          if (isnan (value))
            continue;
          sum = p->kind == DRAW_LINES || p->kind == DRAW_GROUPS
                    ? MAX (sum, value)
                    : sum + value;
          if (p->marks_name && p->series[i].marks
              && !isnan (p->series[i].marks[k]))
            sum = MAX (sum, p->series[i].marks[k]);
        }
      most = MAX (most, sum);
    }
  return most > 0 ? most : 1;
}

static double
least_of (const DrawPlot *p)
{
  double least = INFINITY;
  for (guint i = 0; i < p->n_series; i++)
    for (guint k = 0; k < p->n_points; k++)
      least = fmin (least, p->series[i].values[k]);
  return isfinite (least) ? least : 1;
}

/* -- Axes --------------------------------------------------------------- */

static double
tick (const View *v, guint i)
{
  return v->plot->log ? v->low * pow (10, i) : v->low + i * v->step;
}

static void
draw_y_axis (const View *v)
{
  double unit = v->plot->percent ? 100 : 1;
  for (guint i = 0; tick (v, i) <= v->top + v->step * 1e-6; i++)
    {
      double value = tick (v, i), y = y_of (v, value);
      g_autofree char *text = g_strdup_printf ("%.6g%s", value * unit,
                                               v->plot->percent ? " %" : "");
      draw_line (v->svg, LEFT, y, LEFT + PLOT_WIDTH, y,
                 i == 0 ? "stroke=\"" DRAW_GREY "\""
                        : "stroke=\"" DRAW_GRID "\"");
      draw_text (v->svg, LEFT - 9, y + 4, "text-anchor=\"end\"", text);
    }
}

/* Width of the widest name of a point; 0: points are numbered. */
static double
widest_label (const DrawPlot *p)
{
  double widest = 0;
  for (guint i = 0; p->labels && i < p->n_points; i++)
    widest = MAX (widest, draw_text_width (p->labels[i], LABEL_SIZE));
  return widest;
}

static gboolean
askew (const DrawPlot *p)
{
  return widest_label (p) > PLOT_WIDTH / p->n_points - 2;
}

/* Names are below their points, or end there and slant if they are too wide. */
static void
draw_labels (const View *v)
{
  double y = y_of (v, v->low) + (askew (v->plot) ? 14 : 20);
  for (guint i = 0; i < v->plot->n_points; i++)
    {
      g_autofree char *attributes
          = askew (v->plot)
                ? g_strdup_printf ("font-size=\"%g\" text-anchor=\"end\" "
                                   "transform=\"rotate(-37 %.1f %.1f)\"",
                                   LABEL_SIZE, x_of (v, i) + 4, y)
                : g_strdup_printf ("font-size=\"%g\" text-anchor=\"middle\"",
                                   LABEL_SIZE);
      draw_text (v->svg, x_of (v, i) + (askew (v->plot) ? 4 : 0), y, attributes,
                 v->plot->labels[i]);
    }
}

static void
draw_x_axis (const View *v)
{
  guint n = v->plot->n_points;
  if (v->plot->labels)
    {
      draw_labels (v);
      return;
    }
  guint step = (guint)MAX (draw_step (n, X_LABELS), 1);
  double y = y_of (v, v->low);
  for (guint i = 0; i < n; i++)
    if (i == 0 || (i + 1) % step == 0)
      {
        g_autofree char *text = g_strdup_printf ("%u", i + 1);
        /* The number 1 keeps a distance from the next. */
        gboolean tight = i == 0 && step > 1 && step < n
                         && x_of (v, step - 1) - x_of (v, 0) < 24;
        draw_line (v->svg, x_of (v, i), y, x_of (v, i), y + 5,
                   "stroke=\"" DRAW_GREY "\"");
        if (!tight)
          draw_text (v->svg, x_of (v, i), y + 20, "text-anchor=\"middle\"",
                     text);
      }
}

static void
draw_titles (const View *v)
{
  const DrawPlot *p = v->plot;
  double middle = v->y + TOP + plot_height (v) / 2;
  g_autofree char *title = draw_fit (p->title, 18, WIDTH - LEFT);
  g_autofree char *turned
      = g_strdup_printf ("text-anchor=\"middle\" fill=\"" DRAW_GREY
                         "\" transform=\"rotate(-90 20 %.1f)\"",
                         middle);
  draw_text (v->svg, LEFT, v->y + 28, "font-size=\"17\" font-weight=\"600\"",
             title);
  if (p->subtitle)
    {
      g_autofree char *subtitle = draw_fit (p->subtitle, 12, WIDTH - LEFT);
      draw_text (v->svg, LEFT, v->y + 48, "fill=\"" DRAW_GREY "\"", subtitle);
    }
  draw_text (v->svg, LEFT + PLOT_WIDTH / 2., v->y + v->height - 16,
             "text-anchor=\"middle\" fill=\"" DRAW_GREY "\"",
             p->x_title ? p->x_title : "round");
  draw_text (v->svg, 20, middle, turned, p->y_title);
}

/* -- Series ------------------------------------------------------------- */

static void
draw_legend_text (const View *v, guint row, double x, const char *name)
{
  g_autofree char *fit = draw_fit (name, 12.5, WIDTH - x - 8);
  draw_text (v->svg, x, v->y + TOP + 14 + LEGEND_ROW * row, "", fit);
}

static void
draw_marks (const View *v, guint i)
{
  const DrawSeries *s = &v->plot->series[i];
  draw_put (v->svg, "<g fill=\"%s\">\n", colour_of (v, i));
  for (guint k = 0; k < v->plot->n_points; k++)
    if (!isnan (s->values[k]))
      {
        g_autofree char *name = draw_escape (s->name);
        g_autofree char *tip
            = g_strdup_printf ("%s, %u: %.4g", name, k + 1,
                               s->values[k] * (v->plot->percent ? 100 : 1));
        draw_put (v->svg,
                  "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"><title>%s%s"
                  "</title></circle>\n",
                  x_of (v, k), y_of (v, s->values[k]),
                  v->plot->n_points > 60 ? 1.5 : 2.8, tip,
                  v->plot->percent ? " %" : "");
      }
  draw_put (v->svg, "</g>\n");
}

static void
draw_one_line (const View *v, guint i)
{
  const DrawSeries *s = &v->plot->series[i];
  double y = v->y + TOP + 10 + LEGEND_ROW * i;
  gboolean open = FALSE;
  for (guint k = 0; k < v->plot->n_points; k++)
    {
      if (!isnan (s->values[k]))
        {
          if (!open)
            draw_put (v->svg,
                      "<polyline fill=\"none\" stroke=\"%s\" "
                      "stroke-width=\"2\" stroke-linejoin=\"round\"%s "
                      "points=\"",
                      colour_of (v, i), dashes_of (v, i));
          draw_put (v->svg, "%.1f,%.1f ", x_of (v, k), y_of (v, s->values[k]));
          open = TRUE;
        }
      else if (open)
        {
          draw_put (v->svg, "\"/>\n");
          open = FALSE;
        }
    }
  if (open)
    draw_put (v->svg, "\"/>\n");
  if (v->plot->n_points * v->plot->n_series <= MOST_MARKS)
    draw_marks (v, i);
  draw_put (v->svg,
            "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"3\"%s/>\n",
            LEGEND_X, y, LEGEND_X + 28, y, colour_of (v, i), dashes_of (v, i));
  draw_legend_text (v, i, LEGEND_X + 38, s->name);
}

/* Sum of the series below this one. */
static double
below (const View *v, guint series, guint point)
{
  double sum = 0;
  for (guint i = 0; i < series; i++)
    sum += v->plot->series[i].values[point];
  return sum;
}

static void
draw_bars (const View *v, guint i)
{
  const DrawSeries *s = &v->plot->series[i];
  double width = 0.8 * PLOT_WIDTH / v->plot->n_points;
  draw_put (v->svg, "<g fill=\"%s\">\n", colour_of (v, i));
  for (guint k = 0; k < v->plot->n_points; k++)
    {
      double base = below (v, i, k);
      double y = y_of (v, base + s->values[k]);
      g_autofree char *tip
          = g_strdup_printf ("%s, %u: %.4g%s", s->name, k + 1,
                             s->values[k] * (v->plot->percent ? 100 : 1),
                             v->plot->percent ? " %" : "");
      const DrawBox bar
          = { x_of (v, k) - width / 2, y, width, y_of (v, base) - y };
      draw_rect (v->svg, bar, "", tip);
    }
  draw_put (v->svg, "</g>\n");
}

/* Draws the marked level, over the bars. */
static void
draw_level (const View *v)
{
  double y = y_of (v, v->plot->line);
  if (v->plot->line > 0)
    draw_line (v->svg, LEFT, y, LEFT + PLOT_WIDTH, y,
               "stroke=\"" DRAW_GREY "\" stroke-dasharray=\"5 4\"");
}

static void
draw_group (const View *v, guint i)
{
  const DrawPlot *p = v->plot;
  const DrawSeries *s = &p->series[i];
  double unit = p->percent ? 100 : 1;
  double width = GROUP * PLOT_WIDTH / p->n_points / p->n_series;
  double gap = MIN (1.5, width * 0.1);
  for (guint k = 0; k < p->n_points; k++)
    {
      double x = x_of (v, k) + width * (i - p->n_series / 2.);
      gboolean marked = p->marks_name && s->marks && !isnan (s->marks[k]);
      if (isnan (s->values[k]))
        continue;
      double y = y_of (v, s->values[k]);
      g_autofree char *fill = g_strdup_printf ("fill=\"%s\"", colour_of (v, i));
      g_autofree char *mark
          = marked ? g_strdup_printf ("; %s: %.4g", p->marks_name,
                                      s->marks[k] * unit)
                   : g_strdup ("");
      g_autofree char *tip
          = g_strdup_printf ("%s, %s: %.4g%s", p->labels ? p->labels[k] : "",
                             s->name, s->values[k] * unit, mark);
      const DrawBox bar = { x + gap / 2, y, width - gap, y_of (v, v->low) - y };
      draw_rect (v->svg, bar, fill, tip);
      if (marked)
        draw_line (v->svg, x - 1, y_of (v, s->marks[k]), x + width + 1,
                   y_of (v, s->marks[k]),
                   "stroke=\"" DRAW_INK "\" stroke-width=\"2.4\"");
    }
}

static void
draw_area (const View *v, guint i)
{
  const DrawSeries *s = &v->plot->series[i];
  guint n = v->plot->n_points;
  g_autofree char *tip = draw_escape (s->name);
  draw_put (v->svg, "<path class=\"area\" fill=\"%s\" d=\"M", colour_of (v, i));
  for (guint k = 0; k < n; k++)
    draw_put (v->svg, "%.1f %.1f ", x_of (v, k),
              y_of (v, below (v, i, k) + s->values[k]));
  for (guint k = n; k-- > 0;)
    draw_put (v->svg, "%.1f %.1f ", x_of (v, k), y_of (v, below (v, i, k)));
  draw_put (v->svg,
            "Z\" stroke=\"#ffffff\" stroke-width=\"0.6\"><title>%s</title>"
            "</path>\n",
            tip);
}

/* The legend has the order of the stack, from the top. */
static void
draw_part (const View *v, guint i)
{
  gboolean beside = v->plot->kind == DRAW_GROUPS;
  guint row = beside ? i : v->plot->n_series - 1 - i;
  g_autofree char *fill
      = g_strdup_printf ("rx=\"2\" fill=\"%s\"", colour_of (v, i));
  if (beside)
    draw_group (v, i);
  else if (v->bars)
    draw_bars (v, i);
  else
    draw_area (v, i);
  const DrawBox sample
      = { LEGEND_X, v->y + TOP + 3 + LEGEND_ROW * row, 16, 14 };
  draw_rect (v->svg, sample, fill, NULL);
  draw_legend_text (v, row, LEGEND_X + 26, v->plot->series[i].name);
}

static void
draw_marks_legend (const View *v)
{
  guint row = v->plot->n_series;
  double y = v->y + TOP + 10 + LEGEND_ROW * row;
  draw_line (v->svg, LEGEND_X - 1, y, LEGEND_X + 17, y,
             "stroke=\"" DRAW_INK "\" stroke-width=\"2.4\"");
  draw_legend_text (v, row, LEGEND_X + 26, v->plot->marks_name);
}

static double
bottom_of (const DrawPlot *p)
{
  return BOTTOM + (askew (p) ? widest_label (p) * LABEL_SLOPE - 4 : 0);
}

static double
height_of (const DrawPlot *p)
{
  return MAX (HEIGHT + bottom_of (p) - BOTTOM,
              TOP + bottom_of (p) + LEGEND_ROW * (p->n_series + 1.5));
}

static void
draw_one (DrawSvg *svg, const DrawPlot *p, double y)
{
  View v = { .plot = p,
             .svg = svg,
             .y = y,
             .height = height_of (p),
             .bottom = bottom_of (p),
             .low = p->low,
             .top = p->top,
             .bars = p->kind == DRAW_BARS || p->kind == DRAW_GROUPS
                     || (p->kind == DRAW_AREAS && p->n_points < 3) };
  gboolean own = p->low == 0 && p->top == 0;
  if (own)
    v.top = most_of (p);
  if (p->log)
    {
      v.low = pow (10, floor (log10 (least_of (p))));
      v.top = MAX (pow (10, ceil (log10 (most_of (p)))), 10 * v.low);
    }
  v.step = p->log ? v.low : draw_step (v.top - v.low, 8);
  if (own && !p->log)
    v.top = v.step * ceil (v.top / v.step - 1e-6);
  draw_put (svg, "<g>\n");
  draw_titles (&v);
  draw_y_axis (&v);
  for (guint i = 0; i < p->n_series; i++)
    if (p->kind == DRAW_LINES)
      draw_one_line (&v, i);
    else
      draw_part (&v, i);
  if (p->marks_name)
    draw_marks_legend (&v);
  draw_level (&v);
  draw_x_axis (&v);
  draw_put (svg, "</g>\n");
}

char *
draw_plots (const DrawPlot *plots, guint n)
{
  double height = 0, y = 0;
  for (guint i = 0; i < n; i++)
    height += height_of (&plots[i]);
  DrawSvg *svg = draw_svg_new (WIDTH, height, n > 0 ? plots[0].title : "");
  for (guint i = 0; i < n; i++)
    {
      draw_one (svg, &plots[i], y);
      y += height_of (&plots[i]);
    }
  return draw_svg_end (svg);
}
