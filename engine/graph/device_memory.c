/* SPDX-License-Identifier: MIT */
/* device_memory.c: memory for data at a device.

   DESIGN. A task gets memory for all its data at once, or for none. Where it is
   insufficient, data that no task uses are dropped, those first that were used
   longest ago; data that are valid nowhere else are sent home, and dropped
   later. A task waits while others have memory; one that does not fit although
   nobody else has any never does. So of the tasks that have memory each can
   begin, and the device does not stand still.

   Thread safety: the device's proxy thread, under HassPlacing.lock. */
#include "place.h"

static gboolean
accesses (HassGraphTask *task, const HassData *data)
{
  for (guint i = 0; i < task->n; i++)
    if (hass_access_data (hass_task_access (task, i)) == data)
      return TRUE;
  return FALSE;
}

/* Frees memory for @task. Returns: FALSE if there is none to be freed now.
 *later: there will be. */
static gboolean
evict (HassGraph *graph, HassGraphDevice *device, HassGraphTask *task,
       gboolean *later)
{
  if (device->garbage->len > 0)
    {
      hass_device_collect_garbage_locked (device);
      return TRUE;
    }
  for (GList *l = device->resident.head; l; l = l->next)
    {
      HassPlaces *p = l->data;
      HassInstance *at = &p->at[device->index];
      guint own = accesses (task, p->data);
      if (own || at->pins + at->readers > 0)
        *later |= at->pins + at->readers > own;
      else if (p->only == (gint)device->index)
        {
          *later = TRUE;
          hass_place_leave_locked (graph, p, TRUE);
        }
      else
        {
          g_queue_unlink (&device->resident, l);
          device->ops->free (device->device, at->memory);
          at->memory = NULL;
          at->state = HASS_AT_NONE;
          return TRUE;
        }
    }
  return FALSE;
}

/* Makes memory for a datum of @task. */
static HassReserve
make_instance (HassGraph *graph, HassGraphDevice *device, HassGraphTask *task,
               HassPlaces *p, GError **error)
{
  HassInstance *at = &p->at[device->index];
  GError *inner = NULL;
  if (at->memory)
    {
      g_queue_unlink (&device->resident, &at->link);
      g_queue_push_tail_link (&device->resident, &at->link);
      return HASS_RESERVED;
    }
  while (!device->ops->alloc (device->device, hass_data_bytes (p->data),
                              &at->memory, &inner))
    {
      gboolean later = FALSE;
      at->memory = NULL;
      if (!g_error_matches (inner, HASS_ERROR, HASS_ERROR_NO_MEMORY))
        {
          g_propagate_error (error, inner);
          return HASS_RESERVE_FAILED;
        }
      g_clear_error (&inner);
      if (!evict (graph, device, task, &later))
        return later ? HASS_RESERVE_LATER : HASS_RESERVE_NEVER;
    }
  at->state = HASS_AT_EMPTY;
  g_queue_push_tail_link (&device->resident, &at->link);
  return HASS_RESERVED;
}

/* Returns: the instance of an access' datum; NULL if it has no bytes. */
static HassInstance *
instance_of (const HassGraphDevice *device, const HassTaskAccess *a)
{
  HassPlaces *p = hass_data_places (hass_access_data (a));
  return p ? &p->at[device->index] : NULL;
}

/* Of the first @n accesses. */
static void
unpin (const HassGraphDevice *device, HassGraphTask *task, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      HassInstance *at = instance_of (device, hass_task_access (task, i));
      if (at)
        at->pins--;
    }
}

HassReserve
hass_device_reserve_locked (HassGraph *graph, HassGraphDevice *device,
                            HassGraphTask *task, GError **error)
{
  HassReserve reserve = HASS_RESERVED;
  guint n = 0;
  for (; n < task->n && reserve == HASS_RESERVED; n++)
    {
      HassData *data = hass_access_data (hass_task_access (task, n));
      if (hass_data_bytes (data) == 0)
        continue;
      HassPlaces *p = hass_places_of_locked (graph, data);
      reserve = make_instance (graph, device, task, p, error);
      p->at[device->index].pins += reserve == HASS_RESERVED;
    }
  if (reserve != HASS_RESERVED)
    unpin (device, task, n - 1);
  return reserve;
}

/* The device computes a task no more. */
void
hass_device_let_go_locked (HassGraphDevice *device, HassGraphTask *task)
{
  for (guint i = 0; i < task->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      HassPlaces *p = hass_data_places (hass_access_data (a));
      if (!p || hass_access_mode (a) == HASS_READ)
        continue;
      if (p->changer == (gint)device->index)
        p->changer = -1;
      if (p->leaver == (gint)device->index)
        p->leaver = -1;
    }
  unpin (device, task, task->n);
  device->n_held--;
  device->codelets[task->codelet->index].n_held--;
}

/* Frees the memory of data that are gone. */
void
hass_device_collect_garbage_locked (HassGraphDevice *device)
{
  for (guint i = 0; i < device->garbage->len; i++)
    device->ops->free (device->device,
                       g_array_index (device->garbage, gpointer, i));
  g_array_set_size (device->garbage, 0);
}

/* Frees all memory; nothing uses it any more. */
void
hass_device_free_all_locked (HassGraphDevice *device)
{
  hass_device_collect_garbage_locked (device);
  for (GList *l; (l = g_queue_pop_head_link (&device->resident));)
    {
      HassInstance *at = &((HassPlaces *)l->data)->at[device->index];
      device->ops->free (device->device, at->memory);
      at->memory = NULL;
      at->state = HASS_AT_NONE;
    }
}
