/* SPDX-License-Identifier: MIT */
/* flow_lws.c: a worker takes the tasks that it has made ready, and steals from
   its neighbours when it has none.

   StarPU's "lws", locality work stealing (StarPU handbook, Scheduling
   Policies); work stealing: R. D. Blumofe, C. E. Leiserson: Scheduling
   Multithreaded Computations by Work Stealing, Journal of the ACM 46(5), 1999.
   Each worker has a queue. A task waits at the worker that has made it ready by
   ending the last one before it: part of its data is there. Tasks that waited
   for none, or that their maker cannot compute, are dealt out in turn among the
   workers that can, each core counted. A worker takes its newest task first; if
   it has none that it can begin, the oldest one of its nearest neighbour that
   has one. Devices and cores are alike: no time and no copy is predicted.

   Nearest is: for a device the cores, from whose memory it needs one copy, then
   the device with the next number, the one before, and so on, which machines
   list in the order of their links; for the cores each device, from the first.

   Deviations. 1. The cores, which share their memory, share one queue. 2. The
   priorities that the user has given go before the age, as in StarPU. 3. A
   thief takes the oldest task about: queues have an exact first task alone. 4.
   When devices open or are lost, all that wait are dealt out anew. 5. Of a
   recorded graph the level replaces the age, and a thief takes the highest one,
   too: a task of the critical path need not wait for its maker.

   Cost of a decision: O(devices), and one task of each queue. It loses where
   workers differ, as a slow core steals what a fast device would soon come to;
   that device has the data, so they are copied home first.

   Thread safety: as hass/strategy.h. */
#include "sched/flow/assign.h"

/* Answers to a worker beside the queue from which it takes a task. */
enum
{
  MADE = HASS_FLOW_WORKERS,
  DEALT
};

/* @recorded: tasks have levels. @n_placed: tasks so far, if not. @turn: of the
   next task that is dealt out. @owner: whose queue was looked into last. */
typedef struct
{
  gboolean recorded;
  guint32 n_placed;
  guint turn;
  gint owner;
  HassFlowExplain explain;
} Lws;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Lws *s = g_new0 (Lws, 1);
  (void)error;
  hass_flow_explain_init (&s->explain, env);
  return s;
}

static void
destroy (gpointer self)
{
  Lws *s = self;
  hass_flow_explain_clear (&s->explain);
  g_free (s);
}

static gboolean
can_compute (const HassFlowTask *task, gint worker)
{
  return worker < 0 ? worker == HASS_FLOW_CORES && task->cores
                    : task->devices >> worker & 1;
}

/* Returns: the worker whose turn it is of those that can compute a task. */
static gint
deal (Lws *s, const HassFlowState *state, const HassFlowTask *task)
{
  guint n = state->n_devices + state->n_cores;
  for (guint i = 0; i < n; i++)
    {
      guint at = s->turn++ % n;
      gint worker = at < state->n_devices ? (gint)at : HASS_FLOW_CORES;
      if (can_compute (task, worker))
        return worker;
    }
  return hass_flow_first_worker (task);
}

static void
place (gpointer self, const HassFlowState *state, const HassFlowTask *task,
       HassFlowSpot *spot)
{
  Lws *s = self;
  gboolean made = can_compute (task, task->maker);
  gint worker = made ? task->maker : deal (s, state, task);
  guint n = hass_flow_tells (&s->explain, task, worker, made ? MADE : DEALT);
  if (n > 0)
    hass_flow_explain_place (&s->explain, task, worker,
                             made ? ": made ready there" : ": its turn", n);
  spot->queue = hass_flow_queue_of (worker);
  s->recorded |= task->level > 0;
  if (!s->recorded)
    spot->level = ++s->n_placed; /* so the newest is first */
}

/* Returns: whose queue a worker looks into after @n others; of devices that are
   equally near first the one with the higher number. */
static gint
nearest (gint worker, guint n, guint n_devices)
{
  if (n == 0)
    return worker;
  if (worker == HASS_FLOW_CORES)
    return (gint)n - 1;
  if (n == 1)
    return HASS_FLOW_CORES;
  guint step = n % 2 == 0 ? n / 2 : n_devices - n / 2;
  return (gint)(((guint)worker + step) % n_devices);
}

static gboolean
look (gpointer self, const HassFlowState *state, gint worker, guint n,
      HassFlowLook *look)
{
  Lws *s = self;
  if (n > state->n_devices)
    return FALSE;
  s->owner = nearest (worker, n, state->n_devices);
  look->queue = hass_flow_queue_of (s->owner);
  look->from_end = n > 0 && !s->recorded;
  return TRUE;
}

static HassFlowAnswer
suits (gpointer self, const HassFlowState *state, gint worker,
       const HassFlowTask *task, HassFlowVerdict *verdict)
{
  Lws *s = self;
  guint n = s->owner != worker ? hass_flow_tells (&s->explain, task, worker,
                                                  hass_flow_queue_of (s->owner))
                               : 0;
  (void)state, (void)verdict;
  if (n > 0)
    {
      g_autofree char *why
          = g_strdup_printf ("stolen from %s%s", s->owner < 0 ? "the " : "",
                             hass_flow_worker_name (&s->explain, s->owner));
      hass_flow_explain_answer (&s->explain, task, worker, FALSE, why, n);
    }
  return HASS_FLOW_TAKE;
}

const HassStrategyOps hass_flow_lws = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-lws",
  .summary = "dataflow: a worker takes what it has made ready, or steals",
  .source = "StarPU handbook, Scheduling Policies: lws",
  .farms = HASS_FARM_DATAFLOW,
  .create = create,
  .destroy = destroy,
  .place = place,
  .look = look,
  .suits = suits,
};
