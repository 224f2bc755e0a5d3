/* SPDX-License-Identifier: MIT */
/* plot.h: plots of something per round: lines, or parts of a whole.
   Thread safety: any thread. */
#ifndef DRAW_PLOT_H
#define DRAW_PLOT_H

#include <glib.h>

G_BEGIN_DECLS

/* @colour: NULL: the next one of draw_colours, dashed once they are used up.
   @values: [n_points], none negative; NAN in a line: a gap. */
typedef struct
{
  const char *name, *colour;
  const double *values;
  gboolean dashed;
} DrawSeries;

typedef enum
{
  DRAW_LINES,
  DRAW_BARS, /* stacked, one for each point */
  DRAW_AREAS /* stacked; bars where there are fewer than three points */
} DrawKind;

/**
 * DrawPlot: one plot.
 * @x_title: NULL: "round". Points are numbered from 1.
 * @low, @top: of the y axis. Both 0: from 0 to what is needed.
 * @percent: values are parts; the axis shows them as percent.
 */
typedef struct
{
  DrawKind kind;
  const char *title, *subtitle, *x_title, *y_title;
  const DrawSeries *series;
  guint n_series, n_points;
  double low, top;
  gboolean percent;
} DrawPlot;

/* One below the other; SVG, free with g_free(). */
char *draw_plots (const DrawPlot *plots, guint n);

G_END_DECLS

#endif
