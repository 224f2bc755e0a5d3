/* SPDX-License-Identifier: MIT */
/* gantt.h: a run as a Gantt chart.
   Thread safety: any thread. */
#ifndef DRAW_GANTT_H
#define DRAW_GANTT_H

#include "trace_file.h"

G_BEGIN_DECLS

/* A CPU pool of more cores is drawn as one area, the part of it at work. */
#define DRAW_GANTT_MOST_CORES 16

/**
 * draw_gantt:
 * @workload: for the title; NULL: the farm's name.
 *
 * A row for each core and three for each GPU (copy in, kernel, copy out) over
 * time. Bars that are too short to be seen apart become one, paler by as much
 * as it is idle, so that the image stays below 1 MB however many there are.
 * Hatched boxes over all rows of a GPU are bundles that failed there, and grey
 * ones the time in which it was made ready. One that was not started says so.
 *
 * Returns: SVG; free with g_free().
 */
char *draw_gantt (const DrawTrace *trace, const char *workload);

/* Reads a farm of the trace, see draw_trace_load(), draws it and writes the
   file. */
gboolean draw_gantt_file (const char *trace_path, guint number,
                          const char *svg_path, const char *workload,
                          GError **error);

G_END_DECLS

#endif
