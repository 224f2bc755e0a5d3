/* SPDX-License-Identifier: MIT */
/* coherency.c: which version of a datum lies where: steps 1 and 3 to 5 of the
   DESIGN paragraph in place.h. No clock, no thread, no device.
   Thread safety: see place.h. */
#include "place.h"

/* -- A datum ------------------------------------------------------------ */

HassPlaces *
hass_places_of_locked (HassGraph *graph, HassData *data)
{
  HassPlaces *p = hass_data_places (data);
  if (p)
    return p;
  guint n = graph->placing->n_devices;
  p = g_malloc0 (sizeof *p + n * sizeof *p->at);
  p->data = data;
  p->link.data = p;
  p->only = p->changer = p->leaver = -1;
  p->chain = g_array_new (FALSE, FALSE, sizeof (guint32));
  p->parked = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint i = 0; i < n; i++)
    p->at[i].link.data = p;
  atomic_store_explicit (&data->places, p, memory_order_release);
  return p;
}

void
hass_places_free (HassPlaces *places)
{
  if (!places)
    return;
  g_array_unref (places->chain);
  g_array_unref (places->parked);
  g_free (places);
}

/* @only: the device that has the only valid version from now on; < 0: none. */
static void
set_only (HassGraph *graph, HassPlaces *p, gint only)
{
  HassGraphDevice *devices = graph->placing->devices;
  guint own = p->data->own ? 1 : 0;
  if (p->only >= 0)
    g_queue_unlink (&devices[p->only].only_here[own], &p->link);
  if (only >= 0)
    g_queue_push_tail_link (&devices[only].only_here[own], &p->link);
  p->only = only;
}

static inline gboolean
is_lost (const HassPlaces *p)
{
  return p->redo < p->chain->len;
}

static guint32
in_chain (const HassPlaces *p, guint i)
{
  return g_array_index (p->chain, guint32, i);
}

/* Appends task @i of the chain to @again, unless it may begin already: it has
   not been computed again since what came before it was lost once more. */
static void
begin_again (HassGraph *graph, const HassPlaces *p, guint i, GArray *again)
{
  guint32 t = in_chain (p, i);
  if (graph->tasks[t].flags & HASS_TASK_AGAIN)
    return;
  graph->tasks[t].flags |= HASS_TASK_AGAIN;
  g_array_append_val (again, t);
}

static void
ends_again (HassGraph *graph, guint32 t)
{
  graph->tasks[t].flags &= (guint8)~HASS_TASK_AGAIN;
}

/* The first @n tasks of the chain are settled. */
static void
settle (HassGraph *graph, const HassPlaces *p, guint n)
{
  for (guint i = 0; i < n; i++)
    graph->tasks[in_chain (p, i)].flags &= (guint8)~HASS_TASK_UNSETTLED;
}

/* Returns: how many data the task changes. @one: set to one of them, if it has
   been on a device. */
guint
hass_task_outputs (HassGraphTask *task, HassPlaces **one)
{
  guint n = 0;
  for (guint i = 0; i < task->n; i++)
    if (hass_access_changes (hass_task_access (task, i)))
      {
        n++;
        *one = hass_data_places (hass_access_data (hass_task_access (task, i)));
      }
  return n;
}

/* Returns: TRUE if the present version of the datum is, for task @task, at home
   or at device @index; < 0: at home. */
gboolean
hass_place_is_at_locked (guint32 task, const HassPlaces *p, gint index)
{
  if (is_lost (p) && in_chain (p, p->redo) != task)
    return FALSE;
  return p->only < 0 || p->only == index;
}

/* Under the lock. Returns: TRUE if device @index, which is open, can copy from
   the other one. */
gboolean
hass_place_are_peers (const HassGraph *graph, guint index, guint other)
{
  const HassGraphDevice *a = &graph->placing->devices[index],
                        *b = &graph->placing->devices[other];
  return b->state == HASS_GRAPH_DEVICE_OPEN && a->ops == b->ops
         && !(a->shunned >> other & 1)
         && g_strcmp0 (a->device->ops->kind, b->device->ops->kind) == 0;
}

HassFrom
hass_place_from_locked (const HassGraph *graph, HassGraphTask *task,
                        const HassTaskAccess *a, guint index)
{
  HassPlaces *p = hass_data_places (hass_access_data (a)), *one;
  if (!p)
    return HASS_FROM_HERE;
  if (is_lost (p) && in_chain (p, p->redo) != hass_task_index (graph, task))
    return HASS_FROM_NOWHERE;
  gboolean elsewhere = p->only >= 0 && p->only != (gint)index;
  /* A task that changes several data sends them home from its device. */
  if (elsewhere && hass_access_changes (a)
      && hass_task_outputs (task, &one) > 1)
    return HASS_FROM_NOWHERE;
  if (p->only == (gint)index
      || (p->at[index].state >= HASS_AT_ARRIVING && !is_lost (p)))
    return HASS_FROM_HERE;
  if (!elsewhere)
    return HASS_FROM_HOME;
  return hass_place_are_peers (graph, index, (guint)p->only)
             ? HASS_FROM_PEER
             : HASS_FROM_NOWHERE;
}

