/* SPDX-License-Identifier: MIT */
/* test_gpu_faults.c: whole farms on GPUs that fail, over the stand-in for the
   CUDA runtime: nothing is lost, nothing is done twice, the answer is right
   and the report says what happened.
   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <string.h>

#include "device/cuda/gpus-private.h"
#include "fault_trial.h"
#include "hass_test.h"
#include "tests/engine/rogue.h"
#include "tests/engine/trial.h"
#include "tests/trials.h"

/* Every so many calls one fails. */
#define STEP TRIALS (1, 1, 5)

/* Where the strategy takes turns cores may do all before a GPU is open. */
static void
no_faults (void)
{
  for (guint i = 0; i < N_FAULT_CASES; i++)
    {
      FaultCase c = fault_nth_case (i);
      g_autoptr (HassReport) r = NULL;
      GError *error = NULL;
      fault_run_case (&c, &r, &error);
      CU_ASSERT_PTR_NULL (error);
      g_clear_error (&error);
      guint64 gpu_units = 0;
      for (guint d = 0; d < r->n_devices; d++)
        {
          CU_ASSERT_PTR_NULL (r->devices[d].message);
          if (r->devices[d].kind == HASS_DEVICE_GPU)
            gpu_units += r->devices[d].units;
        }
      CU_ASSERT_TRUE (gpu_units > 0
                      || (!c.gpu_only && !strcmp (c.strategy, "rogue-turns")));
    }
}

/* GPUs that are started late, or never, as the cores do all or are given what
   their strategy keeps back. */
static void
cold (void)
{
  static const guint start_ms[] = { 6, 40, 3600000 };
  for (guint i = 0; i < 3 * N_FAULT_CASES; i++)
    {
      FaultCase c = fault_nth_case (i / 3);
      if (i % 2)
        c.strategy = NULL;
      c.plan.start_ms = start_ms[i % 3];
      fault_run_case (&c, NULL, NULL);
    }
}

/* -- Calls that fail ---------------------------------------------------- */

/* Not in each of these farms: no tiles, no stretch that is worth pinning, no
   scattered blocks in pinned memory, seldom tasks of two workers in one bundle;
   devices poll events, and streams only after a failure. */
static gboolean
is_called (FakeCall call)
{
  return call != FAKE_COPY_BATCH && call != FAKE_COPY_ROWS
         && call != FAKE_EVENT_WAIT && call != FAKE_REGISTER
         && call != FAKE_STREAM_QUERY && call != FAKE_STREAM_WAIT
         && call != FAKE_UNREGISTER && call != FAKE_RELEASE
         && call != FAKE_RELEASE_HOST && call != FAKE_STREAM_FREE
         && call != FAKE_EVENT_FREE
         && (call < FAKE_POOL_KEEP || call > FAKE_COPY_PEER);
}

/* Every call of every kind fails once. The first one does so without cores,
   too, which could do all before a GPU is open. */
static void
each_call_fails (void)
{
  for (guint call = 0; call < FAKE_N_CALLS; call++)
    for (guint n = 1; n < 200; n += STEP + n / 8)
      {
        guint hits = 0;
        for (guint k = 0; k < (n == 1 ? 4 : 2); k++)
          {
            FaultCase c
                = fault_nth_case ((n + k % 2 * 5 + call) % N_FAULT_CASES);
            c.gpu_only |= k > 1;
            c.plan.fail_at[call] = n;
            hits += fault_run_case (&c, NULL, NULL).faults;
          }
        CU_ASSERT_TRUE (n > 1 || hits > 0 || !is_called (call));
        if (n == 1 && hits == 0 && is_called (call))
          g_printerr ("\n    %s was never called", fake_call_name (call));
        if (hits == 0)
          break;
      }
}

/* Calls of one kind that fail again and again, up to each time. */
static void
calls_keep_failing (void)
{
  for (guint call = 0; call < FAKE_N_CALLS; call++)
    for (guint n = 1; n <= 3; n++)
      {
        FaultCase c = fault_nth_case ((n * 7 + call) % N_FAULT_CASES);
        c.plan.fail_every[call] = n;
        fault_run_case (&c, NULL, NULL);
      }
}

/* Calls by which a device waits keep failing while copies are under way: their
   loads go to cores, which write to the same memory, only after them. */
