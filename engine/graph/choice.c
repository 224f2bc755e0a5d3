/* SPDX-License-Identifier: MIT */
/* choice.c: what a strategy sees of a dataflow when it is asked (hass/flow.h):
   step 2 of the DESIGN paragraph in place.h.
   Thread safety: see place.h. */
#include "place.h"

/* So long do cores wait for a device that should open soon, in ns. A guess:
   shorter, and a core computes for long what the device would have begun at
   once; longer, and a device that hangs while it opens costs more. A variable
   for tests. */
gint64 hass_place_late_ns = 20000000;

/* A core tries a codelet earlier where copies home keep devices busy for more
   than so many times the time of kernels. Measured by hass-sim,
   doc/results/dataflow-copies.md: with 4, cores that are 10000 times as slow
   as a GPU try trsm of cholesky:24, which ends 13 % later; with 8, stencils
   have cores late. */
#define LINK_BINDS 6.0

/* -- What the strategy sees ---------------------------------------------- */

static gboolean
opens_soon_locked (const HassGraph *graph, HassGraphDevice *device)
{
  if (device->state != HASS_GRAPH_DEVICE_SHUT || device->soon_ns < 0)
    return FALSE;
  gint64 now_ns = graph->job->engine->now (graph->job);
  if (device->soon_ns == 0)
    device->soon_ns = now_ns + hass_place_late_ns;
  return now_ns < device->soon_ns;
}

/* A worker looks for tasks: from now on it leaves none to devices that are late
   to open. */
void
hass_place_note_late_locked (HassGraph *graph)
{
  HassPlacing *p = graph->placing;
  for (guint i = 0; i < p->n_devices; i++)
    if (p->devices[i].soon_ns > 0 && !opens_soon_locked (graph, &p->devices[i]))
      {
        p->devices[i].soon_ns = -1;
        p->news = TRUE; /* others have left tasks to it */
      }
}

/* Returns: when a core should look again as a device will be late to open; 0:
   it need not. This time may have passed: the core's last look was before. The
   calling thread. */
gint64
hass_place_again_ns (HassJob *job)
{
  HassGraph *graph = job->flow;
  HassPlacing *p = graph->placing;
  gint64 ns = 0;
  if (!p)
    return 0;
  pthread_mutex_lock (&p->lock);
  gboolean any = atomic_load_explicit (&p->n_shared, memory_order_relaxed) > 0;
  for (guint i = 0; any && i < p->n_devices; i++)
    if (p->devices[i].state == HASS_GRAPH_DEVICE_SHUT
        && p->devices[i].soon_ns > 0)
      ns = ns > 0 ? MIN (ns, p->devices[i].soon_ns) : p->devices[i].soon_ns;
  pthread_mutex_unlock (&p->lock);
  return ns;
}

static double
mean_ns (const HassGraphTask *task)
{
  return atomic_load_explicit (&task->codelet->mean_ns, memory_order_relaxed);
}

/* Returns: whether a task is asked about, which is not so in look(), on a
   worker that there is. */
static gboolean
may_ask (const HassChoice *c, gint worker)
{
  return c->task && worker < (gint)c->state.n_devices;
}

static double
task_ns (const HassFlowState *state, gint worker)
{
  const HassChoice *c = (const HassChoice *)state;
  if (!may_ask (c, worker))
    return 0;
  return worker < 0 ? mean_ns (c->task)
                    : hass_device_pace_ns (&c->graph->placing->devices[worker],
                                           c->task->codelet);
}

/* Sets what it costs to copy the data of the task to the device that asks. */
void
hass_choice_look_at_data_locked (HassChoice *c)
{
  if (!c->known)
    c->copy_ns = hass_device_copy_ns_locked (
        c->graph, &c->graph->placing->devices[c->asker], c->task, &c->away);
  c->known = TRUE;
}

static double
copy_ns (const HassFlowState *state, gint worker)
{
  HassChoice *c = (HassChoice *)state;
  HassPlaces *away;
  if (!may_ask (c, worker))
    return G_MAXDOUBLE;
  if (worker < 0)
    return hass_home_copy_ns_locked (c->graph, c->task);
  if (worker != c->asker)
    return hass_device_copy_ns_locked (
        c->graph, &c->graph->placing->devices[worker], c->task, &away);
  hass_choice_look_at_data_locked (c);
  return c->copy_ns;
}

static double
after_ns (const HassFlowState *state, gint worker)
{
  const HassChoice *c = (const HassChoice *)state;
  if (!may_ask (c, worker))
    return 0;
  return hass_outlook_after_ns_locked (c->graph, c->task, worker);
}

/* Sets when a core will be free. */
static void
look_at_cores_locked (HassChoice *c)
{
  const HassPlacing *p = c->graph->placing;
  gint64 first_ns = G_MAXINT64;
  if (!p->core_until_ns)
    return;
  for (guint w = 0; w < c->graph->n_queues; w++)
    first_ns = MIN (first_ns, p->core_until_ns[w]);
  gint64 now_ns = c->graph->job->engine->now (c->graph->job);
  c->state.core_free_ns = (double)MAX (first_ns - now_ns, 0);
}

