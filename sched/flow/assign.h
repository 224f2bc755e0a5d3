/* SPDX-License-Identifier: MIT */
/* assign.h: what strategies share that assign a task to a worker when it
   becomes ready: a queue for each worker, and cores that try a codelet once.
   Thread safety: as hass/strategy.h. */
#ifndef HASS_FLOW_ASSIGN_H
#define HASS_FLOW_ASSIGN_H

#include "hass/strategy.h"
#include "sched/flow/explain.h"
#include "sched/flow/try.h"

/* @tried: by codelet: a task was assigned to the cores to be measured. */
typedef struct
{
  gboolean tried[HASS_FLOW_QUEUES];
  HassFlowExplain explain;
} HassFlowTries;

/* HassStrategyOps.create, for strategies that keep nothing else. */
static inline gpointer
hass_flow_tries_create (const HassStrategyEnv *env, GError **error)
{
  HassFlowTries *tries = g_new0 (HassFlowTries, 1);
  (void)error;
  hass_flow_explain_init (&tries->explain, env);
  return tries;
}

/* HassStrategyOps.destroy */
static inline void
hass_flow_tries_destroy (gpointer self)
{
  HassFlowTries *tries = self;
  hass_flow_explain_clear (&tries->explain);
  g_free (tries);
}

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

/* Returns: TRUE if a worker is one of those that are compared. */
static inline gboolean
hass_flow_compares (const HassFlowTask *task, gint worker)
{
  return worker < 0 ? hass_flow_cores_known (task)
                    : (task->devices >> worker & 1) != 0;
}

/* Tells that a task is assigned. @n: as hass_flow_tells() returned. */
static inline void
hass_flow_tell_fitness (const HassFlowTries *tries, const HassFlowState *state,
                        const HassFlowTask *task, HassFlowFitness fitness,
                        gint worker, guint n)
{
  double ends_ns[HASS_FLOW_WORKERS];
  for (gint w = HASS_FLOW_CORES; w < (gint)state->n_devices; w++)
    ends_ns[w + 1]
        = hass_flow_compares (task, w) ? fitness (state, w) : G_MAXDOUBLE;
  hass_flow_explain_assigned (&tries->explain, state, task, worker, ends_ns, n);
}

/* Assigns a task to the fittest worker, or to the cores that try it. */
static inline void
hass_flow_assign (HassFlowTries *tries, const HassFlowState *state,
                  const HassFlowTask *task, HassFlowFitness fitness,
                  HassFlowSpot *spot)
{
  gint worker = HASS_FLOW_CORES;
  gboolean unknown = hass_flow_tries (tries, task);
  if (!unknown)
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
  guint n = hass_flow_tells (&tries->explain, task, worker, unknown);
  if (n > 0 && unknown)
    hass_flow_explain_assigned (&tries->explain, state, task, worker, NULL, n);
  else if (n > 0)
    hass_flow_tell_fitness (tries, state, task, fitness, worker, n);
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
