/* SPDX-License-Identifier: MIT */
/* test_gpu_chain.c: bundles that pass several stages on a real GPU; skipped
   where there is no GPU.
   Thread safety: one test at a time. */
#include "hass_test.h"

#include <stdio.h>
#include <string.h>

#include "device/chain.h"
#include "device/cuda/gpus-private.h"
#include "gpu_trial.h"
#include "kernels.h"

#define LOADS 300
#define MOST_BYTES 20000
#define WAIT_NS G_GINT64_CONSTANT (100000000)

/* Each byte plus 7, twice; then the sum of the bytes. */
static guint64
compute (const guint8 *in, gsize n)
{
  guint64 sum = 0;
  for (gsize k = 0; k < n; k++)
    sum += (guint8)(in[k] + 14);
  return sum;
}

/* Gives @blocks [@n] to the device and waits until they are done. */
static gboolean
pass (HassDevice *device, const HassBlock *blocks, gsize n,
      HassBundleDone *done)
{
  g_autoptr (GError) error = NULL;
  gboolean left = FALSE;
  gboolean ok = device->ops->submit (device, 0, blocks, n, &error);
  while (ok && !left && !error)
    left = device->ops->wait (device, WAIT_NS, done, &error);
  if (error)
    fprintf (stderr, "\n    %s", error->message);
  return ok && left && !done->failed;
}

/* The tokens of one bundle, in memory that is pinned or not. */
static void
check_bundle (HassDevice *device, gsize n, gboolean pinned)
{
  HassBlock blocks[LOADS];
  guint8 *bytes = random_bytes (n * MOST_BYTES, pinned);
  guint64 *sums = pinned ? hass_memory_alloc (n * sizeof *sums, NULL)
                         : g_new (guint64, n);
  HassBundleDone done = { 0 };
  memset (sums, 0xff, n * sizeof *sums);
  for (gsize i = 0; i < n; i++)
    blocks[i] = (HassBlock){ .seq = i,
                             .count = 1,
                             .input = bytes + i * MOST_BYTES,
                             .input_bytes = MOST_BYTES - i * 61,
                             .output = (guint8 *)&sums[i],
                             .output_bytes = sizeof *sums,
                             .fused = 2 };
  CU_ASSERT_TRUE (pass (device, blocks, n, &done));
  CU_ASSERT_TRUE (done.kernel_ns > 0);
  guint wrong = 0;
  for (gsize i = 0; i < n; i++)
    wrong += sums[i] != compute (blocks[i].input, blocks[i].input_bytes);
  CU_ASSERT_EQUAL (wrong, 0);
  pinned ? hass_memory_free (bytes) : g_free (bytes);
  pinned ? hass_memory_free (sums) : g_free (sums);
}

static void
chains (void)
{
  static const guint8 seven = 7;
  HassConstant constant = { &seven, 1 };
  if (gpu_absent ())
    return;
  const HassDeviceStage stages[]
      = { { .name = "add", .worker = kernel_add, .output_ratio = 1 },
          { .name = "again", .worker = kernel_add, .output_ratio = 1 },
          { .name = "sum", .worker = kernel_sum, .output_bytes = 8 } };
  HassDeviceFarm farm
      = { .name = "chain", .constants = &constant, .n_constants = 1 };
  hass_device_farm_stages (&farm, stages, G_N_ELEMENTS (stages));
  HassDevice *device = hass_cuda_device_new (0);
  CU_ASSERT_PTR_NOT_NULL_FATAL (device);
  CU_ASSERT_TRUE_FATAL (device->ops->open (device, &farm, NULL));
  for (guint pinned = 0; pinned < 2; pinned++)
    {
      check_bundle (device, 1, pinned);
      check_bundle (device, 2, pinned);
      check_bundle (device, LOADS, pinned);
    }
  device->ops->close (device);
  hass_cuda_device_free (device);
}

HASS_TEST_SUITE (gpu_chain,
                 { "stages follow one another on the device", chains })
