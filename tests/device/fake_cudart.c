/* SPDX-License-Identifier: MIT */
/* fake_cudart.c: the stand-in's table, its plan and its errors.
   Thread safety: see fake_cudart.h. */
#include "failing_memory.h"
#include "fake-private.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hass/error.h"

#define DEFAULT_MEMORY_BYTES ((gsize)256 << 20)

Fake fake = { .lock = PTHREAD_MUTEX_INITIALIZER,
              .changed = PTHREAD_COND_INITIALIZER };

static __thread struct
{
  guint generation;
  int device, last_error;
} thread;

static void
renew_thread (void)
{
  if (thread.generation == fake.generation)
    return;
  thread.generation = fake.generation;
  thread.device = thread.last_error = 0;
}

const char *
fake_call_name (FakeCall call)
{
  static const char *const names[FAKE_N_CALLS]
      = { "device_count",  "properties",      "set_device",    "memory_info",
          "allocate",      "release",         "allocate_host", "release_host",
          "register_host", "unregister_host", "stream_new",    "stream_free",
          "stream_query",  "stream_wait",     "event_new",     "event_free",
          "event_record",  "event_query",     "event_wait",    "event_elapsed",
          "copy",          "copy_batch",      "copy_rows",     "clear",
          "pool_keep",     "pool_spare",      "pool_share",    "allocate_async",
          "release_async", "copy_peer",       "launch" };
  return names[call];
}

/* -- Failing ------------------------------------------------------------ */

int
fake_wrong (int code, const char *format, ...)
{
  va_list args;
  if (fake.counts.n_wrong++ == 0)
    {
      va_start (args, format);
      g_vsnprintf (fake.counts.wrong, sizeof fake.counts.wrong, format, args);
      va_end (args);
    }
  return code;
}

int
fake_dead (int device)
{
  const FakePlan *plan = &fake.plan;
  if (fake.sticky)
    return fake.sticky;
  return fake.gone && device == (int)plan->gone_device ? FAKE_GONE : FAKE_OK;
}

int
fake_told_dead (int device)
{
  int code = fake_dead (device);
  while (code && fake.copying > 0)
    pthread_cond_wait (&fake.changed, &fake.lock);
  return code;
}

static int
code_of (FakeCall call)
{
  switch (call)
    {
    case FAKE_ALLOCATE:
    case FAKE_ALLOCATE_ASYNC:
    case FAKE_ALLOCATE_HOST:
    case FAKE_REGISTER:
      return FAKE_NO_MEMORY;
    case FAKE_LAUNCH:
      return FAKE_NO_RESOURCES;
    default:
      return FAKE_NOT_SUPPORTED;
    }
}

static int
device_of (gconstpointer handle)
{
  const Stream *stream = fake_stream (handle);
  const Event *event = fake_event (handle);
  return stream ? stream->device : event ? event->device : thread.device;
}

static void
tell_locked (FakeCall call)
{
  const FakePlan plan = fake.plan;
  if (!plan.called)
    return;
  pthread_mutex_unlock (&fake.lock);
  plan.called (call, plan.called_data);
  pthread_mutex_lock (&fake.lock);
}

