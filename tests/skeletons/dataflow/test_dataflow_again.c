/* SPDX-License-Identifier: MIT */
/* test_dataflow_again.c: tasks of a dataflow that are computed again, as what
   they had changed is lost: once each, and as if they had not been computed
   before.
   Thread safety: one thread beside those of the dataflows. */
#include <stdatomic.h>

#include "crowd.h"
#include "device_flow.h"

#define N_BLOCKS 8
#define LENGTH 10
#define HANDED 100

static Block blocks[N_BLOCKS];

static DeviceFlow
begin (const char *name)
{
  return device_flow_begin (name, 1, blocks, N_BLOCKS);
}

/* Returns: TRUE if the graph of @seed is to be run. Whether a device is lost,
   or gets a task, is a matter of time; of the graphs so far it was in @n. */
static gboolean
goes_on (guint32 seed, guint n)
{
  return seed < 2 * CROWD_SCALE (20) || (n == 0 && seed < 1000);
}

/* -- Failure ------------------------------------------------------------ */

static void
set_one (const HassCall *call)
{
  const HassDataView *v = &call->views[0];
  for (gsize r = 0; r < v->rows; r++)
    for (gsize w = 0; w < v->row_bytes / sizeof (guint64); w++)
      ((guint64 *)(gpointer)((guint8 *)v->data + r * v->pitch))[w] = 1;
}

static gboolean
set_on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
            GError **error)
{
  (void)error;
  for (guint i = 0; i < n_calls; i++)
    stand_in_data_launch (stream, set_one, &calls[i], 0);
  return TRUE;
}

static const HassCodelet set_alone
    = HASS_CODELET (.name = "set alone", .gpu = set_on_gpu);

/* Of each block a task writes version 1, which is lost as the next one
   fails. */
static gboolean
build_failing (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet fails_alone
      = HASS_CODELET (.name = "fails alone", .gpu = fail_on_gpu);
  guint *n_failed = user_data;
  HassData *data[N_BLOCKS];
  (void)error;
  for (guint i = 0; i < N_BLOCKS; i++)
    data[i] = block_data (graph, &blocks[i]);
  for (guint t = 0; t < LENGTH * N_BLOCKS; t++)
    {
      hass_graph_task (graph, &set_alone,
                       &(HassAccess){ data[t % N_BLOCKS], HASS_WRITE }, 1,
                       NULL);
      submit_grow (graph, &fails_alone, data[t % N_BLOCKS]);
      if (t % 2 == 0)
        *n_failed += !hass_graph_wait (graph, data[t % N_BLOCKS]);
    }
  return TRUE;
}

static void
stays_invalid (void)
{
  for (guint32 seed = 0; seed < CROWD_SCALE (10); seed++)
    {
      g_autoptr (GError) error = NULL;
      guint64 unfinished = 0;
      guint n_failed = 0;
      DeviceFlow f = begin ("stays invalid");
      f.plans[0].seed = seed;
      f.plans[0].threads = seed % 2;
      f.plans[0].delay_us = f.plans[0].threads ? 100 : 0;
      f.n_cores = 1 + seed % 3;
      f.on_error = HASS_ON_ERROR_CONTINUE;
      CU_ASSERT_TRUE (device_flow_run (&f, build_failing, &n_failed, &error));
      CU_ASSERT_EQUAL (n_failed, LENGTH * N_BLOCKS / 2);
      CU_ASSERT_PTR_NOT_NULL_FATAL (f.report);
      for (guint i = 0; i < f.report->n_unfinished; i++)
        unfinished += f.report->unfinished[i].n_loads;
      CU_ASSERT_EQUAL (unfinished, LENGTH * N_BLOCKS);
      g_clear_pointer (&f.report, hass_report_free);
    }
}

static gboolean
fail_on_core (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker;
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "as planned");
  return FALSE;
}

/* A task that fails with block 1 should update block 0, which is on a device
   that is lost with the copy home. */
static gboolean
build_poisoned (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet fails_core
      = HASS_CODELET (.name = "fails core", .cpu = fail_on_core);
  HassData *data = block_data (graph, &blocks[0]);
  HassData *bad = block_data (graph, &blocks[1]);
  HassAccess accesses[] = { { bad, HASS_READ }, { data, HASS_UPDATE } };
  (void)user_data, (void)error;
  submit_grow (graph, &fails_core, bad);
  CU_ASSERT_FALSE (hass_graph_wait (graph, bad));
  hass_graph_task (graph, &set_alone, &(HassAccess){ data, HASS_WRITE }, 1,
                   NULL);
  hass_graph_task (graph, &grow_core, accesses, 2, NULL);
  CU_ASSERT_FALSE (hass_graph_wait (graph, data));
  return TRUE;
}

