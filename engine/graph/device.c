/* SPDX-License-Identifier: MIT */
/* device.c: a device computes tasks of a dataflow.

   DESIGN. The proxy thread of the device takes tasks ahead of those that
   compute, so that copies run under kernels. A task passes these steps, each of
   which begins operations of hass/device_data.h:
   1. Take. It gets memory for all its data (device_memory.c).
   2. Arrive. What it reads and the device has not is copied from home.
   3. Compute. When all is there, it is given to the GPU function of its
   codelet, with further tasks of this codelet that can begin.
   4. Leave. Data are copied home (step 4 of place.h).
   What becomes of a task when its kernels have ended or failed is in
   device_end.c.

   Thread safety: the proxy thread, except where stated. */
#include "device-private.h"

/* -- 1. Take ------------------------------------------------------------ */

/* A task does not fit into the device. */
static void
refuse_large (HassServing *s, HassGraphTask *task)
{
  gsize bytes = 0;
  for (guint i = 0; i < task->n; i++)
    bytes += hass_data_bytes (hass_access_data (hass_task_access (task, i)));
  g_autoptr (GError) error
      = g_error_new (HASS_ERROR, HASS_ERROR_NO_MEMORY,
                     "its data take %zu bytes, more than %s has for them (%zu)",
                     bytes, s->job->devices[s->device->d].name,
                     s->device->ops->capacity (s->device->device));
  hass_place_refuse_locked (s->graph, task, s->device, error);
}

/* Takes one task. Returns: FALSE if there is none, or no memory for it now. */
static gboolean
take_one (HassServing *s)
{
  HassGraphDevice *device = s->device;
  g_autoptr (GArray) back = g_array_new (FALSE, FALSE, sizeof (guint32));
  pthread_mutex_lock (&s->placing->lock);
  s->placing->news = FALSE;
  HassGraphTask *task = device->taken->len < s->ahead
                            ? hass_place_choose_locked (s->graph, device, back)
                            : NULL;
  HassReserve reserve
      = task ? hass_device_reserve_locked (s->graph, device, task, &s->gone)
             : HASS_RESERVE_LATER;
  if (task || back->len > 0)
    hass_serving_begin_locked (s);
  if (task)
    {
      guint32 t = hass_task_index (s->graph, task);
      if (reserve == HASS_RESERVED)
        {
          HassTaken taken = { .task = t, .awaited = NULL };
          g_array_append_val (device->taken, taken);
          device->n_held++;
          device->codelets[task->codelet->index].n_held++;
        }
      else if (reserve == HASS_RESERVE_NEVER)
        {
          refuse_large (s, task);
          g_array_append_val (back, t);
        }
      else
        hass_place_share_locked (s->graph, task, (gint)device->index);
    }
  gboolean news = s->placing->news;
  s->n_seen = s->placing->n_entered;
  pthread_mutex_unlock (&s->placing->lock);
  if (news)
    s->job->engine->changed (s->job);
  hass_place_hand_out (s->graph, s->worker, back);
  return reserve != HASS_RESERVE_LATER;
}

/* -- 2. Arrive ---------------------------------------------------------- */

/* Notes that a datum is being copied to the device if it is not there. Returns:
   what begins, or NULL. */
static HassFlight *
expect_locked (HassServing *s, HassGraphTask *task, const HassTaskAccess *a)
{
  HassPlaces *p = hass_data_places (hass_access_data (a));
  HassFrom from = hass_place_from_locked (s->graph, task, a, s->device->index);
  if (from == HASS_FROM_NOWHERE || hass_access_mode (a) == HASS_WRITE || !p
      || p->at[s->device->index].state != HASS_AT_EMPTY)
    return NULL;
  HassFlight *f = hass_flight_new (s, HASS_FLIGHT_ARRIVE);
  s->device->bytes_in += hass_data_bytes (p->data);
  f->places = p;
  f->from = from == HASS_FROM_PEER ? &p->at[p->only] : NULL;
  if (f->from)
    {
      f->peer = s->placing->devices[p->only].device;
      f->peer_memory = f->from->memory;
      f->from->readers++;
      s->placing->devices[p->only].going_bytes += hass_data_bytes (p->data);
    }
  p->at[s->device->index].state = HASS_AT_ARRIVING;
  p->at[s->device->index].pins++;
  return f;
}

