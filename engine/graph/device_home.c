/* SPDX-License-Identifier: MIT */
/* device_home.c: data come home from a device: step 4 of the DESIGN paragraph
   in place.h.
   Thread safety: the proxy thread of the device. */
#include "device-private.h"

#include "hass/memory.h"

/* Free pieces of memory that are kept for later copies. */
#define MOST_ASIDES 8
/* Data on their way home at a time: two keep the link busy, while two others
   are moved from aside. */
#define MOST_LEAVING 4

/* -- Memory aside ------------------------------------------------------- */

static gpointer
take_aside (HassServing *s, gsize bytes, GError **error)
{
  for (guint i = s->asides->len; i-- > 0;)
    if (g_array_index (s->asides, HassAside, i).bytes == bytes)
      {
        gpointer memory = g_array_index (s->asides, HassAside, i).memory;
        g_array_remove_index (s->asides, i);
        return memory;
      }
  return hass_memory_alloc (bytes, error);
}

static void
keep_aside (HassServing *s, gpointer memory, gsize bytes)
{
  HassAside aside = { memory, bytes };
  if (!memory)
    return;
  g_array_append_val (s->asides, aside);
  if (s->asides->len <= MOST_ASIDES)
    return;
  hass_memory_free (g_array_index (s->asides, HassAside, 0).memory);
  g_array_remove_index (s->asides, 0);
}

/* -- Copies ------------------------------------------------------------- */

/* Begins to copy a datum home. @with: with others, or NULL. */
void
hass_device_copy_home (HassServing *s, HassPlaces *p, HassTogether *with)
{
  GError *error = NULL;
  HassFlight *f = hass_flight_new (s, HASS_FLIGHT_LEAVE);
  f->places = p;
  f->with = with;
  s->n_leaving++;
  f->bytes = hass_data_bytes (p->data);
  s->device->bytes_home += f->bytes;
  f->aside = take_aside (s, f->bytes, &error);
  HassDataCopy copy = { .memory = p->at[s->device->index].memory,
                        .host = f->aside,
                        .row_bytes = f->bytes,
                        .rows = 1,
                        .host_pitch = f->bytes,
                        .to_host = TRUE };
  if (f->aside
      && s->device->ops->copy (s->device->device, f->ticket, &copy, &error))
    return;
  if (!hass_serving_is_lost (s))
    hass_serving_count (s, TRUE, error);
  g_clear_error (&error);
  hass_device_left (s, f, TRUE);
}

/* -- Arrivals ----------------------------------------------------------- */

/* Learns what comes home to settle tasks of a codelet: that of the last one
   that has changed the data. */
static void
note_home_locked (HassServing *s, const GArray *settled,
                  const GPtrArray *flights)
{
  if (settled->len == 0)
    return;
  guint32 last = g_array_index (settled, guint32, settled->len - 1);
  guint codelet = s->graph->tasks[last].codelet->index;
  for (guint i = 0; i < flights->len; i++)
    s->device->codelets[codelet].home_bytes
        += ((const HassFlight *)flights->pdata[i])->bytes;
}

/* The data of @flights are home. @task: the one that has changed them all, or
   NULL. */
static void
came_home (HassServing *s, GPtrArray *flights, HassGraphTask *task)
{
  g_autoptr (GArray) settled = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) ready = g_array_new (FALSE, FALSE, sizeof (guint32));
  pthread_mutex_lock (&s->placing->lock);
  for (guint i = 0; i < flights->len; i++)
    s->device->going_bytes -= ((HassFlight *)flights->pdata[i])->bytes;
  for (guint i = 0; i < flights->len; i++)
    hass_place_came_home_locked (s->graph, s->device->index,
                                 ((HassFlight *)flights->pdata[i])->places,
                                 settled, ready);
  if (task)
    {
      guint32 t = hass_task_index (s->graph, task);
      hass_device_let_go_locked (s->device, task);
      g_array_append_val (settled, t);
    }
  note_home_locked (s, settled, flights);
  pthread_mutex_unlock (&s->placing->lock);
  for (guint i = 0; i < flights->len; i++)
    {
      const HassFlight *f = flights->pdata[i];
      keep_aside (s, f->aside, f->bytes);
    }
  hass_place_settle (s->graph, s->worker, s->device, settled);
  hass_place_hand_out (s->graph, s->worker, ready);
  s->job->engine->changed (s->job);
}

static void
not_home (HassServing *s, HassFlight *f)
{
  HassPlaces *p = f->places;
  HassTogether *with = f->with;
  keep_aside (s, f->aside, f->bytes);
  g_hash_table_remove (s->flights, &f->ticket);
  if (with && !s->gone)
    {
      hass_device_copy_home (s, p, with);
      return;
    }
  pthread_mutex_lock (&s->placing->lock);
  if (p->leaver == (gint)s->device->index)
    p->leaver = -1;
  s->device->going_bytes -= hass_data_bytes (p->data);
  hass_place_leave_locked (s->graph, p, p->wanted);
  pthread_mutex_unlock (&s->placing->lock);
}

/* A copy home has ended. Takes over the flight. Data that come home together
   are moved when all are aside. */
