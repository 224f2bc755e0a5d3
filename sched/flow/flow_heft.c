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
   devices, and one task of it to a core when many are known (try.h).

   Cost of a decision: O(devices * accesses), once for each task. It loses where
   links bind, as copies of tasks that wait for one worker count as if each had
   the link alone; and where predictions are wrong, as no worker takes what
   waits for another one.

   Thread safety: as hass/strategy.h. */
#include "hass/strategy.h"
#include "sched/flow/try.h"

/* @tried: by codelet: a task was assigned to the cores to be measured. */
typedef struct
{
  gboolean tried[HASS_FLOW_QUEUES];
} Heft;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)env, (void)error;
  return g_new0 (Heft, 1);
}

static guint
queue_of (gint worker)
{
  return (guint)(worker - HASS_FLOW_CORES);
}

/* Returns: when a worker would have computed the task; G_MAXDOUBLE: it cannot
   get the data now. */
static double
end_ns (const HassFlowState *state, gint worker)
{
  double free_ns = worker < 0 ? state->core_free_ns : state->held_ns[worker];
  double copied_ns = state->copy_ns (state, worker);
  if (copied_ns == G_MAXDOUBLE)
    return G_MAXDOUBLE;
  return MAX (free_ns + state->queue_ns[queue_of (worker)], copied_ns)
         + state->task_ns (state, worker);
}

/* Returns: the worker that ends the task earliest. */
static gint
earliest (const HassFlowState *state, const HassFlowTask *task)
{
  gint best = HASS_FLOW_CORES;
  double least
      = task->cores && task->core_ns > 0 ? end_ns (state, best) : G_MAXDOUBLE;
  for (guint64 d = task->devices; d != 0; d &= d - 1)
    {
      gint device = __builtin_ctzll (d);
      double ns = end_ns (state, device);
      if (ns >= least)
        continue;
      least = ns;
      best = device;
    }
  if (least == G_MAXDOUBLE && task->devices != 0)
    best = __builtin_ctzll (task->devices); /* its data are being moved */
  return best;
}

static void
place (gpointer self, const HassFlowState *state, const HassFlowTask *task,
       HassFlowSpot *spot)
{
  Heft *s = self;
  gboolean tries
      = task->cores && hass_flow_may_try (task) && !s->tried[task->codelet];
  gint worker = tries ? HASS_FLOW_CORES : earliest (state, task);
  double ns = state->task_ns (state, worker);
  s->tried[task->codelet] |= tries;
  spot->queue = queue_of (worker);
  spot->ns = (float)(worker < 0 ? ns / state->n_cores : ns);
}

static gboolean
look (gpointer self, const HassFlowState *state, gint worker, guint n,
      HassFlowLook *look)
{
  (void)self, (void)state;
  look->queue = queue_of (worker);
  return n == 0;
}

const HassStrategyOps hass_flow_heft = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-heft",
  .summary = "dataflow: ready tasks by rank, each where it ends earliest",
  .source = "Topcuoglu et al., IEEE TPDS 13(3) 2002: HEFT",
  .farms = HASS_FARM_DATAFLOW,
  .create = create,
  .destroy = g_free,
  .place = place,
  .look = look,
};
