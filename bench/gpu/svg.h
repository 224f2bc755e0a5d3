/* SPDX-License-Identifier: MIT */
/* svg.h: a plot of lines over two logarithmic axes.
   Thread safety: any thread. */
#ifndef GPU_BENCH_SVG_H
#define GPU_BENCH_SVG_H

#include "gpu_bench.h"

G_BEGIN_DECLS

#define SVG_MOST_LINES 8

/**
 * SvgPlot: what is plotted.
 * @bytes: [@n_points] the x of each point, ascending; each gets a tick.
 * @names: [@n_lines]; @values: [@n_lines][@n_points] > 0, or NAN for none.
 * @bold: the line that the plot is about.
 */
typedef struct
{
  const char *title, *subtitle, *x_label, *y_label;
  gsize n_points;
  const gsize *bytes;
  guint n_lines, bold;
  const char *const *names;
  const double *const *values;
} SvgPlot;

/* FALSE: says on stderr why it could not be written. */
gboolean svg_write (const SvgPlot *plot, const char *path);

G_END_DECLS

#endif
