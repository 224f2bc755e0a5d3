/* SPDX-License-Identifier: MIT */
/* stand_in.c: see stand_in.h, also for thread safety. */
#include "stand_in.h"

#include <gio/gio.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/chain.h"
#include "device/rectangles.h"
#include "hass/error.h"

typedef struct
{
  StandInKernel kernel;
  gpointer user_data;
  HassBundle bundle;
} Launch;

struct _HassGpuStream
{
  GArray *launches; /* Launch */
};

typedef struct
{
  gboolean busy, failed, lost;
  const HassBlock *blocks;
  gsize n;
  HassStaging in, out;
  GArray *rectangles; /* HassRectangle */
  HassChain chain;
  GPtrArray *owned; /* freed when the bundle has left */
  HassGpuStream stream;
  gint64 begin_ns, kernel_ns;
} Slot;

typedef struct
{
  HassDevice device;
  StandInPlan plan;
  guint n_slots;
  Slot *slots;
  const HassDeviceFarm *farm;
  gpointer *constants;
  GThread *thread;
  pthread_mutex_t lock; /* the rest */
  pthread_cond_t changed;
  GQueue queued, done; /* slot + 1 */
  gboolean closing, running;
  _Atomic gboolean lost; /* read by others without the lock */
  guint n_bundles, n_waits, n_in_flight;
  StandInCounts counts;
} StandIn;

static gint64
now_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

static gboolean
is_nth (guint n, guint at, guint every)
{
  return n == at || (every > 0 && n % every == 0);
}

static void
wrong (StandIn *s, const char *what)
{
  pthread_mutex_lock (&s->lock);
  if (!s->counts.wrong)
    s->counts.wrong = what;
  pthread_mutex_unlock (&s->lock);
}

static gpointer
own (Slot *slot, gsize bytes)
{
  gpointer p = g_malloc0 (MAX (bytes, 1));
  g_ptr_array_add (slot->owned, p);
  return p;
}

/* -- The device's thread ------------------------------------------------ */

static gpointer
run (gpointer data)
{
  StandIn *s = data;
  pthread_mutex_lock (&s->lock);
  for (;;)
    {
      gpointer next = g_queue_pop_head (&s->queued);
      if (!next && s->closing)
        break;
      if (!next)
        {
          pthread_cond_wait (&s->changed, &s->lock);
          continue;
        }
      Slot *slot = &s->slots[GPOINTER_TO_UINT (next) - 1];
      s->running = TRUE;
      guint n = ++s->n_bundles;
      if (s->plan.lose_at > 0 && n >= s->plan.lose_at)
        s->lost = TRUE;
      slot->lost = s->lost;
      slot->failed
          = s->lost
            || is_nth (n, s->plan.fail_bundle_at, s->plan.fail_bundle_every);
      pthread_mutex_unlock (&s->lock);
      const StandIn *first = (StandIn *)s->plan.holds_until_lost;
      while (first && !first->lost)
        usleep (100);
      if (s->plan.delay_us > 0)
        usleep (s->plan.delay_us);
      gint64 begin = now_ns ();
      for (guint i = 0; i < slot->stream.launches->len && !slot->failed; i++)
        {
          Launch *l = &g_array_index (slot->stream.launches, Launch, i);
          l->kernel (&l->bundle, l->user_data);
        }
      slot->kernel_ns = now_ns () - begin + s->plan.delay_us * 1000;
      pthread_mutex_lock (&s->lock);
      s->running = FALSE;
      g_queue_push_tail (&s->done, next);
      pthread_cond_broadcast (&s->changed);
    }
  pthread_mutex_unlock (&s->lock);
  return NULL;
}

/* -- What the proxy calls ----------------------------------------------- */

static void
describe (HassDevice *device, HassDeviceTraits *traits)
{
  StandIn *s = (StandIn *)device;
  *traits = (HassDeviceTraits){ .name = s->plan.name ? s->plan.name : "gpu0",
                                .kind = HASS_DEVICE_GPU,
                                .cores = 4,
                                .width = s->plan.width ? s->plan.width : 64,
                                .latency_ns = 1000,
                                .link_bytes_per_ns = 10,
                                .max_in_flight = s->n_slots,
                                .max_fused = s->plan.max_fused };
}

