/* SPDX-License-Identifier: MIT */
/* device_end.c: what becomes of tasks whose kernels have ended or failed, or
   whose device is lost: steps 3 and 5 of the DESIGN paragraph in place.h.
   Thread safety: the proxy thread of the device, except where stated. */
#include "device-private.h"

#include <string.h>

/* Calls of a codelet that count in its mean time on a device. A guess: fewer,
   and tasks of different lengths make equal devices look unequal; more, and a
   device that becomes slower is noticed late. */
#define MOST_AVERAGED 64

/* -- Failure ------------------------------------------------------------ */

/* A task that the device holds begins again; appended to @again if now. */
void
hass_device_give_back_locked (HassServing *s, guint32 t, GArray *again)
{
  HassGraphTask *task = &s->graph->tasks[t];
  if (hass_place_begins_again_locked (s->graph, task, s->device->index))
    g_array_append_val (again, t);
  hass_device_let_go_locked (s->device, task);
}

/* The same, and what the task should have changed may be destroyed. */
static void
spoil_locked (HassServing *s, guint32 t, GArray *again)
{
  HassGraphTask *task = &s->graph->tasks[t];
  hass_device_give_back_locked (s, t, again);
  for (guint k = 0; k < task->n; k++)
    {
      const HassTaskAccess *a = hass_task_access (task, k);
      HassPlaces *p = hass_data_places (hass_access_data (a));
      if (p && hass_access_mode (a) != HASS_READ)
        hass_place_lost_locked (s->graph, p, s->device->index, again);
    }
}

/* The GPU function, or the kernels, of tasks have failed with @error: they run
   elsewhere. */
void
hass_device_give_back (HassServing *s, const GArray *tasks, const GError *error)
{
  g_autoptr (GArray) again = g_array_new (FALSE, FALSE, sizeof (guint32));
  pthread_mutex_lock (&s->placing->lock);
  for (guint i = 0; i < tasks->len; i++)
    {
      guint32 t = g_array_index (tasks, guint32, i);
      hass_place_refuse_locked (s->graph, &s->graph->tasks[t], s->device,
                                error);
      spoil_locked (s, t, again);
    }
  pthread_mutex_unlock (&s->placing->lock);
  hass_place_hand_out (s->graph, s->worker, again);
}

/* -- Loss --------------------------------------------------------------- */

/* Returns: TRUE if another device copies from this one. */
static gboolean
has_readers_locked (const HassServing *s)
{
  for (GList *l = s->device->resident.head; l; l = l->next)
    if (((HassPlaces *)l->data)->at[s->device->index].readers > 0)
      return TRUE;
  return FALSE;
}

/* Waits until no other device copies from this one; none begins to. */
void
hass_serving_await_readers_locked (HassServing *s)
{
  HassEvent *event = &s->job->event;
  guint64 epoch = hass_event_prepare (event);
  for (; has_readers_locked (s); epoch = hass_event_prepare (event))
    {
      pthread_mutex_unlock (&s->placing->lock);
      hass_event_wait (event, epoch, -1);
      pthread_mutex_lock (&s->placing->lock);
    }
  hass_event_cancel (event);
}

/* What was here is gone. */
static void
lose_data_locked (HassServing *s, GArray *again)
{
  HassGraphDevice *device = s->device;
  for (GList *l = device->resident.head; l; l = l->next)
    {
      hass_place_lost_locked (s->graph, l->data, device->index, again);
      ((HassPlaces *)l->data)->at[device->index].pins = 0;
    }
}

/* The memory of a device that is given up. */
static void
free_data (HassServing *s)
{
  HassGraphDevice *device = s->device;
  pthread_mutex_lock (&s->placing->lock);
  if (!s->lost)
    {
      hass_serving_await_readers_locked (s);
      hass_device_free_all_locked (device);
    }
  for (GList *l; (l = g_queue_pop_head_link (&device->resident));)
    {
      HassInstance *at = &((HassPlaces *)l->data)->at[device->index];
      at->memory = NULL;
      at->state = HASS_AT_NONE;
    }
  g_array_set_size (device->garbage, 0);
  pthread_mutex_unlock (&s->placing->lock);
}

/* All tasks that the device holds begin again. */
static void
give_all_back_locked (HassServing *s, GArray *again)
{
  GHashTableIter iter;
  gpointer value;
  for (guint i = 0; i < s->device->taken->len; i++)
    hass_device_give_back_locked (
        s, g_array_index (s->device->taken, HassTaken, i).task, again);
  g_array_set_size (s->device->taken, 0);
  for (guint i = 0; i < s->together->len; i++)
    hass_device_give_back_locked (
        s, ((HassTogether *)s->together->pdata[i])->task, again);
  g_hash_table_iter_init (&iter, s->flights);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const HassFlight *f = value;
      hass_flight_end_reading_locked (s, f);
      for (guint i = 0; f->tasks && i < f->tasks->len; i++)
        hass_device_give_back_locked (s, g_array_index (f->tasks, guint32, i),
                                      again);
    }
}

