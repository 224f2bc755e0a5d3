/* SPDX-License-Identifier: MIT */
/* flow_dmda.c: a task is assigned when it becomes ready, to the worker that is
   predicted to end it first; "flow-dmda" and "flow-dmdas".

   C. Augonnet, J. Clet-Ortega, S. Thibault, R. Namyst: Data-Aware Task
   Scheduling on Multi-Accelerator based Platforms, ICPADS 2010; StarPU's "dmda"
   and "dmdas" (deque model data aware, sorted). Each worker has a queue. A task
   enters the one with the least

     alpha * (end of the tasks in the queue + time of the task)
       + beta * time to copy its missing data there,

   both factors 1 as in StarPU. The tasks in a queue count with their copies.
   flow-dmda computes a queue in the order of assignment, flow-dmdas by
   priority, of a recorded graph then by level.

   Deviations. 1. The cores share one queue: on equal cores, which have the same
   memory, that is as good as one each. Its end is that of its tasks on all
   cores, after the first core is free. 2. StarPU calibrates its models by tasks
   which it spreads until each worker has computed ten. Here a codelet whose
   time on cores is unknown goes to devices, and one task of it to a core when
   many are known (assign.h); while its time on devices is unknown, tasks count.
   3. Of tasks of one priority, StarPU's dmdas begins the one of which most
   data are there; flow-dmdas begins the first. 4. When devices open or are
   lost, all that wait are assigned anew; StarPU's workers are constant.

   Cost of a decision: O(devices * accesses), once for each task. It loses where
   predictions are wrong: a worker never takes what waits for another one.

   Thread safety: as hass/strategy.h. */
#include "sched/flow/assign.h"

/* Of the values of the parameters. */
enum
{
  ALPHA,
  BETA
};

typedef struct
{
  double alpha, beta;
  gboolean sorted;
  HassFlowTries tries;
} Dmda;

static const HassParameter parameters[]
    = { [ALPHA] = { "alpha", 1, 0, 1000, "weight of the predicted end" },
        [BETA] = { "beta", 1, 0, 1000, "weight of the copies" },
        { .name = NULL } };

static gpointer
new_dmda (const HassStrategyEnv *env, gboolean sorted)
{
  Dmda *s = g_new0 (Dmda, 1);
  s->alpha = env->parameters[ALPHA];
  s->beta = env->parameters[BETA];
  s->sorted = sorted;
  hass_flow_explain_init (&s->tries.explain, env);
  return s;
}

static void
destroy (gpointer self)
{
  Dmda *s = self;
  hass_flow_explain_clear (&s->tries.explain);
  g_free (s);
}

static gpointer
create_dmda (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return new_dmda (env, FALSE);
}

static gpointer
create_dmdas (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return new_dmda (env, TRUE);
}

/* Of a worker for a task. @ns: what the task adds to its queue. */
typedef struct
{
  gint worker;
  double fitness, ns;
} Option;

static void
consider (const Dmda *s, const HassFlowState *state, gint worker, Option *best)
{
  double task_ns = state->task_ns (state, worker);
  double copy_ns = state->copy_ns (state, worker);
  if (copy_ns == G_MAXDOUBLE)
    return;
  double busy_ns = hass_flow_busy_ns (state, worker);
  Option o = { .worker = worker, .ns = task_ns + copy_ns };
  if (worker < 0)
    o.ns /= state->n_cores;
  o.fitness = s->alpha * (busy_ns + task_ns) + s->beta * copy_ns;
  if (o.fitness < best->fitness)
    *best = o;
}

/* Tells that a task is assigned. @n: as hass_flow_tells() returned. */
static void
explain (const Dmda *s, const HassFlowState *state, const HassFlowTask *task,
         gint worker, guint n)
{
  double fitness[HASS_FLOW_WORKERS];
  for (gint w = HASS_FLOW_CORES; w < (gint)state->n_devices; w++)
    {
      Option one = { .fitness = G_MAXDOUBLE };
      if (hass_flow_compares (task, w))
        consider (s, state, w, &one);
      fitness[w + 1] = one.fitness;
    }
  hass_flow_explain_assigned (&s->tries.explain, state, task, worker, fitness,
                              n);
}

static void
place (gpointer self, const HassFlowState *state, const HassFlowTask *task,
       HassFlowSpot *spot)
{
  Dmda *s = self;
  Option best = { .worker = HASS_FLOW_CORES, .fitness = G_MAXDOUBLE };
  gboolean tries = hass_flow_tries (&s->tries, task);
  for (guint64 d = tries ? 0 : task->devices; d != 0; d &= d - 1)
    consider (s, state, __builtin_ctzll (d), &best);
  if (hass_flow_cores_known (task))
    consider (s, state, HASS_FLOW_CORES, &best);
  if (best.fitness == G_MAXDOUBLE && !tries)
    best.worker = hass_flow_first_worker (task);
  guint n = hass_flow_tells (&s->tries.explain, task, best.worker, tries);
  if (n > 0 && tries)
    hass_flow_explain_assigned (&s->tries.explain, state, task, best.worker,
                                NULL, n);
  else if (n > 0)
    explain (s, state, task, best.worker, n);
  spot->queue = hass_flow_queue_of (best.worker);
  spot->ns = (float)best.ns;
  if (!s->sorted)
    {
      spot->priority = 0;
      spot->level = 0;
    }
}

const HassStrategyOps hass_flow_dmda = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-dmda",
  .summary = "dataflow: ready tasks assigned to the earliest predicted end",
  .source = "Augonnet et al., ICPADS 2010; StarPU: dmda",
  .farms = HASS_FARM_DATAFLOW,
  .parameters = parameters,
  .create = create_dmda,
  .destroy = destroy,
  .place = place,
  .look = hass_flow_look_at_own,
};

const HassStrategyOps hass_flow_dmdas = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-dmdas",
  .summary = "dataflow: flow-dmda, each worker by priority",
  .source = "Augonnet et al., ICPADS 2010; StarPU: dmdas",
  .farms = HASS_FARM_DATAFLOW,
  .parameters = parameters,
  .create = create_dmdas,
  .destroy = destroy,
  .place = place,
  .look = hass_flow_look_at_own,
};
