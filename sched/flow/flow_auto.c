/* SPDX-License-Identifier: MIT */
/* flow_auto.c: tasks wait together; a worker takes one that no other is
   predicted to end earlier.

   DESIGN. A device takes, of the first few tasks that no other device would end
   earlier, the one whose data come soonest. A device ends a task after what it
   holds, the copies that the task needs and the task's own time. A task that it
   leaves to another device counts there, so a slow device takes the one to
   which the fast ones would come late. A core takes the last task whose data
   are at home, if it will have computed the task before the devices would have
   come to it: by their kernels, or by their copies where the link binds. A
   codelet whose time on cores is unknown is tried by one core (try.h).

   Cost of a decision: O(devices) for each task that is looked at; copies are
   predicted only for devices that could be earlier without them. It loses where
   the order of the tasks matters more than their places: a task that the device
   with its data would end late waits for it.

   Thread safety: as hass/strategy.h. */
#include "hass/strategy.h"
#include "sched/flow/try.h"

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return (gpointer)env;
}

static gboolean
look (gpointer self, const HassFlowState *state, gint worker, guint n,
      HassFlowLook *look)
{
  (void)self, (void)state;
  look->from_end = worker == HASS_FLOW_CORES;
  return n == 0;
}

static HassFlowAnswer
suits_cores (const HassFlowState *state, const HassFlowTask *task)
{
  if (task->core_ns == 0
          ? !hass_flow_may_try (task)
          : task->devices != 0
                && (task->device_ns == 0 || task->core_ns > state->backlog_ns))
    return HASS_FLOW_LEAVE;
  return HASS_FLOW_IF_HOME;
}

static HassFlowAnswer
suits_device (const HassFlowState *state, guint device,
              const HassFlowTask *task, HassFlowVerdict *verdict)
{
  verdict->score = state->copy_ns (state, (gint)device);
  double least = state->held_ns[device] + verdict->score
                 + state->task_ns (state, (gint)device);
  guint64 others = task->devices & ~((guint64)1 << device);
  for (; others != 0; others &= others - 1)
    {
      guint other = (guint)__builtin_ctzll (others);
      double ns = state->held_ns[other] + state->task_ns (state, (gint)other);
      if (ns >= least)
        continue;
      ns += state->copy_ns (state, (gint)other);
      if (ns >= least)
        continue;
      least = ns;
      verdict->left_to = 1 + other;
    }
  return verdict->left_to > 0 ? HASS_FLOW_LEAVE : HASS_FLOW_TAKE;
}

static HassFlowAnswer
suits (gpointer self, const HassFlowState *state, gint worker,
       const HassFlowTask *task, HassFlowVerdict *verdict)
{
  (void)self;
  return worker == HASS_FLOW_CORES
             ? suits_cores (state, task)
             : suits_device (state, (guint)worker, task, verdict);
}

const HassStrategyOps hass_flow_auto = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-auto",
  .summary = "dataflow: a worker takes a task that none would end earlier",
  .source = "list scheduling by earliest predicted end, decided by the worker",
  .farms = HASS_FARM_DATAFLOW,
  .create = create,
  .look = look,
  .suits = suits,
};
