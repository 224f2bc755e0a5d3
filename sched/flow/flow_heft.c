/* SPDX-License-Identifier: MIT */
/* flow_heft.c: ready tasks by upward rank, each on the worker that is predicted
   to end it earliest, with copies behind what the worker has.

   H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-Effective and Low-Complexity
   Task Scheduling for Heterogeneous Computing, IEEE TPDS 13(3), 2002; HEFT. A
   task gets the worker with the least

     max (time at which the worker is free, time to copy its data there)
       + time of the task (equations 5 and 6)

   and waits there in the order of ranks. flow-dmdas adds both terms.

   Deviations. 1. HEFT ranks and assigns all tasks before the first begins; here
   a task is assigned when it becomes ready, so predecessors' ends are known and
   not predicted. 2. The rank is the priority, then, of a recorded graph,
   the level: the time of the longest path to the end as earlier runs have
   measured it, without the copies that equation 8 adds. 3. HEFT looks for a gap
   between tasks that is long enough; here a task of higher rank goes before
   those that wait, but its end is predicted as if it came last. 4. The cores
   share one queue, of which the end is that of its tasks on all cores, after
   the first core is free. 5. A codelet whose time on cores is unknown goes to
   devices, and one task of it to a core when many are known (assign.h).

   Cost of a decision: O(devices * accesses), once for each task. It loses where
   links bind, as copies of tasks that wait for one worker count as if each had
   the link alone; and where predictions are wrong, as no worker takes what
   waits for another one.

   Thread safety: as hass/strategy.h. */
#include "sched/flow/assign.h"

static void
place (gpointer self, const HassFlowState *state, const HassFlowTask *task,
       HassFlowSpot *spot)
{
  hass_flow_assign (self, state, task, hass_flow_end_ns, spot);
}

const HassStrategyOps hass_flow_heft = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-heft",
  .summary = "dataflow: ready tasks by rank, each where it ends earliest",
  .source = "Topcuoglu et al., IEEE TPDS 13(3) 2002: HEFT",
  .farms = HASS_FARM_DATAFLOW,
  .create = hass_flow_tries_create,
  .destroy = hass_flow_tries_destroy,
  .place = place,
  .look = hass_flow_look_at_own,
};
