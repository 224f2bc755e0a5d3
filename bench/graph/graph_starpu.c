/* SPDX-License-Identifier: MIT */
/* graph_starpu.c: StarPU tasks on data without memory. Its workers spin while
   they are idle, so it lives only during its own measurements.
   Thread safety: one run at a time. */
#include "graphs.h"

#include <starpu.h>
#include <stdlib.h>

static Graph *running;

static void
compute (void **buffers, void *arg)
{
  (void)buffers;
  graph_task (running, arg);
}

static struct starpu_codelet codelets[GRAPH_ACCESSES] = {
  { .cpu_funcs = { compute }, .nbuffers = 1, .modes = { STARPU_RW } },
  { .cpu_funcs = { compute }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW } },
  { .cpu_funcs = { compute },
    .nbuffers = 3,
    .modes = { STARPU_R, STARPU_R, STARPU_RW } },
};

static void
begin (void)
{
  struct starpu_conf conf;
  g_setenv ("STARPU_SILENT", "1", TRUE);
  g_setenv ("STARPU_HOME", g_get_tmp_dir (), FALSE);
  starpu_conf_init (&conf);
  conf.ncpus = (int)bench_cores ();
  if (starpu_init (&conf) == 0)
    return;
  g_printerr ("StarPU does not start\n");
  exit (1);
}

static void
end (void)
{
  starpu_shutdown ();
}

static void
run (Graph *graph)
{
  starpu_data_handle_t *handles = g_new (starpu_data_handle_t, graph->n_data);
  running = graph;
  for (guint d = 0; d < graph->n_data; d++)
    starpu_void_data_register (&handles[d]);
  for (gsize t = 0; t < graph->n_tasks; t++)
    {
      GraphTask *of = &graph->tasks[t];
      struct starpu_task *task = starpu_task_create ();
      task->cl = &codelets[of->n - 1];
      for (guint i = 0; i < of->n; i++)
        task->handles[i] = handles[of->data[i]];
      task->cl_arg = of;
      if (starpu_task_submit (task) != 0)
        {
          g_printerr ("StarPU takes no task\n");
          exit (1);
        }
    }
  starpu_task_wait_for_all ();
  for (guint d = 0; d < graph->n_data; d++)
    starpu_data_unregister (handles[d]);
  g_free (handles);
}

const GraphPeer graph_starpu
    = { .name = "StarPU", .begin = begin, .end = end, .run = run };
