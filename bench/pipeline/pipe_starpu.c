/* SPDX-License-Identifier: MIT */
/* pipe_starpu.c: StarPU tasks whose data order them: a token's slot, and one
   datum for each ordered stage. Its workers spin while they are idle, so it
   lives only during its own measurements.
   Thread safety: one run at a time. */
#include "pipes.h"

#include <starpu.h>
#include <stdlib.h>

#include "bench.h"

#define SLOTS 256 /* tokens in flight */

typedef struct
{
  PipeRun *run;
  gsize token;
  guint index;
} Call;

static starpu_data_handle_t slots[SLOTS], turns[PIPE_STAGES];

static void
run_one (void **buffers, void *arg)
{
  const Call *call = arg;
  (void)buffers;
  pipe_stage (call->run, call->index, call->token);
}

static struct starpu_codelet parallel = { .cpu_funcs = { run_one },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW },
                                          .name = "parallel" },
                             ordered = { .cpu_funcs = { run_one },
                                         .nbuffers = 2,
                                         .modes = { STARPU_RW, STARPU_RW },
                                         .name = "ordered" };

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
  for (guint i = 0; i < SLOTS; i++)
    starpu_void_data_register (&slots[i]);
  for (guint i = 0; i < PIPE_STAGES; i++)
    starpu_void_data_register (&turns[i]);
}

static void
end (void)
{
  for (guint i = 0; i < SLOTS; i++)
    starpu_data_unregister (slots[i]);
  for (guint i = 0; i < PIPE_STAGES; i++)
    starpu_data_unregister (turns[i]);
  starpu_shutdown ();
}

static void
run_tasks (PipeRun *run)
{
  Call *calls = g_new (Call, run->n_tokens * run->n_stages);
  for (gsize token = 0; token < run->n_tokens; token++)
    {
      pipe_source (run, token);
      for (guint i = 0; i < run->n_stages; i++)
        {
          struct starpu_task *task = starpu_task_create ();
          Call *call = &calls[token * run->n_stages + i];
          *call = (Call){ run, token, i };
          task->cl = run->stages[i].ordered ? &ordered : &parallel;
          task->handles[0] = slots[token % SLOTS];
          task->handles[1] = turns[i];
          task->cl_arg = call;
          task->cl_arg_size = sizeof *call;
          if (starpu_task_submit (task) != 0)
            {
              g_printerr ("StarPU takes no task\n");
              exit (1);
            }
        }
    }
  starpu_task_wait_for_all ();
  g_free (calls);
}

const PipePeer pipe_starpu = {
  .name = "StarPU", .most = 4000, .begin = begin, .end = end, .run = run_tasks
};