/* A copy to the device has ended. What came from a device that is lost is not
   valid. Where a copy from another device fails, that one may be to blame: it
   is not asked again. */
void
hass_device_arrived (HassServing *s, const HassFlight *f, gboolean failed)
{
  HassInstance *at = &f->places->at[s->device->index];
  pthread_mutex_lock (&s->placing->lock);
  if (failed && f->from)
    s->device->shunned |= 1u << (f->from - f->places->at);
  failed |= f->from && f->from->state != HASS_AT_VALID;
  at->state = failed ? HASS_AT_EMPTY : HASS_AT_VALID;
  at->pins--;
  hass_flight_end_reading_locked (s, f);
  pthread_mutex_unlock (&s->placing->lock);
  if (f->from)
    s->job->engine->changed (s->job); /* its memory may be freed now */
}

static void
copy_in (HassServing *s, HassFlight *f)
{
  const HassDataView *v = &f->places->data->view;
  GError *error = NULL;
  HassDataCopy copy = { .memory = f->places->at[s->device->index].memory,
                        .host = f->from ? NULL : v->data,
                        .row_bytes = v->row_bytes,
                        .rows = v->rows,
                        .host_pitch = v->pitch,
                        .peer = f->peer,
                        .peer_memory = f->peer_memory };
  if (s->device->ops->copy (s->device->device, f->ticket, &copy, &error))
    return;
  gboolean own = !f->from;
  hass_device_arrived (s, f, TRUE);
  g_hash_table_remove (s->flights, &f->ticket);
  if (!hass_serving_is_lost (s) && own)
    hass_serving_count (s, TRUE, error);
  g_clear_error (&error);
}

/* Returns: TRUE if a task is known to wait for a copy that has not ended: its
   accesses, which may be thousands, need not be looked at. */
static gboolean
awaits_locked (const HassTaken *taken)
{
  return taken->awaited && taken->awaited->state == HASS_AT_ARRIVING;
}

/* Begins the copies that a task needs which was taken. Returns: FALSE if there
   are none. */
static gboolean
let_one_arrive (HassServing *s, HassTaken *taken)
{
  gboolean any = FALSE;
  HassGraphTask *task = &s->graph->tasks[taken->task];
  for (guint k = 0; k < task->n && !s->gone; k++)
    {
      const HassTaskAccess *a = hass_task_access (task, k);
      pthread_mutex_lock (&s->placing->lock);
      HassFlight *f = expect_locked (s, task, a);
      const HassPlaces *p = hass_data_places (hass_access_data (a));
      if (p && p->at[s->device->index].state == HASS_AT_ARRIVING)
        taken->awaited = &p->at[s->device->index];
      pthread_mutex_unlock (&s->placing->lock);
      if (f)
        copy_in (s, f);
      any |= f != NULL;
    }
  return any;
}

typedef enum
{
  AT_HAND, /* all data are here or can be copied */
  CUT_OFF, /* some cannot be had now, and none is being copied here */
  ARRIVING /* copies have begun, or some cannot be had and some are coming */
} Reach;

static Reach
reach_locked (const HassServing *s, const HassTaken *taken)
{
  if (awaits_locked (taken))
    return ARRIVING;
  HassGraphTask *task = &s->graph->tasks[taken->task];
  gboolean nowhere = FALSE, arriving = FALSE;
  guint d = s->device->index;
  for (guint k = 0; k < task->n; k++)
    {
      const HassTaskAccess *a = hass_task_access (task, k);
      const HassPlaces *p = hass_data_places (hass_access_data (a));
      nowhere
          |= hass_place_from_locked (s->graph, task, a, d) == HASS_FROM_NOWHERE;
      arriving |= p && p->at[d].state == HASS_AT_ARRIVING;
    }
  return !nowhere ? AT_HAND : arriving ? ARRIVING : CUT_OFF;
}

