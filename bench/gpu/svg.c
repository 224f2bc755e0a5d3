/* SPDX-License-Identifier: MIT */
/* svg.c: see svg.h.
   Thread safety: see svg.h. */
#include "svg.h"

#include <math.h>
#include <stdio.h>

#define WIDTH 960
#define LEFT 84
#define RIGHT 660
#define TOP 76
#define BOTTOM 500
#define HEIGHT 560

typedef struct
{
  const SvgPlot *plot;
  GString *svg;
  int low, high; /* decades of y */
} Canvas;

/* Told apart also by those who see few colours. */
static const char *const colours[SVG_MOST_LINES]
    = { "#999999", "#56b4e9", "#0072b2", "#009e73",
        "#e69f00", "#d55e00", "#cc79a7", "#000000" };

static double
x_of (const Canvas *c, gsize bytes)
{
  const SvgPlot *p = c->plot;
  double first = log2 ((double)p->bytes[0]);
  double last = log2 ((double)p->bytes[p->n_points - 1]);
  double part = (log2 ((double)bytes) - first) / MAX (last - first, 1e-9);
  return LEFT + 16 + part * (RIGHT - LEFT - 32);
}

static double
y_of (const Canvas *c, double value)
{
  double part = (log10 (value) - c->low) / (c->high - c->low);
  return BOTTOM - part * (BOTTOM - TOP);
}

static gboolean
is_shown (double value)
{
  return isfinite (value) && value > 0;
}

static void
find_decades (Canvas *c)
{
  double least = G_MAXDOUBLE, most = 0;
  for (guint i = 0; i < c->plot->n_lines; i++)
    for (gsize k = 0; k < c->plot->n_points; k++)
      if (is_shown (c->plot->values[i][k]))
        {
          least = MIN (least, c->plot->values[i][k]);
          most = MAX (most, c->plot->values[i][k]);
        }
  c->low = most > 0 ? (int)floor (log10 (least)) : 0;
  c->high = most > 0 ? (int)ceil (log10 (most)) : 1;
  c->high = MAX (c->high, c->low + 1);
}

static void
add_text (Canvas *c, double x, double y, const char *anchor, const char *more,
          const char *text)
{
  char *escaped = g_markup_escape_text (text, -1);
  g_string_append_printf (c->svg,
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s"
                          "</text>\n",
                          x, y, anchor, more, escaped);
  g_free (escaped);
}

static const char *
size_name (gsize bytes, char text[32])
{
  if (bytes >= MIB)
    g_snprintf (text, 32, "%zu MiB", bytes / MIB);
  else if (bytes >= KIB)
    g_snprintf (text, 32, "%zu KiB", bytes / KIB);
  else
    g_snprintf (text, 32, "%zu B", bytes);
  return text;
}

static void
add_line (Canvas *c, double x1, double y1, double x2, double y2,
          const char *colour, double width)
{
  g_string_append_printf (c->svg,
                          "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                          "y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%g\"/>\n",
                          x1, y1, x2, y2, colour, width);
}

static void
add_axes (Canvas *c)
{
  const SvgPlot *p = c->plot;
  char text[32];
  for (int decade = c->low; decade <= c->high; decade++)
    {
      double y = y_of (c, pow (10, decade));
      add_line (c, LEFT, y, RIGHT, y, "#cccccc", 1);
      g_snprintf (text, sizeof text, "%g", pow (10, decade));
      add_text (c, LEFT - 8, y + 4, "end", "", text);
      for (int k = 2; k < 10 && decade < c->high; k++)
        {
          double minor = y_of (c, k * pow (10, decade));
          add_line (c, LEFT, minor, RIGHT, minor, "#eeeeee", 0.5);
        }
    }
  for (gsize k = 0; k < p->n_points; k++)
    {
      double x = x_of (c, p->bytes[k]);
      add_line (c, x, TOP, x, BOTTOM + 5, "#eeeeee", 1);
      add_text (c, x, BOTTOM + 20, "middle", "", size_name (p->bytes[k], text));
    }
  add_line (c, LEFT, BOTTOM, RIGHT, BOTTOM, "#333333", 1);
  add_line (c, LEFT, TOP, LEFT, BOTTOM, "#333333", 1);
  add_text (c, (LEFT + RIGHT) / 2.0, BOTTOM + 44, "middle", "", p->x_label);
  g_snprintf (text, sizeof text, "%d", (TOP + BOTTOM) / 2);
  char *turn = g_strdup_printf (" transform=\"rotate(-90 24 %s)\"", text);
  add_text (c, 24, (TOP + BOTTOM) / 2.0, "middle", turn, p->y_label);
  g_free (turn);
}

/* And the key. */
static void
add_lines (Canvas *c)
{
  const SvgPlot *p = c->plot;
  for (guint i = 0; i < p->n_lines; i++)
    {
      const char *colour = colours[i % SVG_MOST_LINES];
      double width = i == p->bold ? 3.5 : 1.8;
      double y = TOP + 12 + 26.0 * i;
      g_string_append_printf (c->svg,
                              "<polyline fill=\"none\" stroke=\"%s\" "
                              "stroke-width=\"%g\" points=\"",
                              colour, width);
      for (gsize k = 0; k < p->n_points; k++)
        if (is_shown (p->values[i][k]))
          g_string_append_printf (c->svg, "%.1f,%.1f ", x_of (c, p->bytes[k]),
                                  y_of (c, p->values[i][k]));
      g_string_append (c->svg, "\"/>\n");
      for (gsize k = 0; k < p->n_points; k++)
        if (is_shown (p->values[i][k]))
          g_string_append_printf (
              c->svg,
              "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" fill=\"%s\"/>\n",
              x_of (c, p->bytes[k]), y_of (c, p->values[i][k]),
              i == p->bold ? 4.5 : 3, colour);
      add_line (c, RIGHT + 16, y, RIGHT + 44, y, colour, width);
      add_text (c, RIGHT + 52, y + 4, "start",
                i == p->bold ? " font-weight=\"bold\"" : "", p->names[i]);
    }
}

gboolean
svg_write (const SvgPlot *plot, const char *path)
{
  Canvas c = { .plot = plot, .svg = g_string_new (NULL) };
  GError *error = NULL;
  find_decades (&c);
  g_string_append_printf (
      c.svg,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
      "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      WIDTH, HEIGHT, WIDTH, HEIGHT);
  add_text (&c, LEFT, 32, "start", " font-size=\"18\" font-weight=\"bold\"",
            plot->title);
  add_text (&c, LEFT, 54, "start", " fill=\"#555555\"", plot->subtitle);
  add_axes (&c);
  add_lines (&c);
  g_string_append (c.svg, "</svg>\n");
  gboolean ok = g_file_set_contents (path, c.svg->str, -1, &error);
  if (!ok)
    fprintf (stderr, "%s\n", error->message);
  g_clear_error (&error);
  g_string_free (c.svg, TRUE);
  return ok;
}
