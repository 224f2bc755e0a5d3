/* SPDX-License-Identifier: MIT */
/* test_cuda_faults.c: a GPU as a device whose calls, kernels or worker fail,
   over the stand-in for the CUDA runtime. Thread safety: one thread, beside the
   stand-in's own. */
#include <stdatomic.h>
#include <string.h>

#include "cuda_rig.h"
#include "hass_test.h"

/* A farm's deadline until its kernel certainly hangs, and then. */
#define PATIENT_NS (600 * G_GINT64_CONSTANT (1000000000))
#define DEADLINE_NS 50000000
#define HANG_MS 600000 /* then the stand-in goes on, so that a test ends */

static guint unseen_at; /* this call of the worker */

static gboolean
careless (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  (void)error;
  fake_launch (stream, rig_shift_kernel, bundle, data);
  return TRUE;
}

static gboolean
refusing (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  rig_shift (bundle, stream, data, error);
  if (--unseen_at > 0)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "I do not want to");
  return FALSE;
}

/* A worker that fails, or does not notice that its launch has failed. */
static void
failing_worker (void)
{
  for (guint i = 0; i < 2; i++)
    {
      Rig r;
      guint8 in[] = "abc", out[3] = { 0 };
      HassBlock b = rig_block (in, out, 3);
      FakePlan plan = { .fail_at[FAKE_LAUNCH] = i == 0 ? 2 : 0 };
      HassDeviceFarm farm
          = { .name = "farm", .gpu_worker = i == 0 ? careless : refusing };
      g_autoptr (GError) error = NULL;
      unseen_at = 2;
      rig_init (&r, &plan, &farm);
      rig_run (&r, &b, 1);
      memset (out, 0, 3);
      CU_ASSERT_FALSE (r.device->ops->submit (r.device, 0, &b, 1, &error));
      CU_ASSERT_TRUE (error
                      && strstr (error->message,
                                 i == 0 ? "too many resources" : "not want"));
      CU_ASSERT_EQUAL (out[0], 0);
      unseen_at = 9;
      rig_run (&r, &b, 1);
      CU_ASSERT_TRUE (rig_is_shifted (out, in, 3));
      rig_clear (&r);
    }
}

static void
sticky (void)
{
  Rig r;
  guint8 in[] = "abc", out[3] = { 0 };
  HassBlock b = rig_block (in, out, 3);
  g_autoptr (GError) error = NULL;
  rig_init (&r, &(FakePlan){ .n_devices = 2, .sticky_at_kernel = 2 },
            &rig_shifts);
  rig_run (&r, &b, 1);
  CU_ASSERT_EQUAL (hass_gpus_count (), 2);
  /* The assert may come while the bundle is still being enqueued. */
  if (r.device->ops->submit (r.device, 0, &b, 1, &error))
    {
      HassBundleDone done = rig_wait_any (&r, &error);
      CU_ASSERT_TRUE (done.failed && done.lost);
    }
  CU_ASSERT_TRUE (error && strstr (error->message, "assert"));
  CU_ASSERT_FALSE (r.device->ops->submit (r.device, 1, &b, 1, NULL));
  CU_ASSERT_EQUAL (hass_gpus_count (), 0);
  CU_ASSERT_TRUE (hass_gpus_problem ()
                  && strstr (hass_gpus_problem (), "assert"));
  rig_clear (&r);
}

static void
wait_for_hang (void)
{
  while (!fake_hanging ())
    g_usleep (100);
}

/* A hung bundle is given up, and nothing waits for it, closing neither. */
static void
deadline (void)
{
  Rig r;
  guint8 in[] = "abc";
  HassBundleDone done = { 0 };
  g_autoptr (GError) error = NULL, refused = NULL;
  HassDeviceFarm farm = rig_shifts;
  farm.bundle_deadline_ns = PATIENT_NS;
  rig_init (
      &r,
      &(FakePlan){ .n_devices = 2, .hang_kernel_at = 2, .hang_ms = HANG_MS },
      &farm);
  guint8 *out = hass_memory_alloc (3, NULL);
  HassBlock b = rig_block (in, out, 3);
  rig_run (&r, &b, 1);
  memset (out, 0, 3);
  rig_submit (&r, 0, &b, 1);
  wait_for_hang ();
  r.farm.bundle_deadline_ns = DEADLINE_NS;
  done = rig_wait_any (&r, &error);
  CU_ASSERT_TRUE (done.failed && done.lost);
  CU_ASSERT_TRUE (error && strstr (error->message, "longer than 50 ms"));
  r.device->ops->close (r.device);
  CU_ASSERT_TRUE (fake_hanging ());
  HassDevice *second = hass_cuda_device_new (0);
  CU_ASSERT_FALSE (second->ops->open (second, &farm, &refused));
  CU_ASSERT_TRUE (refused && strstr (refused->message, "not come back"));
  hass_cuda_device_free (second);
  second = hass_cuda_device_new (1);
  CU_ASSERT_TRUE (second->ops->open (second, &farm, NULL));
  HassDevice *first = r.device;
  r.device = second;
  rig_run (&r, &b, 1);
  CU_ASSERT_TRUE (rig_is_shifted (out, in, 3));
  CU_ASSERT_TRUE (fake_hanging ());
  hass_cuda_device_free (first);
  /* What comes back late is not written to the caller's memory. */
  memset (out, 77, 3);
  fake_end_hang ();
  while (fake_cudart_counts ().kernels < 3
         || fake_cudart_counts ().bytes_to_host < 9)
    g_usleep (1000);
  CU_ASSERT_EQUAL (out[0], 77);
  hass_memory_free (out);
  rig_clear (&r);
}

