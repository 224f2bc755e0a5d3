/* SPDX-License-Identifier: MIT */
/* place.c: where tasks run: step 2 of the DESIGN paragraph in place.h.
   Thread safety: see place.h. */
#include "place.h"

/* Tasks that a device could begin among which it chooses. A guess: fewer, and
   more is copied; more, and it takes tasks of lower priority. */
#define FEW 8
/* So many tasks of a codelet are known for each open device before a core tries
   the first one. If a core takes r times as long as a device, the try may cost
   the time of r tasks at the end, and k cores gain k / (k + r) of the devices'
   time: this pays for more than r * (k + r) / k tasks. 256 are that for 16
   cores and r = 56. A guess: fewer, and small graphs on fast devices end late;
   more, and cores do not help slow ones. */
#define TRY 256
/* Tasks that a core looks at, from the end of the heap. A guess: fewer, and it
   misses one; more, and others wait for the lock. */
#define MOST_LOOKED 64

/* So long do cores wait for a device that should open soon, in ns. A guess:
   shorter, and a core computes for long what the device would have begun at
   once; longer, and a device that hangs while it opens costs more. A variable
   for tests. */
gint64 hass_place_late_ns = 20000000;

/* -- Devices that can compute a task ------------------------------------ */

/* Returns: a mask of the devices in a state. */
static guint32
devices_that_are (const HassPlacing *p, HassGraphDeviceState state)
{
  guint32 mask = 0;
  for (guint i = 0; i < p->n_devices; i++)
    if (p->devices[i].state == state)
      mask |= 1u << i;
  return mask;
}

static HassRefusal *
refusal_of (const HassGraph *graph, const HassGraphTask *task)
{
  return g_hash_table_lookup (
      graph->placing->refusals,
      GUINT_TO_POINTER (hass_task_index (graph, task) + 1));
}

/* Returns: a mask of the devices that can compute a task. */
static guint32
able_locked (const HassGraph *graph, const HassGraphTask *task)
{
  const HassPlacing *p = graph->placing;
  guint32 mask
      = task->codelet->devices & ~devices_that_are (p, HASS_GRAPH_DEVICE_LOST);
  if (mask == 0 || task->flags & (HASS_TASK_LOCKS | HASS_TASK_REDUCES))
    return 0;
  const HassRefusal *r
      = g_hash_table_size (p->refusals) > 0 ? refusal_of (graph, task) : NULL;
  return r ? mask & ~r->mask : mask;
}

/* A device cannot compute a task. */
void
hass_place_refuse_locked (HassGraph *graph, const HassGraphTask *task,
                          const HassGraphDevice *device, const GError *error)
{
  HassRefusal *r = refusal_of (graph, task);
  if (!r)
    {
      r = g_new0 (HassRefusal, 1);
      g_hash_table_insert (graph->placing->refusals,
                           GUINT_TO_POINTER (hass_task_index (graph, task) + 1),
                           r);
    }
  atomic_store_explicit (&graph->placing->n_refusals,
                         g_hash_table_size (graph->placing->refusals),
                         memory_order_relaxed);
  r->mask |= 1u << device->index;
  g_clear_error (&r->error);
  r->error = g_error_copy (error);
}

/* A task is over: nobody refuses it any more. */
void
hass_place_forget_locked (HassGraph *graph, const HassGraphTask *task)
{
  HassPlacing *p = graph->placing;
  HassRefusal *r = refusal_of (graph, task);
  if (!r)
    return;
  g_hash_table_remove (p->refusals,
                       GUINT_TO_POINTER (hass_task_index (graph, task) + 1));
  atomic_store_explicit (&p->n_refusals, g_hash_table_size (p->refusals),
                         memory_order_relaxed);
  g_error_free (r->error);
  g_free (r);
}

/* Returns (transfer full): why a task without a function for cores runs
   nowhere. */
