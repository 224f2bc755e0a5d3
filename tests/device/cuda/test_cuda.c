/* SPDX-License-Identifier: MIT */
/* test_cuda.c: GPUs as devices, over the stand-in for the CUDA runtime: which
   there are, what they keep, and how much memory they use.
   Thread safety: one thread, beside the stand-in's own. */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "cuda_rig.h"
#include "device/memory_limit.h"
#include "hass_test.h"

/* -- What there is ------------------------------------------------------ */

static void
described (void)
{
  Rig r;
  HassDeviceTraits traits;
  rig_init (
      &r,
      &(FakePlan){ .multiprocessors = 7, .threads = 11, .memory_bytes = 12345 },
      &rig_shifts);
  r.device->ops->describe (r.device, &traits);
  CU_ASSERT_STRING_EQUAL (traits.name, "gpu0");
  CU_ASSERT_STRING_EQUAL (traits.model, "Fake GPU 0");
  CU_ASSERT_EQUAL (traits.kind, HASS_DEVICE_GPU);
  CU_ASSERT_EQUAL (traits.cores, 7);
  CU_ASSERT_EQUAL (traits.width, 77);
  CU_ASSERT_EQUAL (traits.memory_bytes, 12345);
  rig_clear (&r);
}

/* Of compute capability so and so. */
static double
link_of (guint compute_major)
{
  Rig r;
  HassDeviceTraits traits;
  rig_init (&r, &(FakePlan){ .compute_major = compute_major }, &rig_shifts);
  r.device->ops->describe (r.device, &traits);
  rig_clear (&r);
  return traits.link_bytes_per_ns;
}

static void
links_by_generation (void)
{
  static const double want[] = { 25, 12, 12, 12, 12, 12, 12, 12, 25, 50, 50 };
  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    CU_ASSERT_EQUAL (link_of (i), want[i]);
}

static void
counted (void)
{
  hass_gpus_forget ();
  fake_cudart_install (&(FakePlan){ .n_devices = 3 });
  g_setenv ("HASS_NGPU", "0", TRUE);
  CU_ASSERT_EQUAL (hass_gpus_count (), 0);
  CU_ASSERT_EQUAL (fake_cudart_counts ().n_calls, 0);
  g_setenv ("HASS_NGPU", "2", TRUE);
  CU_ASSERT_EQUAL (hass_gpus_count (), 2);
  g_setenv ("HASS_NGPU", "9", TRUE);
  CU_ASSERT_EQUAL (hass_gpus_count (), 3);
  g_unsetenv ("HASS_NGPU");
  CU_ASSERT_EQUAL (hass_gpus_count (), 3);
  CU_ASSERT_PTR_NULL (hass_gpus_problem ());
  hass_gpus_forget ();
  CU_ASSERT_STRING_EQUAL (fake_cudart_remove ().wrong, "");
}

static void
absent (void)
{
  static const struct
  {
    int code;
    const char *text;
  } ways[] = { { FAKE_NO_DRIVER, "driver version is insufficient" },
               { FAKE_NO_DEVICE, "no CUDA-capable device" } };
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      hass_gpus_forget ();
      fake_cudart_install (&(FakePlan){ .device_count_code = ways[i].code });
      CU_ASSERT_EQUAL (hass_gpus_count (), 0);
      const char *why = hass_gpus_problem ();
      CU_ASSERT_TRUE (why && strstr (why, ways[i].text));
      gpointer memory = hass_memory_alloc (10, NULL);
      CU_ASSERT_PTR_NOT_NULL (memory);
      hass_memory_free (memory);
      hass_gpus_forget ();
      CU_ASSERT_STRING_EQUAL (fake_cudart_remove ().wrong, "");
    }
}

/* -- Memory ------------------------------------------------------------- */

