/* SPDX-License-Identifier: MIT */
/* test_gpu_data.c: real GPUs as devices of dataflows: memory, copies and
   kernels; skipped where there is no GPU.
   Thread safety: one test at a time. */
#include "hass_test.h"

#include <stdio.h>
#include <string.h>

#include "device/cuda/gpus-private.h"
#include "gpu_trial.h"
#include "kernels.h"
#include "tests/engine/data_trial.h"

#define WAIT_NS G_GINT64_CONSTANT (20000000000)

typedef struct
{
  HassDeviceFarm farm;
  HassDevice *device;
  const HassDeviceDataOps *ops;
} One;

static void
one_open (One *o, gint64 deadline_ns)
{
  g_autoptr (GError) error = NULL;
  *o = (One){ .farm = { .name = "one",
                        .kind = HASS_FARM_DATAFLOW,
                        .bundle_deadline_ns = deadline_ns },
              .device = hass_cuda_device_new (0) };
  o->ops = o->device->ops->data;
  CU_ASSERT_TRUE_FATAL (o->device->ops->open (o->device, &o->farm, &error));
}

static void
one_close (One *o)
{
  o->device->ops->close (o->device);
  hass_cuda_device_free (o->device);
}

static gpointer
one_alloc (One *o, gsize bytes)
{
  gpointer memory = NULL;
  CU_ASSERT_TRUE_FATAL (o->ops->alloc (o->device, bytes, &memory, NULL));
  CU_ASSERT_EQUAL ((gsize)memory % 256, 0);
  return memory;
}

/* Ends one operation. */
static void
one_end (One *o)
{
  g_autoptr (GError) error = NULL;
  HassDataDone done = { 0 };
  CU_ASSERT_TRUE (o->ops->wait (o->device, WAIT_NS, &done, &error));
  CU_ASSERT_PTR_NULL (error);
}

static void
enter (guint i)
{
  hass_cudart ()->set_device ((int)i);
}

static void
random_operations (void)
{
  if (gpu_absent ())
    return;
  guint n = MIN (hass_gpus_count (), DATA_TRIAL_DEVICES), ended = 0;
  guint32 seeds = (guint32)scaled (100);
  for (guint32 seed = 0; seed < seeds; seed++)
    {
      DataTrial trial = { .n_devices = n,
                          .launch = kernel_add_bytes,
                          .enter = enter,
                          .seed = seed,
                          .steps = 300,
                          .most_bytes = seed % 5 ? 5000 : 4000000,
                          .deadline_ns = seed % 4 ? 0 : WAIT_NS };
      DataTrialCounts c;
      for (guint i = 0; i < n; i++)
        trial.devices[i] = hass_cuda_device_new (i);
      const char *wrong = data_trial_run (&trial, &c);
      for (guint i = 0; i < n; i++)
        hass_cuda_device_free (trial.devices[i]);
      CU_ASSERT_PTR_NULL (wrong);
      CU_ASSERT_STRING_EQUAL (c.why, "");
      CU_ASSERT_EQUAL (c.begun, c.ended);
      if (wrong || *c.why)
        printf ("\n    seed %u: %s %s", seed, wrong ? wrong : "", c.why);
      ended += c.ended;
    }
  CU_ASSERT_TRUE (ended > 30 * seeds);
}

static gboolean
add_one (HassGpuStream *stream, gpointer data, GError **error)
{
  const HassDataCopy *c = data;
  (void)error;
  kernel_add_bytes (stream, c->memory, c->row_bytes * c->rows, 1);
  return TRUE;
}

/* A tile of [rows][row_bytes] of a matrix goes to the GPU, gets one added to
   each byte, and comes back to another matrix. */
