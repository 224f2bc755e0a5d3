/* SPDX-License-Identifier: MIT */
/* svg.c: writes SVG images into one growing text.
   Thread safety: see svg.h. */
#include "svg.h"

#include <locale.h>
#include <math.h>
#include <string.h>

#define FONT                                                                   \
  "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, "           \
  "'DejaVu Sans', sans-serif"
/* The width of a character as a fraction of the font's size: that of a wide
   sans-serif font. Too small: texts run over their neighbours. */
#define GLYPH_WIDTH 0.6

const char *const draw_colours[DRAW_N_COLOURS]
    = { "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9",
        "#d55e00", "#8a939c", "#b8a800", "#6a3d9a", "#000000" };

struct DrawSvg
{
  GString *text;
  locale_t plain, before;
};

void
draw_put (DrawSvg *svg, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_string_append_vprintf (svg->text, format, args);
  va_end (args);
}

char *
draw_escape (const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  GString *plain = g_string_new (NULL);
  for (const char *at = valid; *at; at = g_utf8_next_char (at))
    {
      gunichar c = g_utf8_get_char (at);
      gboolean space = c == '\t' || c == '\n' || c == '\r';
      g_string_append_unichar (plain,
                               g_unichar_iscntrl (c) && !space ? 0xfffd : c);
    }
  char *escaped = g_markup_escape_text (plain->str, -1);
  g_string_free (plain, TRUE);
  return escaped;
}

DrawSvg *
draw_svg_new (double width, double height, const char *title)
{
  DrawSvg *svg = g_new0 (DrawSvg, 1);
  g_autofree char *escaped = draw_escape (title);
  svg->text = g_string_new (NULL);
  svg->plain = newlocale (LC_NUMERIC_MASK, "C", NULL);
  svg->before = uselocale (svg->plain);
  draw_put (svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
            "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"" FONT
            "\" font-size=\"12\" fill=\"" DRAW_INK "\">\n<title>%s</title>\n"
            "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n",
            width, height, width, height, escaped, width, height);
  return svg;
}

char *
draw_svg_end (DrawSvg *svg)
{
  draw_put (svg, "</svg>\n");
  uselocale (svg->before);
  freelocale (svg->plain);
  char *text = g_string_free (svg->text, FALSE);
  g_free (svg);
  return text;
}

void
draw_text (DrawSvg *svg, double x, double y, const char *attributes,
           const char *text)
{
  g_autofree char *escaped = draw_escape (text);
  draw_put (svg, "<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, attributes,
            escaped);
}

void
draw_line (DrawSvg *svg, double x1, double y1, double x2, double y2,
           const char *attributes)
{
  draw_put (svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n",
            x1, y1, x2, y2, attributes);
}

void
draw_rect (DrawSvg *svg, DrawBox box, const char *attributes, const char *tip)
{
  draw_put (
      svg, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"%s%s",
      box.x, box.y, box.width, box.height, *attributes ? " " : "", attributes);
  if (tip)
    {
      g_autofree char *escaped = draw_escape (tip);
      draw_put (svg, "><title>%s</title></rect>\n", escaped);
    }
  else
    draw_put (svg, "/>\n");
}

double
draw_text_width (const char *text, double size)
{
  return GLYPH_WIDTH * size * g_utf8_strlen (text, -1);
}

char *
draw_fit (const char *text, double size, double width)
{
  if (draw_text_width (text, size) <= width)
    return g_strdup (text);
  glong n = (glong)(width / (GLYPH_WIDTH * size)) - 1;
  g_autofree char *begin = g_utf8_substring (text, 0, MAX (n, 1));
  return g_strconcat (begin, "…", NULL);
}

double
draw_step (double range, guint n)
{
  double power = pow (10, floor (log10 (range / n)));
  double first = range / n / power;
  return power * (first > 5 ? 10 : first > 2 ? 5 : first > 1 ? 2 : 1);
}

const char *
draw_time_unit (double ns, double *unit_ns)
{
  static const struct
  {
    double ns;
    const char *name;
  } units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "µs" }, { 1, "ns" } };
  guint i = 0;
  while (i + 1 < G_N_ELEMENTS (units) && ns < units[i].ns)
    i++;
  *unit_ns = units[i].ns;
  return units[i].name;
}

char *
draw_duration (double ns)
{
  double unit_ns;
  const char *unit = draw_time_unit (ns, &unit_ns);
  return g_strdup_printf ("%.3g %s", ns / unit_ns, unit);
}
