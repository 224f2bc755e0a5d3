/* SPDX-License-Identifier: MIT */
/* gantt.h: draws a run as a Gantt chart.
   Thread safety: any thread. */
#ifndef DRAW_GANTT_H
#define DRAW_GANTT_H

#include "chain.h"
#include "trace_file.h"

G_BEGIN_DECLS

/* A CPU pool with more cores is drawn as one area, the busy part of it. */
#define DRAW_GANTT_MOST_CORES 16

/**
 * draw_gantt:
 * @workload: for the title; NULL: the name of the farm.
 *
 * Draws one row for each core and three for each GPU (copy in, kernel, copy
 * out) over time. Bars too short to be distinguished are merged into one, whose
 * colour is paler the longer it is idle, so that the image stays below 1 MB for
 * any number of bars. Hatched boxes over all rows of a GPU are failed bundles,
 * grey ones the time in which it was opened. A GPU that was not started has a
 * note.
 *
 * Returns: (transfer full): SVG; free with g_free().
 */
char *draw_gantt (const DrawTrace *trace, const char *workload);

/* Likewise with the bars of the chain outlined, lines from each to the next
   one, and all other bars pale. Of a long chain, neighbours in a row are one
   bar, and of lines that nearly coincide one is drawn, so that the image stays
   below 1 MB. @chain: of @trace; NULL: none. */
char *draw_gantt_chain (const DrawTrace *trace, const DrawChain *chain,
                        const char *workload);
/* Writes the file. */
gboolean draw_gantt_file (const DrawTrace *trace, const DrawChain *chain,
                          const char *svg_path, const char *workload,
                          GError **error);

G_END_DECLS

#endif