static void
move_tile (One *o, gboolean pinned)
{
  gsize rows = scaled (2048), row_bytes = 16384, pitch = 3 * row_bytes;
  gsize bytes = rows * row_bytes;
  guint8 *from = random_bytes (rows * pitch, pinned);
  guint8 *to = random_bytes (rows * pitch, pinned);
  g_autofree guint8 *before = g_memdup2 (to, rows * pitch);
  gpointer memory = one_alloc (o, bytes);
  HassDataCopy copy = { .memory = memory,
                        .host = from + row_bytes,
                        .row_bytes = row_bytes,
                        .rows = rows,
                        .host_pitch = pitch };
  gint64 us[2];
  us[0] = g_get_monotonic_time ();
  CU_ASSERT_TRUE (o->ops->copy (o->device, 1, &copy, NULL));
  one_end (o);
  us[0] = g_get_monotonic_time () - us[0];
  CU_ASSERT_TRUE (o->ops->compute (o->device, 3, add_one, &copy, NULL));
  one_end (o);
  copy.host = to + row_bytes;
  copy.to_host = TRUE;
  us[1] = g_get_monotonic_time ();
  CU_ASSERT_TRUE (o->ops->copy (o->device, 2, &copy, NULL));
  one_end (o);
  us[1] = g_get_monotonic_time () - us[1];
  guint wrong = 0;
  for (gsize r = 0; r < rows; r++)
    {
      gsize at = r * pitch;
      wrong += memcmp (to + at, before + at, row_bytes) != 0;
      for (gsize i = at + row_bytes; i < at + 2 * row_bytes; i++)
        wrong += to[i] != (guint8)(from[i] + 1);
      wrong += memcmp (to + at + 2 * row_bytes, before + at + 2 * row_bytes,
                       row_bytes)
               != 0;
    }
  CU_ASSERT_EQUAL (wrong, 0);
  fprintf (stderr, "%s tile: %.1f GB/s in, %.1f GB/s out\n",
           pinned ? "pinned" : "pageable", 1e-3 * (double)bytes / (double)us[0],
           1e-3 * (double)bytes / (double)us[1]);
  o->ops->free (o->device, memory);
  (pinned ? hass_memory_free : g_free) (from);
  (pinned ? hass_memory_free : g_free) (to);
}

static void
moves_tiles (void)
{
  if (gpu_absent ())
    return;
  One o;
  one_open (&o, 0);
  for (guint i = 0; i < 2; i++)
    {
      move_tile (&o, TRUE);
      move_tile (&o, FALSE);
    }
  one_close (&o);
}

static gboolean
spin_ms (HassGpuStream *stream, gpointer data, GError **error)
{
  (void)error;
  kernel_spin (stream, *(const double *)data);
  return TRUE;
}

static void
kernels_overlap (void)
{
  if (gpu_absent ())
    return;
  One o;
  double ms = 20;
  one_open (&o, 0);
  guint n = o.ops->most_computing (o.device);
  CU_ASSERT_TRUE (o.ops->compute (o.device, 99, spin_ms, &ms, NULL));
  one_end (&o); /* loads the kernel */
  gint64 begin = g_get_monotonic_time ();
  for (guint i = 0; i < n; i++)
    CU_ASSERT_TRUE (o.ops->compute (o.device, i, spin_ms, &ms, NULL));
  CU_ASSERT_TRUE (g_get_monotonic_time () - begin < 10000);
  for (guint i = 0; i < n; i++)
    one_end (&o);
  double all = (g_get_monotonic_time () - begin) / 1e3;
  CU_ASSERT_TRUE (all >= ms);
  CU_ASSERT_TRUE (all < 2 * ms);
  fprintf (stderr, "%u kernels of %.0f ms in %.1f ms\n", n, ms, all);
  one_close (&o);
}

static gboolean
nothing (HassGpuStream *stream, gpointer data, GError **error)
{
  (void)data, (void)error;
  kernel_spin (stream, 0);
  return TRUE;
}

/* Prints what an operation costs. */
static void
is_fast (void)
{
  if (gpu_absent ())
    return;
  One o;
  guint n = (guint)scaled (5000);
  HassDataDone done;
  one_open (&o, 0);
  g_autofree gpointer *memory = g_new0 (gpointer, n);
  for (guint round = 0; round < 2; round++)
    {
      gint64 a = g_get_monotonic_time ();
      for (guint i = 0; i < n; i++)
        memory[i] = one_alloc (&o, 1 << 20);
      gint64 b = g_get_monotonic_time ();
      for (guint i = 0; i < n; i++)
        o.ops->free (o.device, memory[i]);
      gint64 c = g_get_monotonic_time ();
      fprintf (stderr, "alloc %.2f us, free %.2f us\n", (b - a) / (double)n,
               (c - b) / (double)n);
    }
  gint64 a = g_get_monotonic_time ();
  for (guint i = 0; i < n; i++)
    {
      CU_ASSERT_TRUE (o.ops->compute (o.device, i, nothing, NULL, NULL));
      CU_ASSERT_TRUE (o.ops->wait (o.device, WAIT_NS, &done, NULL));
    }
  gint64 b = g_get_monotonic_time ();
  for (guint i = 0; i < n; i++)
    {
      CU_ASSERT_TRUE (o.ops->compute (o.device, i, nothing, NULL, NULL));
      if (i >= 8)
        CU_ASSERT_TRUE (o.ops->wait (o.device, WAIT_NS, &done, NULL));
    }
  for (guint i = 0; i < MIN (n, 8); i++)
    one_end (&o);
  gint64 c = g_get_monotonic_time ();
  fprintf (stderr, "kernel after kernel %.1f us, with 8 in flight %.1f us\n",
           (b - a) / (double)n, (c - b) / (double)n);
  one_close (&o);
  CU_ASSERT_TRUE ((b - a) / (double)n < 1000);
}