/* The device is lost. */
void
hass_device_gone (HassServing *s)
{
  HassJob *job = s->job;
  g_autoptr (GArray) again = g_array_new (FALSE, FALSE, sizeof (guint32));
  pthread_mutex_lock (&s->placing->lock);
  give_all_back_locked (s, again);
  lose_data_locked (s, again);
  pthread_mutex_unlock (&s->placing->lock);
  job->engine->changed (job);
  free_data (s);
  hass_lock_take (&job->decision);
  HassTotals *t = &job->totals[s->device->d];
  if (t->error_domain == 0)
    {
      t->error_domain = s->gone->domain;
      t->error_code = s->gone->code;
    }
  hass_decide_lost (job, s->device->d, s->gone->message);
  hass_lock_give (&job->decision);
  hass_place_hand_out (s->graph, s->worker, again);
  job->engine->changed (job);
}

/* Under the decision lock, by any thread: device @d is lost, or was not opened:
   the tasks that only it could compute go elsewhere. */
void
hass_graph_lost (HassJob *job, guint d)
{
  HassGraph *graph = job->flow;
  HassPlacing *placing = graph->placing;
  g_autoptr (GArray) others = g_array_new (FALSE, FALSE, sizeof (guint32));
  pthread_mutex_lock (&placing->lock);
  atomic_fetch_add_explicit (&placing->n_busy, 1, memory_order_seq_cst);
  hass_placing_device (graph, d)->state = HASS_GRAPH_DEVICE_LOST;
  hass_place_turn_away_locked (graph, others);
  pthread_mutex_unlock (&placing->lock);
  hass_place_hand_out (graph, graph->n_queues, others);
  atomic_fetch_sub_explicit (&placing->n_busy, 1, memory_order_seq_cst);
}

/* -- Success ------------------------------------------------------------ */

/* Returns: TRUE if a task waits until this one is settled: one that changes
   what it reads, or that follows it by a datum without bytes. */
static gboolean
is_in_the_way (const HassGraph *graph, HassGraphTask *task)
{
  const HassEdges *edges = &graph->edges;
  guint32 t = hass_task_index (graph, task);
  if (edges->first)
    return memchr (edges->late + edges->first[t], TRUE,
                   edges->first[t + 1] - edges->first[t])
           != NULL;
  for (guint i = 0; i < task->n; i++)
    {
      HassTaskAccess *a = hass_task_access (task, i);
      if (!hass_access_changes (a)
          && atomic_load_explicit (&a->waiting, memory_order_acquire))
        return TRUE;
    }
  return FALSE;
}

/* A task that changes one datum, or none, has been computed. After its outputs
   are closed, its slot may be used again at any time. */
static void
end_early (HassServing *s, HassGraphTask *task, HassPlaces *p)
{
  g_autoptr (GArray) again = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GPtrArray) woken = g_ptr_array_new ();
  guint32 t = hass_task_index (s->graph, task);
  guint64 as_last = hass_task_as_last (s->graph, task);
  pthread_mutex_lock (&s->placing->lock);
  if (p && p->changer != (gint)s->device->index)
    {
      /* it has changed a copy of a version that was lost meanwhile */
      spoil_locked (s, t, again);
      pthread_mutex_unlock (&s->placing->lock);
      hass_place_hand_out (s->graph, s->worker, again);
      return;
    }
  hass_device_let_go_locked (s->device, task);
  if (p)
    {
      gboolean in_the_way = is_in_the_way (s->graph, task);
      hass_place_changed_locked (s->graph, s->device->index, p, t, again);
      gboolean changes = hass_task_close_outputs (s->graph, task, woken);
      gboolean last
          = woken->len > 0 || s->graph->edges.first
            || atomic_load_explicit (&s->job->generated, memory_order_relaxed);
      if (in_the_way || (!changes && last && !p->data->own))
        hass_place_leave_locked (s->graph, p, in_the_way);
    }
  pthread_mutex_unlock (&s->placing->lock);
  hass_task_count_down (s->graph, s->worker, woken, as_last);
  hass_place_hand_out (s->graph, s->worker, again);
  /* Another device may send home now what this task has copied from it. */
  if (woken->len > 0 || s->placing->n_devices > 1
      || atomic_load_explicit (&s->graph->caller_waits, memory_order_relaxed))
    s->job->engine->changed (s->job);
  if (!p)
    {
      g_array_append_val (again, t);
      hass_place_settle (s->graph, s->worker, s->device, again);
    }
}

