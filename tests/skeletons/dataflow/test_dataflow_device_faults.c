/* SPDX-License-Identifier: MIT */
/* test_dataflow_device_faults.c: devices of a dataflow that are lost, too
   small, never opened or absent, gpu functions that fail, and dataflows that
   are cancelled while devices compute.
   Thread safety: one thread beside those of the dataflows. */
#include <gio/gio.h>
#include <stdatomic.h>
#include <string.h>

#include "crowd.h"
#include "device_flow.h"
#include "flow.h"

#define N_BLOCKS 8
#define LENGTH 10

static Block blocks[N_BLOCKS];

static DeviceFlow
begin (const char *name)
{
  return device_flow_begin (name, 1, blocks, N_BLOCKS);
}

/* Runs a dataflow that must fail. Returns: whether its error has the code and
   the word. */
static gboolean
fails (DeviceFlow *f, HassBuildFunc build, const HassCodelet *codelet,
       HassError code, const char *word)
{
  g_autoptr (GError) error = NULL;
  gboolean ok = device_flow_run (f, build, (gpointer)codelet, &error);
  g_clear_pointer (&f->report, hass_report_free);
  return !ok && flow_says (error, code, "'flow'", word, NULL);
}

/* Chains on all blocks, of a codelet. */
static gboolean
build_chains (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data[N_BLOCKS];
  (void)error;
  for (guint i = 0; i < N_BLOCKS; i++)
    data[i] = block_data (graph, &blocks[i]);
  for (guint t = 0; t < LENGTH * N_BLOCKS; t++)
    submit_grow (graph, user_data, data[t % N_BLOCKS]);
  return TRUE;
}

static void
check_chains (void)
{
  for (guint i = 0; i < N_BLOCKS; i++)
    CU_ASSERT_TRUE (block_is (&blocks[i], LENGTH));
}

/* -- Lost devices ------------------------------------------------------- */

static void
last_device_lost (void)
{
  for (guint n = 1; n <= LENGTH * N_BLOCKS; n += 7)
    for (guint call = 0; call < 2; call++)
      {
        DeviceFlow f = begin ("last device lost");
        *(call ? &f.plans[0].lose_at_call : &f.plans[0].lose_at) = n;
        CU_ASSERT_TRUE (fails (&f, build_chains, &grow_alone, HASS_ERROR_DEVICE,
                               "'grow alone'"));
        CU_ASSERT_TRUE (f.counts[0].lost);
      }
}

static void
not_opened (void)
{
  DeviceFlow f = begin ("not opened");
  f.plans[0].fail_open = TRUE;
  CU_ASSERT_TRUE (
      fails (&f, build_chains, &grow_alone, HASS_ERROR_DEVICE, "'grow alone'"));
  f = begin ("not opened, cores");
  f.plans[0].fail_open = TRUE;
  device_flow_must_run (&f, build_chains, (gpointer)&grow_both);
  check_chains ();
}

/* One of two devices has each fault at each moment; tasks of a codelet for
   devices alone, which update in place, end on the other one. */
static void
other_device_goes_on (void)
{
  guint lost = 0, failed = 0;
  for (guint n = 1; n <= 20; n++)
    for (guint fault = 0; fault < 7; fault++)
      {
        DeviceFlow f = begin ("other device");
        StandInDataPlan *p = &f.plans[n % 2];
        guint *faults[]
            = { &p->lose_at,   &p->lose_at_call, &p->fail_at,
                &p->refuse_at, &p->hang_at,      &p->fail_alloc_at };
        if (fault < G_N_ELEMENTS (faults))
          *faults[fault] = n;
        else
          p->fail_every = 1 + n / 4;
        f.bundle_deadline_ms = fault == 4 ? 10 : 0;
        f.n_devices = 2;
        f.plans[0].seed = n;
        f.plans[1].seed = 100 + n;
        device_flow_must_run (&f, build_chains, (gpointer)&grow_alone);
        check_chains ();
        lost += f.counts[n % 2].lost;
        failed += f.counts[n % 2].failed;
      }
  CU_ASSERT_TRUE (lost > 0);
  CU_ASSERT_TRUE (failed > 0);
}

