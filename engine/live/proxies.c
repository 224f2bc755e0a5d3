/* SPDX-License-Identifier: MIT */
/* proxies.c: starts the devices' proxies (the threads that stand for them) and
   waits for their end; step 1, opening, of proxy.c.

   DESIGN. A proxy opens its device, serves it and closes it, on a thread of
   proxy_threads.c. It is started with the farm; in a dataflow when the first
   codelet comes that its device has a function for. The end of the farm waits
   for all proxies, so none outlives the job. Opening may take long: it begins
   when it can pay (proxy_need.c). The end of the farm cancels the cancellable
   that open was given, so that a device that observes the cancellable returns
   at once, neither open nor failed.

   Thread safety: start and stop by the thread that called the farm. */
#include "proxy-private.h"

#include <gio/gio.h>

#include "device/chain.h"
#include "engine/stream/stream.h"

/* -- A thread ----------------------------------------------------------- */

static gboolean
any_device_left_locked (HassJob *job)
{
  gboolean left = job->cpu >= 0;
  for (guint d = 0; d < job->n_devices; d++)
    left |= job->gpus[d] && !job->totals[d].lost;
  return left;
}

static void
announce_opening_locked (HassJob *job, guint d, gint64 begin, gboolean ok)
{
  HASS_ANNOUNCE (job, opened,
                 &(HassOpened){ .device = d,
                                .begin_ns = begin,
                                .end_ns = hass_live_now (job),
                                .ok = ok });
}

/* Reports that a device was not opened. */
static void
leave_closed_locked (HassJob *job, guint d, gint64 begin, const char *why)
{
  announce_opening_locked (job, d, begin, FALSE);
  hass_decide_note (job, d, why);
}

/* Opens the device. Returns: FALSE if that failed; the device is then excluded,
   and the farm fails if no device is left. If the end of the farm cancelled the
   opening, the device has not failed. */
static gboolean
open_device (HassProxy *p)
{
  HassJob *job = p->job;
  GError *error = NULL;
  gint64 begin = hass_live_now (job);
  HassProxyWatch w;
  hass_proxy_estimate (p, &w);
  hass_lock_take (&job->decision);
  job->devices[p->d].opening_ns = w.start_ns;
  job->devices[p->d].opens_at_ns = begin + w.start_ns;
  hass_lock_give (&job->decision);
  hass_live_changed (job); /* who waits for the device knows for how long */
  hass_spare_begin (p->live->spare);
  gboolean ok = p->ops.open (p->device, &p->farm, &error);
  hass_spare_end (p->live->spare);
  hass_lock_take (&job->decision);
  announce_opening_locked (job, p->d, begin, ok);
  job->devices[p->d].opening = !ok;
  if (ok)
    job->totals[p->d].ready_ns = hass_live_now (job);
  hass_lock_give (&job->decision);
  if (ok)
    return TRUE;
  if (g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED)
      && atomic_load_explicit (&p->live->over, memory_order_seq_cst))
    {
      g_error_free (error);
      return FALSE;
    }
  hass_lock_take (&job->decision);
  hass_decide_lost (job, p->d, error ? error->message : NULL);
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  if (slot)
    hass_decide_stalled (job, slot);
  else if (!any_device_left_locked (job))
    hass_decide_nobody_left (job);
  hass_lock_give (&job->decision);
  g_clear_error (&error);
  hass_live_changed (job);
  return FALSE;
}

static void
proxy_free (HassProxy *p)
{
  hass_feeder_clear (&p->feeder);
  g_free ((gpointer)p->farm.stages);
  HassReduction reduction = hass_farm_reduction (p->job->farm);
  hass_accumulator_free (p->job, &reduction,
                         (gpointer)p->farm.accumulator_init);
  g_free (p);
}

/* Opens the device, and has it compute until the farm is over. */
static void
serve (HassProxy *p)
{
  if (!open_device (p))
    return;
  if (p->job->source->serve)
    p->job->source->serve (p->job, p->d, &p->live->over);
  else
    hass_proxy_serve (p);
  p->ops.close (p->device);
  if (p->ops.transfers)
    p->ops.transfers (p->device, &p->job->totals[p->d].transfers);
}

static void
run (gpointer data)
{
  HassProxy *p = data;
  gint64 begin = hass_live_now (p->job);
  if (!hass_proxy_is_needed (p))
    {
      hass_lock_take (&p->job->decision);
      leave_closed_locked (
          p->job, p->d, begin,
          "was not started: the farm was over before that could pay");
      hass_lock_give (&p->job->decision);
    }
  else
    {
      atomic_fetch_add_explicit (&p->live->n_serving, 1, memory_order_relaxed);
      serve (p);
      atomic_fetch_sub_explicit (&p->live->n_serving, 1, memory_order_relaxed);
    }
  proxy_free (p);
}

/* Fills in what the device is told of the farm when it is opened. Returns:
   FALSE with an error if there is no memory. */
