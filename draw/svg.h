/* SPDX-License-Identifier: MIT */
/* svg.h: writes SVG images.

   Coordinates are pixels from the top left. Attributes are written into the
   image as they are; texts are escaped by these functions.

   Thread safety: an image belongs to the thread that made it. */
#ifndef DRAW_SVG_H
#define DRAW_SVG_H

#include <glib.h>

G_BEGIN_DECLS

#define DRAW_N_COLOURS 10
/* The colours of Okabe and Ito, which colour-blind readers can tell apart,
   with two more before black. */
extern const char *const draw_colours[DRAW_N_COLOURS];
#define DRAW_INK "#1f2933"
#define DRAW_GREY "#66727f"
#define DRAW_GRID "#e3e7eb"
#define DRAW_LANE "#eceff2"

typedef struct DrawSvg DrawSvg;

/* Returns: an empty white image. This thread uses the C locale for numbers
   until draw_svg_end(). */
DrawSvg *draw_svg_new (double width, double height, const char *title);
/* Frees the image. Returns: (transfer full): its text; free with g_free(). */
char *draw_svg_end (DrawSvg *svg);

/* Returns: (transfer full): a text for draw_put(), whose control characters,
   which XML cannot have, are replaced; free with g_free(). */
char *draw_escape (const char *text);
/* Appends SVG as it is given. */
void draw_put (DrawSvg *svg, const char *format, ...) G_GNUC_PRINTF (2, 3);
void draw_text (DrawSvg *svg, double x, double y, const char *attributes,
                const char *text);
void draw_line (DrawSvg *svg, double x1, double y1, double x2, double y2,
                const char *attributes);
/* A rectangle; @x and @y are its top left corner. */
typedef struct
{
  double x, y, width, height;
} DrawBox;
/* @tip: what a viewer shows when the pointer rests there, or NULL. */
void draw_rect (DrawSvg *svg, DrawBox box, const char *attributes,
                const char *tip);

/* An upper estimate of a text's width; @size is the font's, in pixels. */
double draw_text_width (const char *text, double size);
/* The text, or its beginning and an ellipsis where it would be wider than
   @width; free with g_free(). */
char *draw_fit (const char *text, double size, double width);
/* The distance of an axis' marks: 1, 2 or 5 times a power of ten, so that
   about @n or fewer lie in @range. */
double draw_step (double range, guint n);
/* Returns: (transfer full): a text such as "12.3 ms"; free with g_free(). */
char *draw_duration (double ns);
/* The unit for an axis that ends at @ns; stores how many ns the unit is. */
const char *draw_time_unit (double ns, double *unit_ns);

G_END_DECLS

#endif