/* -- Devices that are too small, late or absent ------------------------- */

static const HassCodelet huge
    = HASS_CODELET (.name = "huge", .gpu = grow_on_gpu);

static void
too_large (void)
{
  g_autoptr (GError) error = NULL;
  DeviceFlow f = begin ("too large");
  f.plans[0].memory_bytes = BLOCK_BYTES - 1;
  CU_ASSERT_FALSE (device_flow_run (&f, build_chains, (gpointer)&huge, &error));
  CU_ASSERT_TRUE (
      flow_says (error, HASS_ERROR_NO_MEMORY, "'flow'", "'huge'", NULL));
  CU_ASSERT_TRUE (error && strpbrk (error->message, "0123456789"));
  CU_ASSERT_EQUAL (f.counts[0].computed, 0);
  g_clear_pointer (&f.report, hass_report_free);

  f = begin ("too large, cores");
  f.plans[0].memory_bytes = BLOCK_BYTES - 1;
  device_flow_must_run (&f, build_chains, (gpointer)&grow_both);
  check_chains ();

  f = begin ("too large, other device");
  f.plans[0].memory_bytes = BLOCK_BYTES - 1;
  f.n_devices = 2;
  device_flow_must_run (&f, build_chains, (gpointer)&huge);
  check_chains ();
  CU_ASSERT_EQUAL (f.counts[0].computed, 0);
  CU_ASSERT_EQUAL (f.counts[1].computed, LENGTH * N_BLOCKS);
}

static void
never_opened (void)
{
  DeviceFlow f = begin ("never opened");
  f.plans[0].open_waits = TRUE;
  device_flow_must_run (&f, build_chains, (gpointer)&grow_both);
  check_chains ();
  CU_ASSERT_EQUAL (f.counts[0].opened, 0);

  f = begin ("never opened, other device");
  f.plans[0].open_waits = TRUE;
  f.n_devices = 2;
  device_flow_must_run (&f, build_chains, (gpointer)&grow_alone);
  check_chains ();
  CU_ASSERT_EQUAL (f.counts[0].opened, 0);
  CU_ASSERT_EQUAL (f.counts[1].computed, LENGTH * N_BLOCKS);
}

static gboolean
build_commuting (HassGraph *graph, gpointer user_data, GError **error)
{
  HassAccess access = { block_data (graph, &blocks[0]), HASS_COMMUTE };
  (void)error;
  CU_ASSERT_FALSE (hass_graph_task (graph, user_data, &access, 1, NULL));
  return TRUE;
}

static void
no_device (void)
{
  static const HassKindCodelet kinds[]
      = { { "other", grow_on_gpu }, { NULL, NULL } };
  static const HassCodelet grow_other
      = HASS_CODELET (.name = "other kind", .kinds = kinds);
  DeviceFlow f = begin ("no device");
  f.n_devices = 0;
  CU_ASSERT_TRUE (fails (&f, build_chains, &grow_alone, HASS_ERROR_NO_DEVICE,
                         "'grow alone'"));
  f.n_devices = 1;
  CU_ASSERT_TRUE (fails (&f, build_chains, &grow_other, HASS_ERROR_NO_DEVICE,
                         "'other kind'"));
  CU_ASSERT_TRUE (fails (&f, build_commuting, &grow_alone, HASS_ERROR_NO_DEVICE,
                         "'grow alone'"));
}

/* -- Functions that fail ------------------------------------------------ */

static const HassCodelet fails_alone
    = HASS_CODELET (.name = "fails alone", .gpu = fail_on_gpu);
static const HassCodelet fails_there
    = HASS_CODELET (.name = "fails there", .cpu = grow_on_core,
                    .gpu = fail_on_gpu);