static void
waits_keep_failing (void)
{
  static const FakeCall calls[]
      = { FAKE_EVENT_RECORD, FAKE_EVENT_QUERY, FAKE_STREAM_QUERY };
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    for (guint n = 1; n <= N_FAULT_CASES; n++)
      {
        FaultCase c = fault_nth_case (n);
        c.strategy = "rogue-deep";
        c.pinned = TRUE;
        c.plan.copy_delay_us = 3000;
        c.plan.after_launches = 1;
        c.plan.fail_every[FAKE_EVENT_QUERY] = 3;
        c.plan.fail_every[calls[i]] = n;
        fault_run_case (&c, NULL, NULL);
      }
}

/* One wait fails with four bundles there: all of them are given back, and
   the GPU, which has failed once, computes them again. */
static void
a_wait_fails (void)
{
  FaultCase c = { .kind = HASS_FARM_COMBINE,
                  .strategy = "rogue-deep",
                  .n_gpus = 1,
                  .n_loads = 30,
                  .most_bytes = 800,
                  .gpu_only = TRUE,
                  .plan = { .kernel_delay_us = 20000,
                            .after_launches = 4,
                            .fail_at[FAKE_EVENT_QUERY] = 1 } };
  GError *error = NULL;
  g_autoptr (HassReport) r = NULL;
  FakeCounts counts = fault_run_case (&c, &r, &error);
  CU_ASSERT_EQUAL (counts.faults, 1);
  CU_ASSERT_PTR_NULL (error);
  if (error)
    g_printerr ("\n    %s", error->message);
  g_clear_error (&error);
  CU_ASSERT_FALSE (r->devices[0].lost);
  CU_ASSERT_EQUAL (r->devices[0].failures, 4);
  CU_ASSERT_EQUAL (r->units, c.n_loads);
}

static void
copies_fail (void)
{
  for (guint n = 1; n < 60; n += STEP + n / 10)
    {
      FaultCase c = fault_nth_case (n % N_FAULT_CASES),
                every = fault_nth_case ((n + 5) % N_FAULT_CASES);
      c.plan.fail_copy_at = n;
      fault_run_case (&c, NULL, NULL);
      every.plan.fail_copy_every = n;
      fault_run_case (&every, NULL, NULL);
    }
}

/* -- GPUs that are lost ------------------------------------------------- */

