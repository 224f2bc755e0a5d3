/* SPDX-License-Identifier: MIT */
/* test_dataflow_residency.c: where data of a dataflow are: they stay on a
   device while tasks use them there, come home when they must, and make room
   for others.
   Thread safety: one thread beside those of the dataflows. */
#include <stdatomic.h>
#include <string.h>

#include "device_flow.h"

#define MANY 20
#define LENGTH 50

static Block blocks[MANY];

/* Starts with all blocks at version 0. */
static DeviceFlow
begin (const char *name)
{
  return device_flow_begin (name, 1, blocks, MANY);
}

/* -- Copies ------------------------------------------------------------- */

static gboolean
build_chain (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = block_data (graph, user_data);
  (void)error;
  for (guint i = 0; i < LENGTH; i++)
    submit_grow (graph, &grow_alone, data);
  return TRUE;
}

static void
chain_stays (void)
{
  DeviceFlow f = begin ("chain");
  device_flow_must_run (&f, build_chain, &blocks[0]);
  CU_ASSERT_TRUE (block_is (&blocks[0], LENGTH));
  CU_ASSERT_EQUAL (f.counts[0].copies_in, 1);
  CU_ASSERT_EQUAL (f.counts[0].copies_out, 1);
  CU_ASSERT_EQUAL (f.counts[0].bytes_in, BLOCK_BYTES);
  CU_ASSERT_EQUAL (f.counts[0].bytes_out, BLOCK_BYTES);
  CU_ASSERT_EQUAL (f.counts[0].computed, LENGTH);
}

static gboolean
build_readers (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *from = block_data (graph, &blocks[0]);
  (void)user_data, (void)error;
  for (guint i = 1; i < MANY; i++)
    submit_copy (graph, &copy_alone, from, block_data (graph, &blocks[i]));
  return TRUE;
}

static void
read_once (void)
{
  DeviceFlow f = begin ("readers");
  block_init (&blocks[0], 7);
  device_flow_must_run (&f, build_readers, NULL);
  for (guint i = 0; i < MANY; i++)
    CU_ASSERT_TRUE (block_is (&blocks[i], 7));
  CU_ASSERT_EQUAL (f.counts[0].copies_in, 1);
  CU_ASSERT_EQUAL (f.counts[0].copies_out, MANY - 1);
}

static gboolean
build_alternating (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = block_data (graph, &blocks[0]);
  (void)user_data, (void)error;
  for (guint i = 0; i < LENGTH; i++)
    submit_grow (graph, i % 2 == 0 ? &grow_alone : &grow_core, data);
  return TRUE;
}

static void
moves_to_and_fro (void)
{
  DeviceFlow f = begin ("to and fro");
  device_flow_must_run (&f, build_alternating, NULL);
  CU_ASSERT_TRUE (block_is (&blocks[0], LENGTH));
  CU_ASSERT_EQUAL (f.counts[0].copies_in, LENGTH / 2);
  CU_ASSERT_EQUAL (f.counts[0].copies_out, LENGTH / 2);
}

static void
set (const HassCall *call)
{
  guint64 *words = call->views[0].data;
  for (guint w = 0; w < BLOCK_ROWS * BLOCK_WORDS; w++)
    words[w] = *(const guint64 *)call->arguments;
}

static gboolean
set_on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
            GError **error)
{
  (void)error;
  for (guint i = 0; i < n_calls; i++)
    stand_in_data_launch (stream, set, &calls[i], sizeof (guint64));
  return TRUE;
}

static const HassCodelet set_alone
    = HASS_CODELET (.name = "set alone", .gpu = set_on_gpu);

static void
submit_set (HassGraph *graph, HassData *data, guint64 value)
{
  HassTaskHints hints = { .arguments = &value, .argument_bytes = sizeof value };
  hass_graph_task (graph, &set_alone, &(HassAccess){ data, HASS_WRITE }, 1,
                   &hints);
}

