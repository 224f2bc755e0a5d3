/* SPDX-License-Identifier: MIT */
/* proxy.c: the thread that stands for a device in the live engine.

   DESIGN. A proxy asks the strategy while its device has room, hands the
   bundle over and waits on the device, never by spinning. A bundle whose
   inputs are still on the host is given back when it fails; after three
   failures in a row the device is given up, and what it held runs
   elsewhere.

   Rounds are begun by cores; where there is none beside the calling thread,
   which may sit in its generator, the proxies begin them.

   Thread safety: one thread a device; it alone calls the device's ops. */
#include "live-private.h"

#define FAILURES_IN_A_ROW 3
#define WAIT_NS 50000000

typedef struct
{
  HassSlot *round;
  HassExtent extent;
  HassBlock *blocks;
  gsize capacity;
  gint64 grant_ns;
  guint64 bytes, elements;
} Bundle;

typedef struct
{
  HassJob *job;
  HassLive *live;
  guint d; /* the device's index */
  HassDevice *device;
  HassDeviceFarm farm; /* the device's from open to close */
  HassWorker *worker;
  Bundle *bundles; /* [depth], by slot */
  guint depth, n_in_flight, n_failures;
  gint64 last_end_ns;
} Proxy;

static Bundle *
free_bundle (Proxy *p, guint *slot)
{
  for (guint i = 0; i < p->depth; i++)
    if (p->bundles[i].extent.n == 0)
      {
        *slot = i;
        return &p->bundles[i];
      }
  return NULL;
}

static void
describe (Bundle *b)
{
  HassRound *round = &b->round->round;
  if (b->capacity < b->extent.n)
    {
      b->capacity = b->extent.n;
      b->blocks = g_renew (HassBlock, b->blocks, b->capacity);
    }
  b->bytes = b->elements = 0;
  for (guint32 i = 0; i < b->extent.n; i++)
    {
      hass_round_block (round, b->extent.first + i, &b->blocks[i]);
      b->bytes += b->blocks[i].input_bytes;
      b->elements += b->blocks[i].count;
    }
}

static void
give_up (Proxy *p)
{
  HassJob *job = p->job;
  pthread_mutex_lock (&job->decision);
  hass_decide_lost (job, p->d);
  pthread_mutex_unlock (&job->decision);
}

/* A bundle has left the device, or was never accepted. */
static void
settle (Proxy *p, Bundle *b, const HassBundleDone *done)
{
  HassJob *job = p->job;
  HassSlot *slot = b->round;
  HassExtent e = b->extent;
  gint64 end = hass_live_now (job);
  gint64 start = MAX (b->grant_ns, p->last_end_ns);
  HassCompletion told = { .device = p->d,
                          .units = e.n,
                          .elements = b->elements,
                          .bytes = b->bytes,
                          .grant_ns = b->grant_ns,
                          .start_ns = start,
                          .end_ns = end,
                          .h2d_ns = done->h2d_ns,
                          .kernel_ns = done->kernel_ns,
                          .d2h_ns = done->d2h_ns,
                          .failed = done->failed };
  p->last_end_ns = end;
  told.work = hass_round_work_taken (&slot->round, e);
  p->n_failures = done->failed ? p->n_failures + 1 : 0;
  if (done->lost || p->n_failures >= FAILURES_IN_A_ROW)
    give_up (p);
  if (done->failed)
    hass_round_give_back (&slot->round, e);
  else
    {
      HassDone counted = { .n = e.n, .bytes = b->bytes, .work = told.work };
      hass_execute_bundle_results (job, p->worker, slot, e);
      hass_execute_count (job, p->worker, slot, counted, end - start, end);
    }
  pthread_mutex_lock (&job->decision);
  hass_decide_completed (job, slot, &told);
  pthread_mutex_unlock (&job->decision);
  b->extent.n = 0;
  if (!done->failed)
    hass_job_units_finished (job, slot, e.n);
  hass_live_changed (job);
}

static void
submit (Proxy *p, Bundle *b, guint slot)
{
  GError *error = NULL;
  describe (b);
  b->grant_ns = hass_live_now (p->job);
  p->n_in_flight++;
  const char *before = hass_engine_enter_callback ("gpu_worker", p->job);
  gboolean ok = p->device->ops->submit (p->device, slot, b->blocks, b->extent.n,
                                        &error);
  hass_engine_leave_callback (before);
  if (ok)
    return;
  HassBundleDone done = { .slot = slot, .failed = TRUE };
  g_clear_error (&error);
  p->n_in_flight--;
  settle (p, b, &done);
}

/* Asks for one bundle and hands it over. FALSE: nothing to do now. */
static gboolean
feed (Proxy *p)
{
  HassJob *job = p->job;
  guint index;
  Bundle *b = free_bundle (p, &index);
  HassGrant grant;
  if (!b || hass_job_stopping (job))
    return FALSE;
  pthread_mutex_lock (&job->decision);
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gboolean begun = !slot && p->live->proxies_begin
                   && hass_job_may_begin (job, slot)
                   && hass_live_begin (job, 0);
  if (begun)
    slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gboolean go = slot && slot->state == HASS_SLOT_RUNNING
                && hass_decide_gpu (job, slot, p->d, &b->extent, &grant);
  if (go)
    b->round = slot;
  else if (slot)
    {
      b->extent.n = 0;
      if (p->n_in_flight == 0 && hass_decide_stalled (job, slot))
        hass_live_changed (job);
    }
  pthread_mutex_unlock (&job->decision);
  if (begun)
    hass_live_changed (job);
  if (go)
    submit (p, b, index);
  return go;
}