/* A sticky error takes every GPU; the CPU finishes. */
static void
sticky (void)
{
  for (guint n = 1; n < 200; n += STEP + n / 40)
    {
      FaultCase c = fault_nth_case (n % N_FAULT_CASES);
      c.plan.sticky_at_call = n;
      fault_run_case (&c, NULL, NULL);
    }
  for (guint n = 1; n < 14; n++)
    {
      FaultCase c = fault_nth_case (n % N_FAULT_CASES);
      c.plan.sticky_at_kernel = n;
      g_autoptr (HassReport) r = NULL;
      g_autoptr (GError) error = NULL;
      FakeCounts counts = fault_run_case (&c, &r, &error);
      for (guint d = 0; d < r->n_devices && counts.faults > 0; d++)
        if (r->devices[d].kind == HASS_DEVICE_GPU && r->devices[d].message)
          CU_ASSERT_PTR_NOT_NULL (strstr (r->devices[d].message, "assert"));
      if (c.gpu_only && counts.faults > 0)
        {
          CU_ASSERT_TRUE (
              g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
          CU_ASSERT_TRUE (error && strstr (error->message, "assert"));
        }
    }
}

static void
gone (void)
{
  for (guint n = 1; n < 150; n += STEP + n / 10)
    {
      FaultCase c = fault_nth_case (n % N_FAULT_CASES);
      c.plan.gone_at_call = n;
      c.plan.gone_device = n / 3 % 2;
      fault_run_case (&c, NULL, NULL);
    }
}

/* Nothing waits for a kernel that hangs. */
static void
hung (void)
{
  for (guint n = 1; n < 9; n++)
    {
      FaultCase c = fault_nth_case (n);
      g_autoptr (HassReport) r = NULL;
      c.deadline_ms = 300;
      c.plan.hang_kernel_at = n;
      c.plan.hang_ms = 600000;
      FakeCounts counts = fault_run_case (&c, &r, NULL);
      gboolean lost = FALSE;
      for (guint d = 0; d < r->n_devices; d++)
        lost |= r->devices[d].lost && r->devices[d].message
                && strstr (r->devices[d].message, "longer than 300 ms");
      CU_ASSERT_TRUE (lost || counts.faults == 0);
    }
}

/* Large loads: pages are pinned, stripes are gathered. */
static void
large (void)
{
  static const FakeCall calls[]
      = { FAKE_REGISTER,   FAKE_UNREGISTER,    FAKE_COPY,
          FAKE_COPY_BATCH, FAKE_ALLOCATE_HOST, FAKE_EVENT_QUERY,
          FAKE_STREAM_NEW, FAKE_STREAM_WAIT,   FAKE_EVENT_RECORD };
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    for (guint n = TRIALS (1, 1, 1 + i % 3); n < 4; n += TRIALS (1, 1, 3))
      {
        FaultCase c = { .kind = HASS_FARM_PARTITION,
                        .strategy = "rogue-turns",
                        .n_gpus = 1 + n % 2,
                        .n_loads = 1,
                        .most_bytes = 3600000,
                        .block = 600000,
                        .gpu_only = n == 3 };
        c.plan.fail_at[calls[i]] = n;
        fault_run_case (&c, NULL, NULL);
      }
}

/* -- GPUs that are absent ----------------------------------------------- */

/* Tasks for GPUs alone, when there is none any more: an error names them. */
static void
gpu_tasks (void)
{
  for (guint n = 1; n < 4; n++)
    {
      FaultCase c = { .kind = HASS_FARM_FUNCTION,
                      .strategy = "rogue-deep",
                      .n_gpus = 2,
                      .n_loads = 80,
                      .most_bytes = 500,
                      .gpu_tasks = TRUE };
      g_autoptr (GError) error = NULL;
      g_autoptr (HassReport) r = NULL;
      c.plan.sticky_at_kernel = n;
      fault_run_case (&c, &r, &error);
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
      CU_ASSERT_TRUE (error && strstr (error->message, "task ")
                      && strstr (error->message, "gpu0 is lost")
                      && strstr (error->message, "assert"));
      if (error && !strstr (error->message, "gpu0 is lost"))
        g_printerr ("\n    %s", error->message);
      CU_ASSERT_TRUE (r->n_unfinished > 0);
    }
}

static void
absent (void)
{
  static const int codes[] = { FAKE_NO_DRIVER, FAKE_NO_DEVICE };
  for (guint i = 0; i < 4; i++)
    {
      FaultCase c = fault_nth_case (0);
      g_autoptr (GError) error = NULL;
      c.gpu_only = i / 2;
      c.plan.device_count_code = codes[i % 2];
      fault_run_case (&c, NULL, &error);
      CU_ASSERT_EQUAL (error != NULL, c.gpu_only);
      if (c.gpu_only)
        CU_ASSERT_TRUE (
            g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_DEVICE)
            && strstr (error->message, i % 2 ? "no CUDA-capable" : "driver"));
    }
}

/* A process whose GPUs are broken goes on without them. */
static void
farm_after_farm (void)
{
  FaultCase c = fault_nth_case (0);
  FaultBooks k;
  rogue_strategies ();
  hass_gpus_forget ();
  fake_cudart_install (&(FakePlan){ .n_devices = 2 });
  for (guint i = 0; i < 5; i++)
    {
      g_autoptr (HassReport) r = NULL;
      fault_books_init (&k, &c);
      if (i == 2)
        fake_cudart_plan (&(FakePlan){ .sticky_at_kernel = 1 });
      watchdog (60, "farm after farm");
      CU_ASSERT_TRUE (fault_run_farm (&k, &r, NULL));
      watchdog (0, NULL);
      fault_check_books (&k, TRUE, TRUE);
      CU_ASSERT_PTR_NULL (k.wrong);
      CU_ASSERT_EQUAL (r->n_devices, i < 3 ? 3 : 1);
      fault_books_clear (&k);
    }
  hass_gpus_forget ();
  CU_ASSERT_STRING_EQUAL (fake_cudart_remove ().wrong, "");
}

HASS_TEST_SUITE (
    gpu_faults, { "farms of all kinds run on GPUs", no_faults },
    { "farms of all kinds run on GPUs that start late or never", cold },
    { "any call may fail once", each_call_fails },
    { "any call may keep failing", calls_keep_failing },
    { "no copy goes on after its load was given back", waits_keep_failing },
    { "one wait that fails loses no GPU", a_wait_fails },
    { "copies may fail on the way", copies_fail },
    { "a sticky error takes all GPUs and loses nothing", sticky },
    { "a GPU that disappears loses nothing", gone },
    { "a kernel that hangs holds nothing up", hung },
    { "large loads survive failing pins and copies", large },
    { "tasks for lost GPUs alone are named", gpu_tasks },
    { "without a driver the CPU works, or the error says why", absent },
    { "farms go on when the GPUs are broken", farm_after_farm })