static gboolean
open_device (HassDevice *device, const HassDeviceFarm *farm, GError **error)
{
  StandIn *s = (StandIn *)device;
  if (s->plan.fail_open)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "stand-in is shut");
      return FALSE;
    }
  if (s->plan.open_waits)
    {
      while (!g_cancellable_is_cancelled (farm->unwanted))
        usleep (100);
      g_set_error (error, HASS_ERROR, HASS_ERROR_CANCELLED, "not opened");
      return FALSE;
    }
  usleep (s->plan.open_us);
  if (s->counts.opened > s->counts.closed)
    wrong (s, "opened twice");
  s->counts.opened++;
  s->farm = farm;
  s->closing = s->lost = FALSE;
  s->constants = g_new0 (gpointer, farm->n_constants + 1);
  for (guint i = 0; i < farm->n_constants; i++)
    s->constants[i]
        = g_memdup2 (farm->constants[i].data, farm->constants[i].bytes);
  s->thread = g_thread_new ("stand-in", run, s);
  return TRUE;
}

/* One call for each stage that the bundle passes. */
static gboolean
call_stages (StandIn *s, Slot *slot, HassBundle *all, GError **error)
{
  HassChain *chain = &slot->chain;
  guint8 *tables = own (slot, hass_chain_place (chain, 0));
  gboolean ok = TRUE;
  hass_chain_fill (chain, tables);
  hass_chain_describe (chain, all, tables, own (slot, chain->scratch_bytes));
  for (guint i = 0; i < chain->n && ok; i++)
    ok = hass_gpu_worker_call (s->farm->gpu_worker,
                               hass_chain_bundle (chain, i, all), &slot->stream,
                               s->farm->user_data, error);
  return ok;
}

/* One bundle a task in a function farm, else one for all. */
static gboolean
call_workers (StandIn *s, Slot *slot, HassBundle *all, GError **error)
{
  const HassDeviceFarm *farm = s->farm;
  if (!farm->gpu_worker_of)
    return call_stages (s, slot, all, error);
  for (gsize i = 0; i < slot->n; i++)
    {
      HassBundle one = *all;
      one.blocks = &slot->blocks[i];
      one.n_blocks = 1;
      one.offsets += i;
      one.halos += i;
      one.output_offsets += i;
      one.n_elements = slot->blocks[i].count;
      HassGpuWorkerFunc f = farm->gpu_worker_of (slot->blocks[i].load);
      if (!f)
        {
          wrong (s, "a task without a GPU function");
          return FALSE;
        }
      if (!hass_gpu_worker_call (f, &one, &slot->stream, farm->user_data,
                                 error))
        return FALSE;
    }
  return TRUE;
}

static gsize
element_bytes (const HassBlock *b)
{
  return b->count > 0 && !b->input_row_bytes ? b->input_bytes / b->count : 0;
}

static gsize
region_bytes (const HassBlock *b)
{
  return b->input_bytes + (b->halo_before + b->halo_after) * element_bytes (b);
}

static gboolean
prepare (StandIn *s, Slot *slot, GError **error)
{
  gsize in = 0, out = 0;
  guint64 elements = 0;
  for (gsize i = 0; i < slot->n; i++)
    {
      in += region_bytes (&slot->blocks[i]);
      out += slot->blocks[i].output_bytes;
      elements += slot->blocks[i].count;
    }
  gsize all = in + out + slot->chain.scratch_bytes;
  if (s->plan.memory_bytes > 0 && all > s->plan.memory_bytes)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                   "%" G_GUINT64_FORMAT " bytes do not fit", (guint64)all);
      return FALSE;
    }
  slot->in.capacity = s->plan.staging_bytes ? s->plan.staging_bytes : in;
  slot->in.data = own (slot, slot->in.capacity + HASS_STAGING_GUARD);
  slot->in.offsets = own (slot, (slot->n + 1) * sizeof (guint64));
  guint64 *halos = own (slot, slot->n * sizeof (guint64));
  for (gsize i = 0; i < slot->n && !s->farm->bundle; i++)
    halos[i] = slot->blocks[i].halo_before * element_bytes (&slot->blocks[i]);
  slot->out.capacity = out;
  slot->out.data = own (slot, out);
  slot->out.offsets = own (slot, (slot->n + 1) * sizeof (guint64));
  for (gsize i = 0; i < slot->n; i++)
    slot->out.offsets[i + 1]
        = slot->out.offsets[i] + slot->blocks[i].output_bytes;
  s->counts.most_staging_bytes = MAX (s->counts.most_staging_bytes, in);
  if (!hass_staging_gather (slot->blocks, slot->n, &slot->in, s->farm->bundle,
                            s->farm->user_data, error))
    return FALSE;
  g_array_set_size (slot->rectangles, 0);
  hass_rectangles_find (slot->rectangles, slot->blocks, slot->n, FALSE);
  HassBundle bundle
      = { .n_blocks = slot->n,
          .blocks = slot->blocks,
          .rectangles = (HassRectangle *)(gpointer)slot->rectangles->data,
          .n_rectangles = slot->rectangles->len,
          .input = slot->in.data,
          .offsets = slot->in.offsets,
          .halos = halos,
          .input_start = halos[0],
          .input_bytes = slot->in.offsets[slot->n],
          .output = slot->out.data,
          .output_offsets = slot->out.offsets,
          .output_bytes = out,
          .n_elements = elements,
          .constants = s->constants,
          .n_constants = s->farm->n_constants };
  return call_workers (s, slot, &bundle, error);
}