static void
budget (void)
{
  Rig r;
  enum
  {
    BYTES = 300000
  };
  guint8 *in = g_malloc (BYTES), *out = g_malloc (BYTES);
  HassBlock large = rig_block (in, out, BYTES),
            small = rig_block (in, out, 100000);
  HassDeviceTraits traits;
  g_autoptr (GError) error = NULL;
  rig_fill (in, BYTES, 1);
  g_setenv ("HASS_GPU_MEM", "500K", TRUE);
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  r.device->ops->describe (r.device, &traits);
  CU_ASSERT_EQUAL (traits.memory_bytes, 500 << 10);
  CU_ASSERT_FALSE (r.device->ops->submit (r.device, 0, &large, 1, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY));
  CU_ASSERT_TRUE (error && strstr (error->message, "gpu0"));
  /* What does not fit beside another does when that has left. */
  CU_ASSERT_TRUE (rig_submit (&r, 0, &small, 1));
  rig_wait_done (&r);
  CU_ASSERT_TRUE (rig_is_shifted (out, in, 100000));
  g_unsetenv ("HASS_GPU_MEM");
  rig_clear (&r);
  CU_ASSERT_TRUE (r.counts.most_bytes[0] <= 500 << 10);
  CU_ASSERT_TRUE (r.transfers.peak_bytes <= 500 << 10);
  CU_ASSERT_TRUE (r.transfers.peak_bytes >= 200000);
  g_free (in);
  g_free (out);
}

/* What other slots held before is not in the way of a large bundle. */
static void
idle_slots_give (void)
{
  Rig r;
  enum
  {
    BYTES = 400000
  };
  guint8 *in = g_malloc (BYTES), *out = g_malloc (BYTES);
  HassBlock large = rig_block (in, out, BYTES),
            small = rig_block (in, out, 100000);
  rig_fill (in, BYTES, 1);
  g_setenv ("HASS_GPU_MEM", "1M", TRUE);
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  for (guint slot = 0; slot < 3; slot++)
    {
      CU_ASSERT_TRUE (rig_submit (&r, slot, &small, 1));
      rig_wait_done (&r);
    }
  CU_ASSERT_TRUE (rig_submit (&r, 3, &large, 1));
  rig_wait_done (&r);
  CU_ASSERT_TRUE (rig_is_shifted (out, in, BYTES));
  g_unsetenv ("HASS_GPU_MEM");
  rig_clear (&r);
  CU_ASSERT_TRUE (r.counts.most_bytes[0] <= 1 << 20);
  g_free (in);
  g_free (out);
}