GError *
hass_place_why_nowhere (HassGraph *graph, const HassGraphTask *task)
{
  HassPlacing *p = graph->placing;
  HassJob *job = graph->job;
  g_autoptr (GString) why = g_string_new (NULL);
  pthread_mutex_lock (&p->lock);
  const HassRefusal *r = refusal_of (graph, task);
  GError *error = r ? g_error_copy (r->error) : NULL;
  hass_place_forget_locked (graph, task);
  pthread_mutex_unlock (&p->lock);
  if (error)
    return error;
  pthread_mutex_lock (&job->decision);
  for (guint i = 0; i < p->n_devices; i++)
    if (job->totals[p->devices[i].d].lost)
      g_string_append_printf (why, "; %s is lost: %s",
                              job->devices[p->devices[i].d].name,
                              job->totals[p->devices[i].d].message);
  pthread_mutex_unlock (&job->decision);
  return g_error_new (HASS_ERROR, HASS_ERROR_DEVICE,
                      "no device is left that has a function for it%s",
                      why->str);
}

/* -- Ready tasks -------------------------------------------------------- */

static gboolean
has_places (HassGraphTask *task)
{
  for (guint i = 0; i < task->n; i++)
    if (hass_data_places (hass_access_data (hass_task_access (task, i))))
      return TRUE;
  return FALSE;
}

static gboolean
is_poisoned (HassGraph *graph, HassGraphTask *task)
{
  return atomic_load_explicit (&graph->n_failures, memory_order_relaxed) > 0
         && hass_task_is_poisoned (task) > 0;
}

void
hass_place_share_locked (HassGraph *graph, const HassGraphTask *task)
{
  HassPlacing *p = graph->placing;
  pthread_mutex_lock (&graph->lock);
  guint64 order = graph->order++;
  pthread_mutex_unlock (&graph->lock);
  task->codelet->n_waiting++;
  hass_heap_push (p->shared,
                  &(HassRanked){ .priority = task->priority,
                                 .level = task->level,
                                 .task = hass_task_index (graph, task),
                                 .order = order });
  atomic_store_explicit (&p->n_shared, p->shared->len, memory_order_seq_cst);
}

static HassGraphTask *
unshare_locked (HassGraph *graph, guint i)
{
  HassPlacing *p = graph->placing;
  HassGraphTask *task
      = &graph->tasks[g_array_index (p->shared, HassRanked, i).task];
  hass_heap_remove (p->shared, i);
  task->codelet->n_waiting--;
  atomic_store_explicit (&p->n_shared, p->shared->len, memory_order_seq_cst);
  return task;
}

/* A task may begin. Returns: TRUE if the caller gives it to the cores: it is
   for them, or it will not be computed, and its data are at home. What is not
   computed waits for them, too: it makes data invalid, which tasks before it
   may have to compute again. */
gboolean
hass_place_ready (HassGraph *graph, HassGraphTask *task)
{
  HassPlacing *p = graph->placing;
  const HassCodeletState *codelet = task->codelet;
  if ((task->flags & (HASS_TASK_INTERNAL | HASS_TASK_REDUCES))
          == HASS_TASK_INTERNAL
      || (codelet->devices == 0 && !has_places (task)))
    return TRUE;
  HassPlaces *away = NULL;
  gboolean for_cores = FALSE;
  pthread_mutex_lock (&p->lock);
  if (able_locked (graph, task) && !is_poisoned (graph, task))
    hass_place_share_locked (graph, task);
  else
    for_cores = hass_place_is_home_locked (graph, task, &away);
  if (away)
    {
      guint32 t = hass_task_index (graph, task);
      g_array_append_val (away->parked, t);
    }
  pthread_mutex_unlock (&p->lock);
  if (!for_cores)
    graph->job->engine->changed (graph->job);
  return for_cores;
}

/* A task may begin: makes it available to those that can compute it. */
void
hass_task_ready (HassGraph *graph, guint worker, HassGraphTask *task)
{
  if (G_LIKELY (!graph->placing) || hass_place_ready (graph, task))
    hass_task_to_cores (graph, worker, task);
}