static gboolean
build_scratch (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *between = hass_graph_scratch (graph, BLOCK_BYTES);
  HassData *own = hass_graph_data (graph, user_data, BLOCK_BYTES, 1, 0);
  (void)error;
  submit_set (graph, between, 40);
  submit_grow (graph, &grow_alone, between);
  submit_copy (graph, &copy_alone, between, own);
  hass_graph_forget (graph, between);
  return TRUE;
}

static void
written_whole (void)
{
  DeviceFlow f = begin ("scratch");
  guint64 words[BLOCK_ROWS * BLOCK_WORDS] = { 0 };
  device_flow_must_run (&f, build_scratch, words);
  for (guint w = 0; w < G_N_ELEMENTS (words); w++)
    CU_ASSERT_EQUAL (words[w], 41);
  CU_ASSERT_EQUAL (f.counts[0].copies_in, 0);
  CU_ASSERT_EQUAL (f.counts[0].copies_out, 1);
}

static gboolean
build_rounds (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = block_data (graph, &blocks[0]);
  (void)user_data, (void)error;
  for (guint round = 0; round < 5; round++)
    {
      for (guint i = 0; i < 10; i++)
        submit_grow (graph, &grow_alone, data);
      CU_ASSERT_TRUE (hass_graph_wait (graph, data));
      CU_ASSERT_TRUE (block_is (&blocks[0], 110 * round + 10));
      block_init (&blocks[0], 110 * (round + 1));
    }
  submit_grow (graph, &grow_alone, data);
  return TRUE;
}

static void
home_when_awaited (void)
{
  DeviceFlow f = begin ("rounds");
  device_flow_must_run (&f, build_rounds, NULL);
  CU_ASSERT_TRUE (block_is (&blocks[0], 551));
  CU_ASSERT_EQUAL (f.counts[0].copies_in, 6);
  CU_ASSERT_EQUAL (f.counts[0].copies_out, 6);
}

/* -- Memory ------------------------------------------------------------- */

#define FORGOTTEN 1000
/* Data that were forgotten and whose memory may not be freed yet. */
#define LINGER 200

static gboolean
build_forgotten (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  for (guint i = 0; i < FORGOTTEN; i++)
    {
      HassData *data = block_data (graph, &blocks[i % MANY]);
      HassData *scratch = hass_graph_scratch (graph, BLOCK_BYTES);
      submit_grow (graph, &grow_alone, data);
      submit_set (graph, scratch, i);
      hass_graph_forget (graph, scratch);
      CU_ASSERT_TRUE (hass_graph_wait (graph, data));
      hass_graph_forget (graph, data);
      CU_ASSERT_TRUE (block_is (&blocks[i % MANY], i / MANY + 1));
    }
  return TRUE;
}

static void
forgotten_are_freed (void)
{
  DeviceFlow f = begin ("forgotten");
  f.window = 4;
  device_flow_must_run (&f, build_forgotten, NULL);
  CU_ASSERT_TRUE (f.counts[0].most_bytes <= LINGER * 256);
  CU_ASSERT_EQUAL (f.counts[0].allocs, f.counts[0].frees);
  CU_ASSERT_EQUAL (f.counts[0].computed, 2 * FORGOTTEN);
}

static gboolean
build_many (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data[MANY];
  (void)user_data, (void)error;
  for (guint i = 0; i < MANY; i++)
    data[i] = block_data (graph, &blocks[i]);
  for (guint t = 0; t < 5 * MANY; t++)
    submit_grow (graph, &grow_alone, data[t * 7 % MANY]);
  return TRUE;
}

static void
makes_room (void)
{
  for (guint room = 1; room <= 4; room++)
    {
      DeviceFlow f = begin ("room");
      f.plans[0].memory_bytes = room * BLOCK_BYTES;
      device_flow_must_run (&f, build_many, NULL);
      for (guint i = 0; i < MANY; i++)
        CU_ASSERT_TRUE (block_is (&blocks[i], 5));
      CU_ASSERT_EQUAL (f.counts[0].computed, 5 * MANY);
    }
}