/* A task that changes several data has been computed: they come home. */
static void
end_together (HassServing *s, HassGraphTask *task, guint n)
{
  HassTogether *with = g_new0 (HassTogether, 1);
  with->task = hass_task_index (s->graph, task);
  with->n_left = n;
  with->flights = g_ptr_array_new_with_free_func (hass_flight_free);
  g_ptr_array_add (s->together, with);
  for (guint i = 0; i < task->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      HassPlaces *p = hass_data_places (hass_access_data (a));
      if (!p || hass_access_mode (a) == HASS_READ)
        continue;
      pthread_mutex_lock (&s->placing->lock);
      hass_place_leaves_changed_locked (s->graph, s->device->index, p);
      s->device->going_bytes += hass_data_bytes (p->data);
      pthread_mutex_unlock (&s->placing->lock);
      hass_device_copy_home (s, p, with);
    }
}

/* Tells of the tasks of a call, each of which took @one_ns. */
static void
tell (HassServing *s, const HassFlight *f, gint64 now_ns, guint one_ns)
{
  for (guint i = 0; i < f->tasks->len; i++)
    {
      const HassGraphTask *task = hass_serving_task (s, f->tasks, i);
      gint64 left_ns = (gint64)(f->tasks->len - i) * one_ns;
      hass_graph_tell_computed (
          s->graph,
          &(HassComputed){ .task = hass_task_number (s->graph, task),
                           .after
                           = s->graph->lasts[hass_task_index (s->graph, task)],
                           .codelet = task->codelet->name,
                           .device = s->device->d,
                           .worker = s->worker,
                           .begin_ns = now_ns - left_ns,
                           .end_ns = now_ns - left_ns + one_ns });
    }
}

/* Adds the time of a task to the means of a codelet. In its first call on a
   device the runtime may have loaded kernels, 60 ms for those of cuBLAS: that
   time counts only until there is another one. */
static void
add_to_means_locked (HassCodeletState *codelet, HassDeviceCodelet *here,
                     guint one)
{
  guint64 n = MIN (here->n_computed, MOST_AVERAGED);
  here->n_computed++;
  here->ns = n == 0 ? one : (guint)((here->ns * (n - 1) + one) / n);
  codelet->device_ns
      = hass_recent_mean (codelet->loading ? 0 : codelet->device_ns, one);
  codelet->loading = n == 0;
}

/* Learns what a task of the codelet takes. Calls overlap: what a call adds to
   the time of those before it counts. */
static void
learn (HassServing *s, const HassFlight *f, gint64 now_ns)
{
  HassCodeletState *codelet = hass_serving_task (s, f->tasks, 0)->codelet;
  gint64 ns = MAX (now_ns - MAX (f->begun_ns, s->last_end_ns), 1);
  guint one = (guint)CLAMP (ns / f->tasks->len, 1, G_MAXINT32);
  pthread_mutex_lock (&s->placing->lock);
  gboolean first = codelet->device_ns == 0;
  HassDeviceCodelet *here = &s->device->codelets[codelet->index];
  add_to_means_locked (codelet, here, one);
  codelet->n_computed += f->tasks->len;
  here->busy_ns += (double)ns;
  pthread_mutex_unlock (&s->placing->lock);
  s->device->busy_ns += (double)ns;
  if (s->graph->tells_computed)
    tell (s, f, now_ns, one);
  s->last_end_ns = now_ns;
  if (first)
    s->job->engine->changed (s->job); /* cores may compute them now */
}

/* A computation has left the device. */
void
hass_device_computed (HassServing *s, HassFlight *f, const HassDataDone *done,
                      const GError *error)
{
  gint64 now_ns = s->job->engine->now (s->job);
  s->n_computing--;
  if (done->failed)
    {
      g_autoptr (GError) none
          = g_error_new (HASS_ERROR, HASS_ERROR_DEVICE, "its kernels failed");
      hass_device_give_back (s, f->tasks, error ? error : none);
      s->last_end_ns = now_ns;
      return;
    }
  learn (s, f, now_ns);
  for (guint i = 0; i < f->tasks->len; i++)
    {
      HassGraphTask *task = hass_serving_task (s, f->tasks, i);
      HassPlaces *p = NULL;
      guint n = hass_task_outputs (task, &p);
      if (atomic_load_explicit (&s->graph->n_failures, memory_order_relaxed)
          > 0)
        hass_task_mark (task, 0);
      if (n <= 1)
        end_early (s, task, p);
      else
        end_together (s, task, n);
    }
}
