/* SPDX-License-Identifier: MIT */
/* choose.c: which task a worker takes: step 2 of the DESIGN paragraph in
   place.h.

   DESIGN. The strategy decides (hass/flow.h). A HassChoice is what it sees
   (choice.c). A worker looks into the queues that the strategy names, at the
   tasks that it can compute, until one is found.

   Thread safety: see place.h. */
#include "place.h"

/* Tasks that a device could begin among which it chooses. A guess: fewer, and
   more is copied; more, and it takes tasks of lower priority. */
#define FEW 8

/* -- Questions ----------------------------------------------------------- */

/* Asks the strategy whether the worker takes a task. What a device leaves to
   another one counts as held by that one. */
HassFlowAnswer
hass_choice_ask_locked (HassChoice *c, const HassFlowTask *task,
                        HassFlowVerdict *verdict)
{
  const HassStrategy *s = c->graph->job->strategy;
  if (!s->ops->suits)
    return HASS_FLOW_TAKE;
  HassFlowAnswer answer
      = s->ops->suits (s->self, &c->state, c->asker, task, verdict);
  gint other = (gint)verdict->left_to - 1;
  if (answer == HASS_FLOW_LEAVE && c->asker >= 0 && other >= 0
      && other != c->asker && (guint)other < c->state.n_devices)
    c->held_ns[other] += c->state.task_ns (&c->state, other);
  return answer;
}

/* The @n-th queue that the worker looks into. Returns: its tasks, maybe none;
   NULL: it looks into no more. */
GArray *
hass_choice_queue_locked (HassChoice *c, guint n, HassFlowLook *look)
{
  const HassStrategy *s = c->graph->job->strategy;
  *look = (HassFlowLook){ .queue = 0 };
  c->task = NULL;
  if (s->ops->look
          ? n >= HASS_FLOW_QUEUES
                || !s->ops->look (s->self, &c->state, c->asker, n, look)
          : n > 0)
    return NULL;
  if (look->queue >= HASS_FLOW_QUEUES)
    look->queue = 0;
  hass_place_note_look_locked (c->graph->placing, look->queue, c->asker);
  GArray *heap = c->graph->placing->queues[look->queue];
  return heap ? heap : c->graph->placing->empty;
}

/* If a device has opened, or is late to open, tasks are placed anew. */
static void
review_locked (HassGraph *graph)
{
  HassPlacing *p = graph->placing;
  hass_place_note_late_locked (graph);
  if (!graph->job->strategy->ops->place)
    return;
  guint32 open = hass_choice_counting_locked (graph);
  if (open == p->reviewed)
    return;
  g_autoptr (GArray) others = g_array_new (FALSE, FALSE, sizeof (guint32));
  p->reviewed = open;
  hass_place_turn_away_locked (graph, others);
  g_assert (others->len == 0); /* a device that is lost does this itself */
  p->news = TRUE;              /* others have seen empty queues */
}

/* -- Cores -------------------------------------------------------------- */

/* Returns: TRUE if a core takes a task now. *n_wanted: tasks whose data come
   home for cores. */
static gboolean
core_takes_locked (HassChoice *c, HassGraphTask *task, guint *n_wanted)
{
  HassFlowTask shown = hass_choice_show_locked (c, task);
  HassFlowVerdict verdict = { .score = 0 };
  HassPlaces *away;
  if (!shown.cores)
    return FALSE;
  HassFlowAnswer answer = hass_choice_ask_locked (c, &shown, &verdict);
  if (answer == HASS_FLOW_LEAVE)
    return FALSE;
  /* If no device that counts can compute it, its data come. */
  gboolean comes
      = shown.devices == 0
        || (answer == HASS_FLOW_TAKE && *n_wanted < c->state.n_cores);
  *n_wanted += answer == HASS_FLOW_TAKE;
  return hass_place_is_home_locked (c->graph, task, comes ? &away : NULL);
}

/* Returns: which task of queue *queue a core should compute; < 0: none. *news:
   a device has got a datum to be copied home. *astray: why a task will wait for
   ever; or NULL. */
static gint
for_core_locked (HassGraph *graph, guint *queue, gboolean *news,
                 GError **astray)
{
  HassChoice c;
  HassFlowLook look;
  gint found = -1;
  guint n_wanted = 0;
  graph->placing->news = FALSE;
  review_locked (graph);
  hass_choice_begin_locked (&c, graph, HASS_FLOW_CORES);
  const GArray *heap;
  for (guint k = 0;
       found < 0 && (heap = hass_choice_queue_locked (&c, k, &look)); k++)
    for (guint i = 0; i < MIN (heap->len, HASS_MOST_LOOKED) && found < 0; i++)
      {
        guint at = look.from_end ? heap->len - 1 - i : i;
        guint32 t = g_array_index (heap, HassRanked, at).task;
        if (core_takes_locked (&c, &graph->tasks[t], &n_wanted))
          found = (gint)at;
      }
  *queue = look.queue;
  *news = graph->placing->news;
  *astray = found < 0 ? hass_place_find_astray_locked (&c) : NULL;
  return found;
}

