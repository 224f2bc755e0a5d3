/* SPDX-License-Identifier: MIT */
/* test_lost_reason.c: the report of a GPU that is lost says why, also where the
   device gave no reason or ran out of memory just then.
   Thread safety: one thread, beside the engine's and the stand-ins'. */
#include <stdio.h>
#include <string.h>

#include "tests/engine/counting.h"
#include "device/fake_cudart.h"
#include "device/fake_machine.h"
#include "device/cuda/gpus-private.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N_LOADS 20

/* Of devices that fail without a word: at once, three times in a row, and so
   that even waiting fails. */
static void
silent_devices (void)
{
  static const StandInPlan plans[] = { { .lose_at = 1 },
                                       { .fail_bundle_every = 1 },
                                       { .fail_submit_every = 1 },
                                       { .wait_error_at = 1 },
                                       { .fail_open = TRUE } };
  for (guint i = 0; i < G_N_ELEMENTS (plans); i++)
    {
      Trial t = { .kind = HASS_FARM_COMBINE,
                  .strategy = "gpu-only",
                  .n_loads = N_LOADS,
                  .most_elements = 4,
                  .gpu_only = TRUE,
                  .may_fail_device = TRUE,
                  .devices = { stand_in_new (&plans[i]) },
                  .n_devices = 1 };
      g_autoptr (HassReport) r = NULL;
      g_autofree char *wrong = trial_run (&t, &r);
      CU_ASSERT_PTR_NULL (wrong);
      CU_ASSERT_TRUE (r && r->devices[0].lost);
      CU_ASSERT_TRUE (r && r->devices[0].message && *r->devices[0].message);
      stand_in_free (t.devices[0]);
    }
}

/* There is no memory for a bundle, and the stream that was used for it cannot
   be waited for: the GPU is lost to the farm. */
static void
no_memory (void)
{
  static guint8 bytes[N_LOADS][300000];
  HassLoad loads[N_LOADS];
  HassDataFarm f = HASS_DATA_FARM_INIT;
  g_autoptr (HassReport) r = NULL;
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < N_LOADS; i++)
    loads[i]
        = (HassLoad){ .input = bytes[i], .input_bytes = 300000, .size = 1 };
  fake_machine_begin (&(FakePlan){ .fail_above_bytes = 256 << 10,
                                   .fail_every = { [FAKE_STREAM_QUERY] = 1 } });
  f.loads = loads;
  f.n_loads = N_LOADS;
  f.gpu_worker = counting_gpu_worker;
  f.run.platform = "";
  watchdog (60, "no memory");
  CU_ASSERT_FALSE (hass_data_farm_combine (&f, &r, &error));
  watchdog (0, NULL);
  for (guint d = 0; r && d < r->n_devices; d++)
    if (r->devices[d].lost || r->devices[d].failures > 0)
      CU_ASSERT_PTR_NOT_NULL (r->devices[d].message);
  CU_ASSERT_TRUE (error && strstr (error->message, "gpu0"));
  fake_machine_end ();
}

/* Alone with the device: what failed for want of memory is no such failure
   where the device does not come back. */
static void
no_memory_and_no_way_back (void)
{
  static const HassLoad load;
  static guint8 bytes[300000];
  HassBlock b = {
    .load = &load, .count = 1, .input = bytes, .input_bytes = sizeof bytes
  };
  HassDeviceFarm farm = { .name = "farm", .gpu_worker = counting_gpu_worker };
  g_autoptr (GError) error = NULL, later = NULL;
  HassBundleDone done = { 0 };
  fake_machine_begin (&(FakePlan){ 0 });
  CU_ASSERT_EQUAL (hass_gpus_count (), 1);
  HassDevice *device = hass_cuda_device_new (0);
  CU_ASSERT_TRUE (device->ops->open (device, &farm, NULL));
  HassBlock small = b;
  small.input_bytes = 3;
  CU_ASSERT_TRUE (device->ops->submit (device, 0, &small, 1, NULL));
  while (!device->ops->wait (device, 10000000, &done, NULL))
    ;
  CU_ASSERT_TRUE (device->ops->submit (device, 1, &small, 1, NULL));
  fake_cudart_plan (&(FakePlan){
      .fail_every = { [FAKE_ALLOCATE] = 1, [FAKE_STREAM_QUERY] = 1 } });
  CU_ASSERT_FALSE (device->ops->submit (device, 0, &b, 1, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
  CU_ASSERT_TRUE (error && strstr (error->message, "memory"));
  CU_ASSERT_TRUE (device->ops->wait (device, 10000000, &done, &later));
  CU_ASSERT_TRUE (done.lost && later && strstr (later->message, "lost"));
  device->ops->close (device);
  hass_cuda_device_free (device);
  fake_machine_end ();
}

/* -- What it failed on --------------------------------------------------- */

static guint n_bundles;
static guint64 first_of_fatal;

static void
no_kernel (const HassBundle *bundle, gpointer user_data)
{
  (void)bundle, (void)user_data;
}

/* Notes the first load of the third bundle, by which the device is lost. */
static gboolean
note_bundle (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
             GError **error)
{
  (void)data, (void)error;
  if (++n_bundles == 3)
    first_of_fatal = bundle->blocks[0].seq;
  stand_in_launch (stream, no_kernel, bundle, NULL);
  return TRUE;
}

static void
first_failure (void)
{
  static guint8 bytes[N_LOADS];
  HassDevice *device = stand_in_new (
      &(StandInPlan){ .depth = 1, .memory_bytes = 4, .lose_at = 3 });
  HassLoad loads[N_LOADS];
  HassDataFarm f = HASS_DATA_FARM_INIT;
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < N_LOADS; i++)
    loads[i] = (HassLoad){ .input = &bytes[i], .input_bytes = 1, .size = 1 };
  n_bundles = 0;
  f.loads = loads;
  f.n_loads = N_LOADS;
  f.gpu_worker = note_bundle;
  f.run.platform = "";
  f.run.devices = &device;
  f.run.n_devices = 1;
  watchdog (60, "a device that is lost");
  CU_ASSERT_FALSE (hass_data_farm_indivisible (&f, NULL, &error));
  watchdog (0, NULL);
  g_autofree char *wanted = g_strdup_printf (
      "gpu0 is lost, it failed first in the bundle of load %" G_GUINT64_FORMAT
      ": ",
      first_of_fatal);
  CU_ASSERT_TRUE (n_bundles >= 3 && first_of_fatal > 0);
  CU_ASSERT_TRUE (error && strstr (error->message, wanted));
  if (error && !strstr (error->message, wanted))
    printf ("\n    %s, not %s\n", error->message, wanted);
  stand_in_free (device);
}

HASS_TEST_SUITE (
    lost_reason,
    { "devices that fail silently are reported with a reason", silent_devices },
    { "a GPU that is short of memory is reported with a reason", no_memory },
    { "short of memory and lost is lost", no_memory_and_no_way_back },
    { "where no device is left, the error names the load of the first failure",
      first_failure })
