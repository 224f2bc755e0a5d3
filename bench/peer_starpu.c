/* SPDX-License-Identifier: MIT */
/* peer_starpu.c: StarPU tasks on its CPU workers. Its workers spin while
   they are idle, so it lives only during its own measurements.
   Thread safety: one run at a time. */
#include "bench.h"

#include <starpu.h>
#include <stdlib.h>

static BenchWork current;

static void
run_one (void **buffers, void *load)
{
  (void)buffers;
  current (load);
}

static struct starpu_codelet codelet
    = { .cpu_funcs = { run_one }, .nbuffers = 0, .name = "load" };

static void
begin (void)
{
  struct starpu_conf conf;
  g_setenv ("STARPU_SILENT", "1", TRUE);
  g_setenv ("STARPU_HOME", g_get_tmp_dir (), FALSE);
  starpu_conf_init (&conf);
  conf.ncpus = (int)bench_cores ();
  if (starpu_init (&conf) != 0)
    {
      g_printerr ("StarPU does not start\n");
      exit (1);
    }
}

static void
end (void)
{
  starpu_shutdown ();
}

static void
run_all (const HassLoad *loads, gsize n, BenchWork work)
{
  current = work;
  for (gsize i = 0; i < n; i++)
    {
      struct starpu_task *task = starpu_task_create ();
      task->cl = &codelet;
      task->cl_arg = (void *)&loads[i];
      task->cl_arg_size = sizeof loads[i];
      if (starpu_task_submit (task) != 0)
        {
          g_printerr ("StarPU takes no task\n");
          exit (1);
        }
    }
  starpu_task_wait_for_all ();
}

const BenchPeer bench_starpu = { .name = "StarPU",
                                 .most = 50000,
                                 .begin = begin,
                                 .end = end,
                                 .known = run_all,
                                 .emitted = run_all };
