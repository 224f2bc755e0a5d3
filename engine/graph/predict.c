/* SPDX-License-Identifier: MIT */
/* predict.c: how long devices need for what they do: step 2 of the DESIGN
   paragraph in place.h. No clock, no thread. Thread safety: see place.h. */
#include "device/ops.h"
#include "place.h"

/* Of a link whose rate is unknown, in bytes/ns. A guess, as of PCIe 3: less,
   and devices keep their data for themselves; more, and data wander. */
#define LINK_BYTES_PER_NS 10.0
/* A copy takes longer by this, in ns. Measured on an H200: 6.6 us for 4 KiB.
   Less, and devices exchange small data for no gain; more, and a device idles
   beside another one that has the data. */
#define COPY_NS 7000.0
/* Data that wait to be copied home delay tasks by so much of the time that they
   take. Measured by hass-sim, doc/results/dataflow-virtual.md: with 0, graphs
   of which all results come home end later, with 0.5 and more random ones. */
#define HOME_PART 0.2

static double
link_ns (const HassGraph *graph, const HassGraphDevice *device, double bytes)
{
  double rate = graph->job->devices[device->d].link_bytes_per_ns;
  return bytes / (rate > 0 ? rate : LINK_BYTES_PER_NS);
}

/* Returns: the time of a task on a device; 1: unknown, so that tasks count. */
double
hass_device_pace_ns (const HassGraphDevice *device,
                     const HassCodeletState *codelet)
{
  guint ns = device->codelets[codelet->index].ns;
  return ns > 0 ? ns : MAX (codelet->device_ns, 1);
}

/* Tasks that cores have computed or will compute count as left. The devices'
   busy time is unknown: that of their kernels is less where copies bind. */
HassRest
hass_graph_rest (HassJob *job, guint device)
{
  const HassGraph *graph = job->flow;
  HassPlacing *p = graph->placing;
  const HassGraphDevice *of = hass_placing_device (graph, device);
  HassRest rest = { .more = !atomic_load_explicit (&job->generated,
                                                   memory_order_acquire) };
  guint n = 0;
  pthread_mutex_lock (&p->lock);
  for (guint i = 0; i < p->n_devices; i++)
    n += p->devices[i].state == HASS_GRAPH_DEVICE_OPEN
         && hass_device_alike (p->devices[i].device, of->device);
  for (guint c = 0; c < p->codelets->len; c++)
    {
      const HassCodeletState *codelet = g_ptr_array_index (p->codelets, c);
      guint64 came
          = atomic_load_explicit (&codelet->n_submitted, memory_order_relaxed);
      if (!(codelet->devices >> of->index & 1))
        continue;
      rest.shown |= codelet->n_computed > 0;
      /* the time of the first one alone may be that of loading kernels */
      rest.more |= codelet->n_computed < 2 && came > codelet->n_computed;
      if (codelet->n_computed < 2)
        continue;
      rest.ns += (double)(came - MIN (codelet->n_computed, came))
                 * codelet->device_ns / MAX (n, 1);
    }
  pthread_mutex_unlock (&p->lock);
  rest.shown &= n > 0;
  return rest;
}

/* Returns: how long @n_tasks tasks keep a device busy: so long as their kernels
   take, behind which copies hide; unless it takes longer to copy home what they
   change: then the link binds, and copies to the device count, too. Those alone
   do not: data that stay are copied once. */
static double
busy_ns_locked (const HassGraph *graph, const HassGraphDevice *device,
                double kernels_ns, double home_bytes, double n_tasks)
{
  double home_ns = link_ns (graph, device, home_bytes);
  if (home_ns <= kernels_ns || device->n_tasks == 0)
    return kernels_ns;
  double in_bytes = (double)device->bytes_in / (double)device->n_tasks;
  return home_ns + n_tasks * link_ns (graph, device, in_bytes);
}

