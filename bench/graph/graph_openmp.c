/* SPDX-License-Identifier: MIT */
/* graph_openmp.c: OpenMP tasks with depend clauses.
   Thread safety: one run at a time. */
#include "graphs.h"

static void
submit (Graph *graph, const GraphTask *task, char *at)
{
  char *a = &at[task->data[0]], *b = &at[task->data[1 % task->n]];
  char *c = &at[task->data[task->n - 1]];
  (void)a, (void)b, (void)c;
  if (task->n == 1)
    {
#pragma omp task depend(inout : c[0])
      graph_task (graph, task);
    }
  else if (task->n == 2)
    {
#pragma omp task depend(in : a[0]) depend(inout : c[0])
      graph_task (graph, task);
    }
  else
    {
#pragma omp task depend(in : a[0], b[0]) depend(inout : c[0])
      graph_task (graph, task);
    }
}

static void
run (Graph *graph)
{
  char *at = g_malloc (graph->n_data);
#pragma omp parallel
#pragma omp single
  for (gsize t = 0; t < graph->n_tasks; t++)
    submit (graph, &graph->tasks[t], at);
  g_free (at);
}

const GraphPeer graph_openmp = { .name = "OpenMP depend", .run = run };