static gboolean
describe_farm (HassJob *job, const HassDevice *device, HassDeviceFarm *f,
               GError **error)
{
  const HassFarm *farm = job->farm;
  double per_element = farm->gpu_records_per_element;
  *f = (HassDeviceFarm){
    .name = farm->name,
    .kind = farm->kind,
    .gpu_worker = hass_live_device_worker (farm, device),
    .gpu_worker_of = farm->gpu_worker_of,
    .gpu_function_of = farm->gpu_function_of,
    .bundle = farm->bundle,
    .unbundle = farm->unbundle,
    .join_tiles = farm->join_tiles,
    .constants = farm->constants,
    .n_constants = farm->n_constants,
    .record_bytes = farm->gpu_record_bytes,
    .records_per_element = per_element > 0 ? per_element : 1 / 256.0,
    .bundle_deadline_ns = farm->run->bundle_deadline_ms * 1000000,
    .user_data = farm->user_data,
    .device_kind = hass_live_device_kind (farm, device),
    .worker_of = farm->worker_of,
  };
  if (farm->kind == HASS_FARM_PIPELINE)
    {
      f->kind = HASS_FARM_COMBINE;
      f->device_kind = NULL; /* the stages have the workers for this kind */
      hass_device_farm_stages (f,
                               hass_stream_device_stages (
                                   farm, hass_live_device_kind (farm, device)),
                               farm->n_stages);
    }
  if (!farm->reduce)
    return TRUE;
  f->accumulator_bytes = farm->accumulator_bytes;
  if (farm->reduce_init)
    {
      HassReduction reduction = hass_farm_reduction (farm);
      f->accumulator_init = hass_accumulator_new (job, &reduction, error);
    }
  return !farm->reduce_init || f->accumulator_init;
}

static gboolean
start_one (HassJob *job, HassLive *live, guint d, GError **error)
{
  HassProxy *p = g_new0 (HassProxy, 1);
  if (!hass_device_ops_read (&p->ops, job->gpus[d], error)
      || !describe_farm (job, job->gpus[d], &p->farm, error))
    {
      g_free ((gpointer)p->farm.stages);
      g_free (p);
      return FALSE;
    }
  p->farm.unwanted = live->unwanted;
  p->job = job;
  p->live = live;
  p->d = d;
  p->device = job->gpus[d];
  hass_feeder_init (&p->feeder, job, d);
  /* Now, not in its thread: cores may be sooner, and some units keep them for
     longer than it takes to open. */
  hass_lock_take (&job->decision);
  job->devices[d].opens_at_ns = hass_proxy_opens_at_ns (p);
  hass_lock_give (&job->decision);
  int failure = 0;
  live->proxies[d]
      = hass_proxy_thread_run (d - (job->cpu >= 0), run, p, &failure);
  if (live->proxies[d])
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
               "no thread can be made for %s: %s", job->devices[d].name,
               g_strerror (failure));
  proxy_free (p);
  return FALSE;
}

/* Starts a proxy thread for each wanted device that has none. */
void
hass_proxies_start_wanted (HassJob *job)
{
  HassLive *live = job->driver;
  for (guint d = 0; d < job->n_devices; d++)
    {
      GError *error = NULL;
      if (!job->gpus[d] || live->proxies[d]
          || (job->source->wants && !job->source->wants (job, d)))
        continue;
      hass_lock_take (&job->decision);
      gboolean lost = job->totals[d].lost;
      hass_lock_give (&job->decision);
      if (lost || start_one (job, live, d, &error))
        continue;
      hass_lock_take (&job->decision);
      hass_decide_lost (job, d, error->message);
      hass_lock_give (&job->decision);
      g_error_free (error);
    }
}

/* Begins with a proxy thread for each wanted device beside the CPU pool. Stops
   the farm if no device is left. */
void
hass_proxies_start (HassJob *job, HassLive *live)
{
  live->proxies = g_new0 (HassProxyThread *, MAX (job->n_devices, 1));
  live->unwanted = g_cancellable_new ();
  hass_event_init (&live->end);
  hass_lock_take (&job->decision);
  for (guint d = 0; d < job->n_devices; d++)
    job->devices[d].opening = job->gpus[d] != NULL;
  hass_lock_give (&job->decision);
  hass_proxies_start_wanted (job);
  hass_lock_take (&job->decision);
  if (!any_device_left_locked (job) && !hass_job_stopping (job))
    hass_decide_nobody_left (job);
  hass_lock_give (&job->decision);
}

void
hass_proxies_stop (HassJob *job, HassLive *live)
{
  atomic_store_explicit (&live->over, TRUE, memory_order_seq_cst);
  hass_event_notify (&job->event);
  hass_event_notify (&live->end);
  g_cancellable_cancel (live->unwanted);
  for (guint d = 0; d < job->n_devices; d++)
    if (live->proxies[d])
      hass_proxy_thread_wait (live->proxies[d]);
  hass_lock_take (&job->decision);
  for (guint d = 0; d < job->n_devices; d++)
    if (job->gpus[d] && !live->proxies[d] && !job->totals[d].lost)
      leave_closed_locked (job, d, hass_live_now (job),
                           "was not started: no task has a function for it");
  hass_lock_give (&job->decision);
  g_object_unref (live->unwanted);
  hass_event_clear (&live->end);
  g_free (live->proxies);
}
