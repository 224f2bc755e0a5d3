/* SPDX-License-Identifier: MIT */
/* graphs.h: ways to run a task graph, measured side by side; hass is one of
   them.

   A graph is a list of tasks in the order of the sequential program. Each peer
   submits them in that order with their accesses, or, if it does not analyse
   accesses, with the edges that follow from them, and calls graph_task() for
   each. graph_task() does the work, and in a checking run it also tests that
   the task comes after those that it must follow.

   Thread safety: one run at a time; graph_task() is for any thread. */
#ifndef GRAPHS_H
#define GRAPHS_H

#include <glib.h>

#include "bench.h"

G_BEGIN_DECLS

/* Most accesses of a task. */
#define GRAPH_ACCESSES 3

/**
 * GraphTask: a task that reads data and then updates one.
 * @n: number of data, the last of which it updates.
 * @data: [@n] their numbers.
 * @versions: [@n] how many tasks before it have updated the datum.
 */
typedef struct
{
  guint n;
  guint32 data[GRAPH_ACCESSES];
  guint32 versions[GRAPH_ACCESSES];
} GraphTask;

/**
 * Graph: tasks, and what a peer needs to run them.
 * @edges: [2 * @n_edges] pairs of tasks of which the second follows the first.
 * @iterations: of fenced work in each task.
 * @now: [@n_data] a checking run: updates so far; NULL: no checks.
 * @wrong: checking run: accesses that saw another version than they must.
 */
typedef struct
{
  guint n_data;
  gsize n_tasks;
  GraphTask *tasks;
  gsize n_edges;
  guint32 *edges;
  gsize iterations;
  guint32 *now;
  guint64 wrong;
} Graph;

void graph_check (Graph *graph, const GraphTask *task);

static inline void
graph_task (Graph *graph, const GraphTask *task)
{
  if (graph->iterations > 0)
    bench_fenced_spin (graph->iterations);
  if (G_UNLIKELY (graph->now != NULL))
    graph_check (graph, task);
}

/**
 * GraphPeer: one way to run a graph.
 * @begin, @end: called around each measurement, not measured; may be NULL.
 * @run: submits and runs the graph once, from nothing.
 * @keep: makes a graph that can be run again; NULL: the peer has none.
 * @again: runs it @times times.
 * @drop: frees it.
 */
typedef struct
{
  const char *name;
  void (*begin) (void);
  void (*end) (void);
  void (*run) (Graph *graph);
  gpointer (*keep) (Graph *graph);
  void (*again) (gpointer kept, guint times);
  void (*drop) (gpointer kept);
} GraphPeer;

extern const GraphPeer graph_hass, graph_tbb;
#ifdef BENCH_OPENMP
extern const GraphPeer graph_openmp;
#endif
#ifdef BENCH_STARPU
extern const GraphPeer graph_starpu;
#endif

G_END_DECLS

#endif