/* Returns: TRUE if all data of a task are at home. Else *away is one that is
   not, and all of them will come; @away NULL: nothing comes. */
gboolean
hass_place_is_home_locked (HassGraph *graph, HassGraphTask *task,
                           HassPlaces **away)
{
  gboolean home = TRUE;
  for (guint i = 0; i < task->n; i++)
    {
      HassData *data = hass_access_data (hass_task_access (task, i));
      HassPlaces *p = hass_data_places (data);
      if (!p || hass_place_is_at_locked (hass_task_index (graph, task), p, -1))
        continue;
      home = FALSE;
      if (!away)
        break;
      hass_place_want_locked (graph, p);
      *away = p;
    }
  return home;
}

/* -- Coming home -------------------------------------------------------- */

/* Has a datum copied home. @first: before others. */
void
hass_place_leave_locked (HassGraph *graph, HassPlaces *p, gboolean first)
{
  if (p->only < 0 || p->leaver >= 0 || (p->listed && !first))
    return;
  GQueue *leavers = &graph->placing->devices[p->only].leavers;
  graph->placing->news |= !p->listed;
  if (p->listed)
    g_queue_remove (leavers, p);
  p->listed = TRUE;
  if (first)
    g_queue_push_head (leavers, p);
  else
    g_queue_push_tail (leavers, p);
}

void
hass_place_want_locked (HassGraph *graph, HassPlaces *p)
{
  if (p->wanted)
    return;
  p->wanted = TRUE;
  hass_place_leave_locked (graph, p, TRUE);
}

static void
forget_instances (HassGraph *graph, HassPlaces *p, gint but)
{
  for (guint i = 0; i < graph->placing->n_devices; i++)
    if ((gint)i != but && p->at[i].state == HASS_AT_VALID)
      p->at[i].state = HASS_AT_EMPTY;
}

/* Task @task has changed the datum at a device. Appends to @again what is to be
   computed again next. */
void
hass_place_changed_locked (HassGraph *graph, guint index, HassPlaces *p,
                           guint32 task, GArray *again)
{
  gboolean listed = p->listed && p->only != (gint)index;
  if (listed)
    g_queue_remove (&graph->placing->devices[p->only].leavers, p);
  p->listed &= !listed;
  forget_instances (graph, p, (gint)index);
  p->at[index].state = HASS_AT_VALID;
  p->changer = -1;
  set_only (graph, p, (gint)index);
  if (!is_lost (p))
    g_array_append_val (p->chain, task);
  graph->tasks[task].flags |= HASS_TASK_UNSETTLED;
  ends_again (graph, task);
  p->redo++;
  if (is_lost (p))
    begin_again (graph, p, p->redo, again);
  if (p->wanted || listed)
    hass_place_leave_locked (graph, p, p->wanted);
}

/* A task has changed the datum at a device, from where it is copied home. */
void
hass_place_leaves_changed_locked (HassGraph *graph, guint index, HassPlaces *p)
{
  forget_instances (graph, p, (gint)index);
  p->leaver = (gint)index;
}

/* The tasks that wait for the datum at home may look again. */
static void
release_parked (HassPlaces *p, GArray *ready)
{
  g_array_append_vals (ready, p->parked->data, p->parked->len);
  g_array_set_size (p->parked, 0);
  p->wanted = FALSE;
}

/* The version at device @index has come home. Appends to @settled the tasks
   that led to it, to @ready those that waited. */
void
hass_place_came_home_locked (HassGraph *graph, guint index, HassPlaces *p,
                             GArray *settled, GArray *ready)
{
  p->at[index].state = HASS_AT_VALID;
  if (p->listed)
    g_queue_remove (&graph->placing->devices[index].leavers, p);
  p->listed = FALSE;
  set_only (graph, p, -1);
  p->leaver = -1;
  g_array_append_vals (settled, p->chain->data, p->redo);
  settle (graph, p, p->redo);
  g_array_remove_range (p->chain, 0, p->redo);
  p->redo = 0;
  release_parked (p, ready);
}

/* -- Loss --------------------------------------------------------------- */

/* What device @index had of the datum is gone. Appends to @again what is to be
   computed again first. */
void
hass_place_lost_locked (HassGraph *graph, HassPlaces *p, guint index,
                        GArray *again)
{
  if (p->at[index].state != HASS_AT_NONE)
    p->at[index].state = HASS_AT_EMPTY;
  if (p->only != (gint)index)
    return;
  if (p->listed)
    g_queue_remove (&graph->placing->devices[index].leavers, p);
  p->listed = FALSE;
  set_only (graph, p, -1);
  p->changer = p->leaver = -1;
  p->redo = 0;
  forget_instances (graph, p, -1);
  if (p->chain->len > 0)
    begin_again (graph, p, 0, again);
}

