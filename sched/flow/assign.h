/* SPDX-License-Identifier: MIT */
/* assign.h: what strategies share that assign a task to a worker when it
   becomes ready: a queue for each worker, and cores that try a codelet once.
   Thread safety: as hass/strategy.h. */
#ifndef HASS_FLOW_ASSIGN_H
#define HASS_FLOW_ASSIGN_H

#include "hass/strategy.h"
#include "sched/flow/try.h"

/* By codelet: a task was assigned to the cores to be measured. */
typedef struct
{
  gboolean tried[HASS_FLOW_QUEUES];
} HassFlowTries;

/* Returns: TRUE if a task goes to the cores because its time there is unknown;
   once for each codelet. */
static inline gboolean
hass_flow_tries (HassFlowTries *tries, const HassFlowTask *task)
{
  gboolean *tried = &tries->tried[task->codelet];
  if (*tried || !task->cores || !hass_flow_may_try (task))
    return FALSE;
  *tried = TRUE;
  return TRUE;
}

/* Returns: TRUE if the end of a task on the cores can be predicted. */
static inline gboolean
hass_flow_cores_known (const HassFlowTask *task)
{
  return task->cores && task->core_ns > 0;
}

/* Returns: the worker of a task that none can be given at this moment: its data
   are being moved. */
static inline gint
hass_flow_first_worker (const HassFlowTask *task)
{
  return task->devices != 0 ? __builtin_ctzll (task->devices) : HASS_FLOW_CORES;
}

/* Returns: the queue of a worker. */
static inline guint
hass_flow_queue_of (gint worker)
{
  return (guint)(worker - HASS_FLOW_CORES);
}

/* Returns: time until a worker has done what it has taken and what waits in its
   queue, in ns. */
static inline double
hass_flow_busy_ns (const HassFlowState *state, gint worker)
{
  return (worker < 0 ? state->core_free_ns : state->held_ns[worker])
         + state->queue_ns[hass_flow_queue_of (worker)];
}

/* Returns: when a worker would have computed the task, its copies behind what
   the worker has; G_MAXDOUBLE: it cannot get the data at this moment. */
static inline double
hass_flow_end_ns (const HassFlowState *state, gint worker)
{
  double copied_ns = state->copy_ns (state, worker);
  if (copied_ns == G_MAXDOUBLE)
    return G_MAXDOUBLE;
  return MAX (hass_flow_busy_ns (state, worker), copied_ns)
         + state->task_ns (state, worker);
}

/* How good a worker is for the task: the lowest value is best; G_MAXDOUBLE: not
   at this moment. */
typedef double (*HassFlowFitness) (const HassFlowState *state, gint worker);

/* Assigns a task to the fittest worker, or to the cores that try it. */
static inline void
hass_flow_assign (HassFlowTries *tries, const HassFlowState *state,
                  const HassFlowTask *task, HassFlowFitness fitness,
                  HassFlowSpot *spot)
{
  gint worker = HASS_FLOW_CORES;
  if (!hass_flow_tries (tries, task))
    {
      double least = hass_flow_cores_known (task) ? fitness (state, worker)
                                                  : G_MAXDOUBLE;
      for (guint64 d = task->devices; d != 0; d &= d - 1)
        {
          double one = fitness (state, __builtin_ctzll (d));
          if (one >= least)
            continue;
          least = one;
          worker = __builtin_ctzll (d);
        }
      if (least == G_MAXDOUBLE)
        worker = hass_flow_first_worker (task);
    }
  double ns = state->task_ns (state, worker);
  spot->queue = hass_flow_queue_of (worker);
  spot->ns = (float)(worker < 0 ? ns / state->n_cores : ns);
}

/* HassStrategyOps.look: a worker looks into its own queue alone. */
static inline gboolean
hass_flow_look_at_own (gpointer self, const HassFlowState *state, gint worker,
                       guint n, HassFlowLook *look)
{
  (void)self, (void)state;
  look->queue = hass_flow_queue_of (worker);
  return n == 0;
}

#endif
