/* SPDX-License-Identifier: MIT */
/* plot.h: plots of something per round or per name: lines, parts of a whole,
   bars side by side.
   Thread safety: any thread. */
#ifndef DRAW_PLOT_H
#define DRAW_PLOT_H

#include <glib.h>

G_BEGIN_DECLS

/* @colour: NULL: the next one of draw_colours, dashed once they are used up.
   @values: [n_points], none negative; NAN in a line: a gap, of bars side by
   side: none.
   @marks: [n_points] or NULL: what a bar side by side was expected to be, a
   stroke across it; NAN: none. */
typedef struct
{
  const char *name, *colour;
  const double *values;
  gboolean dashed;
  const double *marks;
} DrawSeries;

typedef enum
{
  DRAW_LINES,
  DRAW_BARS,  /* stacked, one for each point */
  DRAW_AREAS, /* stacked; bars where there are fewer than three points */
  DRAW_GROUPS /* bars side by side, a group for each point */
} DrawKind;

/**
 * DrawPlot: one plot.
 * @x_title: NULL: "round". Points are numbered from 1.
 * @labels: [n_points], names of the points instead of numbers, or NULL.
 * @marks_name: what the legend calls marks; NULL: none are drawn.
 * @line: a level that a line is drawn at; 0: none.
 * @low, @top: of the y axis. Both 0: from 0 to what is needed.
 * @percent: values are parts; the axis shows them as percent.
 * @log: of lines, all > 0: the y axis is logarithmic, of whole decades.
 */
typedef struct
{
  DrawKind kind;
  const char *title, *subtitle, *x_title, *y_title;
  const DrawSeries *series;
  guint n_series, n_points;
  double low, top;
  gboolean percent, log;
  const char *const *labels;
  const char *marks_name;
  double line;
} DrawPlot;

/* One below the other; SVG, free with g_free(). */
char *draw_plots (const DrawPlot *plots, guint n);

G_END_DECLS

#endif