int
fake_enter (FakeCall call, gconstpointer handle)
{
  const FakePlan *plan = &fake.plan;
  pthread_mutex_lock (&fake.lock);
  tell_locked (call);
  renew_thread ();
  fake.counts.calls[call]++;
  fake.counts.n_calls++;
  gboolean counts
      = call == FAKE_LAUNCH || fake.seen[FAKE_LAUNCH] >= plan->after_launches;
  guint n = counts ? ++fake.seen[call] : 0;
  if (call == plan->hold_kernels_until)
    pthread_cond_broadcast (&fake.changed);
  if (++fake.n_seen == plan->sticky_at_call)
    {
      fake.counts.faults++;
      fake_fail_sticky (FAKE_ASSERT);
    }
  else if (fake.n_seen == plan->gone_at_call)
    {
      fake.counts.faults++;
      fake.gone = TRUE;
      pthread_cond_broadcast (&fake.changed);
    }
  int code = fake_told_dead (device_of (handle));
  gboolean allocates = call == FAKE_ALLOCATE || call == FAKE_ALLOCATE_HOST
                       || call == FAKE_ALLOCATE_ASYNC || call == FAKE_REGISTER
                       || call == FAKE_STREAM_NEW || call == FAKE_EVENT_NEW;
  gboolean planned = (counts && n == plan->fail_at[call])
                     || (counts && plan->fail_every[call] > 0
                         && n % plan->fail_every[call] == 0)
                     || (allocates && failing_memory_count ());
  if (code || !planned)
    return code;
  fake.counts.faults++;
  return code_of (call);
}

int
fake_leave (int code)
{
  if (code)
    thread.last_error = code;
  pthread_mutex_unlock (&fake.lock);
  return code;
}

static int
last_error (void)
{
  pthread_mutex_lock (&fake.lock);
  renew_thread ();
  int code = fake.sticky ? fake_told_dead (thread.device) : thread.last_error;
  thread.last_error = 0;
  pthread_mutex_unlock (&fake.lock);
  return code;
}

static const char *
text (int code)
{
  switch (code)
    {
    case FAKE_OK:
      return "no error";
    case FAKE_INVALID_VALUE:
      return "invalid argument";
    case FAKE_NO_MEMORY:
      return "out of memory";
    case FAKE_NO_DRIVER:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case FAKE_GONE:
      return "CUDA-capable device(s) is/are busy or unavailable";
    case FAKE_NO_DEVICE:
      return "no CUDA-capable device is detected";
    case FAKE_INVALID_DEVICE:
      return "invalid device ordinal";
    case FAKE_INVALID_HANDLE:
      return "invalid resource handle";
    case FAKE_NOT_READY:
      return "device not ready";
    case FAKE_ILLEGAL_ADDRESS:
      return "an illegal memory access was encountered";
    case FAKE_NO_RESOURCES:
      return "too many resources requested for launch";
    case FAKE_ASSERT:
      return "device-side assert triggered";
    case FAKE_REGISTERED:
      return "part or all of the requested memory range is already mapped";
    case FAKE_NOT_REGISTERED:
      return "pointer does not correspond to a registered memory region";
    case FAKE_NOT_SUPPORTED:
      return "operation not supported";
    default:
      return "unrecognized error code";
    }
}

static HassCudaKind
classify (int code)
{
  switch (code)
    {
    case FAKE_OK:
      return HASS_CUDA_OK;
    case FAKE_NOT_READY:
      return HASS_CUDA_NOT_READY;
    case FAKE_NO_MEMORY:
      return HASS_CUDA_NO_MEMORY;
    case FAKE_GONE:
    case FAKE_NO_DEVICE:
    case FAKE_ILLEGAL_ADDRESS:
    case FAKE_ASSERT:
      return HASS_CUDA_STICKY;
    default:
      return HASS_CUDA_LOCAL;
    }
}

gboolean
fake_check (const char *what, GError **error)
{
  int code = last_error ();
  if (code == FAKE_OK)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "%s: %s", what,
               text (code));
  return FALSE;
}

/* -- Devices ------------------------------------------------------------ */

static int
device_count (int *n)
{
  if (fake.plan.look_ms > 0)
    usleep (fake.plan.look_ms * 1000);
  int code = fake_enter (FAKE_DEVICE_COUNT, NULL);
  *n = 0;
  if (!code)
    code = fake.plan.device_count_code;
  if (!code)
    *n = (int)fake.n_devices;
  return fake_leave (code);
}

static int
check_device (int device)
{
  return device >= 0 && device < (int)fake.n_devices
             ? FAKE_OK
             : fake_wrong (FAKE_INVALID_DEVICE, "there is no device %d",
                           device);
}

