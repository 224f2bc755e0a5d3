/* SPDX-License-Identifier: MIT */
/* test_measure.c: what hass-info measures, on the stand-in for the CUDA
   runtime, and how it shows several GPUs.
   Thread safety: one thread, beside the stand-in's own. */
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>

#include "hass_test.h"
#include "tests/device/fake_machine.h"
#include "tools/hass-info/info.h"

#define MIB ((gsize)1 << 20)
#define DELAY_US 500

static const InfoEffort little = { .copy_bytes = MIB,
                                   .copies = 2,
                                   .rates = 3,
                                   .latencies = 5,
                                   .read_bytes = MIB,
                                   .read_ns = 100000 };

static HassGpu *
install (const FakePlan *plan)
{
  fake_machine_begin (plan);
  CU_ASSERT_TRUE_FATAL (hass_gpus_count () > 0);
  return hass_gpus_get (0);
}

static void
medians (void)
{
  double odd[] = { 5, 1, 3 }, even[] = { 4, 1, 2, 100 }, one[] = { 7 };
  CU_ASSERT_EQUAL (info_median (odd, 3), 3);
  CU_ASSERT_EQUAL (info_median (even, 4), 3);
  CU_ASSERT_EQUAL (info_median (one, 1), 7);
}

static int
launch_delay (gpointer stream)
{
  fake_launch_delay (stream, DELAY_US);
  return hass_cudart ()->last_error ();
}

/* What takes long is found to take at least as long. */
static void
times (void)
{
  HassGpu *gpu = install (&(FakePlan){ .copy_delay_us = 2 * DELAY_US });
  InfoSpeed s;
  GError *error = NULL;
  double most = (double)MIB / (2 * DELAY_US * 1e3);
  CU_ASSERT_TRUE (info_measure_gpu (gpu, launch_delay, &little, &s, &error));
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_TRUE (s.to_device_gbps > 0 && s.to_device_gbps <= most);
  CU_ASSERT_TRUE (s.to_host_gbps > 0 && s.to_host_gbps <= most);
  CU_ASSERT_TRUE (s.pageable_to_device_gbps > 0
                  && s.pageable_to_device_gbps <= most);
  CU_ASSERT_TRUE (s.copy_4k_us >= 2 * DELAY_US && s.copy_4k_us < 1e6);
  CU_ASSERT_TRUE (s.launch_is_kernel);
  CU_ASSERT_TRUE (s.launch_us >= DELAY_US && s.launch_us < 1e6);
  CU_ASSERT_TRUE (s.launch_asleep_us >= DELAY_US && s.launch_asleep_us < 1e6);
  CU_ASSERT_TRUE (s.register_ms_per_gib > 0 && s.unregister_ms_per_gib > 0);
  fake_machine_end ();
}

static void
without_kernel (void)
{
  HassGpu *gpu = install (&(FakePlan){ .copy_delay_us = DELAY_US });
  InfoSpeed s;
  CU_ASSERT_TRUE (info_measure_gpu (gpu, NULL, &little, &s, NULL));
  CU_ASSERT_FALSE (s.launch_is_kernel);
  CU_ASSERT_TRUE (s.launch_us >= DELAY_US);
  FakeCounts c = fake_machine_end ();
  CU_ASSERT_TRUE (c.calls[FAKE_CLEAR] >= 2 * little.latencies);
  CU_ASSERT_EQUAL (c.calls[FAKE_REGISTER], little.rates);
  CU_ASSERT_EQUAL (c.calls[FAKE_UNREGISTER], little.rates);
  CU_ASSERT_EQUAL (c.pageable_copies, little.rates + 1);
}

/* The second GPU is measured, not the first twice. */
static void
each_gpu (void)
{
  InfoSpeed s;
  install (&(FakePlan){ .n_devices = 2 });
  CU_ASSERT_TRUE (
      info_measure_gpu (hass_gpus_get (1), NULL, &little, &s, NULL));
  FakeCounts c = fake_machine_end ();
  CU_ASSERT_EQUAL (c.most_bytes[0], 0);
  CU_ASSERT_TRUE (c.most_bytes[1] >= MIB);
}

/* Whatever call fails: it is said, and nothing is left behind. */
static void
failures (void)
{
  static const FakeCall calls[]
      = { FAKE_SET_DEVICE, FAKE_ALLOCATE,      FAKE_ALLOCATE_HOST,
          FAKE_REGISTER,   FAKE_UNREGISTER,    FAKE_STREAM_NEW,
          FAKE_EVENT_NEW,  FAKE_EVENT_RECORD,  FAKE_EVENT_QUERY,
          FAKE_EVENT_WAIT, FAKE_EVENT_ELAPSED, FAKE_COPY,
          FAKE_CLEAR };
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    for (guint at = 1; at <= 2; at++)
      {
        FakePlan plan = { 0 };
        GError *error = NULL;
        InfoSpeed s;
        plan.fail_at[calls[i]] = at;
        HassGpu *gpu = install (&plan);
        gboolean ok = info_measure_gpu (gpu, NULL, &little, &s, &error);
        /* There is only one of each of these. */
        gboolean single
            = calls[i] == FAKE_SET_DEVICE || calls[i] == FAKE_ALLOCATE
              || calls[i] == FAKE_ALLOCATE_HOST || calls[i] == FAKE_STREAM_NEW;
        CU_ASSERT_EQUAL (ok, single && at == 2);
        CU_ASSERT_EQUAL (ok, error == NULL);
        if (error)
          CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "gpu0: "));
        if (ok != (single && at == 2))
          printf ("\n    %s", fake_call_name (calls[i]));
        g_clear_error (&error);
        fake_machine_end ();
      }
}