/* Growing a buffer frees one, which would wait for the device: later, beside a
   bundle that may be hung. */
static void
growth_beside_a_hang (void)
{
  enum
  {
    BYTES = 300000
  };
  Rig r;
  guint8 *in = g_malloc (BYTES), *out = g_malloc (BYTES);
  HassBlock small = rig_block (in, out, 3), large = rig_block (in, out, BYTES);
  HassBundleDone done = { 0 };
  g_autoptr (GError) error = NULL;
  HassDeviceFarm farm = rig_shifts;
  farm.bundle_deadline_ns = PATIENT_NS;
  rig_init (&r, &(FakePlan){ .hang_kernel_at = 2, .hang_ms = HANG_MS }, &farm);
  rig_submit (&r, 1, &small, 1);
  rig_wait_done (&r);
  rig_submit (&r, 0, &small, 1);
  wait_for_hang ();
  rig_submit (&r, 1, &large, 1);
  done = rig_wait_done (&r);
  CU_ASSERT_EQUAL (done.slot, 1);
  CU_ASSERT_TRUE (fake_hanging ());
  r.farm.bundle_deadline_ns = DEADLINE_NS;
  done = rig_wait_any (&r, &error);
  CU_ASSERT_TRUE (done.failed && done.lost);
  fake_end_hang ();
  rig_clear (&r);
  g_free (in);
  g_free (out);
}

/* An error of waiting that is not sticky: the bundles there have failed, the
   device has not. No kernel ends before the error. */
static void
failed_wait (void)
{
  for (guint i = 0; i < 2; i++)
    {
      Rig r;
      guint8 in[] = "abc", out[3] = { 0 };
      HassBlock b = rig_block (in, out, 3);
      FakePlan plan = { 0 };
      HassBundleDone done = { 0 };
      g_autoptr (GError) error = NULL;
      rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
      if (i == 0)
        plan.fail_at[plan.hold_kernels_until = FAKE_EVENT_QUERY] = 1;
      else
        plan.fail_copy_at = 1;
      fake_cudart_plan (&plan);
      guint n = i == 0 ? 3 : 1;
      for (guint k = 0; k < n; k++)
        rig_submit (&r, k, &b, 1);
      for (guint k = 0; k < n; k++)
        {
          done = rig_wait_any (&r, &error);
          CU_ASSERT_TRUE (done.failed && !done.lost);
          CU_ASSERT_EQUAL (done.together, k > 0);
          CU_ASSERT_TRUE (
              k > 0 || (error && strstr (error->message, "not supported")));
        }
      rig_run (&r, &b, 1);
      CU_ASSERT_TRUE (rig_is_shifted (out, in, 3));
      rig_clear (&r);
    }
}

/* -- Time that does not count ------------------------------------------- */

/* So many bundles may end, in the order of the first bytes of their inputs. */
static _Atomic guint n_may_end;

static void
slow_kernel (const HassBundle *b, gpointer data)
{
  while (atomic_load (&n_may_end) <= fake_input (b, 0)[0])
    g_usleep (100);
  rig_shift_kernel (b, data);
}

/* @data: the rig. Preparing a bundle of two blocks takes longer than the
   deadline. */
static gboolean
slow_worker (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
             GError **error)
{
  Rig *r = data;
  if (bundle->n_blocks == 2)
    rig_let_pass (r, 2 * r->farm.bundle_deadline_ns);
  fake_launch (stream, slow_kernel, bundle, data);
  return fake_check ("a slow kernel", error);
}

/* Looks for a bundle that cannot be done: the GPU is not given up. */
static void
look_in_vain (Rig *r)
{
  HassBundleDone done;
  GError *error = NULL;
  CU_ASSERT_FALSE (r->device->ops->wait (r->device, 1000000, &done, &error));
  CU_ASSERT_PTR_NULL (error);
  if (error)
    g_printerr ("\n    %s", error->message);
  g_clear_error (&error);
}

/* What is done before a bundle is submitted does not count, nor what the
   bundles before it take. */
static void
sound_but_slow (void)
{
  enum
  {
    BUNDLES = 4
  };
  guint8 in[BUNDLES], out[BUNDLES] = { 0 };
  HassBlock blocks[BUNDLES];
  Rig r;
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = slow_worker,
                          .user_data = &r,
                          .bundle_deadline_ns = PATIENT_NS };
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  atomic_store (&n_may_end, 0);
  for (guint i = 0; i < BUNDLES; i++)
    {
      in[i] = (guint8)i;
      blocks[i] = rig_block (&in[i], &out[i], 1);
      rig_submit (&r, i, &blocks[i], 1);
    }
  for (guint i = 0; i < BUNDLES; i++)
    {
      rig_let_pass (&r, PATIENT_NS / 10 * 6);
      look_in_vain (&r);
      atomic_store (&n_may_end, i + 1);
      rig_wait_done (&r);
    }
  atomic_store (&n_may_end, 0);
  if (rig_submit (&r, 0, blocks, 2))
    look_in_vain (&r);
  atomic_store (&n_may_end, BUNDLES);
  rig_wait_done (&r);
  CU_ASSERT_TRUE (rig_is_shifted (out, in, BUNDLES));
  rig_clear (&r);
}

HASS_TEST_SUITE (
    cuda_faults,
    { "a worker that fails leaves nothing behind", failing_worker },
    { "a device assert loses all GPUs", sticky },
    { "a bundle past its deadline is given up", deadline },
    { "bundles that are slow together keep theirs", sound_but_slow },
    { "a buffer grows beside a bundle that hangs, and waits for nothing",
      growth_beside_a_hang },
    { "when waiting fails the bundles there have failed", failed_wait })