static int
properties (int device, HassCudaProperties *p)
{
  const FakePlan *plan = &fake.plan;
  int code = fake_enter (FAKE_PROPERTIES, NULL);
  if (!code)
    code = check_device (device);
  if (!code)
    {
      *p = (HassCudaProperties){
        .multiprocessors = plan->multiprocessors ? plan->multiprocessors : 4,
        .threads_per_multiprocessor = plan->threads ? plan->threads : 32,
        .memory_bytes = plan->memory_bytes,
        .compute_major = plan->compute_major
      };
      g_snprintf (p->name, sizeof p->name, "Fake GPU %d", device);
      g_snprintf (p->pci, sizeof p->pci, "0000:%02x:00.0", device + 1);
    }
  return fake_leave (code);
}

/* The first that comes makes the device's context; the others wait. */
static void
open_device (int device)
{
  if (!fake.opening[device])
    {
      fake.opening[device] = TRUE;
      fake.counts.opening++;
      pthread_cond_broadcast (&fake.changed);
      if (fake.plan.open_ms > 0)
        {
          pthread_mutex_unlock (&fake.lock);
          g_usleep (1000 * fake.plan.open_ms);
          pthread_mutex_lock (&fake.lock);
        }
      while (fake.plan.hold_opening && !fake.may_open)
        pthread_cond_wait (&fake.changed, &fake.lock);
      fake.open[device] = TRUE;
      fake.counts.opened++;
      pthread_cond_broadcast (&fake.changed);
    }
  while (!fake.open[device])
    pthread_cond_wait (&fake.changed, &fake.lock);
}

void
fake_let_open (void)
{
  pthread_mutex_lock (&fake.lock);
  fake.may_open = TRUE;
  pthread_cond_broadcast (&fake.changed);
  pthread_mutex_unlock (&fake.lock);
}

static int
set_device (int device)
{
  int code = fake_enter (FAKE_SET_DEVICE, NULL);
  if (!code || code == FAKE_GONE) /* of the present device, which is left */
    code = check_device (device);
  if (!code)
    open_device (device);
  if (!code)
    thread.device = device;
  if (!code)
    code = fake_told_dead (device);
  return fake_leave (code);
}

int
fake_current_device (void)
{
  pthread_mutex_lock (&fake.lock);
  renew_thread ();
  pthread_mutex_unlock (&fake.lock);
  return thread.device;
}

/* -- Coming and going --------------------------------------------------- */

static HassCudart table = { .device_count = device_count,
                            .properties = properties,
                            .set_device = set_device,
                            .memory_info = fake_memory_info,
                            .allocate = fake_allocate,
                            .release = fake_release,
                            .allocate_host = fake_allocate_host,
                            .release_host = fake_release_host,
                            .register_host = fake_register_host,
                            .unregister_host = fake_unregister_host,
                            .stream_new = fake_stream_new,
                            .stream_free = fake_stream_free,
                            .stream_query = fake_stream_query,
                            .stream_wait = fake_stream_wait,
                            .event_new = fake_event_new,
                            .event_free = fake_event_free,
                            .event_record = fake_event_record,
                            .event_query = fake_event_query,
                            .event_wait = fake_event_wait,
                            .event_elapsed = fake_event_elapsed,
                            .copy = fake_copy,
                            .copy_batch = fake_copy_batch,
                            .copy_rows = fake_copy_rows,
                            .clear = fake_clear,
                            .pool_keep = fake_pool_keep,
                            .pool_spare = fake_pool_spare,
                            .pool_share = fake_pool_share,
                            .allocate_async = fake_allocate_async,
                            .release_async = fake_release_async,
                            .copy_peer = fake_copy_peer,
                            .last_error = last_error,
                            .text = text,
                            .classify = classify,
                            .batch_bytes = FAKE_BATCH_BYTES };

