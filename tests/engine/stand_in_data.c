/* SPDX-License-Identifier: MIT */
/* stand_in_data.c: see stand_in_data.h.
   Thread safety: see stand_in_data.h. */
#include "stand_in_data-private.h"

#include <gio/gio.h>
#include <time.h>
#include <unistd.h>

#include "hass/error.h"

pthread_mutex_t stand_in_data_lock = PTHREAD_MUTEX_INITIALIZER;

gint64
sid_now_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

gboolean
sid_is_nth (guint n, guint at, guint every)
{
  return (at > 0 && n == at) || (every > 0 && n % every == 0);
}

void
sid_wrong_locked (DataStandIn *s, const char *what)
{
  if (!s->counts.wrong)
    s->counts.wrong = what;
}

gboolean
sid_fail (GError **error, gint code, const char *what)
{
  g_set_error_literal (error, HASS_ERROR, code, what);
  return FALSE;
}

/* -- The threads --------------------------------------------------------- */

static gpointer
run (gpointer data)
{
  DataStandIn *s = data;
  pthread_mutex_lock (&stand_in_data_lock);
  while (!s->closing)
    if (s->counts.lost || s->queued->len == 0)
      pthread_cond_wait (&s->changed, &stand_in_data_lock);
    else if (s->plan.delay_us > 0)
      {
        gint32 us = g_rand_int_range (s->rand, 0, (gint32)s->plan.delay_us + 1);
        pthread_mutex_unlock (&stand_in_data_lock);
        usleep ((useconds_t)us);
        pthread_mutex_lock (&stand_in_data_lock);
        if (!s->counts.lost && s->queued->len > 0)
          sid_execute_locked (s);
      }
    else
      sid_execute_locked (s);
  pthread_mutex_unlock (&stand_in_data_lock);
  return NULL;
}

/* -- Waiting ------------------------------------------------------------- */

static void
sleep_locked (DataStandIn *s, gint64 until_ns)
{
  struct timespec until = { until_ns / 1000000000, until_ns % 1000000000 };
  pthread_cond_timedwait (&s->changed, &stand_in_data_lock, &until);
}

/* Whether an operation hangs for longer than the farm lets it. */
static gboolean
hangs_locked (DataStandIn *s)
{
  gint64 deadline = s->farm->bundle_deadline_ns;
  return s->hung->len > 0 && deadline > 0
         && sid_now_ns () >= ((Op *)s->hung->pdata[0])->begun_ns + deadline;
}

/* Until an operation is done, the device is lost or the time is up. */
static void
await_locked (DataStandIn *s, gint64 timeout_ns)
{
  gint64 until = sid_now_ns () + timeout_ns;
  gint64 deadline = s->farm->bundle_deadline_ns;
  if (s->hung->len > 0 && deadline > 0)
    until = MIN (until, ((Op *)s->hung->pdata[0])->begun_ns + deadline);
  gboolean draws = s->plan.threads == 0 && s->queued->len > 0
                   && (timeout_ns > 0 || g_rand_boolean (s->rand));
  if (s->done->len == 0 && draws && !s->counts.lost)
    sid_execute_locked (s);
  while (s->done->len == 0 && !s->counts.lost && sid_now_ns () < until
         && !(s->plan.threads == 0 && s->queued->len > 0))
    sleep_locked (s, until);
}

static gboolean
wait_op (HassDevice *device, gint64 timeout_ns, HassDataDone *done,
         GError **error)
{
  DataStandIn *s = (DataStandIn *)device;
  gboolean ok = FALSE;
  pthread_mutex_lock (&stand_in_data_lock);
  if (timeout_ns > 0 && s->counts.begun == s->counts.ended && !s->counts.lost)
    sid_wrong_locked (s, "waited without an operation");
  await_locked (s, timeout_ns);
  if (hangs_locked (s))
    sid_lose_locked (s);
  while (s->counts.lost && s->running > 0)
    pthread_cond_wait (&s->changed, &stand_in_data_lock);
  if (s->counts.lost)
    sid_fail (error, HASS_ERROR_DEVICE, "the stand-in is lost");
  else if (s->done->len > 0)
    {
      guint at = (guint)g_rand_int_range (s->rand, 0, (gint32)s->done->len);
      Op *op = g_ptr_array_steal_index_fast (s->done, at);
      *done = (HassDataDone){ op->ticket, op->ns, op->failed };
      if (op->failed)
        sid_fail (error, HASS_ERROR_DEVICE,
                  "an operation of the stand-in failed");
      s->counts.failed += op->failed;
      s->counts.ended++;
      sid_op_free_locked (op);
      ok = TRUE;
    }
  pthread_mutex_unlock (&stand_in_data_lock);
  return ok;
}

static guint
most_computing (HassDevice *device)
{
  DataStandIn *s = (DataStandIn *)device;
  return s->plan.most_computing ? s->plan.most_computing : 2;
}

/* -- Opening and closing ------------------------------------------------- */

static void
describe (HassDevice *device, HassDeviceTraits *traits)
{
  DataStandIn *s = (DataStandIn *)device;
  *traits
      = (HassDeviceTraits){ .name = s->plan.name ? s->plan.name : "gpu0",
                            .kind = HASS_DEVICE_GPU,
                            .cores = 4,
                            .width = s->plan.width ? s->plan.width : 64,
                            .latency_ns = 1000,
                            .link_bytes_per_ns = s->plan.link_bytes_per_ns > 0
                                                     ? s->plan.link_bytes_per_ns
                                                     : 10,
                            .max_in_flight = 1,
                            .memory_bytes = s->plan.memory_bytes };
}