static void
bad_limits (void)
{
  static const char *const bad[]
      = { "x", "-1", "0", "1X", "1GG", "1e9", " 5", "99999999999T" };
  static const struct
  {
    const char *text;
    guint64 bytes;
  } good[] = { { "1", 1 },
               { "3k", 3 << 10 },
               { "2M", 2 << 20 },
               { "5G", G_GUINT64_CONSTANT (5) << 30 },
               { "1T", G_GUINT64_CONSTANT (1) << 40 },
               { "", G_MAXUINT64 } };
  guint64 bytes;
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_setenv ("HASS_GPU_MEM", bad[i], TRUE);
      CU_ASSERT_FALSE (hass_gpu_memory_limit (&bytes, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      if (!error)
        printf ("\n    %s", bad[i]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_setenv ("HASS_GPU_MEM", good[i].text, TRUE);
      CU_ASSERT_TRUE (hass_gpu_memory_limit (&bytes, NULL));
      CU_ASSERT_EQUAL (bytes, good[i].bytes);
    }
  g_unsetenv ("HASS_GPU_MEM");
}

/* -- Several at once ---------------------------------------------------- */

static sem_t gate;

static void
gate_kernel (const HassBundle *b, gpointer data)
{
  if (b->input[0] == 200)
    sem_wait (&gate);
  rig_shift_kernel (b, data);
}

static gboolean
gated (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
       GError **error)
{
  fake_launch (stream, gate_kernel, bundle, data);
  return fake_check ("gated", error);
}

static void
overlapped (void)
{
  Rig r;
  guint8 in[] = { 200, 1, 2, 3 }, out[4] = { 0 };
  HassBlock b[4];
  HassDeviceTraits traits;
  /* With a deadline a device looks at all bundles again and again. */
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = gated,
                          .bundle_deadline_ns = 600 * (gint64)1000000000 };
  sem_init (&gate, 0, 0);
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  r.device->ops->describe (r.device, &traits);
  CU_ASSERT_TRUE_FATAL (traits.max_in_flight >= 3);
  for (guint i = 0; i < 3; i++)
    {
      b[i] = rig_block (&in[i], &out[i], 1);
      rig_submit (&r, i, &b[i], 1);
    }
  /* The first stands still, the others come past it, in either order: each is
     on a stream of its own. */
  guint past = rig_wait_done (&r).slot;
  CU_ASSERT_TRUE (past == 1 || past == 2);
  CU_ASSERT_EQUAL (rig_wait_done (&r).slot, 3 - past);
  CU_ASSERT_EQUAL (out[0], 0);
  CU_ASSERT_EQUAL (out[1], 2);
  CU_ASSERT_EQUAL (out[2], 3);
  sem_post (&gate);
  CU_ASSERT_EQUAL (rig_wait_done (&r).slot, 0);
  CU_ASSERT_EQUAL (out[0], 201);
  rig_clear (&r);
  sem_destroy (&gate);
}

/* Streams, events and buffers are made once, not for each farm. */
static void
kept (void)
{
  Rig r;
  guint8 in[5000], out[5000];
  rig_fill (in, sizeof in, 0);
  HassBlock b = rig_block (in, out, sizeof in);
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  rig_run (&r, &b, 1);
  r.device->ops->close (r.device);
  FakeCounts before = fake_cudart_counts ();
  HassDevice *again = hass_cuda_device_new (0);
  CU_ASSERT_TRUE (again->ops->open (again, &r.farm, NULL));
  HassDevice *first = r.device;
  r.device = again;
  rig_run (&r, &b, 1);
  FakeCounts after = fake_cudart_counts ();
  CU_ASSERT_EQUAL (before.calls[FAKE_STREAM_NEW], after.calls[FAKE_STREAM_NEW]);
  CU_ASSERT_EQUAL (before.calls[FAKE_EVENT_NEW], after.calls[FAKE_EVENT_NEW]);
  hass_cuda_device_free (first);
  rig_clear (&r);
}

/* -- Waiting ------------------------------------------------------------ */

/* For a bundle of 20 ms the thread spins for 20 us at the begin and 40 around
   the expected end, some hundred looks, and sleeps for the rest. A wait that
   spins looks 10000 to 200000 times. */
static void
looks_are_few (void)
{
  Rig r;
  guint8 in[8] = { 0 }, out[8];
  HassBlock b = rig_block (in, out, sizeof in);
  rig_init (&r, &(FakePlan){ .kernel_delay_us = 20000 }, &rig_shifts);
  for (guint i = 0; i < 3; i++)
    {
      guint looks = fake_cudart_counts ().calls[FAKE_EVENT_QUERY];
      gint64 begin_us = g_get_monotonic_time ();
      rig_run (&r, &b, 1);
      gint64 us = g_get_monotonic_time () - begin_us;
      looks = fake_cudart_counts ().calls[FAKE_EVENT_QUERY] - looks;
      CU_ASSERT_TRUE (us >= 20000 && looks > 0 && looks < 3000);
    }
  rig_clear (&r);
}

HASS_TEST_SUITE (cuda, { "a bundle overtakes one that takes long", overlapped },
                 { "what is costly to make is kept", kept },
                 { "a bundle is looked for with pauses", looks_are_few },
                 { "a GPU is described", described },
                 { "the rate of a GPU's link is guessed by its generation",
                   links_by_generation },
                 { "HASS_NGPU limits the GPUs", counted },
                 { "without a driver there are no GPUs, and the reason is said",
                   absent },
                 { "no more memory is held than HASS_GPU_MEM", budget },
                 { "idle slots give their memory to a bundle that needs it",
                   idle_slots_give },
                 { "HASS_GPU_MEM is checked", bad_limits })