static void
leave (StandIn *s, Slot *slot)
{
  g_ptr_array_set_size (slot->owned, 0);
  g_array_set_size (slot->stream.launches, 0);
  slot->busy = FALSE;
  s->n_in_flight--;
}

static gboolean
submit (HassDevice *device, guint index, const HassBlock *blocks, gsize n,
        GError **error)
{
  StandIn *s = (StandIn *)device;
  if (index >= s->n_slots || s->slots[index].busy || n == 0)
    {
      wrong (s, "submitted to a slot that is not free, or nothing");
      g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "no such slot");
      return FALSE;
    }
  Slot *slot = &s->slots[index];
  guint call = ++s->counts.submitted;
  pthread_mutex_lock (&s->lock);
  gboolean lost = s->lost;
  pthread_mutex_unlock (&s->lock);
  if (lost || is_nth (call, s->plan.fail_submit_at, s->plan.fail_submit_every))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "submit refused");
      return FALSE;
    }
  slot->busy = TRUE;
  slot->blocks = blocks;
  slot->n = n;
  slot->failed = slot->lost = FALSE;
  s->n_in_flight++;
  if (blocks[0].fused > s->plan.max_fused)
    wrong (s, "submitted with more stages than it computes on a bundle");
  if (!hass_chain_make (&slot->chain, s->farm, blocks, n, error)
      || !prepare (s, slot, error))
    {
      leave (s, slot);
      return FALSE;
    }
  s->counts.most_in_flight = MAX (s->counts.most_in_flight, s->n_in_flight);
  if (s->n_waits > 0)
    s->counts.most_later = MAX (s->counts.most_later, s->n_in_flight);
  pthread_mutex_lock (&s->lock);
  g_queue_push_tail (&s->queued, GUINT_TO_POINTER (index + 1));
  pthread_cond_broadcast (&s->changed);
  pthread_mutex_unlock (&s->lock);
  return TRUE;
}

/* After an error of wait nothing may touch the farm's memory any more. */
static void
stop_work (StandIn *s)
{
  pthread_mutex_lock (&s->lock);
  g_queue_clear (&s->queued);
  while (s->running)
    pthread_cond_wait (&s->changed, &s->lock);
  pthread_mutex_unlock (&s->lock);
}

