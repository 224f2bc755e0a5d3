/* SPDX-License-Identifier: MIT */
/* test_dataflow_recorded_times.c: recorded graphs whose tasks take longer on
   devices than others: their report, and the order of their tasks.
   Thread safety: one thread beside those of the dataflows. */
#include "device_flow.h"

#define N_BLOCKS 3

static Block blocks[N_BLOCKS];

static void
sleep_long (const HassCall *call)
{
  (void)call;
  g_usleep (200);
}

static gboolean
sleep_on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
              GError **error)
{
  (void)error;
  for (guint i = 0; i < n_calls; i++)
    stand_in_data_launch (stream, sleep_long, &calls[i], 0);
  return TRUE;
}

static gboolean
build_sleeping (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet sleeping
      = HASS_CODELET (.name = "sleep", .gpu = sleep_on_gpu);
  HassData *d = block_data (graph, &blocks[0]);
  (void)user_data, (void)error;
  for (guint i = 0; i < 10; i++)
    submit_grow (graph, &sleeping, d);
  return TRUE;
}

static void
reported (void)
{
  DeviceFlow f = device_flow_begin ("reported", 1, blocks, 1);
  f.calls = 1;
  f.times = 3;
  CU_ASSERT_TRUE (device_flow_run (&f, build_sleeping, NULL, NULL));
  CU_ASSERT_PTR_NOT_NULL_FATAL (f.report);
  CU_ASSERT_TRUE (f.report->critical_path_s >= 3 * 10 * 200e-6);
  CU_ASSERT_EQUAL (f.report->loads, 3 * 10);
  g_clear_pointer (&f.report, hass_report_free);
}

/* The kernels in the order in which they ran. */
static GString *order;

static void
note (const HassCall *call)
{
  const char *name = call->user_data;
  g_string_append_c (order, *name);
  g_usleep (*name == 'B' ? 2000 : 0);
}

static gboolean
note_on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
             GError **error)
{
  (void)error;
  for (guint i = 0; i < n_calls; i++)
    stand_in_data_launch (stream, note, &calls[i], 0);
  return TRUE;
}

/* After the first task three short ones follow on each other, and a short and a
   long one do. */
static gboolean
build_fork (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet brief
      = HASS_CODELET (.gpu = note_on_gpu, .user_data = (gpointer) "a"),
      begins = HASS_CODELET (.gpu = note_on_gpu, .user_data = (gpointer) "b"),
      lasts = HASS_CODELET (.gpu = note_on_gpu, .user_data = (gpointer) "B");
  HassData *root = block_data (graph, &blocks[0]);
  HassData *a = block_data (graph, &blocks[1]);
  HassData *b = block_data (graph, &blocks[2]);
  HassAccess to_a[] = { { root, HASS_READ }, { a, HASS_UPDATE } };
  HassAccess to_b[] = { { root, HASS_READ }, { b, HASS_UPDATE } };
  (void)user_data, (void)error;
  submit_grow (graph, &brief, root);
  hass_graph_task (graph, &brief, to_a, 2, NULL);
  submit_grow (graph, &brief, a);
  submit_grow (graph, &brief, a);
  hass_graph_task (graph, &begins, to_b, 2, NULL);
  submit_grow (graph, &lasts, b);
  return TRUE;
}

/* In the second run times are known, and all data are there. The path with more
   tasks is the shorter one. */
static void
longest_path_first (void)
{
  DeviceFlow f = device_flow_begin ("longest path", 1, blocks, N_BLOCKS);
  f.calls = 1;
  f.times = 2;
  f.plans[0].most_computing = 1;
  order = g_string_new (NULL);
  device_flow_must_run (&f, build_fork, NULL);
  CU_ASSERT_EQUAL_FATAL (order->len, 12);
  CU_ASSERT_TRUE (g_str_has_prefix (order->str + 6, "ab"));
  g_string_free (order, TRUE);
}

HASS_TEST_SUITE (
    dataflow_recorded_times,
    { "the critical path of a recorded graph counts what devices take",
      reported },
    { "tasks begin by the longest path in the times that devices take",
      longest_path_first })