/* Begins the copies that the tasks need which were taken. One whose data are
   lost waits elsewhere, for the device must have room to compute them again;
   not before copies for it have ended, as others may change their sources then.
   Returns: FALSE if nothing has happened. */
static gboolean
let_arrive (HassServing *s)
{
  GArray *taken = s->device->taken;
  g_autoptr (GArray) back = g_array_new (FALSE, FALSE, sizeof (guint32));
  gboolean any = FALSE;
  for (guint i = 0; i < taken->len && !s->gone;)
    {
      HassTaken *one = &g_array_index (taken, HassTaken, i);
      pthread_mutex_lock (&s->placing->lock);
      Reach reach = reach_locked (s, one);
      if (reach == CUT_OFF)
        {
          hass_device_give_back_locked (s, one->task, back);
          g_array_remove_index (taken, i);
        }
      pthread_mutex_unlock (&s->placing->lock);
      if (reach == AT_HAND)
        any |= let_one_arrive (s, one);
      i += reach != CUT_OFF;
    }
  hass_place_hand_out (s->graph, s->worker, back);
  return any || back->len > 0;
}

/* -- 3. Compute --------------------------------------------------------- */

/* Returns: TRUE if a task that was taken can begin. */
static gboolean
can_begin_locked (const HassServing *s, const HassTaken *taken)
{
  if (awaits_locked (taken))
    return FALSE;
  HassGraphTask *task = &s->graph->tasks[taken->task];
  for (guint i = 0; i < task->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      HassPlaces *p = hass_data_places (hass_access_data (a));
      HassAt state = p ? p->at[s->device->index].state : HASS_AT_VALID;
      if (hass_place_from_locked (s->graph, task, a, s->device->index)
              == HASS_FROM_NOWHERE
          || state == HASS_AT_ARRIVING
          || (state == HASS_AT_EMPTY && hass_access_mode (a) != HASS_WRITE)
          || (p && p->leaver >= 0 && hass_access_mode (a) != HASS_READ))
        return FALSE;
    }
  return TRUE;
}

static void
will_change_locked (const HassServing *s, HassGraphTask *task)
{
  for (guint i = 0; i < task->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      HassPlaces *p = hass_data_places (hass_access_data (a));
      if (p && hass_access_mode (a) != HASS_READ)
        p->changer = (gint)s->device->index;
    }
}

/* Moves tasks of one codelet that can begin from those that were taken to
   @tasks. */
static void
gather (HassServing *s, GArray *tasks)
{
  GArray *taken = s->device->taken;
  const HassCodeletState *codelet = NULL;
  guint most = 1;
  pthread_mutex_lock (&s->placing->lock);
  for (guint i = 0; i < taken->len && tasks->len < most;)
    {
      const HassTaken *one = &g_array_index (taken, HassTaken, i);
      HassGraphTask *task = &s->graph->tasks[one->task];
      if ((codelet && task->codelet != codelet) || !can_begin_locked (s, one))
        {
          i++;
          continue;
        }
      codelet = task->codelet;
      most = MAX (codelet->public.gpu_most, 1);
      g_array_append_val (tasks, one->task);
      g_array_remove_index (taken, i);
      will_change_locked (s, task);
    }
  pthread_mutex_unlock (&s->placing->lock);
}

typedef struct
{
  HassCodeletGpuFunc func;
  HassCall *calls;
  guint n_calls;
  HassCodeletFunc cpu; /* a modelled device: computes the results; else NULL */
  HassWorker *worker;
} Launch;

static gboolean
launch (HassGpuStream *stream, gpointer data, GError **error)
{
  const Launch *l = data;
  if (!l->cpu)
    return l->func (l->calls, l->n_calls, stream, error);
  for (guint i = 0; i < l->n_calls; i++)
    if (!l->cpu (&l->calls[i], l->worker, error) || *error)
      return FALSE;
  return TRUE;
}

