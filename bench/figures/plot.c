/* SPDX-License-Identifier: MIT */
/* plot.c: the plots, as SVG.

   Thread safety: any thread. */
#include "figures.h"

#include <math.h>

#define WIDTH 900
#define HEIGHT 440
#define LEFT 70
#define RIGHT 270 /* the legend */
#define TOP 64
#define BOTTOM 56
#define PLOT_WIDTH (WIDTH - LEFT - RIGHT)
#define PLOT_HEIGHT (HEIGHT - TOP - BOTTOM)

/* What the plot shows: values up to `top`, with a line each `step`. */
typedef struct
{
  GString *svg;
  guint rounds;
  double top, step;
} Plot;

static double
y_of (const Plot *p, double value)
{
  return TOP + PLOT_HEIGHT * (1 - value / p->top);
}

/* The middle of a round's place. */
static double
x_of (const Plot *p, guint round)
{
  return LEFT + PLOT_WIDTH * (round + 0.5) / p->rounds;
}

static void text (GString *svg, double x, double y, const char *attributes,
                  const char *format, ...) G_GNUC_PRINTF (5, 6);

static void
text (GString *svg, double x, double y, const char *attributes,
      const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *plain = g_strdup_vprintf (format, args);
  va_end (args);
  g_autofree char *escaped = g_markup_escape_text (plain, -1);
  g_string_append_printf (svg, "<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x,
                          y, attributes, escaped);
}

/* 1, 2 or 5 times a power of ten, so that there are 4 to 10 of them. */
static double
step_for (double most)
{
  double power = pow (10, floor (log10 (most / 4)));
  double first = most / 4 / power;
  return power * (first >= 5 ? 5 : first >= 2 ? 2 : 1);
}

static void
grid (const Plot *p, double unit, const char *suffix)
{
  for (guint i = 0; i * p->step <= p->top * (1 + 1e-9); i++)
    {
      double y = y_of (p, i * p->step);
      g_string_append_printf (
          p->svg,
          "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" "
          "stroke=\"%s\"/>\n",
          LEFT, y, LEFT + PLOT_WIDTH, y, i == 0 ? "#333333" : "#dddddd");
      text (p->svg, LEFT - 8, y + 4, "text-anchor=\"end\"", "%g%s",
            i * p->step * unit, suffix);
    }
  for (guint r = 0; r < p->rounds; r++)
    if (r == 0 || (r + 1) % (p->rounds > 10 ? 5 : 1) == 0)
      {
        g_string_append_printf (
            p->svg,
            "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" "
            "stroke=\"#333333\"/>\n",
            x_of (p, r), TOP + PLOT_HEIGHT, x_of (p, r), TOP + PLOT_HEIGHT + 5);
        text (p->svg, x_of (p, r), TOP + PLOT_HEIGHT + 20,
              "text-anchor=\"middle\"", "%u", r + 1);
      }
}

static Plot
begin (const char *title, const char *subtitle, const char *y_title,
       guint rounds, double top, double step)
{
  Plot p = { g_string_new (NULL), rounds, top, step };
  g_string_append_printf (
      p.svg,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
      "height=\"%d\" viewBox=\"0 0 %d %d\" "
      "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
      "font-size=\"13\" fill=\"#222222\">\n"
      "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
      WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
  text (p.svg, LEFT, 26, "font-size=\"17\" font-weight=\"bold\"", "%s", title);
  text (p.svg, LEFT, 46, "fill=\"#555555\"", "%s", subtitle);
  text (p.svg, LEFT + PLOT_WIDTH / 2., HEIGHT - 14, "text-anchor=\"middle\"",
        "round");
  g_autofree char *turned
      = g_strdup_printf ("text-anchor=\"middle\" transform=\"rotate(-90 18 "
                         "%.1f)\"",
                         TOP + PLOT_HEIGHT / 2.);
  text (p.svg, 18, TOP + PLOT_HEIGHT / 2., turned, "%s", y_title);
  return p;
}

static char *
end (Plot *p)
{
  g_string_append (p->svg, "</svg>\n");
  return g_string_free (p->svg, FALSE);
}

static const char *
dashes (const FiguresLine *line)
{
  return line->dashed ? " stroke-dasharray=\"7 4\"" : "";
}

static double
legend_y (guint i)
{
  return TOP + 12 + 24 * i;
}

static void
draw_line (const Plot *p, const FiguresLine *line, guint index)
{
  const char *colour = line->colour;
  double y = legend_y (index), x = LEFT + PLOT_WIDTH + 20;
  g_string_append_printf (p->svg,
                          "<polyline fill=\"none\" stroke=\"%s\" "
                          "stroke-width=\"2\"%s points=\"",
                          colour, dashes (line));
  for (guint r = 0; r < p->rounds; r++)
    g_string_append_printf (p->svg, "%.1f,%.1f ", x_of (p, r),
                            y_of (p, line->values[r]));
  g_string_append (p->svg, "\"/>\n");
  for (guint r = 0; r < p->rounds && !line->dashed; r++)
    g_string_append_printf (
        p->svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"%s\"/>\n",
        x_of (p, r), y_of (p, line->values[r]), colour);
  g_string_append_printf (p->svg,
                          "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                          "y2=\"%.1f\" stroke=\"%s\" stroke-width=\"3\"%s/>\n",
                          x, y, x + 28, y, colour, dashes (line));
  text (p->svg, x + 36, y + 4, "", "%s", line->name);
}

char *
figures_plot_lines (const char *title, const char *subtitle,
                    const FiguresLine *lines, guint n, guint rounds)
{
  double most = 1e-6;
  for (guint i = 0; i < n; i++)
    for (guint r = 0; r < rounds; r++)
      most = MAX (most, lines[i].values[r]);
  double step = step_for (most);
  Plot p = begin (title, subtitle, "time of the round [ms]", rounds,
                  step * ceil (most / step), step);
  grid (&p, 1, "");
  for (guint i = 0; i < n; i++)
    draw_line (&p, &lines[i], i);
  return end (&p);
}

static void
draw_part (const Plot *p, const FiguresLine *lines, guint index)
{
  double width = 0.8 * PLOT_WIDTH / p->rounds;
  double y = legend_y (index), x = LEFT + PLOT_WIDTH + 20;
  for (guint r = 0; r < p->rounds; r++)
    {
      double below = 0, value = lines[index].values[r];
      for (guint i = 0; i < index; i++)
        below += lines[i].values[r];
      g_string_append_printf (p->svg,
                              "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                              "height=\"%.1f\" fill=\"%s\"/>\n",
                              x_of (p, r) - width / 2, y_of (p, below + value),
                              width, PLOT_HEIGHT * value / p->top,
                              lines[index].colour);
    }
  g_string_append_printf (p->svg,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"16\" "
                          "height=\"16\" fill=\"%s\"/>\n",
                          x, y - 8, lines[index].colour);
  text (p->svg, x + 24, y + 4, "", "%s", lines[index].name);
}

char *
figures_plot_parts (const char *title, const char *subtitle,
                    const FiguresLine *lines, guint n, guint rounds)
{
  Plot p
      = begin (title, subtitle, "part of the round's work [%]", rounds, 1, 0.2);
  grid (&p, 100, "");
  for (guint i = 0; i < n; i++)
    draw_part (&p, lines, i);
  return end (&p);
}