static void
stays_poisoned (void)
{
  guint n_lost = 0;
  for (guint32 seed = 0; goes_on (seed, n_lost); seed++)
    {
      g_autoptr (GError) error = NULL;
      DeviceFlow f = begin ("stays poisoned");
      f.n_devices = 3;
      f.on_error = HASS_ON_ERROR_CONTINUE;
      for (guint i = 0; i < 3; i++)
        {
          f.plans[i].seed = 3 * seed + i;
          f.plans[i].lose_at = i < 2 ? 2 : 0;
        }
      CU_ASSERT_TRUE (device_flow_run (&f, build_poisoned, NULL, &error));
      n_lost += f.counts[0].lost + f.counts[1].lost;
      g_clear_pointer (&f.report, hass_report_free);
    }
  CU_ASSERT_TRUE (n_lost > 0);
}

/* -- Loss --------------------------------------------------------------- */

static gboolean
build_chains (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data[N_BLOCKS];
  (void)user_data, (void)error;
  for (guint i = 0; i < N_BLOCKS; i++)
    data[i] = block_data (graph, &blocks[i]);
  for (guint t = 0; t < LENGTH * N_BLOCKS; t++)
    submit_grow (graph, &grow_alone, data[t % N_BLOCKS]);
  return TRUE;
}

/* One device is lost while it computes again what another one had. */
static void
lost_twice (void)
{
  guint n_twice = 0;
  for (guint32 seed = 0; seed < 8 * CROWD_SCALE (20) || goes_on (seed, n_twice);
       seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      DeviceFlow f = begin ("lost twice");
      f.n_devices = 3;
      for (guint i = 0; i < 3; i++)
        {
          f.plans[i].seed = 3 * seed + i;
          f.plans[i].most_computing = 1;
        }
      f.plans[0].lose_at = (guint)g_rand_int_range (rand, 2, 30);
      f.plans[1].lose_at
          = f.plans[0].lose_at + (guint)g_rand_int_range (rand, 2, 20);
      f.plans[2].threads = 1;
      f.plans[2].delay_us = 50;
      device_flow_must_run (&f, build_chains, NULL);
      for (guint i = 0; i < N_BLOCKS; i++)
        CU_ASSERT_TRUE (block_is (&blocks[i], LENGTH));
      n_twice += f.counts[0].lost && f.counts[1].lost;
    }
  CU_ASSERT_TRUE (n_twice > 0);
}

static gboolean
build_awaited (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = block_data (graph, &blocks[0]);
  (void)user_data, (void)error;
  for (guint i = 0; i < LENGTH; i++)
    submit_grow (graph, &grow_alone, data);
  CU_ASSERT_TRUE (hass_graph_wait (graph, data));
  CU_ASSERT_TRUE (block_is (&blocks[0], LENGTH));
  return TRUE;
}

/* A device is lost with the copy home; another one computes slowly again. */
static void
awaited_again (void)
{
  guint n_lost = 0;
  for (guint32 seed = 0; goes_on (seed, n_lost); seed++)
    {
      DeviceFlow f = begin ("awaited");
      f.n_devices = 3;
      for (guint i = 0; i < 3; i++)
        {
          f.plans[i].seed = 3 * seed + i;
          f.plans[i].threads = 1;
          f.plans[i].delay_us = 100;
          f.plans[i].lose_at = i < 2 ? LENGTH + 2 : 0;
        }
      device_flow_must_run (&f, build_awaited, NULL);
      CU_ASSERT_TRUE (block_is (&blocks[0], LENGTH));
      n_lost += f.counts[0].lost + f.counts[1].lost;
    }
  CU_ASSERT_TRUE (n_lost > 0);
}

/* -- Devices of two kinds ----------------------------------------------- */

/* The first device is an "npu", the other one a "gpu". */
static DeviceFlow
begin_kinds (const char *name)
{
  DeviceFlow f = begin (name);
  f.n_devices = 2;
  f.plans[0].kind = "npu";
  f.plans[1].kind = "gpu";
  return f;
}

static const HassKindCodelet for_npu[]
    = { { "npu", grow_on_gpu }, { "gpu", NULL }, { NULL, NULL } };
static const HassKindCodelet for_gpu[]
    = { { "npu", NULL }, { "gpu", grow_on_gpu }, { NULL, NULL } };
static const HassCodelet grow_npu
    = HASS_CODELET (.name = "grow npu", .kinds = for_npu);
static const HassCodelet grow_gpu
    = HASS_CODELET (.name = "grow gpu", .kinds = for_gpu);

/* The second task waits for the datum to come from the first one's device. */
static gboolean
build_handed (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = block_data (graph, &blocks[0]);
  HassData *other = block_data (graph, &blocks[1]);
  HassAccess accesses[] = { { data, HASS_READ }, { other, HASS_UPDATE } };
  (void)user_data, (void)error;
  submit_grow (graph, &grow_npu, data);
  hass_graph_task (graph, &grow_gpu, accesses, 2, NULL);
  CU_ASSERT_FALSE (hass_graph_wait (graph, other));
  CU_ASSERT_FALSE (hass_graph_wait (graph, data));
  return TRUE;
}