/* Before the above for device @index, which gives a task back. Returns: TRUE if
   the task begins again; FALSE: its turn in a chain comes. */
gboolean
hass_place_begins_again_locked (HassGraph *graph, HassGraphTask *task,
                                guint index)
{
  HassPlaces *p = NULL;
  guint32 t = hass_task_index (graph, task);
  if (hass_task_outputs (task, &p) != 1 || !p || !is_lost (p)
      || in_chain (p, p->redo) != t)
    return TRUE;
  if (p->only != (gint)index)
    return TRUE;
  ends_again (graph, t);
  return FALSE;
}

/* -- Cores -------------------------------------------------------------- */

/* A core has ended task @task, which should change the datum. Appends to @next
   what may begin. Returns: TRUE if somebody waited for the datum. */
gboolean
hass_place_written_locked (HassGraph *graph, HassPlaces *p, guint32 task,
                           gboolean computed, GArray *next)
{
  gboolean wanted = p->wanted;
  if (computed)
    forget_instances (graph, p, -1);
  if (p->only >= 0 || (p->chain->len > 0 && in_chain (p, 0) != task))
    return FALSE;
  if (p->chain->len > 0)
    {
      settle (graph, p, 1);
      g_array_remove_index (p->chain, 0);
    }
  if (p->chain->len > 0)
    begin_again (graph, p, 0, next);
  release_parked (p, next);
  return wanted;
}

/* -- The submitting thread ---------------------------------------------- */

/* Takes a datum from the devices, which gives up the version that device *@only
   has alone. Returns: FALSE if a device uses it, or will copy it home. */
gboolean
hass_place_drop_locked (HassGraph *graph, HassPlaces *p, HassGraphDevice **only)
{
  HassPlacing *placing = graph->placing;
  gboolean used = p->leaver >= 0 || p->changer >= 0 || is_lost (p);
  for (guint i = 0; i < placing->n_devices; i++)
    used |= p->at[i].pins + p->at[i].readers > 0;
  if (!p->data->own && p->only >= 0)
    {
      hass_place_want_locked (graph, p);
      used = TRUE;
    }
  if (used)
    return FALSE;
  *only = p->only < 0 ? NULL : &placing->devices[p->only];
  if (p->listed)
    g_queue_remove (&(*only)->leavers, p);
  set_only (graph, p, -1);
  for (guint i = 0; i < placing->n_devices; i++)
    if (p->at[i].memory)
      {
        g_queue_unlink (&placing->devices[i].resident, &p->at[i].link);
        g_array_append_val (placing->devices[i].garbage, p->at[i].memory);
      }
  settle (graph, p, p->chain->len);
  atomic_store_explicit (&p->data->places, NULL, memory_order_relaxed);
  return TRUE;
}

/* Returns: TRUE if the datum, which no task will change, is at home. Else it
   will come. */
gboolean
hass_place_await (HassGraph *graph, const HassData *data)
{
  HassPlaces *p = hass_data_places (data);
  if (!p)
    return TRUE;
  pthread_mutex_lock (&graph->placing->lock);
  gboolean home = p->only < 0 && p->chain->len == 0, news = !p->wanted;
  if (!home)
    hass_place_want_locked (graph, p);
  pthread_mutex_unlock (&graph->placing->lock);
  if (!home && news)
    graph->job->engine->changed (graph->job);
  return home;
}

/* Somebody waits until a task is settled, such as one that changes what it
   reads. If it is computed, what it has changed comes home; if not, its device
   will see who waits (device_end.c). Only of a task that is not settled the
   data are sure to be there. */
void
hass_place_send_home (HassGraph *graph, HassGraphTask *task)
{
  gboolean news = FALSE;
  if (task->codelet->devices == 0)
    return;
  pthread_mutex_lock (&graph->placing->lock);
  gboolean unsettled = task->flags & HASS_TASK_UNSETTLED;
  for (guint i = 0; i < task->n && unsettled; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      if (!hass_access_changes (a))
        continue;
      HassPlaces *p = hass_data_places (hass_access_data (a));
      news |= !p->wanted;
      hass_place_want_locked (graph, p);
    }
  pthread_mutex_unlock (&graph->placing->lock);
  if (news)
    graph->job->engine->changed (graph->job);
}

/* The caller may write a datum, or all data if it is NULL, which are home. */
void
hass_place_renew (HassGraph *graph, const HassData *data)
{
  if (!graph->placing
      || atomic_load_explicit (&graph->placing->usable, memory_order_relaxed)
             == 0)
    return;
  pthread_mutex_lock (&graph->placing->lock);
  for (guint i = 0; i < (data ? 1 : graph->data->len); i++)
    {
      HassPlaces *p
          = hass_data_places (data ? data : g_ptr_array_index (graph->data, i));
      if (p)
        forget_instances (graph, p, -1);
    }
  pthread_mutex_unlock (&graph->placing->lock);
}
