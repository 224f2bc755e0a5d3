/* SPDX-License-Identifier: MIT */
/* measure.c: measures links and launches; see measure.h. read.c measures host
   memory.

   DESIGN. Each GPU is measured in a thread of its own that runs near it, as a
   farm would use it. All values are medians. Large copies are timed by events
   of the GPU, several in a row, so that enqueuing does not count; latencies are
   timed by the clock of the host.

   Thread safety: see measure.h. */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda-private.h"
#include "device/cpu/topology.h"
#include "hass/error.h"

#define SMALL_BYTES 4096
#define GIB ((double)(1 << 30))

const InfoEffort info_effort = { .copy_bytes = (gsize)64 << 20,
                                 .copies = 4,
                                 .rates = 9,
                                 .latencies = 200,
                                 .warm_ns = 200000000,
                                 .read_ns = 30000000 };

/* The resources for measurements of one GPU. */
typedef struct
{
  HassGpu *gpu;
  const HassCudart *cuda;
  const InfoEffort *effort;
  InfoLaunch launch;
  InfoSpeed *speed;
  gpointer stream, begin, end;
  gpointer on_device, pinned;
  guint8 *pageable; /* [effort->copy_bytes] */
} Bench;

static gint
by_size (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Returns: the median of @n > 0 values, which it sorts. */
double
info_median (double *values, guint n)
{
  qsort (values, n, sizeof *values, by_size);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* -- One operation ------------------------------------------------------ */

typedef gboolean (*Operation) (Bench *b, GError **error);

static gboolean
check (const Bench *b, int code, const char *what, GError **error)
{
  return hass_gpu_check (b->gpu, code, what, error);
}

static gboolean
copy (Bench *b, gsize bytes, HassCudaDirection direction, gpointer host,
      GError **error)
{
  gpointer to = direction == HASS_CUDA_TO_DEVICE ? b->on_device : host;
  gpointer from = direction == HASS_CUDA_TO_DEVICE ? host : b->on_device;
  return check (b, b->cuda->copy (to, from, bytes, direction, b->stream),
                "copy", error);
}

static gboolean
to_device (Bench *b, GError **error)
{
  return copy (b, b->effort->copy_bytes, HASS_CUDA_TO_DEVICE, b->pinned, error);
}

static gboolean
to_host (Bench *b, GError **error)
{
  return copy (b, b->effort->copy_bytes, HASS_CUDA_TO_HOST, b->pinned, error);
}

static gboolean
pageable_to_device (Bench *b, GError **error)
{
  return copy (b, b->effort->copy_bytes, HASS_CUDA_TO_DEVICE, b->pageable,
               error);
}

static gboolean
small_to_device (Bench *b, GError **error)
{
  return copy (b, SMALL_BYTES, HASS_CUDA_TO_DEVICE, b->pinned, error);
}

static gboolean
launch (Bench *b, GError **error)
{
  if (b->launch)
    return check (b, b->launch (b->stream), "launch an empty kernel", error);
  return check (b, b->cuda->clear (b->on_device, 4, b->stream), "clear 4 bytes",
                error);
}

/* -- Timing ------------------------------------------------------------- */

static gboolean
record_end (Bench *b, GError **error)
{
  return check (b, b->cuda->event_record (b->end, b->stream), "record an event",
                error);
}

static gboolean
sleep_until_end (Bench *b, GError **error)
{
  return check (b, b->cuda->event_wait (b->end), "wait", error);
}

static gboolean
spin_until_end (Bench *b, GError **error)
{
  int code = b->cuda->event_query (b->end);
  if (b->cuda->classify (code) == HASS_CUDA_NOT_READY)
    {
      do
        code = b->cuda->event_query (b->end);
      while (b->cuda->classify (code) == HASS_CUDA_NOT_READY);
      b->cuda->last_error (); /* clears "not ready" */
    }
  return check (b, code, "wait", error);
}

/* Time from the call until the host sees its end, by the host's clock. */
static gboolean
host_ns (Bench *b, Operation operation,
         gboolean (*wait) (Bench *b, GError **error), double *ns,
         GError **error)
{
  gint64 begin = hass_clock_ns ();
  if (!operation (b, error) || !record_end (b, error) || !wait (b, error))
    return FALSE;
  *ns = (double)(hass_clock_ns () - begin);
  return TRUE;
}

/* Median, without the first operations. */
static gboolean
latency_us (Bench *b, Operation operation,
            gboolean (*wait) (Bench *b, GError **error), double *us,
            GError **error)
{
  guint n = b->effort->latencies, n_warm = 2 + n / 10;
  g_autofree double *all = g_new (double, n);
  double unused;
  for (guint i = 0; i < n_warm + n; i++)
    if (!host_ns (b, operation, wait, i < n_warm ? &unused : &all[i - n_warm],
                  error))
      return FALSE;
  *us = info_median (all, n) * 1e-3;
  return TRUE;
}

/* Time of several operations in a row, by the GPU's clock. */
static gboolean
device_ns (Bench *b, Operation operation, double *ns, GError **error)
{
  float ms = 0;
  if (!check (b, b->cuda->event_record (b->begin, b->stream), "record an event",
              error))
    return FALSE;
  for (guint i = 0; i < b->effort->copies; i++)
    if (!operation (b, error))
      return FALSE;
  if (!record_end (b, error) || !sleep_until_end (b, error)
      || !check (b, b->cuda->event_elapsed (&ms, b->begin, b->end),
                 "ask how long it took", error))
    return FALSE;
  *ns = ms * 1e6;
  return TRUE;
}

static gboolean
rate_gbps (Bench *b, Operation operation, double *gbps, GError **error)
{
  guint n = b->effort->rates;
  g_autofree double *all = g_new (double, n);
  double bytes = (double)b->effort->copy_bytes * b->effort->copies, ns;
  for (guint i = 0; i < 1 + n; i++)
    {
      if (!device_ns (b, operation, &ns, error))
        return FALSE;
      if (i > 0)
        all[i - 1] = bytes / MAX (ns, 1);
    }
  *gbps = info_median (all, n);
  return TRUE;
}

/* By the host's clock, since a copy of pageable memory occupies the host. */
static gboolean
pageable_gbps (Bench *b, double *gbps, GError **error)
{
  guint n = b->effort->rates;
  g_autofree double *all = g_new (double, n);
  double ns;
  for (guint i = 0; i < 1 + n; i++)
    {
      if (!host_ns (b, pageable_to_device, spin_until_end, &ns, error))
        return FALSE;
      if (i > 0)
        all[i - 1] = (double)b->effort->copy_bytes / MAX (ns, 1);
    }
  *gbps = info_median (all, n);
  return TRUE;
}

/* Measures pinning and unpinning of ordinary memory. */
static gboolean
registering (Bench *b, GError **error)
{
  guint n = b->effort->rates;
  gsize bytes = b->effort->copy_bytes;
  double per_gib = GIB / (double)bytes * 1e-6;
  g_autofree double *in = g_new (double, n), *out = g_new (double, n);
  for (guint i = 0; i < n; i++)
    {
      gint64 t0 = hass_clock_ns ();
      if (!check (b, b->cuda->register_host (b->pageable, bytes),
                  "register host memory", error))
        return FALSE;
      gint64 t1 = hass_clock_ns ();
      if (!check (b, b->cuda->unregister_host (b->pageable),
                  "unregister host memory", error))
        return FALSE;
      in[i] = (double)(t1 - t0) * per_gib;
      out[i] = (double)(hass_clock_ns () - t1) * per_gib;
    }
  b->speed->register_ms_per_gib = info_median (in, n);
  b->speed->unregister_ms_per_gib = info_median (out, n);
  return TRUE;
}

/* -- A GPU -------------------------------------------------------------- */

static gboolean
prepare (Bench *b, GError **error)
{
  const HassCudart *cuda = b->cuda;
  gsize bytes = b->effort->copy_bytes;
  if (!check (b, cuda->set_device ((int)b->gpu->index), "open the device",
              error)
      || !check (b, cuda->stream_new (&b->stream), "make a stream", error)
      || !check (b, cuda->event_new (&b->begin), "make an event", error)
      || !check (b, cuda->event_new (&b->end), "make an event", error)
      || !check (b, cuda->allocate (&b->on_device, bytes),
                 "allocate device memory", error)
      || !check (b, cuda->allocate_host (&b->pinned, bytes),
                 "allocate pinned memory", error))
    return FALSE;
  b->pageable = g_try_malloc (bytes);
  if (!b->pageable)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                   "%zu bytes of host memory cannot be had", bytes);
      return FALSE;
    }
  /* Unwritten pages are all mapped to one zero page. */
  memset (b->pageable, 1, bytes);
  memset (b->pinned, 1, bytes);
  return TRUE;
}