/* A device is lost with the copy home, and only it could compute again. */
static void
waiting_fail (void)
{
  g_autoptr (GError) error = NULL;
  DeviceFlow f = begin_kinds ("waiting");
  guint64 unfinished = 0;
  f.plans[0].lose_at = 3;
  f.on_error = HASS_ON_ERROR_CONTINUE;
  CU_ASSERT_TRUE (device_flow_run (&f, build_handed, NULL, &error));
  CU_ASSERT_TRUE (f.counts[0].lost);
  CU_ASSERT_EQUAL (f.counts[1].computed, 0);
  CU_ASSERT_TRUE (block_is (&blocks[1], 0));
  CU_ASSERT_PTR_NOT_NULL_FATAL (f.report);
  for (guint i = 0; i < f.report->n_unfinished; i++)
    unfinished += f.report->unfinished[i].n_loads;
  CU_ASSERT_EQUAL (unfinished, 2);
  g_clear_pointer (&f.report, hass_report_free);
}

static _Atomic guint n_refused;

static gboolean
refuse_on_npu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
               GError **error)
{
  atomic_fetch_add (&n_refused, 1);
  return fail_on_gpu (calls, n_calls, stream, error);
}

/* The slots of tasks that the first device has refused are used again by tasks
   that only it can compute. */
static gboolean
build_refused (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassKindCodelet kinds[]
      = { { "npu", refuse_on_npu }, { "gpu", grow_on_gpu }, { NULL, NULL } };
  static const HassCodelet refused
      = HASS_CODELET (.name = "refused", .kinds = kinds);
  HassData *data[N_BLOCKS];
  (void)user_data, (void)error;
  for (guint i = 0; i < N_BLOCKS; i++)
    data[i] = block_data (graph, &blocks[i]);
  for (guint t = 0; t < LENGTH * N_BLOCKS; t++)
    submit_grow (graph, t % 3 == 0 ? &refused : &grow_npu, data[t % N_BLOCKS]);
  return TRUE;
}

static void
refused_once (void)
{
  atomic_store (&n_refused, 0);
  for (guint32 seed = 0; goes_on (seed, atomic_load (&n_refused)); seed++)
    {
      DeviceFlow f = begin_kinds ("refused");
      f.window = 4;
      f.plans[0].seed = 2 * seed;
      f.plans[1].seed = 2 * seed + 1;
      device_flow_must_run (&f, build_refused, NULL);
      for (guint i = 0; i < N_BLOCKS; i++)
        CU_ASSERT_TRUE (block_is (&blocks[i], LENGTH));
    }
  CU_ASSERT_TRUE (atomic_load (&n_refused) > 0);
}

static _Atomic guint n_handed;

static void
hand_on (const HassCall *call)
{
  grow (call);
  atomic_fetch_add (&n_handed, 1);
}

static gboolean
hand_on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
             GError **error)
{
  (void)error;
  for (guint i = 0; i < n_calls; i++)
    stand_in_data_launch (stream, hand_on, &calls[i], 0);
  return TRUE;
}

static gboolean
hand_on_core (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  hand_on (call);
  return TRUE;
}

/* A datum goes from a task of one codelet to one of another one, and back. The
   calling thread waits in the callback, so that it wakes no device, and none
   sends home what it has as the graph is complete. */
static gboolean
build_handed_over (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = block_data (graph, &blocks[0]);
  (void)error;
  for (guint i = 0; i < HANDED; i++)
    submit_grow (graph, i % 2 == 0 ? &grow_npu : user_data, data);
  while (atomic_load (&n_handed) < HANDED / 2)
    g_usleep (50);
  return TRUE;
}

/* A thread that finds the datum missing wakes the device that has it, which
   has nothing to do. */
static void
handed_over (void)
{
  static const HassKindCodelet kinds[]
      = { { "npu", NULL }, { "gpu", hand_on_gpu }, { NULL, NULL } };
  static const HassCodelet alone
      = HASS_CODELET (.name = "there", .kinds = kinds);
  static const HassCodelet both
      = HASS_CODELET (.name = "both", .cpu = hand_on_core, .kinds = kinds);
  for (guint32 seed = 0; seed < 2 * CROWD_SCALE (10); seed++)
    {
      DeviceFlow f = begin_kinds ("handed over");
      f.plans[0].seed = 2 * seed;
      f.plans[1].seed = 2 * seed + 1;
      f.plans[1].open_waits = seed % 2;
      f.plans[1].opening_ns = seed % 2 ? G_USEC_PER_SEC * 1000 : 0;
      f.n_cores = 2;
      atomic_store (&n_handed, 0);
      device_flow_must_run (&f, build_handed_over,
                            (gpointer)(seed % 2 ? &both : &alone));
      CU_ASSERT_TRUE (block_is (&blocks[0], HANDED));
    }
}

HASS_TEST_SUITE (
    dataflow_again,
    { "a datum stays invalid when a task before the failed one is computed "
      "again",
      stays_invalid },
    { "a datum stays invalid when it is lost after a task failed that should "
      "change it",
      stays_poisoned },
    { "tasks are computed again once when one device after the other is lost",
      lost_twice },
    { "a datum that is awaited is computed again before the wait returns",
      awaited_again },
    { "a task fails that waits for a datum which cannot be computed again",
      waiting_fail },
    { "a device that has refused a task is not refused the next one of its "
      "slot",
      refused_once },
    { "a device that sleeps is told to send a datum home", handed_over })