/* Returns: tasks of a codelet that were submitted and cannot begin yet. */
static double
n_to_come (const HassCodeletState *codelet)
{
  guint64 came
      = atomic_load_explicit (&codelet->n_submitted, memory_order_relaxed);
  return (double)(came - MIN (codelet->n_entered, came));
}

/* Returns: the time that a device would need alone for all that waits, and, if
   @to_come, for what cannot begin yet. */
static double
alone_ns_locked (const HassGraph *graph, const HassGraphDevice *device,
                 gboolean to_come)
{
  const HassPlacing *p = graph->placing;
  double kernels_ns = 0, home_bytes = 0, n_tasks = 0;
  for (guint c = 0; c < p->codelets->len; c++)
    {
      const HassCodeletState *codelet = g_ptr_array_index (p->codelets, c);
      const HassDeviceCodelet *here = &device->codelets[codelet->index];
      double n = codelet->n_waiting + (to_come ? n_to_come (codelet) : 0);
      n_tasks += n;
      kernels_ns += n * codelet->device_ns;
      if (here->n_tasks > 0)
        home_bytes += n * (double)here->home_bytes / (double)here->n_tasks;
    }
  return busy_ns_locked (graph, device, kernels_ns, home_bytes, n_tasks);
}

/* Returns: the time that devices would need together for all that waits, and,
   if @to_come, for what cannot begin yet. */
double
hass_devices_wait_ns_locked (const HassGraph *graph, guint32 devices,
                             gboolean to_come)
{
  double rate = 0;
  for (guint32 d = devices; d != 0; d &= d - 1)
    {
      double ns = alone_ns_locked (
          graph, &graph->placing->devices[__builtin_ctz (d)], to_come);
      if (ns == 0)
        return 0;
      rate += 1 / ns;
    }
  return rate > 0 ? 1 / rate : 0;
}

/* Returns: how many times as many tasks of a codelet devices would end in a
   time if only kernels kept them busy; NULL: of all codelets. */
double
hass_devices_bound_locked (const HassGraph *graph, guint32 devices,
                           const HassCodeletState *only)
{
  const HassPlacing *p = graph->placing;
  double kernel_rate = 0, rate = 0;
  for (guint32 d = devices; d != 0; d &= d - 1)
    {
      const HassGraphDevice *device = &p->devices[__builtin_ctz (d)];
      double kernels_ns = 0, home_bytes = 0, n_tasks = 0;
      for (guint c = 0; c < p->codelets->len; c++)
        {
          const HassCodeletState *codelet = g_ptr_array_index (p->codelets, c);
          const HassDeviceCodelet *here = &device->codelets[codelet->index];
          if (only && only != codelet)
            continue;
          kernels_ns += here->busy_ns;
          home_bytes += (double)here->home_bytes;
          n_tasks += (double)here->n_tasks;
        }
      if (kernels_ns == 0)
        continue;
      kernel_rate += n_tasks / kernels_ns;
      rate += n_tasks
              / busy_ns_locked (graph, device, kernels_ns, home_bytes, n_tasks);
    }
  return rate > 0 ? kernel_rate / rate : 1;
}

/* Returns: the time of the copies home that a device has begun, and of those
   that wait. */
static double
leaving_ns_locked (const HassGraph *graph, HassGraphDevice *device)
{
  const HassPlaces *leaver = g_queue_peek_head (&device->leavers);
  return leaver ? link_ns (graph, device, /* the others are about as large */
                           device->going_bytes
                               + device->leavers.length
                                     * hass_data_bytes (leaver->data))
                : 0;
}

/* Returns: HassFlowTask.home_ns. */
double
hass_device_task_home_ns (const HassGraph *graph, const HassGraphDevice *device,
                          const HassCodeletState *codelet)
{
  const HassDeviceCodelet *here = &device->codelets[codelet->index];
  /* What comes home counts a moment earlier than the task that it settles. */
  if (here->home_bytes == 0 || here->n_tasks == 0)
    return 0;
  return COPY_NS
         + link_ns (graph, device,
                    (double)here->home_bytes / (double)here->n_tasks);
}

