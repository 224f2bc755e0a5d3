/* SPDX-License-Identifier: MIT */
/* flow_peft.c: flow-heft, with what the place of a task means for the tasks
   after it.

   H. Arabnejad, J. Barbosa: List Scheduling Algorithm for Heterogeneous Systems
   by an Optimistic Cost Table, IEEE TPDS 25(3), 2014; PEFT. OCT (t, w) is the
   time that the graph takes at least after task t has ended on worker w
   (HassFlowState.after_ns). A task gets the worker with the least

     end of the task there, as in flow_heft.c, + OCT (t, w)    (the paper's
   O_EFT)

   and waits there in the order of the mean of OCT over the workers, each core
   counted (rank_oct). So a task goes to a worker that ends it late if those
   after it are fast there and copying to them is not worth it.

   Deviations. 1. As flow_heft.c deviates from HEFT, but for the ranks. 2. The
   priority that the user has given goes before the rank. 3. Of a graph that is
   not recorded the later tasks are unknown: OCT is 0, and this is flow-heft.
   4. While times are unknown OCT has copies alone.

   Cost of a decision: as flow_heft.c; the table takes O(edges * devices), twice
   in a call of hass_recorded_run(). It loses as flow_heft.c does, and where
   many tasks compete for a worker, as in stencils: OCT takes it to be free.

   Thread safety: as hass/strategy.h. */
#include "sched/flow/assign.h"

/* Unit of ranks in ns, as of levels. */
#define RANK_NS 16.0

/* HassFlowFitness: O_EFT. */
static double
path_ns (const HassFlowState *state, gint worker)
{
  double end_ns = hass_flow_end_ns (state, worker);
  return end_ns < G_MAXDOUBLE ? end_ns + state->after_ns (state, worker)
                              : G_MAXDOUBLE;
}

/* Returns: rank_oct. */
static double
rank_ns (const HassFlowState *state)
{
  double ns = state->n_cores * state->after_ns (state, HASS_FLOW_CORES);
  for (guint d = 0; d < state->n_devices; d++)
    ns += state->after_ns (state, (gint)d);
  return ns / (state->n_cores + state->n_devices);
}

static void
place (gpointer self, const HassFlowState *state, const HassFlowTask *task,
       HassFlowSpot *spot)
{
  hass_flow_assign (self, state, task, path_ns, spot);
  spot->level = (guint32)MIN (rank_ns (state) / RANK_NS, (double)G_MAXUINT32);
}

const HassStrategyOps hass_flow_peft = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-peft",
  .summary = "dataflow: flow-heft that looks at the tasks after a task",
  .source = "Arabnejad and Barbosa, IEEE TPDS 25(3) 2014: PEFT",
  .farms = HASS_FARM_DATAFLOW,
  .create = hass_flow_tries_create,
  .destroy = hass_flow_tries_destroy,
  .place = place,
  .look = hass_flow_look_at_own,
};