/* A core begins a task. */
static void
note_core_locked (HassGraph *graph, guint worker, const HassGraphTask *task)
{
  HassPlacing *p = graph->placing;
  if (!(graph->job->strategy->ops->place || p->runs_again)
      || worker >= graph->n_queues)
    return;
  if (!p->core_until_ns)
    p->core_until_ns = g_new0 (gint64, graph->n_queues);
  p->core_until_ns[worker]
      = graph->job->engine->now (graph->job)
        + atomic_load_explicit (&task->codelet->mean_ns, memory_order_relaxed);
}

/* After a core has looked, without the lock. */
static void
tell_looked (HassJob *job, gboolean news, GError *astray)
{
  if (astray)
    hass_job_stop (job, astray);
  else if (news)
    job->engine->changed (job);
}

static gboolean
take_shared (HassGraph *graph, guint worker, guint32 *task)
{
  HassPlacing *p = graph->placing;
  GError *astray = NULL;
  gboolean news = FALSE;
  guint queue;
  if (atomic_load_explicit (&p->n_shared, memory_order_relaxed) == 0)
    return FALSE;
  pthread_mutex_lock (&p->lock);
  gint i = for_core_locked (graph, &queue, &news, &astray);
  if (i >= 0)
    {
      const HassGraphTask *taken
          = hass_place_unshare_locked (graph, queue, (guint)i);
      taken->codelet->tried = TRUE;
      note_core_locked (graph, worker, taken);
      *task = hass_task_index (graph, taken);
    }
  pthread_mutex_unlock (&p->lock);
  tell_looked (graph->job, news, astray);
  return i >= 0;
}

static gboolean
any_shared (HassGraph *graph)
{
  HassPlacing *p = graph->placing;
  GError *astray = NULL;
  gboolean news = FALSE;
  guint queue;
  if (atomic_load_explicit (&p->n_shared, memory_order_seq_cst) == 0)
    return FALSE;
  pthread_mutex_lock (&p->lock);
  gboolean any = for_core_locked (graph, &queue, &news, &astray) >= 0;
  pthread_mutex_unlock (&p->lock);
  tell_looked (graph->job, news, astray);
  return any;
}

/* Takes tasks for a core. @tasks: [HASS_MOST_TAKEN] Returns: how many. */
guint
hass_graph_find (HassGraph *graph, guint worker, guint32 *tasks)
{
  guint n = hass_ready_take (graph, worker, tasks);
  if (n == 0 && graph->placing)
    n = take_shared (graph, worker, tasks);
  return n;
}

/* Any thread. Returns: TRUE if a core may find a task. */
gboolean
hass_graph_any (HassGraph *graph)
{
  return hass_ready_any (graph) || (graph->placing && any_shared (graph));
}

/* -- Devices ------------------------------------------------------------ */

/* Returns: TRUE if the device that asks could take a task. Else another device
   should, or its data are not at hand. */
static gboolean
device_takes_locked (HassChoice *c, const HassFlowTask *task, double *score)
{
  HassFlowVerdict verdict = { .score = 0 };
  if (hass_choice_ask_locked (c, task, &verdict) == HASS_FLOW_LEAVE)
    return FALSE;
  hass_choice_look_at_data_locked (c);
  if (c->away)
    hass_place_want_locked (c->graph, c->away);
  *score = MAX (verdict.score, 0);
  return !c->away;
}

/* Looks at tasks of a queue. Returns: which one the device takes; < 0: none.
 *poisoned: that one will not be computed. */
static gint
look_through_locked (HassChoice *c, const GArray *heap, gboolean from_end,
                     gboolean *poisoned)
{
  double least = G_MAXDOUBLE, score;
  gint best = -1;
  *poisoned = FALSE;
  for (guint i = 0, n = 0; i < heap->len && n < FEW && least > 0; i++)
    {
      guint at = from_end ? heap->len - 1 - i : i;
      HassGraphTask *task
          = &c->graph->tasks[g_array_index (heap, HassRanked, at).task];
      *poisoned = hass_place_is_poisoned (c->graph, task);
      if (*poisoned)
        return (gint)at;
      HassFlowTask shown = hass_choice_show_locked (c, task);
      if (!(shown.devices >> c->asker & 1)
          || !device_takes_locked (c, &shown, &score))
        continue;
      n++;
      if (score < least)
        best = (gint)at;
      least = MIN (least, score);
    }
  return best;
}

/* Takes a task for a device. Returns: NULL if there is none that it can begin.
   Appends those that will not be computed to @for_cores. */
HassGraphTask *
hass_place_choose_locked (HassGraph *graph, const HassGraphDevice *device,
                          GArray *for_cores)
{
  HassChoice c;
  HassFlowLook look;
  const GArray *heap;
  if (atomic_load_explicit (&graph->placing->n_shared, memory_order_relaxed)
      == 0)
    return NULL;
  review_locked (graph);
  hass_choice_begin_locked (&c, graph, (gint)device->index);
  for (guint k = 0; (heap = hass_choice_queue_locked (&c, k, &look)); k++)
    {
      gboolean poisoned;
      gint i = look_through_locked (&c, heap, look.from_end, &poisoned);
      if (i < 0)
        continue;
      HassGraphTask *task
          = hass_place_unshare_locked (graph, look.queue, (guint)i);
      if (!poisoned)
        return task;
      guint32 t = hass_task_index (graph, task);
      g_array_append_val (for_cores, t);
      return hass_place_choose_locked (graph, device, for_cores);
    }
  return NULL;
}