/* -- Calls -------------------------------------------------------------- */

#define BUNDLE 8
#define TASKS 64

static _Atomic guint n_tasks, n_calls, n_wrong;

static gboolean
count_bundle (const HassCall *calls, guint n, HassGpuStream *stream,
              GError **error)
{
  atomic_fetch_add (&n_calls, 1);
  atomic_fetch_add (&n_tasks, n);
  if (n == 0 || n > BUNDLE)
    atomic_fetch_add (&n_wrong, 1);
  return grow_on_gpu (calls, n, stream, error);
}

/* The only core builds the graph, and opens the gate when it has done so. */
static gboolean
build_gate (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet bundled
      = HASS_CODELET (.name = "bundled", .gpu = count_bundle,
                      .gpu_most = BUNDLE);
  static guint64 words[TASKS];
  HassData *gate = hass_graph_scratch (graph, 0);
  (void)user_data, (void)error;
  memset (words, 0, sizeof words);
  hass_graph_task (graph, &grow_core, &(HassAccess){ gate, HASS_WRITE }, 1,
                   NULL);
  /* The proxy ends this task, and all others are ready when it looks. */
  submit_grow (graph, &grow_alone, gate);
  for (guint i = 0; i < TASKS; i++)
    {
      HassAccess accesses[]
          = { { gate, HASS_READ },
              { hass_graph_data (graph, &words[i], 8, 1, 0), HASS_UPDATE } };
      hass_graph_task (graph, &bundled, accesses, 2, NULL);
    }
  CU_ASSERT_TRUE (hass_graph_wait (graph, NULL));
  for (guint i = 0; i < TASKS; i++)
    CU_ASSERT_EQUAL (words[i], 1);
  return TRUE;
}

static void
bundles (void)
{
  DeviceFlow f = begin ("bundles");
  atomic_store (&n_calls, 0);
  atomic_store (&n_tasks, 0);
  atomic_store (&n_wrong, 0);
  device_flow_must_run (&f, build_gate, NULL);
  CU_ASSERT_EQUAL (atomic_load (&n_tasks), TASKS);
  CU_ASSERT_EQUAL (atomic_load (&n_wrong), 0);
  CU_ASSERT_TRUE (atomic_load (&n_calls) < TASKS);
  CU_ASSERT_TRUE (atomic_load (&n_calls) >= TASKS / BUNDLE);
  CU_ASSERT_EQUAL (f.counts[0].computed, 1 + atomic_load (&n_calls));
}

/* One of two tasks waits for the other one, which has begun or will. */
static _Atomic gboolean other_ran;

static gboolean
await_on_core (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  while (!atomic_load (&other_ran))
    g_usleep (50);
  grow (call);
  return TRUE;
}

static gboolean
run_on_core (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  grow (call);
  atomic_store (&other_ran, TRUE);
  return TRUE;
}

static void
await_kernel (const HassCall *call)
{
  await_on_core (call, NULL, NULL);
}

static void
run_kernel (const HassCall *call)
{
  run_on_core (call, NULL, NULL);
}

static gboolean
await_on_gpu (const HassCall *calls, guint n, HassGpuStream *stream,
              GError **error)
{
  (void)n, (void)error;
  stand_in_data_launch (stream, await_kernel, calls, 0);
  return TRUE;
}

static gboolean
run_on_gpu (const HassCall *calls, guint n, HassGpuStream *stream,
            GError **error)
{
  (void)n, (void)error;
  stand_in_data_launch (stream, run_kernel, calls, 0);
  return TRUE;
}

static const HassCodelet awaits_there
    = HASS_CODELET (.name = "awaits there", .gpu = await_on_gpu);
static const HassCodelet awaits_here
    = HASS_CODELET (.name = "awaits here", .cpu = await_on_core);
static const HassCodelet runs_there
    = HASS_CODELET (.name = "runs there", .gpu = run_on_gpu);
