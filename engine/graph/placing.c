/* SPDX-License-Identifier: MIT */
/* placing.c: the devices of a dataflow, and what they can compute.
   Thread safety: the thread that calls the dataflow, except where stated. */
#include "place.h"

#include <string.h>

#include "device/kinds.h"

/* A device that opens within this time, in ns, opens soon. A guess: what most
   tasks take that are worth a device. */
#define SOON_NS 1000000

/* -- Set-up ------------------------------------------------------------- */

/* Says in the report of device @d, and once in the process on stderr, that it
   is one of @n but not of the first HASS_MOST_DEVICES. */
static void
exclude (HassJob *job, guint d, guint n)
{
  static _Atomic gboolean warned;
  g_autofree char *why = g_strdup_printf (
      "does not participate: a dataflow uses only %d of %u devices",
      HASS_MOST_DEVICES, n);
  hass_decide_note (job, d, why);
  if (!atomic_exchange_explicit (&warned, TRUE, memory_order_relaxed))
    g_printerr ("hass: dataflow '%s': from %s on, a device %s\n",
                job->farm->name, job->devices[d].name, why);
}

void
hass_placing_new (HassGraph *graph)
{
  HassJob *job = graph->job;
  guint n = 0;
  for (guint d = 0; d < job->n_devices; d++)
    n += job->gpus[d] != NULL;
  if (n == 0)
    return;
  HassPlacing *p = g_new0 (HassPlacing, 1);
  pthread_mutex_init (&p->lock, NULL);
  p->devices = g_new0 (HassGraphDevice, MIN (n, HASS_MOST_DEVICES));
  for (guint d = 0; d < job->n_devices; d++)
    if (job->gpus[d] && p->n_devices == HASS_MOST_DEVICES)
      exclude (job, d, n);
    else if (job->gpus[d])
      {
        HassGraphDevice *device = &p->devices[p->n_devices];
        device->index = p->n_devices++;
        device->d = d;
        device->device = job->gpus[d];
        const HassDeviceOps *ops = device->device->ops;
        device->ops = ops->data;
        if (ops->opening_ns && ops->opening_ns (device->device) >= SOON_NS)
          device->soon_ns = -1;
        device->garbage = g_array_new (FALSE, FALSE, sizeof (gpointer));
        device->taken = g_array_new (FALSE, FALSE, sizeof (HassTaken));
        device->codelets = g_new0 (HassDeviceCodelet, HASS_MOST_CODELETS);
        g_queue_init (&device->resident);
        g_queue_init (&device->leavers);
        g_queue_init (&device->only_here[0]);
        g_queue_init (&device->only_here[1]);
      }
  p->empty = g_array_new (FALSE, FALSE, sizeof (HassRanked));
  p->refusals = g_hash_table_new (NULL, NULL);
  p->codelets = g_ptr_array_new ();
  graph->placing = p;
}

void
hass_placing_free (HassGraph *graph)
{
  HassPlacing *p = graph->placing;
  GHashTableIter iter;
  gpointer refusal;
  if (!p)
    return;
  for (guint i = 0; i < p->n_devices; i++)
    {
      g_array_unref (p->devices[i].garbage);
      g_array_unref (p->devices[i].taken);
      g_free (p->devices[i].codelets);
      g_queue_clear (&p->devices[i].resident);
      g_queue_clear (&p->devices[i].leavers);
    }
  g_hash_table_iter_init (&iter, p->refusals);
  while (g_hash_table_iter_next (&iter, NULL, &refusal))
    {
      g_error_free (((HassRefusal *)refusal)->error);
      g_free (refusal);
    }
  g_hash_table_unref (p->refusals);
  g_ptr_array_unref (p->codelets);
  for (guint q = 0; q < p->n_queues; q++)
    if (p->queues[q])
      g_array_unref (p->queues[q]);
  g_array_unref (p->empty);
  g_free (p->core_until_ns);
  g_free (p->devices);
  pthread_mutex_destroy (&p->lock);
  g_free (p);
}

/* Any thread. Returns: device @d of the job; NULL: the graph has none. */
HassGraphDevice *
hass_placing_device (const HassGraph *graph, guint d)
{
  HassPlacing *p = graph->placing;
  for (guint i = 0; p && i < p->n_devices; i++)
    if (p->devices[i].d == d)
      return &p->devices[i];
  return NULL;
}

/* -- Devices and codelets ----------------------------------------------- */

/* Returns: the function of a codelet for device @index, or NULL. */
HassCodeletGpuFunc
hass_codelet_func (const HassGraph *graph, const HassCodelet *of, guint index)
{
  const char *kind = graph->placing->devices[index].device->ops->kind;
  for (const HassKindCodelet *k = of->kinds; kind && k && k->kind; k++)
    if (strcmp (k->kind, kind) == 0)
      return k->func;
  /* a device that was given and is of no known kind stands in for a GPU */
  return !kind || strcmp (kind, graph->job->farm->gpu_kind) == 0
                 || hass_device_kind_find (kind) < 0
             ? of->gpu
             : NULL;
}

/* Returns: a mask of the devices that have a function for the codelet. */
guint32
hass_codelet_devices (const HassGraph *graph, const HassCodelet *of)
{
  guint32 mask = 0;
  for (guint i = 0; graph->placing && i < graph->placing->n_devices; i++)
    if (hass_codelet_func (graph, of, i))
      mask |= 1u << i;
  return mask;
}

/* @devices: a mask of those that have a function for the codelet. Returns: TRUE
   if something can compute it; while a graph is recorded, if something might.
 */
gboolean
hass_codelet_can_run (const HassGraph *graph, const HassCodelet *of,
                      guint32 devices)
{
  if (!graph->job)
    return of->cpu || of->gpu || of->kinds;
  return of->cpu || (devices && (!graph->modelled || graph->job->dry));
}

/* A codelet that devices can compute has its first task. The submitting
   thread. */
void
hass_place_add_codelet (HassGraph *graph, HassCodeletState *codelet)
{
  HassPlacing *p = graph->placing;
  pthread_mutex_lock (&p->lock);
  g_ptr_array_add (p->codelets, codelet);
  pthread_mutex_unlock (&p->lock);
  guint32 before = atomic_fetch_or_explicit (&p->usable, codelet->devices,
                                             memory_order_relaxed);
  if (codelet->devices & ~before && graph->job->engine->wanted)
    graph->job->engine->wanted (graph->job);
}

/* -- Tasks that devices refuse ------------------------------------------- */

static HassRefusal *
refusal_of (const HassGraph *graph, const HassGraphTask *task)
{
  return g_hash_table_lookup (
      graph->placing->refusals,
      GUINT_TO_POINTER (hass_task_index (graph, task) + 1));
}

/* Returns: a mask of the devices that can compute a task. */
guint32
hass_place_able_locked (const HassGraph *graph, const HassGraphTask *task)
{
  const HassPlacing *p = graph->placing;
  guint32 mask = task->codelet->devices
                 & ~hass_place_devices_that_are (p, HASS_GRAPH_DEVICE_LOST);
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
  hass_lock_take (&job->decision);
  for (guint i = 0; i < p->n_devices; i++)
    if (job->totals[p->devices[i].d].lost)
      g_string_append_printf (why, "; %s is lost: %s",
                              job->devices[p->devices[i].d].name,
                              job->totals[p->devices[i].d].message);
  hass_lock_give (&job->decision);
  return g_error_new (HASS_ERROR, HASS_ERROR_DEVICE,
                      "no device is left that has a function for it%s",
                      why->str);
}
