/* SPDX-License-Identifier: MIT */
/* pipe_openmp.c: OpenMP tasks that depend on each other: a token's stage on
   its stage before, an ordered stage on that of the token before.
   Thread safety: one run at a time. */
#include "pipes.h"

#define SLOTS 256 /* tokens in flight */

static void
run_tasks (PipeRun *run)
{
  char slots[SLOTS], turns[PIPE_STAGES];
#pragma omp parallel
#pragma omp single
  for (gsize token = 0; token < run->n_tokens; token++)
    {
      char *slot = &slots[token % SLOTS];
      pipe_source (run, token);
      for (guint i = 0; i < run->n_stages; i++)
        {
          char *turn = &turns[i];
          (void)slot, (void)turn;
          if (run->stages[i].ordered)
            {
#pragma omp task depend(inout : slot[0], turn[0])
              pipe_stage (run, i, token);
            }
          else
            {
#pragma omp task depend(inout : slot[0])
              pipe_stage (run, i, token);
            }
        }
    }
}

const PipePeer pipe_openmp
    = { .name = "OpenMP depend", .most = 20000, .run = run_tasks };