/* Returns: how long the tasks that a device holds take it, or with @home the
   copies home of what they write. */
static double
sum_held_ns_locked (const HassGraph *graph, const HassGraphDevice *device,
                    gboolean home)
{
  const HassPlacing *p = graph->placing;
  double ns = 0;
  for (guint c = 0; device->n_held > 0 && c < p->codelets->len; c++)
    {
      const HassCodeletState *codelet = g_ptr_array_index (p->codelets, c);
      guint n = device->codelets[codelet->index].n_held;
      if (n > 0)
        ns += n
              * (home ? hass_device_task_home_ns (graph, device, codelet)
                      : hass_device_pace_ns (device, codelet));
    }
  return ns;
}

/* Returns: HassFlowState.home_ns. */
double
hass_device_home_ns_locked (const HassGraph *graph, HassGraphDevice *device)
{
  double ns = sum_held_ns_locked (graph, device, TRUE);
  return MAX (ns, leaving_ns_locked (graph, device));
}

/* Returns: the time of what a device has to do already: kernels, or copies
   home. */
double
hass_device_held_ns_locked (const HassGraph *graph, HassGraphDevice *device)
{
  double ns = sum_held_ns_locked (graph, device, FALSE);
  return MAX (ns, HOME_PART * leaving_ns_locked (graph, device));
}

/* Returns: TRUE if a task cannot be given the datum of an access at a device
   now, but it will come home or be computed again. */
static gboolean
is_away (const HassPlaces *p, HassFrom from, guint index)
{
  /* Of a datum that is computed again, kernels may use a copy of the lost
     version here. */
  return from == HASS_FROM_NOWHERE
         || (from != HASS_FROM_HERE && p->redo < p->chain->len
             && p->at[index].pins > 0);
}

/* Returns: the time to copy to a device what a task needs there. *away: a datum
   that cannot be had now, or NULL. */
double
hass_device_copy_ns_locked (HassGraph *graph, const HassGraphDevice *device,
                            HassGraphTask *task, HassPlaces **away)
{
  gsize bytes = 0, before = 0;
  guint n = 0;
  *away = NULL;
  for (guint i = 0; i < task->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      const HassData *data = hass_access_data (a);
      HassPlaces *p = hass_data_places (data);
      HassFrom from = hass_place_from_locked (graph, task, a, device->index);
      if (is_away (p, from, device->index))
        *away = p;
      if ((p && p->at[device->index].state >= HASS_AT_ARRIVING)
          || hass_access_mode (a) == HASS_WRITE || hass_data_bytes (data) == 0)
        continue;
      bytes += hass_data_bytes (data);
      n++;
      if (from == HASS_FROM_PEER)
        before = MAX (before, graph->placing->devices[p->only].going_bytes);
    }
  return *away ? G_MAXDOUBLE
               : n * COPY_NS + link_ns (graph, device, before + bytes);
}

/* Returns: the time of @n copies of @bytes in all, on the mean link. */
double
hass_devices_copy_ns (const HassGraph *graph, guint n, gsize bytes)
{
  const HassPlacing *p = graph->placing;
  double ns = 0;
  for (guint i = 0; i < p->n_devices; i++)
    ns += link_ns (graph, &p->devices[i], bytes);
  return n * COPY_NS + ns / p->n_devices;
}

/* Returns: the time to copy home what a task on a core needs there. */
double
hass_home_copy_ns_locked (HassGraph *graph, HassGraphTask *task)
{
  double ns = 0;
  for (guint i = 0; i < task->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      const HassData *data = hass_access_data (a);
      HassPlaces *p = hass_data_places (data);
      if (!p || p->only < 0 || hass_access_mode (a) == HASS_WRITE)
        continue;
      ns += COPY_NS
            + link_ns (graph, &graph->placing->devices[p->only],
                       hass_data_bytes (data));
    }
  return ns;
}
