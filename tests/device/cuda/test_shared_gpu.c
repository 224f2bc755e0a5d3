/* SPDX-License-Identifier: MIT */
/* test_shared_gpu.c: several farms on one GPU, of which one has a kernel that
   hangs: nothing that the others do waits for it. What would wait is counted by
   the stand-in, whose release() waits as CUDA's does.
   Thread safety: one thread, beside the stand-in's own. */
#include <string.h>

#include "device/cuda/gpus-private.h"
#include "tests/device/fake_machine.h"
#include "hass/error.h"
#include "hass/memory.h"
#include "hass_test.h"

#define MS G_GINT64_CONSTANT (1000000)
/* A farm's deadline until its kernel certainly hangs, and then. */
#define PATIENT_NS (600000 * MS)
#define DEADLINE_NS (50 * MS)
#define HANG_MS 60000 /* then the stand-in goes on, so that a test ends */

static const guint32 constant = 7;
static const HassConstant constants[] = { { &constant, sizeof constant } };

static void
kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  memcpy (bundle->output, bundle->input, bundle->output_bytes);
}

static gboolean
worker (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  fake_launch (stream, kernel, bundle, data);
  return fake_check ("copy", error);
}

static HassDevice *
open_for (HassDeviceFarm *farm, gint64 deadline_ns)
{
  *farm = (HassDeviceFarm){ .name = "farm",
                            .gpu_worker = worker,
                            .constants = constants,
                            .n_constants = 1,
                            .bundle_deadline_ns = deadline_ns };
  CU_ASSERT_EQUAL (hass_gpus_count (), 1);
  HassDevice *device = hass_cuda_device_new (0);
  CU_ASSERT_TRUE_FATAL (device && device->ops->open (device, farm, NULL));
  return device;
}

static void
close_and_free (HassDevice *device)
{
  device->ops->close (device);
  hass_cuda_device_free (device);
}

static const HassLoad a_load;
static guint8 in[300000], out[300000];

static HassBlock
block (gsize bytes)
{
  return (HassBlock){ .load = &a_load,
                      .count = bytes,
                      .input = in,
                      .input_bytes = bytes,
                      .output = out,
                      .output_bytes = bytes };
}

/* The device's next bundle to leave; FALSE with what it says: it has failed. */
static gboolean
next_leaves (HassDevice *device, GError **error)
{
  HassBundleDone done = { 0 };
  gint64 until = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  while (!device->ops->wait (device, 10 * MS, &done, error))
    if (g_get_monotonic_time () > until)
      CU_FAIL_FATAL ("no bundle leaves the device");
  return !done.failed;
}

static gboolean
submit (HassDevice *device, guint slot, const HassBlock *b)
{
  return device->ops->submit (device, slot, b, 1, NULL);
}

/* One farm's bundle hangs; it is not yet known. */
static void
begin_to_hang (HassDevice *device)
{
  static HassBlock b; /* the device reads it later, too */
  b = block (3);
  fake_cudart_plan (&(FakePlan){ .hang_kernel_at = 1, .hang_ms = HANG_MS });
  CU_ASSERT_TRUE (submit (device, 0, &b));
  while (!fake_hanging ())
    g_usleep (100);
}

/* Its bundle that hangs is given up. */
static void
give_up (HassDevice *device, HassDeviceFarm *farm)
{
  g_autoptr (GError) error = NULL;
  farm->bundle_deadline_ns = DEADLINE_NS;
  CU_ASSERT_FALSE (next_leaves (device, &error));
  CU_ASSERT_TRUE (error && strstr (error->message, "longer than 50 ms"));
}

static void
end (HassDevice *device)
{
  fake_end_hang ();
  close_and_free (device);
  FakeCounts counts = fake_machine_end ();
  CU_ASSERT_STRING_EQUAL (counts.wrong, "");
  CU_ASSERT_STRING_EQUAL (counts.leaks, "");
}

static void
closing (void)
{
  for (guint known = 0; known < 2; known++)
    {
      HassDeviceFarm hangs, dated, undated;
      HassBlock b = block (3), large = block (sizeof in);
      fake_machine_begin (&(FakePlan){ .n_devices = 1 });
      HassDevice *first = open_for (&hangs, PATIENT_NS);
      HassDevice *second = open_for (&dated, PATIENT_NS);
      HassDevice *third = open_for (&undated, 0);
      for (guint i = 0; i < 2; i++)
        {
          HassDevice *device = i ? third : second;
          CU_ASSERT_TRUE (submit (device, 0, &b));
          CU_ASSERT_TRUE (next_leaves (device, NULL));
        }
      begin_to_hang (first);
      if (known)
        {
          give_up (first, &hangs);
          CU_ASSERT_FALSE (submit (second, 0, &b));
        }
      else
        {
          /* What it has running ends, and its buffers grow. */
          CU_ASSERT_TRUE (submit (second, 0, &large));
          CU_ASSERT_TRUE (next_leaves (second, NULL));
        }
      close_and_free (second);
      close_and_free (third);
      CU_ASSERT_TRUE (fake_hanging ());
      CU_ASSERT_EQUAL (fake_cudart_counts ().waits_in_release, 0);
      if (!known)
        give_up (first, &hangs);
      end (first);
    }
}