static void
caps_memory (void)
{
  if (gpu_absent ())
    return;
  g_autoptr (GError) error = NULL;
  gpointer more = NULL;
  One o;
  g_setenv ("HASS_GPU_MEM", "64M", TRUE);
  one_open (&o, 0);
  gsize all = o.ops->capacity (o.device);
  CU_ASSERT_TRUE (all > 0 && all <= 64 << 20);
  gpointer memory = one_alloc (&o, all);
  CU_ASSERT_FALSE (o.ops->alloc (o.device, 1, &more, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY));
  o.ops->free (o.device, memory);
  one_close (&o);
  g_unsetenv ("HASS_GPU_MEM");
}

/* -- What breaks the process, in one of its own -----------------------------
 */

static gboolean
break_it (HassGpuStream *stream, gpointer data, GError **error)
{
  (void)error;
  if (data)
    kernel_spin (stream, 4000);
  else
    kernel_fail (stream);
  return TRUE;
}

static void
fault_child (void)
{
  const char *fault = g_getenv ("TEST_GPU_FAULT");
  if (gpu_absent ())
    return;
  if (!fault)
    {
      hass_test_skip ("runs as a child of gpu_data");
      return;
    }
  gboolean hang = strcmp (fault, "hang") == 0;
  g_autoptr (GError) error = NULL, later = NULL;
  HassDataDone done;
  gpointer more = NULL;
  guint8 host[100] = { 0 };
  One o;
  one_open (&o, hang ? 300000000 : 0);
  gpointer memory = one_alloc (&o, 100);
  HassDataCopy copy
      = { .memory = memory, .host = host, .row_bytes = 100, .rows = 1 };
  CU_ASSERT_TRUE (o.ops->copy (o.device, 1, &copy, NULL));
  one_end (&o);
  gint64 begin = g_get_monotonic_time ();
  CU_ASSERT_TRUE (
      o.ops->compute (o.device, 2, break_it, GINT_TO_POINTER (hang), NULL));
  CU_ASSERT_FALSE (o.ops->wait (o.device, WAIT_NS, &done, &error));
  CU_ASSERT_TRUE (g_get_monotonic_time () - begin < 3500000);
  CU_ASSERT_TRUE (error && strstr (error->message, hang ? "longer" : "assert"));
  if (error)
    fprintf (stderr, "(expected) %s\n", error->message);
  CU_ASSERT_FALSE (o.ops->alloc (o.device, 1, &more, NULL));
  o.device->ops->close (o.device);
  CU_ASSERT_FALSE (o.device->ops->open (o.device, &o.farm, &later));
  CU_ASSERT_PTR_NOT_NULL (later);
  hass_cuda_device_free (o.device);
}

static void
survives_assert (void)
{
  gpu_in_child ("gpu_data_child", "assert");
}

static void
survives_hang (void)
{
  gpu_in_child ("gpu_data_child", "hang");
}

HASS_TEST_SUITE (gpu_data,
                 { "random operations on data bring each byte where it belongs",
                   random_operations },
                 { "tiles of pinned and of pageable matrices move",
                   moves_tiles },
                 { "kernels of several computations overlap", kernels_overlap },
                 { "memory and operations are fast", is_fast },
                 { "HASS_GPU_MEM caps the memory of data", caps_memory },
                 { "a failed device assert loses the device", survives_assert },
                 { "a kernel past its deadline loses the device",
                   survives_hang })

HASS_TEST_SUITE (gpu_data_child,
                 { "a fault, in a process of its own", fault_child })