static const HassCodelet runs_here
    = HASS_CODELET (.name = "runs here", .cpu = run_on_core);

static gboolean
build_two (HassGraph *graph, gpointer user_data, GError **error)
{
  const HassCodelet *const *codelets = user_data;
  (void)error;
  for (guint i = 0; i < 2; i++)
    submit_grow (graph, codelets[i], block_data (graph, &blocks[i]));
  return TRUE;
}

static void
at_the_same_time (void)
{
  const HassCodelet *pairs[][2] = { { &awaits_here, &runs_there },
                                    { &runs_there, &awaits_here },
                                    { &awaits_there, &runs_here },
                                    { &runs_here, &awaits_there } };
  for (guint i = 0; i < 2 * G_N_ELEMENTS (pairs); i++)
    {
      DeviceFlow f = begin ("two tasks");
      f.plans[0].threads = i % 2;
      atomic_store (&other_ran, FALSE);
      device_flow_must_run (&f, build_two, pairs[i / 2]);
      CU_ASSERT_TRUE (block_is (&blocks[0], 1));
      CU_ASSERT_TRUE (block_is (&blocks[1], 1));
    }
}

static gboolean
build_kinds (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassKindCodelet kinds[]
      = { { "other", fail_on_gpu }, { "npu", grow_on_gpu }, { NULL, NULL } };
  static const HassCodelet grow_npu
      = HASS_CODELET (.name = "npu", .gpu = fail_on_gpu, .kinds = kinds);
  HassData *data = block_data (graph, &blocks[0]);
  (void)user_data, (void)error;
  for (guint i = 0; i < LENGTH; i++)
    submit_grow (graph, &grow_npu, data);
  return TRUE;
}

static void
kinds_of_devices (void)
{
  DeviceFlow f = begin ("kinds");
  f.plans[0].kind = "npu";
  device_flow_must_run (&f, build_kinds, NULL);
  CU_ASSERT_TRUE (block_is (&blocks[0], LENGTH));
  CU_ASSERT_EQUAL (f.counts[0].computed, LENGTH);
}

static gboolean
build_recorded (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  submit_grow (graph, &grow_core, block_data (graph, &blocks[0]));
  return TRUE;
}

/* No codelet has a function for a device, so no thread stands for it. */
static void
recorded_on_cores (void)
{
  DeviceFlow f = begin ("recorded");
  HassDevice *device = stand_in_data_new (&f.plans[0]);
  HassDataflow d = HASS_DATAFLOW_INIT;
  g_autoptr (HassReport) report = NULL;
  d.build = build_recorded;
  d.run.n_cores = 1;
  d.run.devices = &device;
  d.run.n_devices = 1;
  g_autoptr (HassRecorded) recorded = hass_dataflow_record (&d, NULL);
  CU_ASSERT_TRUE (hass_recorded_run (recorded, 1, NULL, &report, NULL));
  CU_ASSERT_TRUE (block_is (&blocks[0], 1));
  CU_ASSERT_PTR_NOT_NULL_FATAL (report);
  CU_ASSERT_EQUAL (report->n_devices, 1);
  stand_in_data_free (device);
}

HASS_TEST_SUITE (
    dataflow_residency,
    { "a datum stays on a device as long as tasks there update it",
      chain_stays },
    { "a datum that is only read is copied in once and not out", read_once },
    { "a datum moves to and fro between a device and cores", moves_to_and_fro },
    { "what is written is not copied in, and a scratch datum not out",
      written_whole },
    { "a datum is home when it was awaited, and the user may write it",
      home_when_awaited },
    { "forgotten data give the memory of a device back", forgotten_are_freed },
    { "a device with room for one datum computes tasks on many", makes_room },
    { "tasks of a codelet share a call, up to gpu_most of them", bundles },
    { "a core and a device compute at the same time", at_the_same_time },
    { "no device takes part in a recorded graph without codelets for it",
      recorded_on_cores },
    { "a device of another kind has the function of that kind",
      kinds_of_devices })