static gboolean
wait_bundle (HassDevice *device, gint64 timeout_ns, HassBundleDone *done,
             GError **error)
{
  StandIn *s = (StandIn *)device;
  struct timespec until;
  clock_gettime (CLOCK_MONOTONIC, &until);
  gint64 ns = until.tv_nsec + timeout_ns;
  until.tv_sec += ns / 1000000000;
  until.tv_nsec = ns % 1000000000;
  if (s->n_in_flight == 0)
    wrong (s, "waited without a bundle");
  pthread_mutex_lock (&s->lock);
  int rc = 0;
  while (g_queue_is_empty (&s->done) && rc == 0)
    rc = pthread_cond_timedwait (&s->changed, &s->lock, &until);
  guint index = GPOINTER_TO_UINT (g_queue_pop_head (&s->done));
  pthread_mutex_unlock (&s->lock);
  if (index == 0)
    return FALSE;
  if (is_nth (++s->n_waits, s->plan.wait_error_at, 0))
    {
      stop_work (s);
      g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "wait broke");
      return FALSE;
    }
  Slot *slot = &s->slots[index - 1];
  *done = (HassBundleDone){ .slot = index - 1,
                            .failed = slot->failed,
                            .lost = slot->lost,
                            .h2d_ns = 100 + 1e3 * s->plan.h2d_us,
                            .kernel_ns
                            = slot->kernel_ns + 1e3 * s->plan.kernel_us,
                            .d2h_ns = 100,
                            .host_ns = 1e3 * s->plan.host_us,
                            .h2d_busy_ns = 1e3 * s->plan.busy_us,
                            .kernel_busy_ns = 1e3 * s->plan.busy_us,
                            .d2h_busy_ns = 1e3 * s->plan.busy_us };
  if (!slot->failed)
    {
      if (++s->counts.finished == s->plan.busy_bundles)
        s->plan.busy_us = 0; /* later bundles add nothing */
      if (!hass_staging_scatter (slot->blocks, slot->n, &slot->out,
                                 s->farm->unbundle, s->farm->user_data, error))
        done->failed = TRUE;
    }
  leave (s, slot);
  return TRUE;
}

static void
close_device (HassDevice *device)
{
  StandIn *s = (StandIn *)device;
  pthread_mutex_lock (&s->lock);
  s->closing = TRUE;
  pthread_cond_broadcast (&s->changed);
  pthread_mutex_unlock (&s->lock);
  g_thread_join (s->thread);
  g_queue_clear (&s->done);
  for (guint i = 0; i < s->n_slots; i++)
    if (s->slots[i].busy)
      {
        if (s->plan.wait_error_at == 0)
          wrong (s, "closed with a bundle in flight");
        leave (s, &s->slots[i]);
      }
  for (guint i = 0; i < s->farm->n_constants; i++)
    g_free (s->constants[i]);
  g_clear_pointer (&s->constants, g_free);
  s->counts.closed++;
}

static const HassDeviceOps stand_in_ops = {
  .struct_size = sizeof (HassDeviceOps),
  .kind = "stand-in",
  .describe = describe,
  .open = open_device,
  .submit = submit,
  .wait = wait_bundle,
  .close = close_device,
};

/* -- What tests call ---------------------------------------------------- */

HassDevice *
stand_in_new (const StandInPlan *plan)
{
  StandIn *s = g_new0 (StandIn, 1);
  pthread_condattr_t attr;
  s->device.ops = &stand_in_ops;
  s->plan = *plan;
  s->n_slots = MAX (plan->depth, 1);
  s->slots = g_new0 (Slot, s->n_slots);
  for (guint i = 0; i < s->n_slots; i++)
    {
      s->slots[i].owned = g_ptr_array_new_with_free_func (g_free);
      s->slots[i].stream.launches = g_array_new (FALSE, FALSE, sizeof (Launch));
      s->slots[i].rectangles
          = g_array_new (FALSE, FALSE, sizeof (HassRectangle));
      hass_chain_init (&s->slots[i].chain);
    }
  pthread_mutex_init (&s->lock, NULL);
  pthread_condattr_init (&attr);
  pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
  pthread_cond_init (&s->changed, &attr);
  pthread_condattr_destroy (&attr);
  g_queue_init (&s->queued);
  g_queue_init (&s->done);
  return &s->device;
}

void
stand_in_free (HassDevice *device)
{
  StandIn *s = (StandIn *)device;
  for (guint i = 0; i < s->n_slots; i++)
    {
      g_ptr_array_unref (s->slots[i].owned);
      g_array_unref (s->slots[i].stream.launches);
      g_array_unref (s->slots[i].rectangles);
      hass_chain_clear (&s->slots[i].chain);
    }
  g_free (s->slots);
  pthread_mutex_destroy (&s->lock);
  pthread_cond_destroy (&s->changed);
  g_free (s);
}

StandInCounts
stand_in_counts (HassDevice *device)
{
  return ((StandIn *)device)->counts;
}

void
stand_in_launch (HassGpuStream *stream, StandInKernel kernel,
                 const HassBundle *bundle, gpointer user_data)
{
  Launch launch = { kernel, user_data, *bundle };
  g_array_append_val (stream->launches, launch);
}
