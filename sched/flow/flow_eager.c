/* SPDX-License-Identifier: MIT */
/* flow_eager.c: all tasks wait in one queue; each worker takes the first one
   that it can compute.

   StarPU's "eager" (StarPU handbook, Scheduling Policies): a central queue from
   which all workers draw concurrently, with no regard to times and data. The
   order is that of priorities, as StarPU's "prio" has it. One deviation: the
   data of the first tasks come home for cores, as many as there are cores,
   before a core takes one of them; a device that has room earlier takes it.

   Cost of a decision: the first task. It loses wherever workers differ: a slow
   core takes tasks for which a fast device comes late, and data wander.

   Thread safety: as hass/strategy.h. */
#include "sched/flow/explain.h"

static HassFlowAnswer
suits (gpointer self, const HassFlowState *state, gint worker,
       const HassFlowTask *task, HassFlowVerdict *verdict)
{
  guint n = hass_flow_tells (self, task, worker, HASS_FLOW_TAKE);
  (void)state, (void)verdict;
  if (n > 0)
    hass_flow_explain_answer (self, task, worker, FALSE,
                              "the first that it can compute", n);
  return HASS_FLOW_TAKE;
}

const HassStrategyOps hass_flow_eager = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-eager",
  .summary = "dataflow: each worker takes the first task that it can compute",
  .source = "StarPU handbook, Scheduling Policies: eager, prio",
  .farms = HASS_FARM_DATAFLOW,
  .create = hass_flow_explain_create,
  .destroy = hass_flow_explain_destroy,
  .suits = suits,
};