void
hass_device_left (HassServing *s, HassFlight *f, gboolean failed)
{
  HassTogether *with = f->with;
  if (failed)
    {
      s->n_leaving--;
      not_home (s, f);
      return;
    }
  g_hash_table_steal (s->flights, &f->ticket);
  s->n_moving++;
  if (!with)
    {
      hass_mover_move (s->mover, f);
      return;
    }
  g_ptr_array_add (with->flights, f);
  if (--with->n_left > 0)
    return;
  g_ptr_array_remove_fast (s->together, with);
  with->n_left = with->flights->len;
  for (guint i = 0; i < with->flights->len; i++)
    hass_mover_move (s->mover, with->flights->pdata[i]);
}

/* Data have been moved home. Takes over the flight. */
void
hass_device_moved (HassServing *s, HassFlight *f)
{
  HassTogether *with = f->with;
  s->n_leaving--;
  s->n_moving--;
  if (!with)
    {
      g_autoptr (GPtrArray) one
          = g_ptr_array_new_with_free_func (hass_flight_free);
      g_ptr_array_add (one, f);
      came_home (s, one, NULL);
    }
  else if (--with->n_left == 0)
    {
      came_home (s, with->flights, &s->graph->tasks[with->task]);
      hass_together_free (with);
    }
}

/* -- Which data leave ---------------------------------------------------- */

/* Returns: a datum that should be copied home and can be, or NULL. */
static HassPlaces *
next_leaver_locked (const HassServing *s)
{
  for (GList *l = s->device->leavers.head; l; l = l->next)
    if (((HassPlaces *)l->data)->changer < 0)
      return l->data;
  return NULL;
}

/* Returns: TRUE if a task that another device holds needs the datum. */
static gboolean
is_used_elsewhere (const HassServing *s, const HassPlaces *p)
{
  for (guint i = 0; i < s->placing->n_devices; i++)
    if (i != s->device->index && p->at[i].pins > 0)
      return TRUE;
  return FALSE;
}

static gboolean
may_leave (const HassServing *s, const HassPlaces *p)
{
  return p->changer < 0 && p->leaver < 0 && !is_used_elsewhere (s, p);
}

/* Returns: a datum that is valid here only, the user's first, or NULL. Of the
   library's the last one: when it is home, others may be of no use. */
static HassPlaces *
any_only_here_locked (const HassServing *s)
{
  const GQueue *here = s->device->only_here;
  for (const GList *l = here[0].head; l; l = l->next)
    if (may_leave (s, l->data))
      return l->data;
  for (const GList *l = s->n_leaving == 0 ? here[1].tail : NULL; l; l = l->prev)
    if (may_leave (s, l->data))
      return l->data;
  return NULL;
}

/* Returns: TRUE if all that has been computed must come home. Not before the
   device has looked at the tasks that have become ready: one may update it. */
static gboolean
all_go_home_locked (const HassServing *s)
{
  return s->n_computing == 0 && s->device->taken->len == 0
         && s->n_seen == s->placing->n_entered
         && (atomic_load_explicit (&s->job->generated, memory_order_acquire)
             || atomic_load_explicit (&s->graph->caller_waits,
                                      memory_order_relaxed)
                    == 1 + HASS_WAIT_ALL);
}

/* Begins one copy home. Returns: FALSE if none can begin. */
gboolean
hass_device_leave_one (HassServing *s)
{
  if (s->n_leaving >= MOST_LEAVING)
    return FALSE;
  pthread_mutex_lock (&s->placing->lock);
  HassPlaces *p = next_leaver_locked (s);
  if (p)
    g_queue_remove (&s->device->leavers, p);
  else if (all_go_home_locked (s))
    p = any_only_here_locked (s);
  HassData *useless = NULL;
  if (p && p->data->own && !p->wanted
      && atomic_load_explicit (&s->job->generated, memory_order_acquire)
      && hass_graph_all_over (s->graph, p->data))
    useless = p->data;
  else if (p)
    {
      p->leaver = (gint)s->device->index;
      s->device->going_bytes += hass_data_bytes (p->data);
    }
  if (p)
    {
      p->listed = FALSE;
      hass_serving_begin_locked (s);
    }
  pthread_mutex_unlock (&s->placing->lock);
  if (useless)
    return hass_place_drop (s->graph, s->worker, useless);
  if (p)
    hass_device_copy_home (s, p, NULL);
  return p != NULL;
}

/* -- The end ------------------------------------------------------------ */

void
hass_together_free (gpointer p)
{
  HassTogether *with = p;
  g_ptr_array_unref (with->flights);
  g_free (with);
}

/* After the device has left all that it had. */
void
hass_serving_clear (HassServing *s)
{
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init (&iter, s->flights);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    hass_memory_free (((HassFlight *)value)->aside);
  for (guint i = 0; i < s->together->len; i++)
    {
      HassTogether *with = s->together->pdata[i];
      for (guint k = 0; k < with->flights->len; k++)
        hass_memory_free (((HassFlight *)with->flights->pdata[k])->aside);
      hass_together_free (with);
    }
  for (guint i = 0; i < s->asides->len; i++)
    hass_memory_free (g_array_index (s->asides, HassAside, i).memory);
  g_hash_table_unref (s->flights);
  g_ptr_array_unref (s->together);
  g_array_unref (s->asides);
  for (guint i = 0; i < s->ended->len; i++)
    g_clear_error (&g_array_index (s->ended, HassLanded, i).error);
  g_array_unref (s->ended);
  g_clear_error (&s->gone);
}
