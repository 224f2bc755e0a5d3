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

/* Returns: time until a worker has done what it has taken, in ns. */
static inline double
hass_flow_free_ns (const HassFlowState *state, gint worker)
{
  return worker < 0 ? state->core_free_ns : state->held_ns[worker];
}

/* Returns: the queue of a worker. */
static inline guint
hass_flow_queue_of (gint worker)
{
  return (guint)(worker - HASS_FLOW_CORES);
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
