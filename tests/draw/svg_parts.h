/* SPDX-License-Identifier: MIT */
/* svg_parts.h: what an SVG image is made of, for tests.
   Thread safety: any thread. */
#ifndef SVG_PARTS_H
#define SVG_PARTS_H

#include <glib.h>

/**
 * SvgParts: counted by class and kind.
 * @lanes: rectangles of class "lane"; @left, @right: the widest of them.
 * @bars: other rectangles with a title; @lowest, @highest: x of the outermost.
 * @areas: paths of class "area" or "part"; @lines: polylines.
 * @texts: char *, what is written.
 */
typedef struct
{
  guint lanes, bars, areas, lines;
  double left, right;
  double lowest, highest;
  GPtrArray *texts;
} SvgParts;

/* Fails the CUnit test unless it is well-formed. */
SvgParts svg_parts (const char *svg);
gboolean svg_says (const SvgParts *parts, const char *text);
void svg_parts_clear (SvgParts *parts);

#endif