/* The views of a task at the device. */
static void
set_views (const HassServing *s, HassGraphTask *task, HassDataView *views)
{
  for (guint i = 0; i < task->n; i++)
    {
      HassData *data = hass_access_data (hass_task_access (task, i));
      const HassPlaces *p = hass_data_places (data);
      views[i] = data->view;
      views[i].pitch = data->view.row_bytes;
      views[i].data = p ? p->at[s->device->index].memory : NULL;
    }
}

/* Calls the GPU function for tasks, whose operation is @f. */
static gboolean
enqueue (HassServing *s, const HassFlight *f, GError **error)
{
  const HassCodelet *codelet
      = &hass_serving_task (s, f->tasks, 0)->codelet->public;
  guint n = f->tasks->len, n_views = 0;
  for (guint i = 0; i < n; i++)
    n_views += hass_serving_task (s, f->tasks, i)->n;
  g_autofree HassCall *calls = g_new0 (HassCall, n);
  g_autofree HassDataView *views = g_new (HassDataView, MAX (n_views, 1));
  n_views = 0;
  s->codelet = hass_serving_task (s, f->tasks, 0)->codelet->name;
  s->cost = 0;
  for (guint i = 0; i < n; i++)
    {
      HassGraphTask *task = hass_serving_task (s, f->tasks, i);
      if (s->graph->modelled)
        s->cost += hass_task_cost (s->graph, task);
      calls[i] = (HassCall){ .views = views + n_views,
                             .n_views = task->n,
                             .arguments = hass_task_arguments (task),
                             .user_data = codelet->user_data };
      set_views (s, task, views + n_views);
      n_views += task->n;
    }
  Launch l = { .func = hass_codelet_func (s->graph, codelet, s->device->index),
               .calls = calls,
               .n_calls = n,
               .cpu = s->graph->modelled ? codelet->cpu : NULL,
               .worker = &s->job->workers[s->worker] };
  HassCallback before
      = hass_engine_enter_callback ("codelet", s->job, l.cpu ? l.worker : NULL);
  gboolean ok = s->device->ops->compute (s->device->device, f->ticket, launch,
                                         &l, error);
  hass_engine_leave_callback (before);
  return ok;
}

/* Begins one computation. Returns: FALSE if none can begin. */
static gboolean
compute_one (HassServing *s)
{
  g_autoptr (GError) error = NULL;
  if (s->n_computing >= s->most_computing)
    return FALSE;
  g_autoptr (GArray) tasks = g_array_new (FALSE, FALSE, sizeof (guint32));
  gather (s, tasks);
  if (tasks->len == 0)
    return FALSE;
  HassFlight *f = hass_flight_new (s, HASS_FLIGHT_COMPUTE);
  f->tasks = g_array_ref (tasks);
  if (enqueue (s, f, &error))
    {
      s->n_computing++;
      s->device->n_calls++;
      return TRUE;
    }
  if (hass_serving_is_lost (s))
    return FALSE; /* what is in flight is given back */
  if (!error)
    error = g_error_new (HASS_ERROR, HASS_ERROR_WORKER,
                         "it did not say why it failed");
  hass_device_give_back (s, f->tasks, error);
  g_hash_table_remove (s->flights, &f->ticket);
  return TRUE;
}

/* -- All together ------------------------------------------------------- */

/* Begins what can begin. Returns: TRUE if something has happened. */
gboolean
hass_device_feed (HassServing *s)
{
  gboolean any = FALSE;
  pthread_mutex_lock (&s->placing->lock);
  hass_device_collect_garbage_locked (s->device);
  pthread_mutex_unlock (&s->placing->lock);
  while (!s->gone && take_one (s))
    any = TRUE;
  any |= let_arrive (s);
  while (!s->gone && compute_one (s))
    any = TRUE;
  while (!s->gone && hass_device_leave_one (s))
    any = TRUE;
  return any;
}
