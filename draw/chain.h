/* SPDX-License-Identifier: MIT */
/* chain.h: the chain of last predecessors of a task, from the trace of a
   dataflow: why the task began only then.
   Thread safety: a chain belongs to the thread that made it. */
#ifndef DRAW_CHAIN_H
#define DRAW_CHAIN_H

#include "trace_file.h"

G_BEGIN_DECLS

/* Stands for the task that ended last. */
#define DRAW_LAST_TASK G_MAXUINT64

/**
 * DrawChain: a task, its last predecessor, that one's, and so on.
 * @trace: outlives the chain.
 * @bars: guint, of each task the index of its bar in DrawTrace.bars, in order
 *   of time: the task in question comes last.
 * @missing: 1 + the number of the predecessor of the first of them, which the
 *   trace does not have; 0: the first has none.
 * @compute_ns: total length of the bars.
 * @wait_ns: total time between the end of a predecessor and the begin.
 * @begin_ns: begin of the first.
 */
typedef struct
{
  const DrawTrace *trace;
  GArray *bars;
  guint64 missing;
  double compute_ns, wait_ns, begin_ns;
} DrawChain;

/* Reads "last" or the number of a task. Returns: FALSE with
   HASS_ERROR_INVALID. */
gboolean draw_chain_parse (const char *text, guint64 *task, GError **error);
/* @task: its number, or DRAW_LAST_TASK. Of a task that was computed several
   times, the last time counts. Returns: NULL with HASS_ERROR_INVALID if the
   trace is of no dataflow, has no such task or no last predecessors. */
DrawChain *draw_chain_new (const DrawTrace *trace, guint64 task,
                           GError **error);
void draw_chain_free (DrawChain *chain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DrawChain, draw_chain_free)

/* Returns: bar @i of the chain, from 0. */
const DrawBar *draw_chain_bar (const DrawChain *chain, guint i);
/* Returns: the time between the end of the predecessor of bar @i and its begin;
   of the first 0. */
double draw_chain_wait_ns (const DrawChain *chain, guint i);
/* Returns (transfer full): the chain in a sentence. */
char *draw_chain_caption (const DrawChain *chain);
/* Returns (transfer full): a table of it with a line for each codelet. */
char *draw_chain_table (const DrawChain *chain);

G_END_DECLS

#endif