static _Atomic guint n_calls;

static gboolean
fail_once (const HassCall *calls, guint n, HassGpuStream *stream,
           GError **error)
{
  if (atomic_fetch_add (&n_calls, 1) == 0)
    return fail_on_gpu (calls, n, stream, error);
  return grow_on_gpu (calls, n, stream, error);
}

static void
failing_function (void)
{
  static const HassCodelet once
      = HASS_CODELET (.name = "once", .gpu = fail_once);
  DeviceFlow f = begin ("failing function");
  CU_ASSERT_TRUE (fails (&f, build_chains, &fails_alone, HASS_ERROR_WORKER,
                         "'fails alone'"));
  CU_ASSERT_EQUAL (f.counts[0].computed, 0);

  f = begin ("failing function, cores");
  device_flow_must_run (&f, build_chains, (gpointer)&fails_there);
  check_chains ();
  CU_ASSERT_EQUAL (f.counts[0].computed, 0);

  f = begin ("failing function, other device");
  f.n_devices = 2;
  atomic_store (&n_calls, 0);
  device_flow_must_run (&f, build_chains, (gpointer)&once);
  check_chains ();
  CU_ASSERT_EQUAL (atomic_load (&n_calls), LENGTH * N_BLOCKS + 1);
}

/* Block 0 is invalid after task 1, so that tasks 2 and 3 fail; task 5 makes
   block 0 valid again. */
static gboolean
build_poison (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data[4];
  (void)user_data, (void)error;
  for (guint i = 0; i < 4; i++)
    data[i] = block_data (graph, &blocks[i]);
  submit_grow (graph, &grow_alone, data[0]);
  submit_grow (graph, &fails_alone, data[0]);
  submit_copy (graph, &copy_alone, data[0], data[1]);
  submit_grow (graph, &grow_alone, data[1]);
  submit_grow (graph, &grow_alone, data[2]);
  CU_ASSERT_FALSE (hass_graph_wait (graph, data[0]));
  CU_ASSERT_FALSE (hass_graph_wait (graph, data[1]));
  CU_ASSERT_TRUE (hass_graph_wait (graph, data[2]));
  CU_ASSERT_TRUE (block_is (&blocks[2], 1));
  submit_copy (graph, &copy_alone, data[2], data[0]);
  CU_ASSERT_TRUE (hass_graph_wait (graph, data[0]));
  submit_grow (graph, &grow_core, data[0]);
  submit_grow (graph, &grow_alone, data[0]);
  submit_copy (graph, &copy_alone, data[0], data[3]);
  return TRUE;
}

static void
poison (void)
{
  DeviceFlow f = begin ("poison");
  g_autoptr (GError) error = NULL;
  guint64 unfinished = 0;
  f.on_error = HASS_ON_ERROR_CONTINUE;
  CU_ASSERT_TRUE (device_flow_run (&f, build_poison, NULL, &error));
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_TRUE (block_is (&blocks[0], 3));
  CU_ASSERT_TRUE (block_is (&blocks[2], 1));
  CU_ASSERT_TRUE (block_is (&blocks[3], 3));
  CU_ASSERT_PTR_NOT_NULL_FATAL (f.report);
  for (guint i = 0; i < f.report->n_unfinished; i++)
    unfinished += f.report->unfinished[i].n_loads;
  CU_ASSERT_EQUAL (unfinished, 3);
  CU_ASSERT_EQUAL (f.report->n_unfinished > 0 ? f.report->unfinished[0].seq
                                              : G_MAXUINT64,
                   1);
  g_clear_pointer (&f.report, hass_report_free);
}

/* What the failed kernel has destroyed is computed again while the failure
   spreads. */
static void
poisons (void)
{
  for (guint i = 0; i < 100; i++)
    poison ();
}

/* -- Cancelling --------------------------------------------------------- */