static gint64
opening_ns (HassDevice *device)
{
  return ((DataStandIn *)device)->plan.opening_ns;
}

static gboolean
open_device (HassDevice *device, const HassDeviceFarm *farm, GError **error)
{
  DataStandIn *s = (DataStandIn *)device;
  while (s->plan.open_waits && !g_cancellable_is_cancelled (farm->unwanted))
    usleep (100);
  if (s->plan.open_waits)
    return sid_fail (error, HASS_ERROR_CANCELLED, "not opened");
  if (s->plan.fail_open)
    return sid_fail (error, HASS_ERROR_DEVICE, "the stand-in is shut");
  pthread_mutex_lock (&stand_in_data_lock);
  if (s->counts.opened > s->counts.closed)
    sid_wrong_locked (s, "opened twice");
  if (farm->kind != HASS_FARM_DATAFLOW)
    sid_wrong_locked (s, "opened for what is no dataflow");
  s->counts.opened++;
  s->counts.lost = s->closing = FALSE;
  s->farm = farm;
  pthread_mutex_unlock (&stand_in_data_lock);
  s->threads = g_new0 (GThread *, s->plan.threads + 1);
  for (guint i = 0; i < s->plan.threads; i++)
    s->threads[i] = g_thread_new ("stand-in", run, s);
  return TRUE;
}

static gboolean
submit (HassDevice *device, guint slot, const HassBlock *blocks, gsize n,
        GError **error)
{
  (void)device, (void)slot, (void)blocks, (void)n;
  return sid_fail (error, HASS_ERROR_DEVICE, "it computes dataflows alone");
}

static gboolean
wait_bundle (HassDevice *device, gint64 timeout_ns, HassBundleDone *done,
             GError **error)
{
  (void)device, (void)timeout_ns, (void)done;
  return sid_fail (error, HASS_ERROR_DEVICE, "it computes dataflows alone");
}

static void
close_device (HassDevice *device)
{
  DataStandIn *s = (DataStandIn *)device;
  pthread_mutex_lock (&stand_in_data_lock);
  s->closing = TRUE;
  pthread_cond_broadcast (&s->changed);
  pthread_mutex_unlock (&stand_in_data_lock);
  for (guint i = 0; s->threads[i]; i++)
    g_thread_join (s->threads[i]);
  g_clear_pointer (&s->threads, g_free);
  pthread_mutex_lock (&stand_in_data_lock);
  if (!s->counts.lost && s->counts.begun != s->counts.ended)
    sid_wrong_locked (s, "closed with an operation in flight");
  if (s->counts.bytes > 0)
    sid_wrong_locked (s, "closed with memory allocated");
  gboolean was_lost = s->counts.lost;
  sid_lose_locked (s);
  s->counts.lost = was_lost;
  s->counts.ended = s->counts.begun;
  s->counts.closed++;
  pthread_mutex_unlock (&stand_in_data_lock);
}

static const HassDeviceDataOps data_ops
    = { .struct_size = sizeof (HassDeviceDataOps),
        .capacity = sid_capacity,
        .alloc = sid_alloc,
        .free = sid_free,
        .copy = sid_copy,
        .compute = sid_compute,
        .most_computing = most_computing,
        .wait = wait_op };

/* -- What tests call ----------------------------------------------------- */

HassDevice *
stand_in_data_new (const StandInDataPlan *plan)
{
  DataStandIn *s = g_new0 (DataStandIn, 1);
  pthread_condattr_t attr;
  s->plan = *plan;
  s->ops = (HassDeviceOps){ .struct_size = sizeof (HassDeviceOps),
                            .kind = plan->kind ? plan->kind : "stand-in",
                            .describe = describe,
                            .open = open_device,
                            .submit = submit,
                            .wait = wait_bundle,
                            .close = close_device,
                            .opening_ns = opening_ns,
                            .data = &data_ops };
  s->device.ops = &s->ops;
  s->rand = g_rand_new_with_seed (plan->seed);
  s->memory = g_ptr_array_new ();
  s->queued = g_ptr_array_new ();
  s->done = g_ptr_array_new ();
  s->hung = g_ptr_array_new ();
  pthread_condattr_init (&attr);
  pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
  pthread_cond_init (&s->changed, &attr);
  pthread_condattr_destroy (&attr);
  return &s->device;
}

void
stand_in_data_free (HassDevice *device)
{
  DataStandIn *s = (DataStandIn *)device;
  g_ptr_array_unref (s->memory);
  g_ptr_array_unref (s->queued);
  g_ptr_array_unref (s->done);
  g_ptr_array_unref (s->hung);
  g_rand_free (s->rand);
  pthread_cond_destroy (&s->changed);
  g_free (s);
}

StandInDataCounts
stand_in_data_counts (HassDevice *device)
{
  pthread_mutex_lock (&stand_in_data_lock);
  StandInDataCounts counts = ((DataStandIn *)device)->counts;
  pthread_mutex_unlock (&stand_in_data_lock);
  return counts;
}
