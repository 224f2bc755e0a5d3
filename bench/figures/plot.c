/* SPDX-License-Identifier: MIT */
/* plot.c: the plots of the figures.
   Thread safety: any thread. */
#include "figures.h"

static char *
plot (DrawPlot plot, const FiguresLine *lines, guint n, guint rounds)
{
  plot.series = lines;
  plot.n_series = n;
  plot.n_points = rounds;
  return draw_plots (&plot, 1);
}

char *
figures_plot_lines (const char *title, const char *subtitle,
                    const FiguresLine *lines, guint n, guint rounds)
{
  return plot ((DrawPlot){ .kind = DRAW_LINES,
                           .title = title,
                           .subtitle = subtitle,
                           .y_title = "time of the round [ms]" },
               lines, n, rounds);
}

char *
figures_plot_parts (const char *title, const char *subtitle,
                    const FiguresLine *lines, guint n, guint rounds)
{
  return plot ((DrawPlot){ .kind = DRAW_BARS,
                           .title = title,
                           .subtitle = subtitle,
                           .y_title = "part of the round's work",
                           .top = 1,
                           .percent = TRUE },
               lines, n, rounds);
}