static GCancellable *cancellable;
static _Atomic gint until_cancel; /* tasks */

static void
grow_and_cancel (const HassCall *call)
{
  grow (call);
  if (atomic_fetch_sub (&until_cancel, 1) == 1)
    g_cancellable_cancel (cancellable);
}

static gboolean
cancel_on_core (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  grow_and_cancel (call);
  return TRUE;
}

static gboolean
cancel_on_gpu (const HassCall *calls, guint n, HassGpuStream *stream,
               GError **error)
{
  (void)error;
  for (guint i = 0; i < n; i++)
    stand_in_data_launch (stream, grow_and_cancel, &calls[i], 0);
  return TRUE;
}

static const HassCodelet cancelling[]
    = { HASS_CODELET (.name = "alone", .gpu = cancel_on_gpu, .gpu_most = 3),
        HASS_CODELET (.name = "both", .cpu = cancel_on_core,
                      .gpu = cancel_on_gpu),
        HASS_CODELET (.name = "core", .cpu = cancel_on_core) };

static gboolean
build_cancelled (HassGraph *graph, gpointer user_data, GError **error)
{
  GRand *rand = user_data;
  HassData *data[N_BLOCKS];
  (void)error;
  for (guint i = 0; i < N_BLOCKS; i++)
    data[i] = block_data (graph, &blocks[i]);
  for (guint t = 0; t < LENGTH * N_BLOCKS; t++)
    if (!submit_grow (graph, &cancelling[g_rand_int_range (rand, 0, 3)],
                      data[t % N_BLOCKS]))
      break;
  return TRUE;
}

static void
cancelled (void)
{
  guint n_cancelled = 0;
  for (guint32 seed = 0; seed < CROWD_SCALE (200); seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autoptr (GError) error = NULL;
      DeviceFlow f = begin ("cancelled");
      f.n_devices = 1 + seed % 2;
      f.n_cores = 1 + seed % 3;
      f.plans[0].seed = f.plans[1].seed = seed;
      f.plans[0].threads = seed % 4 == 0 ? 2 : 0;
      f.plans[0].memory_bytes = seed % 5 == 0 ? 3 * BLOCK_BYTES : 0;
      f.window = seed % 3 == 0 ? 8 : 0;
      f.cancellable = cancellable = g_cancellable_new ();
      atomic_store (&until_cancel,
                    g_rand_int_range (rand, 1, LENGTH * N_BLOCKS));
      gboolean ok = device_flow_run (&f, build_cancelled, rand, &error);
      CU_ASSERT_TRUE (
          ok || flow_says (error, HASS_ERROR_CANCELLED, "'flow'", NULL));
      n_cancelled += !ok;
      for (guint i = 0; i < N_BLOCKS; i++)
        {
          CU_ASSERT_TRUE (block_is (&blocks[i], blocks[i].at[0][0]));
          CU_ASSERT_TRUE (blocks[i].at[0][0] <= LENGTH);
          CU_ASSERT_TRUE (!ok || blocks[i].at[0][0] == LENGTH);
        }
      g_clear_pointer (&f.report, hass_report_free);
      g_object_unref (cancellable);
    }
  CU_ASSERT_TRUE (n_cancelled > 0);
}

HASS_TEST_SUITE (
    dataflow_device_faults,
    { "a dataflow fails if its last device is lost and cores cannot help",
      last_device_lost },
    { "a dataflow goes on without a device that cannot be opened", not_opened },
    { "what a lost or failing device should have computed, another one does",
      other_device_goes_on },
    { "a task that fits into no device runs on cores, or fails the dataflow",
      too_large },
    { "a device that is never opened does not hold up the end", never_opened },
    { "a codelet without a device that is present is refused", no_device },
    { "a gpu function that fails has its tasks run elsewhere",
      failing_function },
    { "tasks fail with the data that a gpu function failed to write", poisons },
    { "a cancelled dataflow leaves each datum whole", cancelled })
