/* SPDX-License-Identifier: MIT */
/* svg.h: the elements of the pictures.

   Coordinates are pixels from the top left. Attributes are SVG source; texts
   are escaped here.

   Thread safety: an image belongs to the thread that made it. */
#ifndef DRAW_SVG_H
#define DRAW_SVG_H

#include <glib.h>

G_BEGIN_DECLS

#define DRAW_N_COLOURS 10
/* The palette of Okabe and Ito, distinguishable with colour blindness, and two
   more colours before black. */
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

/* Appends any SVG source. */
void draw_put (DrawSvg *svg, const char *format, ...) G_GNUC_PRINTF (2, 3);
void draw_text (DrawSvg *svg, double x, double y, const char *attributes,
                const char *text);
void draw_line (DrawSvg *svg, double x1, double y1, double x2, double y2,
                const char *attributes);
/* @tip: tooltip, or NULL. */
void draw_rect (DrawSvg *svg, double x, double y, double width, double height,
                const char *attributes, const char *tip);

/* Returns: an upper estimate of the width of a text, px. */
double draw_text_width (const char *text, double size);
/* Returns: (transfer full): the text, shortened with an ellipsis to at most
   @width pixels; free with g_free(). */
char *draw_fit (const char *text, double size, double width);
/* Returns: 1, 2 or 5 times a power of ten, of which at most about @n make
   @range. */
double draw_step (double range, guint n);
/* Returns: (transfer full): a text such as "12.3 ms"; free with g_free(). */
char *draw_duration (double ns);
/* Returns: the unit for an axis of @ns; @unit_ns is set to its length. */
const char *draw_time_unit (double ns, double *unit_ns);

G_END_DECLS

#endif