/* Memory of the user's that is pinned, and new memory. */
static void
pinned_memory (void)
{
  HassDeviceFarm hangs;
  fake_machine_begin (&(FakePlan){ .n_devices = 1 });
  CU_ASSERT_EQUAL (hass_gpus_count (), 1);
  gpointer before = hass_memory_alloc (100, NULL),
           early = hass_memory_alloc (5000, NULL);
  HassDevice *first = open_for (&hangs, PATIENT_NS);
  begin_to_hang (first);
  hass_memory_free (early); /* which is not known to hang yet */
  CU_ASSERT_TRUE (fake_hanging ());
  gpointer again = hass_memory_alloc (5000, NULL);
  CU_ASSERT_PTR_EQUAL (again, early);
  hass_memory_free (again);
  give_up (first, &hangs);
  guint pinned = fake_cudart_counts ().calls[FAKE_ALLOCATE_HOST];
  gpointer after = hass_memory_alloc (100, NULL);
  CU_ASSERT_PTR_NOT_NULL (after);
  CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_ALLOCATE_HOST], pinned);
  hass_memory_free (before);
  hass_memory_free (after);
  CU_ASSERT_TRUE (fake_hanging ());
  CU_ASSERT_EQUAL (fake_cudart_counts ().waits_in_release, 0);
  end (first);
}

/* A farm that may wait without end for its own bundle does not wait for a GPU
   that another farm knows to hang. */
static void
waiting (void)
{
  HassDeviceFarm hangs, undated;
  HassBlock b = block (3);
  fake_machine_begin (&(FakePlan){ .n_devices = 1 });
  HassDevice *first = open_for (&hangs, PATIENT_NS);
  HassDevice *second = open_for (&undated, 0);
  begin_to_hang (first);
  give_up (first, &hangs);
  CU_ASSERT_FALSE (submit (second, 0, &b));
  close_and_free (second);
  CU_ASSERT_TRUE (fake_hanging ());
  end (first);
}

/* Memory that is given back while bundles run is spare, then it is freed. */
static void
spare (void)
{
  HassDeviceFarm one, other;
  fake_machine_begin (&(FakePlan){ .n_devices = 1 });
  HassDevice *first = open_for (&one, 0);
  HassDevice *second = open_for (&other, 0);
  gsize all = fake_cudart_counts ().live_bytes[0];
  begin_to_hang (first);
  gsize busy = fake_cudart_counts ().live_bytes[0];
  close_and_free (second);
  CU_ASSERT_EQUAL (fake_cudart_counts ().live_bytes[0], busy);
  second = open_for (&other, 0); /* gets the other's */
  CU_ASSERT_EQUAL (fake_cudart_counts ().live_bytes[0], busy);
  close_and_free (second);
  fake_end_hang ();
  CU_ASSERT_TRUE (next_leaves (first, NULL));
  CU_ASSERT_TRUE (fake_cudart_counts ().live_bytes[0] < busy);
  CU_ASSERT_TRUE (all > 0);
  end (first);
}

/* Constants that could not be waited for are on their way: their memory is
   nobody's before they have arrived, and freeing it waits for nothing. */
static void
failed_constants (void)
{
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = worker,
                          .constants = constants,
                          .n_constants = 1 };
  fake_machine_begin (&(FakePlan){ .n_devices = 1 });
  HassDevice *first = open_for (&farm, 0);
  close_and_free (first);
  fake_cudart_plan (
      &(FakePlan){ .copy_delay_us = 50000, .fail_at[FAKE_EVENT_RECORD] = 1 });
  HassDevice *second = hass_cuda_device_new (0);
  CU_ASSERT_FALSE (second->ops->open (second, &farm, NULL));
  CU_ASSERT_EQUAL (fake_cudart_counts ().waits_in_release, 0);
  hass_cuda_device_free (second);
  fake_machine_end ();
}

HASS_TEST_SUITE (
    shared_gpu,
    { "closing does not wait for another farm's hung kernel", closing },
    { "pinned memory is given back and asked for beside a hung kernel",
      pinned_memory },
    { "nothing blocks on a GPU that is known to hang", waiting },
    { "what is given back while bundles run is freed afterwards", spare },
    { "constants that fail on their way are waited for", failed_constants })