/* A device is lost: appends to @others the tasks that only it could compute. */
void
hass_place_turn_away_locked (HassGraph *graph, GArray *others)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (guint32));
  while (graph->placing->shared->len > 0)
    {
      guint32 t = hass_task_index (graph, unshare_locked (graph, 0));
      g_array_append_val (all, t);
    }
  for (guint i = 0; i < all->len; i++)
    {
      guint32 t = g_array_index (all, guint32, i);
      if (able_locked (graph, &graph->tasks[t]))
        hass_place_share_locked (graph, &graph->tasks[t]);
      else
        g_array_append_val (others, t);
    }
}

/* -- Cores -------------------------------------------------------------- */

/* What the devices that are open, or will be soon, have before them of the
   tasks that are ready. */
typedef struct
{
  guint32 open;
  double backlog_ns;
} Backlog;

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

/* Returns: when cores need not wait for a device to open any longer; 0: none
   waits. The calling thread. */
gint64
hass_place_again_ns (HassJob *job)
{
  HassGraph *graph = job->flow;
  HassPlacing *p = graph->placing;
  gint64 ns = 0;
  if (!p)
    return 0;
  pthread_mutex_lock (&p->lock);
  for (guint i = 0; i < p->n_devices; i++)
    if (p->devices[i].soon_ns > 0 && opens_soon_locked (graph, &p->devices[i]))
      ns = MAX (ns, p->devices[i].soon_ns);
  pthread_mutex_unlock (&p->lock);
  return ns;
}

static Backlog
backlog_locked (const HassGraph *graph)
{
  const HassPlacing *p = graph->placing;
  Backlog b = { devices_that_are (p, HASS_GRAPH_DEVICE_OPEN), 0 };
  for (guint i = 0; i < p->n_devices; i++)
    {
      if (opens_soon_locked (graph, &p->devices[i]))
        b.open |= 1u << i;
      b.backlog_ns += hass_device_held_ns_locked (graph, &p->devices[i]);
    }
  for (guint c = 0; c < p->codelets->len; c++)
    {
      const HassCodeletState *codelet = g_ptr_array_index (p->codelets, c);
      b.backlog_ns += (double)codelet->n_waiting * codelet->device_ns;
    }
  b.backlog_ns /= MAX (__builtin_popcount (b.open), 1);
  return b;
}

/* Returns: how many tasks of a codelet wait, and a quarter of those that
   devices have computed: more of them may come. */
static guint64
n_known_locked (const HassGraph *graph, const HassCodeletState *codelet)
{
  const HassPlacing *p = graph->placing;
  guint64 n = 0;
  for (guint i = 0; i < p->n_devices; i++)
    n += p->devices[i].codelets[codelet->index].n_computed;
  return n / 4 + codelet->n_waiting;
}

/* Returns: TRUE if a core will have computed the task before the devices that
   are open would have come to it. Of a codelet whose pace on cores is unknown
   one core tries one task, beside a device only if many wait. */
static gboolean
core_pays (const HassGraph *graph, const HassGraphTask *task, const Backlog *b)
{
  const HassCodeletState *codelet = task->codelet;
  guint n = (guint)__builtin_popcount (able_locked (graph, task) & b->open);
  guint mean = atomic_load_explicit (&codelet->mean_ns, memory_order_relaxed);
  if (mean == 0)
    return !codelet->tried && n_known_locked (graph, codelet) >= n * TRY;
  return n == 0 || (codelet->device_ns > 0 && mean <= b->backlog_ns);
}

/* Returns: TRUE if the data of a task are at home. If no device that is open
   can compute it, they will come. */
static gboolean
is_home_locked (HassGraph *graph, HassGraphTask *task, const Backlog *b)
{
  HassPlaces *away;
  gboolean comes = (able_locked (graph, task) & b->open) == 0;
  return hass_place_is_home_locked (graph, task, comes ? &away : NULL);
}

/* Returns: which task of the heap a core should compute; < 0: none. *news: a
   device has got a datum to be copied home. */