/* Where no device asks: what only such a question needs. */
static void
foresee_locked (HassChoice *c)
{
  const HassPlacing *p = c->graph->placing;
  double ns = 0;
  for (guint i = 0; i < p->n_devices; i++)
    ns += c->held_ns[i];
  ns /= MAX (__builtin_popcount (c->open), 1);
  c->state.backlog_ns
      = ns + hass_devices_wait_ns_locked (c->graph, c->open, FALSE);
  c->state.rest_ns = ns + hass_devices_wait_ns_locked (c->graph, c->open, TRUE);
  c->bound = hass_devices_bound_locked (c->graph, c->open, NULL);
}

/* Returns: a mask of the devices that count where no device asks. */
guint32
hass_choice_counting_locked (HassGraph *graph)
{
  HassPlacing *p = graph->placing;
  guint32 open = hass_place_devices_that_are (p, HASS_GRAPH_DEVICE_OPEN);
  for (guint i = 0; i < p->n_devices; i++)
    if (opens_soon_locked (graph, &p->devices[i]))
      open |= 1u << i;
  return open;
}

/* @asker: a device; < 0: none. Else devices count that open soon, too. */
void
hass_choice_begin_locked (HassChoice *c, HassGraph *graph, gint asker)
{
  HassPlacing *p = graph->placing;
  c->graph = graph;
  c->asker = asker;
  c->task = NULL;
  c->open = asker < 0 ? hass_choice_counting_locked (graph)
                      : hass_place_devices_that_are (p, HASS_GRAPH_DEVICE_OPEN);
  for (guint i = 0; i < p->n_devices; i++)
    c->held_ns[i] = hass_device_held_ns_locked (graph, &p->devices[i]);
  c->state = (HassFlowState){ .n_devices = p->n_devices,
                              .n_cores = graph->n_queues,
                              .devices = c->open,
                              .held_ns = c->held_ns,
                              .queue_ns = p->queue_ns,
                              .task_ns = task_ns,
                              .copy_ns = copy_ns,
                              .after_ns = after_ns };
  if (asker < 0)
    foresee_locked (c);
  else if (p->runs_again)
    c->state.home_ns = hass_device_home_ns_locked (graph, &p->devices[asker]);
  if (asker < 0 || c->state.home_ns > 0)
    look_at_cores_locked (c);
}

/* Returns: HassFlowTask.n_known. */
static guint64
n_known_locked (const HassChoice *c, const HassCodeletState *codelet)
{
  const HassPlacing *p = c->graph->placing;
  guint64 n = 0;
  for (guint i = 0; i < p->n_devices; i++)
    n += p->devices[i].codelets[codelet->index].n_computed;
  n = n / 4 + codelet->n_waiting;
  if (c->bound <= LINK_BINDS)
    return n;
  double bound
      = MIN (c->bound, hass_devices_bound_locked (c->graph, c->open, codelet));
  return (guint64)((double)n * MAX (bound / LINK_BINDS, 1));
}

/* Returns: a mask of the devices that count and can compute a task. This runs
   for each task that is looked at: where none was refused it is short, as a
   device that counts is not lost. */
static guint32
able_locked (const HassChoice *c, const HassGraphTask *task)
{
  if (g_hash_table_size (c->graph->placing->refusals) > 0)
    return hass_place_able_locked (c->graph, task) & c->open;
  return task->flags & (HASS_TASK_LOCKS | HASS_TASK_REDUCES)
             ? 0
             : task->codelet->devices & c->open;
}

/* Returns: HassFlowTask.home_ns. */
static double
task_home_ns (const HassChoice *c, const HassCodeletState *codelet)
{
  const HassPlacing *p = c->graph->placing;
  return c->asker >= 0 && p->runs_again ? hass_device_task_home_ns (
             c->graph, &p->devices[c->asker], codelet)
                                        : 0;
}

/* The strategy will be asked about a task. */
HassFlowTask
hass_choice_show_locked (HassChoice *c, HassGraphTask *task)
{
  const HassCodeletState *codelet = task->codelet;
  double core_ns = mean_ns (task);
  c->task = task;
  c->known = FALSE;
  return (HassFlowTask){ .codelet = codelet->index,
                         .priority = task->priority,
                         .level = task->level,
                         .devices = able_locked (c, task),
                         .cores = codelet->public.cpu != NULL,
                         .core_ns = core_ns,
                         .device_ns = codelet->device_ns,
                         .n_waiting = codelet->n_waiting,
                         .maker = HASS_FLOW_NO_WORKER,
                         .n_known
                         = core_ns == 0 && !codelet->tried && c->asker < 0
                               ? n_known_locked (c, codelet)
                               : 0,
                         .name = codelet->name,
                         .home_ns = task_home_ns (c, codelet) };
}

/* -- Placing ------------------------------------------------------------- */

/* Asks the strategy where a task waits that has become ready. @maker: as
   HassFlowTask. */
void
hass_choice_place_locked (HassGraph *graph, HassGraphTask *task, gint maker,
                          HassFlowSpot *spot)
{
  const HassStrategy *s = graph->job->strategy;
  HassChoice c;
  if (!s->ops->place)
    return;
  hass_choice_begin_locked (&c, graph, HASS_FLOW_CORES);
  HassFlowTask shown = hass_choice_show_locked (&c, task);
  shown.maker = maker;
  s->ops->place (s->self, &c.state, &shown, spot);
}