/* Ignores errors: the context may be broken, and the thread ends. */
static void
clean_up (Bench *b)
{
  if (b->stream)
    b->cuda->stream_free (b->stream);
  if (b->begin)
    b->cuda->event_free (b->begin);
  if (b->end)
    b->cuda->event_free (b->end);
  if (b->on_device)
    b->cuda->release (b->on_device);
  if (b->pinned)
    b->cuda->release_host (b->pinned);
  g_free (b->pageable);
}

static gboolean
warm_up (Bench *b, GError **error)
{
  gint64 until = hass_clock_ns () + b->effort->warm_ns;
  double unused;
  do
    if (!host_ns (b, launch, sleep_until_end, &unused, error)
        || !host_ns (b, to_device, sleep_until_end, &unused, error)
        || !host_ns (b, to_host, sleep_until_end, &unused, error))
      return FALSE;
  while (hass_clock_ns () < until);
  return TRUE;
}

typedef struct
{
  Bench bench;
  gboolean ok;
  GError *error;
} Measuring;

static gpointer
measure (gpointer data)
{
  Measuring *m = data;
  Bench *b = &m->bench;
  InfoSpeed *s = b->speed;
  GError **error = &m->error;
  hass_topology_bind_near (b->gpu->properties.pci);
  m->ok
      = prepare (b, error) && warm_up (b, error)
        && rate_gbps (b, to_device, &s->to_device_gbps, error)
        && rate_gbps (b, to_host, &s->to_host_gbps, error)
        && latency_us (b, small_to_device, spin_until_end, &s->copy_4k_us,
                       error)
        && latency_us (b, launch, spin_until_end, &s->launch_us, error)
        && latency_us (b, launch, sleep_until_end, &s->launch_asleep_us, error)
        && pageable_gbps (b, &s->pageable_to_device_gbps, error)
        && registering (b, error);
  clean_up (b);
  return NULL;
}

/* @launch: NULL: this program has no kernel. Returns: FALSE with
   HASS_ERROR_DEVICE or HASS_ERROR_NO_MEMORY; values measured before are
   kept. */
gboolean
info_measure_gpu (HassGpu *gpu, InfoLaunch launch_kernel,
                  const InfoEffort *effort, InfoSpeed *speed, GError **error)
{
  Measuring m = { .bench = { .gpu = gpu,
                             .cuda = hass_cudart (),
                             .effort = effort,
                             .launch = launch_kernel,
                             .speed = speed } };
  *speed = (InfoSpeed){ .launch_is_kernel = launch_kernel != NULL };
  GThread *thread = g_thread_try_new ("hass-info", measure, &m, error);
  if (!thread)
    return FALSE;
  g_thread_join (thread);
  if (m.error)
    g_propagate_error (error, m.error);
  return m.ok;
}
