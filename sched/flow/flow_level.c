/* SPDX-License-Identifier: MIT */
/* flow_level.c: ready tasks by level, each on the worker that is predicted to
   end it earliest as if copies took no time.

   T. C. Hu: Parallel Sequencing and Assembly Line Problems, Operations Research
   9(6), 1961, as a list schedule for workers that differ; E. G. Coffman and
   R. L. Graham, Acta Informatica 1, 1972, for the order of such lists. A task
   gets the worker with the least

     time at which the worker is free + time of the task

   and waits there in the order of priorities, of a recorded graph then of
   levels: the time of the longest path to the end. It is flow-heft without its
   copies. flow-dmdas with beta=0 chooses likewise, but the copies of the tasks
   that wait for a worker count in the time at which that one is free.

   Deviations. 1. Hu's tasks take a unit of time and any worker runs them; here
   a level is a sum of mean times, as in critical-path scheduling. 2. Tasks of
   equal level begin in the order in which they became ready, not in that of
   Coffman and Graham's labels, which are defined for two equal workers and
   tasks of unit time. 3. A graph that is not recorded has no levels. 4. What a
   device has taken counts as the engine predicts it, its copies included; only
   a worker that cannot get the data at this moment is left out. 5. Cores, and
   codelets whose time on cores is unknown, as in flow_heft.c.

   Cost of a decision: O(devices * accesses), once for each task. It loses where
   copies take as long as kernels: neighbouring tasks go to different devices.

   Thread safety: as hass/strategy.h. */
#include "sched/flow/assign.h"

/* HassFlowFitness: the end without copies. */
static double
computed_ns (const HassFlowState *state, gint worker)
{
  return state->copy_ns (state, worker) < G_MAXDOUBLE
             ? hass_flow_busy_ns (state, worker)
                   + state->task_ns (state, worker)
             : G_MAXDOUBLE;
}

static void
place (gpointer self, const HassFlowState *state, const HassFlowTask *task,
       HassFlowSpot *spot)
{
  hass_flow_assign (self, state, task, computed_ns, spot);
}

const HassStrategyOps hass_flow_level = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-level",
  .summary = "dataflow: ready tasks by level, each where it ends earliest",
  .source = "Hu, Operations Research 9(6) 1961: level scheduling",
  .farms = HASS_FARM_DATAFLOW,
  .create = hass_flow_tries_create,
  .destroy = hass_flow_tries_destroy,
  .place = place,
  .look = hass_flow_look_at_own,
};