static gint
for_core_locked (HassGraph *graph, gboolean *news)
{
  const HassPlacing *p = graph->placing;
  Backlog b = backlog_locked (graph);
  guint least = p->shared->len > MOST_LOOKED ? p->shared->len - MOST_LOOKED : 0;
  gint found = -1;
  graph->placing->news = FALSE;
  for (guint i = p->shared->len; i-- > least && found < 0;)
    {
      HassGraphTask *task
          = &graph->tasks[g_array_index (p->shared, HassRanked, i).task];
      if (task->codelet->public.cpu && core_pays (graph, task, &b)
          && is_home_locked (graph, task, &b))
        found = (gint)i;
    }
  *news = p->news;
  return found;
}

static gboolean
take_shared (HassGraph *graph, guint32 *task)
{
  HassPlacing *p = graph->placing;
  gboolean news = FALSE;
  if (atomic_load_explicit (&p->n_shared, memory_order_relaxed) == 0)
    return FALSE;
  pthread_mutex_lock (&p->lock);
  gint i = for_core_locked (graph, &news);
  if (i >= 0)
    {
      const HassGraphTask *taken = unshare_locked (graph, (guint)i);
      taken->codelet->tried = TRUE;
      *task = hass_task_index (graph, taken);
    }
  pthread_mutex_unlock (&p->lock);
  if (news)
    graph->job->engine->changed (graph->job);
  return i >= 0;
}

static gboolean
any_shared (HassGraph *graph)
{
  HassPlacing *p = graph->placing;
  gboolean news = FALSE;
  if (atomic_load_explicit (&p->n_shared, memory_order_seq_cst) == 0)
    return FALSE;
  pthread_mutex_lock (&p->lock);
  gboolean any = for_core_locked (graph, &news) >= 0;
  pthread_mutex_unlock (&p->lock);
  if (news)
    graph->job->engine->changed (graph->job);
  return any;
}

/* Takes tasks for a core. @tasks: [HASS_MOST_TAKEN] Returns: how many. */
guint
hass_graph_find (HassGraph *graph, guint worker, guint32 *tasks)
{
  guint n = hass_ready_take (graph, worker, tasks);
  if (n == 0 && graph->placing)
    n = take_shared (graph, tasks);
  return n;
}

/* Any thread. Returns: TRUE if a core may find a task. */
gboolean
hass_graph_any (HassGraph *graph)
{
  return hass_ready_any (graph) || (graph->placing && any_shared (graph));
}

/* -- Devices ------------------------------------------------------------ */

/* Takes a task for a device from the heap. Returns: NULL if there is none that
   it can begin. Appends those that will not be computed to @for_cores. */
HassGraphTask *
hass_place_choose_locked (HassGraph *graph, const HassGraphDevice *device,
                          GArray *for_cores)
{
  HassPlacing *p = graph->placing;
  guint32 open = devices_that_are (p, HASS_GRAPH_DEVICE_OPEN);
  double held_ns[HASS_MOST_DEVICES], least = G_MAXDOUBLE;
  gint best = -1;
  for (guint i = 0; i < p->n_devices && p->shared->len > 0; i++)
    held_ns[i] = hass_device_held_ns_locked (graph, &p->devices[i]);
  for (guint i = 0, n = 0; i < p->shared->len && n < FEW && least > 0; i++)
    {
      guint32 t = g_array_index (p->shared, HassRanked, i).task;
      HassGraphTask *task = &graph->tasks[t];
      if (is_poisoned (graph, task))
        {
          g_array_append_val (for_cores, t);
          unshare_locked (graph, i);
          return hass_place_choose_locked (graph, device, for_cores);
        }
      guint32 able = able_locked (graph, task) & open;
      HassPrediction first;
      if (!(able >> device->index & 1))
        continue;
      hass_predict_locked (graph, task, able, device, held_ns, &first);
      if (first.device != device)
        held_ns[first.device->index] += first.pace_ns;
      else if (first.away)
        hass_place_want_locked (graph, first.away);
      else
        {
          n++;
          if (first.copy_ns < least)
            best = (gint)i;
          least = MIN (least, first.copy_ns);
        }
    }
  return best < 0 ? NULL : unshare_locked (graph, (guint)best);
}