/* What was measured before is shown, and what failed is said. */
static void
half_measured (void)
{
  FakePlan plan = { 0 };
  plan.fail_at[FAKE_REGISTER] = 1;
  install (&plan);
  InfoMachine *m = info_look ();
  info_measure (m, NULL, &little);
  CU_ASSERT_EQUAL_FATAL (m->n_gpus, 1);
  CU_ASSERT_TRUE (m->gpus[0].speed.to_host_gbps > 0);
  CU_ASSERT_EQUAL (m->gpus[0].speed.register_ms_per_gib, 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL (m->gpus[0].problem);
  g_autofree char *text = info_machine_text (m);
  CU_ASSERT_PTR_NOT_NULL (
      strstr (text, "not all was measured: gpu0: register host memory: "));
  info_machine_free (m);
  fake_machine_end ();
}

/* -- Showing ------------------------------------------------------------ */

static void
line (const char *text, const char *wanted)
{
  gboolean there = strstr (text, wanted) != NULL;
  CU_ASSERT_TRUE (there);
  if (!there)
    printf ("\n    \"%s\" is not in\n%s", wanted, text);
}

static void
several (void)
{
  install (&(FakePlan){ .n_devices = 3, .memory_bytes = 256 * MIB });
  hass_gpus_get (0)->link = hass_gpus_get (2)->link = 1;
  hass_gpus_get (1)->link = 0;
  InfoMachine *m = info_look ();
  m->gpus[1].numa_node = 5;
  for (guint i = 0; i < 3; i++)
    {
      m->gpus[i].measured = TRUE;
      m->gpus[i].speed = (InfoSpeed){ .to_device_gbps = 55.44 + i,
                                      .launch_us = 8.06,
                                      .launch_is_kernel = TRUE };
    }
  g_autofree char *text = info_machine_text (m);
  line (text, "256.0 MiB  4                0000:01:00.0  -     1, with gpu2\n");
  line (text, "256.0 MiB  4                0000:02:00.0  5     own\n");
  line (text, "256.0 MiB  4                0000:03:00.0  -     1, with gpu0\n");
  line (text, "  measured                                  gpu0  gpu1  gpu2"
              "\n");
  line (text, "  copy pinned memory to the device, GB/s    55.4  56.4  57.4"
              "\n");
  line (text, "  empty kernel, us                           8.1   8.1   8.1"
              "\n");
  line (text, "  copy 4 KiB to the device, us                 -     -     -"
              "\n");
  g_autofree char *json = info_machine_json (m);
  g_autoptr (JsonParser) parser = json_parser_new ();
  CU_ASSERT_TRUE_FATAL (json_parser_load_from_data (parser, json, -1, NULL));
  JsonObject *all = json_node_get_object (json_parser_get_root (parser));
  JsonArray *gpus = json_object_get_array_member (all, "gpus");
  CU_ASSERT_EQUAL_FATAL (json_array_get_length (gpus), 3);
  JsonObject *gpu = json_array_get_object_element (gpus, 2);
  CU_ASSERT_EQUAL (json_object_get_int_member (gpu, "link"), 1);
  CU_ASSERT_TRUE (json_object_get_null_member (gpu, "numa_node"));
  CU_ASSERT_TRUE (json_object_get_null_member (gpu, "copy_4k_us"));
  CU_ASSERT_EQUAL (json_object_get_double_member (gpu, "launch_us"), 8.06);
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (gpu, "launched"),
                          "empty kernel");
  gpu = json_array_get_object_element (gpus, 1);
  CU_ASSERT_EQUAL (json_object_get_int_member (gpu, "numa_node"), 5);
  CU_ASSERT_EQUAL (json_object_get_int_member (gpu, "link"), 0);
  info_machine_free (m);
  fake_machine_end ();
}

/* -- Host memory -------------------------------------------------------- */

static void
reading (void)
{
  InfoEffort nothing = little;
  nothing.read_bytes = 8000;
  for (guint n = 1; n < 5; n++)
    {
      double gbps = info_measure_read (n, &little);
      CU_ASSERT_TRUE (gbps > 0.001 && gbps < 10000);
    }
  CU_ASSERT_EQUAL (info_measure_read (2, &nothing), 0);
}

HASS_TEST_SUITE (measure, { "a median is the middle", medians },
                 { "what takes long is measured so", times },
                 { "a machine without a kernel measures a clear instead",
                   without_kernel },
                 { "each GPU is measured itself", each_gpu },
                 { "whatever fails is said and leaves nothing", failures },
                 { "what could be measured is shown", half_measured },
                 { "several GPUs are shown side by side", several },
                 { "host memory is read by any number of threads", reading })