static void
set_plan_locked (const FakePlan *plan)
{
  fake.plan = *plan;
  if (fake.plan.memory_bytes == 0)
    fake.plan.memory_bytes = DEFAULT_MEMORY_BYTES;
  memset (fake.seen, 0, sizeof fake.seen);
  fake.n_seen = fake.kernels_seen = fake.copies_seen = 0;
  fake.gone = FALSE;
  fake.let = 0;
}

void
fake_cudart_plan (const FakePlan *plan)
{
  pthread_mutex_lock (&fake.lock);
  set_plan_locked (plan);
  pthread_cond_broadcast (&fake.changed);
  pthread_mutex_unlock (&fake.lock);
}

void
fake_cudart_install (const FakePlan *plan)
{
  pthread_mutex_lock (&fake.lock);
  set_plan_locked (plan);
  fake.counts = (FakeCounts){ 0 };
  fake.n_devices = MIN (plan->n_devices ? plan->n_devices : 1, FAKE_DEVICES);
  fake.generation++;
  fake.sticky = 0;
  fake.ending = fake.hanging = fake.may_open = FALSE;
  memset (fake.opening, 0, sizeof fake.opening);
  memset (fake.open, 0, sizeof fake.open);
  memset (fake.shared, 0, sizeof fake.shared);
  fake.ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  fake.streams = g_ptr_array_new_with_free_func (g_free);
  fake.events = g_ptr_array_new_with_free_func (g_free);
  fake.marks = g_ptr_array_new_with_free_func (g_free);
  fake.incidents = g_ptr_array_new_with_free_func (g_free);
  table.version = (int)plan->version;
  table.start_ns = (gint64)plan->start_ms * 1000000;
  pthread_mutex_unlock (&fake.lock);
  hass_cudart_use (&table);
}

FakeCounts
fake_cudart_counts (void)
{
  pthread_mutex_lock (&fake.lock);
  FakeCounts counts = fake.counts;
  pthread_mutex_unlock (&fake.lock);
  return counts;
}

static void
count_leaks (void)
{
  static const char *const kinds[]
      = { "device allocations", "host allocations", "registrations" };
  guint n[G_N_ELEMENTS (kinds)] = { 0 }, streams = 0, events = 0;
  GString *s = g_string_new (NULL);
  for (guint i = 0; i < fake.ranges->len; i++)
    n[g_array_index (fake.ranges, Range, i).kind]++;
  for (guint i = 0; i < fake.streams->len; i++)
    streams += !((Stream *)fake.streams->pdata[i])->freed;
  for (guint i = 0; i < fake.events->len; i++)
    events += !((Event *)fake.events->pdata[i])->freed;
  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    if (n[k] > 0)
      g_string_append_printf (s, "%u %s ", n[k], kinds[k]);
  if (streams > 0)
    g_string_append_printf (s, "%u streams ", streams);
  if (events > 0)
    g_string_append_printf (s, "%u events ", events);
  g_strlcpy (fake.counts.leaks, g_strchomp (s->str), sizeof fake.counts.leaks);
  g_string_free (s, TRUE);
}

FakeCounts
fake_cudart_remove (void)
{
  fake_streams_end ();
  pthread_mutex_lock (&fake.lock);
  count_leaks ();
  for (guint i = 0; i < fake.ranges->len; i++)
    {
      const Range *r = &g_array_index (fake.ranges, Range, i);
      if (r->kind == RANGE_DEVICE)
        free (fake_real ((gpointer)r->begin));
      else if (r->kind == RANGE_HOST)
        free ((gpointer)r->begin);
    }
  g_array_unref (fake.ranges);
  g_ptr_array_unref (fake.streams);
  g_ptr_array_unref (fake.events);
  g_ptr_array_unref (fake.marks);
  g_ptr_array_unref (fake.incidents);
  pthread_mutex_unlock (&fake.lock);
  hass_cudart_use (NULL);
  return fake.counts;
}
