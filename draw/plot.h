/* SPDX-License-Identifier: MIT */
/* plot.h: plots of values by round or by name: lines, stacked parts of a whole,
   bars side by side.
   Thread safety: any thread. */
#ifndef DRAW_PLOT_H
#define DRAW_PLOT_H

#include <glib.h>

G_BEGIN_DECLS

/* DrawSeries: one line, part or bar.
   @name: in the legend.
   @colour: NULL: the next of draw_colours, dashed when they are used up.
   @values: [n_points], not negative; NAN: a gap in a line, no bar in groups.
   @marks: [n_points] or NULL: expected values of bars in groups, drawn as
     strokes; NAN: none. */
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
 * @labels: [n_points] names of the points in place of numbers, or NULL.
 * @marks_name: name of the marks in the legend; NULL: no marks.
 * @line: level at which a line is drawn; 0: none.
 * @low, @top: range of the y axis. Both 0: from 0 to the maximum.
 * @percent: values are parts of 1; the axis shows percent.
 * @log: the y axis of lines is logarithmic, in whole decades; all values > 0.
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

/* Draws the plots one below the other. Returns: (transfer full): SVG; free with
   g_free(). */
char *draw_plots (const DrawPlot *plots, guint n);

G_END_DECLS

#endif