static void
wait_for_bundle (Proxy *p)
{
  HassBundleDone done = { 0 };
  GError *error = NULL;
  gboolean left = p->device->ops->wait (p->device, WAIT_NS, &done, &error);
  if (left && done.slot < p->depth && p->bundles[done.slot].extent.n > 0)
    {
      p->n_in_flight--;
      settle (p, &p->bundles[done.slot], &done);
    }
  else if (left || error)
    {
      /* The device cannot even say what became of its bundles: all fail. */
      g_clear_error (&error);
      give_up (p);
      for (guint i = 0; i < p->depth; i++)
        if (p->bundles[i].extent.n > 0)
          {
            done = (HassBundleDone){ .slot = i, .failed = TRUE, .lost = TRUE };
            p->n_in_flight--;
            settle (p, &p->bundles[i], &done);
          }
    }
}

/* How long a proxy with nothing to do sleeps: until something changes, or
   until a few loads have waited long enough to be a round. */
static gint64
patience (Proxy *p)
{
  return p->live->proxies_begin && hass_load_pool_waiting (p->job->pool) > 0
             ? HASS_FEW_WAIT_NS
             : -1;
}

static gpointer
run (gpointer data)
{
  Proxy *p = data;
  HassJob *job = p->job;
  for (;;)
    {
      guint64 epoch = hass_event_prepare (&job->event);
      if (feed (p))
        {
          hass_event_cancel (&job->event);
          continue;
        }
      gboolean over
          = atomic_load_explicit (&p->live->over, memory_order_seq_cst);
      if (p->n_in_flight > 0)
        {
          hass_event_cancel (&job->event);
          wait_for_bundle (p);
        }
      else if (over)
        {
          hass_event_cancel (&job->event);
          break;
        }
      else
        hass_event_wait (&job->event, epoch, patience (p));
    }
  p->device->ops->close (p->device);
  for (guint i = 0; i < p->depth; i++)
    g_free (p->bundles[i].blocks);
  g_free (p->bundles);
  g_free (p);
  return NULL;
}

static gboolean
start_one (HassJob *job, HassLive *live, guint d, GError **error)
{
  const HassFarm *farm = job->farm;
  HassDevice *device = job->gpus[d];
  Proxy *p = g_new0 (Proxy, 1);
  p->farm = (HassDeviceFarm){ .name = farm->name,
                              .kind = farm->kind,
                              .gpu_worker = farm->gpu_worker,
                              .gpu_worker_of = farm->gpu_worker_of,
                              .gpu_function_of = farm->gpu_function_of,
                              .bundle = farm->bundle,
                              .unbundle = farm->unbundle,
                              .constants = farm->constants,
                              .n_constants = farm->n_constants,
                              .user_data = farm->user_data };
  if (!device->ops->open (device, &p->farm, error))
    {
      g_free (p);
      return FALSE;
    }
  p->job = job;
  p->live = live;
  p->d = d;
  p->device = device;
  p->depth = MAX (job->devices[d].max_in_flight, 1);
  p->bundles = g_new0 (Bundle, p->depth);
  /* Contexts of the cores come first; without a pool, the caller's. */
  guint first_gpu = job->cpu >= 0 ? 1 : 0;
  p->worker = &job->workers[MAX (job->n_cores, 1) + d - first_gpu];
  int failure = pthread_create (&live->proxies[d], NULL, run, p);
  if (failure == 0)
    {
      live->has_proxy[d] = TRUE;
      return TRUE;
    }
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
               "no thread can be made for %s: %s", job->devices[d].name,
               g_strerror (failure));
  device->ops->close (device);
  g_free (p->bundles);
  g_free (p);
  return FALSE;
}

/* Opens the devices and starts their threads. A device that does not open
   is left out; FALSE when then none is left at all. */
gboolean
hass_proxies_start (HassJob *job, HassLive *live)
{
  guint n_left = job->cpu >= 0;
  GError *first = NULL;
  live->proxies = g_new0 (pthread_t, MAX (job->n_devices, 1));
  live->has_proxy = g_new0 (gboolean, MAX (job->n_devices, 1));
  for (guint d = 0; d < job->n_devices; d++)
    {
      GError *error = NULL;
      if (!job->gpus[d])
        continue;
      if (start_one (job, live, d, &error))
        n_left++;
      else
        {
          job->totals[d].lost = TRUE;
          if (first)
            g_clear_error (&error);
          else
            first = error;
        }
    }
  if (n_left > 0)
    {
      g_clear_error (&first);
      return TRUE;
    }
  hass_job_stop (job, g_error_new (HASS_ERROR, HASS_ERROR_DEVICE,
                                   "farm '%s': no device could be opened: %s",
                                   job->farm->name,
                                   first ? first->message : "none present"));
  g_clear_error (&first);
  return FALSE;
}

void
hass_proxies_stop (HassJob *job, HassLive *live)
{
  atomic_store_explicit (&live->over, TRUE, memory_order_seq_cst);
  hass_event_notify (&job->event);
  for (guint d = 0; d < job->n_devices; d++)
    if (live->has_proxy[d])
      pthread_join (live->proxies[d], NULL);
  g_free (live->proxies);
  g_free (live->has_proxy);
}
