/* SPDX-License-Identifier: MIT */
/* test_live.c: the live engine with devices that fail. The devices are of
   host memory; trial.h checks that nothing is lost and nothing is twice.
   Thread safety: one thread. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "sched/registry.h"
#include "tests/cpu_time.h"
#include "tests/engine/rogue.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define KINDS 4

static void
free_devices (Trial *t)
{
  for (guint d = 0; d < t->n_devices; d++)
    {
      StandInCounts c = stand_in_counts (t->devices[d]);
      CU_ASSERT_PTR_NULL (c.wrong);
      CU_ASSERT_EQUAL (c.opened, c.closed);
      stand_in_free (t->devices[d]);
    }
}

/* A failing device beside two cores and, every other time, a good one; for
   each strategy and kind. */
static void
beside_cores (const StandInPlan *plan, guint kinds)
{
  const HassStrategyOps *const *list = hass_builtin_strategies;
  StandInPlan good = { .name = "gpu1", .depth = 2, .delay_us = 20 };
  for (guint s = 0; list[s]; s++)
    for (guint k = 0; k < KINDS; k++)
      if (list[s]->farms & kinds & (1 << k))
        {
          Trial t = { .kind = 1 << k,
                      .strategy = list[s]->name,
                      .seed = s,
                      .n_cores = 2,
                      .n_loads = k == 0 ? 2 : 120,
                      .most_elements = k == 0 ? 1500 : 20,
                      .block_elements = 10,
                      .round_loads = 50,
                      .collect = TRUE,
                      .ordered = s % 2,
                      .spin_us = 50 };
          t.devices[t.n_devices++] = stand_in_new (plan);
          if ((s + k) % 2)
            t.devices[t.n_devices++] = stand_in_new (&good);
          trial_expect (&t);
          free_devices (&t);
        }
}

static void
refused_submit (void)
{
  StandInPlan plan = { .depth = 2, .fail_submit_every = 2 };
  beside_cores (&plan, HASS_FARM_ANY);
}

static void
failed_bundle (void)
{
  StandInPlan plan = { .depth = 2, .delay_us = 10, .fail_bundle_every = 3 };
  beside_cores (&plan, HASS_FARM_ANY);
}

static void
always_failing (void)
{
  StandInPlan plan = { .depth = 3, .fail_bundle_every = 1 };
  beside_cores (&plan, HASS_FARM_ANY);
}

static void
lost_device (void)
{
  StandInPlan plan = { .depth = 3, .delay_us = 10, .lose_at = 2 };
  beside_cores (&plan, HASS_FARM_ANY);
}

/* Not in a function farm: what a bundle did before wait failed is done. */
static void
broken_wait (void)
{
  StandInPlan plan = { .depth = 3, .wait_error_at = 2 };
  beside_cores (&plan, HASS_FARM_ANY & ~HASS_FARM_FUNCTION);
}

/* The other device computes its first bundle when this one is lost. */
static void
named_in_report (void)
{
  HassDevice *fails
      = stand_in_new (&(StandInPlan){ .fail_bundle_at = 1, .lose_at = 3 });
  HassDevice *waits = stand_in_new (
      &(StandInPlan){ .name = "gpu1", .holds_until_lost = fails });
  Trial t = { .kind = HASS_FARM_COMBINE,
              .strategy = "naive-greedy",
              .gpu_only = TRUE,
              .n_loads = 400,
              .most_elements = 4,
              .devices = { fails, waits },
              .n_devices = 2 };
  HassReport *report;
  CU_ASSERT_PTR_NULL (trial_run (&t, &report));
  CU_ASSERT_STRING_EQUAL (report->devices[0].name, "gpu0");
  CU_ASSERT_EQUAL (report->devices[0].failures, 2);
  CU_ASSERT_EQUAL (report->devices[0].units, 1);
  CU_ASSERT_TRUE (report->devices[0].lost);
  CU_ASSERT_EQUAL (report->devices[1].units, 399);
  CU_ASSERT_FALSE (report->devices[1].lost);
  g_autofree char *table = hass_report_to_string (report);
  CU_ASSERT_PTR_NOT_NULL (strstr (table, "LOST"));
  hass_report_free (report);
  free_devices (&t);
}

/* -- Without cores ------------------------------------------------------ */

static void
only_device_lost (void)
{
  GPtrArray *names = g_ptr_array_new ();
  const HassStrategyOps *const *list = hass_builtin_strategies;
  for (guint s = 0; list[s]; s++)
    if (list[s]->farms & HASS_FARM_COMBINE)
      g_ptr_array_add (names, (gpointer)list[s]->name);
  for (guint s = 0; s < names->len; s++)
    for (guint at = 1; at < 4; at++)
      {
        StandInPlan plan = { .lose_at = at, .depth = 1 + s % 2 };
        Trial t = { .kind = HASS_FARM_COMBINE,
                    .strategy = names->pdata[s],
                    .gpu_only = TRUE,
                    .n_loads = 100,
                    .n_generated = 50,
                    .round_loads = 20,
                    .most_elements = 8,
                    .may_fail_device = TRUE,
                    .devices = { stand_in_new (&plan) },
                    .n_devices = 1 };
        HassReport *report;
        g_autofree char *wrong = trial_run (&t, &report);
        CU_ASSERT_PTR_NULL (wrong);
        if (wrong)
          g_printerr ("\n    %s", wrong);
        CU_ASSERT_TRUE (report->devices[0].lost);
        CU_ASSERT_TRUE (report->n_unfinished > 0);
        hass_report_free (report);
        free_devices (&t);
      }
  g_ptr_array_unref (names);
}

static void
other_device_takes_over (void)
{
  const HassStrategyOps *const *list = hass_builtin_strategies;
  for (guint s = 0; list[s]; s++)
    {
      StandInPlan lost = { .name = "gpu0", .lose_at = 1, .depth = 2 };
      StandInPlan good = { .name = "gpu1", .delay_us = 30, .depth = 2 };
      Trial t = { .kind = HASS_FARM_COMBINE,
                  .strategy = list[s]->name,
                  .gpu_only = TRUE,
                  .n_loads = 100,
                  .n_generated = 60,
                  .pool_loads = 7,
                  .most_elements = 8,
                  .collect = TRUE,
                  .devices = { stand_in_new (&lost), stand_in_new (&good) },
                  .n_devices = 2 };
      if (list[s]->farms & HASS_FARM_COMBINE)
        trial_expect (&t);
      free_devices (&t);
    }
}

static void
not_opened (void)
{
  StandInPlan shut = { .fail_open = TRUE }, good = { .name = "gpu1" };
  Trial t = { .kind = HASS_FARM_COMBINE,
              .strategy = "naive-greedy",
              .gpu_only = TRUE,
              .n_loads = 20,
              .most_elements = 3,
              .devices = { stand_in_new (&shut), stand_in_new (&good) },
              .n_devices = 2 };
  trial_expect (&t);
  CU_ASSERT_EQUAL (stand_in_counts (t.devices[1]).finished, 20);
  free_devices (&t);
}

/* A device that is called off has not failed. */
static void
opening_called_off (void)
{
  StandInPlan plan = { .open_waits = TRUE };
  Trial t = { .kind = HASS_FARM_COMBINE,
              .strategy = "naive-greedy",
              .n_cores = 2,
              .n_loads = 100,
              .most_elements = 3,
              .devices = { stand_in_new (&plan) },
              .n_devices = 1 };
  HassReport *report;
  CU_ASSERT_PTR_NULL (trial_run (&t, &report));
  CU_ASSERT_EQUAL (report->devices[0].units, 100);
  CU_ASSERT_FALSE (report->devices[1].lost);
  CU_ASSERT_PTR_NULL (report->devices[1].message);
  hass_report_free (report);
  free_devices (&t);
}

static gboolean
no_worker (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
           GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

static gboolean
emits_none (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  while (!hass_emitter_stopping (emitter))
    g_usleep (100);
  return TRUE;
}

/* What is left is counted, and named in the error and in the report. */
static void
none_opened (void)
{
  StandInPlan shut = { .fail_open = TRUE };
  StandInPlan other = { .fail_open = TRUE, .name = "gpu1" };
  HassDevice *devices[] = { stand_in_new (&shut), stand_in_new (&other) };
  HassLoad loads[7] = { 0 };
  for (guint i = 0; i < 4; i++)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      g_autoptr (HassReport) r = NULL;
      g_autoptr (GError) error = NULL;
      gboolean any = i < 2;
      f.loads = any ? loads : NULL;
      f.n_loads = any ? 7 : 0;
      f.generate = any ? NULL : emits_none;
      f.gpu_worker = no_worker;
      f.run.devices = devices;
      f.run.n_devices = 1 + i % 2;
      watchdog (20, "no device opens");
      CU_ASSERT_FALSE (hass_data_farm_combine (&f, &r, &error));
      watchdog (0, NULL);
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
      const char *why = error ? error->message : "";
      CU_ASSERT_PTR_NOT_NULL (strstr (why, "gpu0 is lost: stand-in is shut"));
      CU_ASSERT_EQUAL (strstr (why, "gpu1 is lost: stand-in") != NULL, i % 2);
      /* A round may have begun meanwhile. */
      gboolean counted
          = strstr (why, "7 loads wait") || strstr (why, "7 units wait");
      CU_ASSERT_EQUAL (counted, any);
      CU_ASSERT_EQUAL (strstr (why, "the first is load 0") != NULL, any);
      CU_ASSERT_EQUAL (r->loads, f.n_loads);
      CU_ASSERT_EQUAL (r->n_unfinished, (guint)any);
      if (any && r->n_unfinished == 1)
        {
          CU_ASSERT_EQUAL (r->unfinished[0].seq, 0);
          CU_ASSERT_EQUAL (r->unfinished[0].n_loads, 7);
        }
    }
  stand_in_free (devices[0]);
  stand_in_free (devices[1]);
}

/* -- Depth and rest ----------------------------------------------------- */

static void
bundles_in_flight (void)
{
  rogue_strategies ();
  for (guint depth = 1; depth < 4; depth++)
    {
      StandInPlan plan = { .depth = depth, .delay_us = 300 };
      Trial t = { .kind = HASS_FARM_COMBINE,
                  .strategy = "rogue-deep",
                  .gpu_only = TRUE,
                  .n_loads = 200,
                  .most_elements = 5,
                  .devices = { stand_in_new (&plan) },
                  .n_devices = 1 };
      trial_expect (&t);
      CU_ASSERT_EQUAL (stand_in_counts (t.devices[0]).most_in_flight, depth);
      free_devices (&t);
    }
}

/* Of loads of so many bytes; each bundle has five. */
static guint
most_later (StandInPlan plan, gsize input_bytes)
{
  enum
  {
    LOADS = 60
  };
  HassDevice *device = stand_in_new (&plan);
  g_autofree guint8 *input = g_malloc0 (input_bytes);
  HassLoad loads[LOADS];
  HassDataFarm f = HASS_DATA_FARM_INIT;
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < LOADS; i++)
    loads[i]
        = (HassLoad){ .size = 1, .input = input, .input_bytes = input_bytes };
  f.loads = loads;
  f.n_loads = LOADS;
  f.gpu_worker = no_worker;
  f.run.strategy = "rogue-deep";
  f.run.devices = &device;
  f.run.n_devices = 1;
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, NULL, &error));
  CU_ASSERT_PTR_NULL (error);
  StandInCounts counts = stand_in_counts (device);
  CU_ASSERT_PTR_NULL (counts.wrong);
  CU_ASSERT_EQUAL (counts.finished, LOADS / 5);
  stand_in_free (device);
  return counts.most_later;
}

/* The stand-in adds the time that its kernels really took to what it is told to
   say. Seconds, so that a busy machine does not change which one is longer. */
static void
two_large_copies_are_enough (void)
{
  enum
  {
    LARGE = 2 << 20,
    SMALL = 1 << 20,
    SECOND_US = 1000000
  };
  StandInPlan plan = { .depth = 4, .delay_us = 2000, .h2d_us = 50 * SECOND_US };
  rogue_strategies ();
  CU_ASSERT_EQUAL (most_later (plan, LARGE), 2);
  CU_ASSERT_EQUAL (most_later (plan, SMALL), 4);
  plan.depth = 1;
  CU_ASSERT_EQUAL (most_later (plan, LARGE), 1);
  plan.depth = 4;
  plan.kernel_us = 20 * SECOND_US;
  CU_ASSERT_EQUAL (most_later (plan, LARGE), 4);
  /* What one of four that copy at a time says takes a quarter. */
  plan.kernel_us = 5 * SECOND_US;
  CU_ASSERT_EQUAL (most_later (plan, LARGE), 4);
  plan.kernel_us = 1 * SECOND_US;
  CU_ASSERT_EQUAL (most_later (plan, LARGE), 2);
  plan.host_us = 20 * SECOND_US;
  CU_ASSERT_EQUAL (most_later (plan, LARGE), 4);
}

/* Loads wait in the pool all the time; cores must not look at them while
   the round cannot begin. */
static void
cores_rest (void)
{
  StandInPlan plan = { .delay_us = 20000 };
  Trial t = { .kind = HASS_FARM_COMBINE,
              .strategy = "naive-greedy",
              .gpu_only = TRUE,
              .n_loads = 15,
              .n_generated = 15,
              .pool_loads = 2,
              .round_loads = 1,
              .most_elements = 2,
              .devices = { stand_in_new (&plan) },
              .n_devices = 1 };
  cpu_time_await_rest ();
  double before = cpu_time_s ();
  gint64 begin = g_get_monotonic_time ();
  trial_expect (&t);
  double elapsed = 1e-6 * (g_get_monotonic_time () - begin);
  CU_ASSERT_TRUE (elapsed > 0.29);
  CU_ASSERT_TRUE (cpu_time_s () - before < 0.3 * elapsed);
  free_devices (&t);
}

/* -- A generator that waits, and devices alone -------------------------- */

/* Only a device that is never given the load takes so long. */
#define PATIENCE_MS 120000

static _Atomic guint n_computed;

static void
count_blocks (const HassBundle *bundle, gpointer user_data)
{
  (void)user_data;
  atomic_fetch_add (&n_computed, (guint)bundle->n_blocks);
}

STAND_IN_WORKER (launch_count, count_blocks)

/* Emits the next load only when the one before has been computed. */
static gboolean
one_at_a_time (HassEmitter *emitter, gpointer user_data, GError **error)
{
  HassLoad load = { .size = 1 };
  (void)user_data;
  (void)error;
  for (guint i = 0; i < 5; i++)
    {
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
      for (int ms = 0; ms < PATIENCE_MS && atomic_load (&n_computed) <= i; ms++)
        g_usleep (1000);
      if (atomic_load (&n_computed) <= i)
        return FALSE;
    }
  return TRUE;
}

static void
slow_generator (void)
{
  StandInPlan plan = { 0 };
  HassDevice *device = stand_in_new (&plan);
  g_autoptr (GError) error = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.generate = one_at_a_time;
  farm.gpu_worker = launch_count;
  farm.run.devices = &device;
  farm.run.n_devices = 1;
  atomic_store (&n_computed, 0);
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, NULL, &error));
  CU_ASSERT_EQUAL (atomic_load (&n_computed), 5);
  stand_in_free (device);
}

HASS_TEST_SUITE (
    live, { "units of a refused submit run elsewhere", refused_submit },
    { "units of a failed bundle run elsewhere", failed_bundle },
    { "a device that always fails is given up", always_failing },
    { "what a lost device held runs elsewhere", lost_device },
    { "a device whose wait fails is lost with all it held", broken_wait },
    { "the report names failures and lost devices", named_in_report },
    { "a farm whose only device is lost ends and names what is left",
      only_device_lost },
    { "of two devices the other one takes over", other_device_takes_over },
    { "a device that does not open is left out", not_opened },
    { "a device that is still opened when the farm is over is called off",
      opening_called_off },
    { "where no device opens the farm says why and what is left", none_opened },
    { "as many bundles are in flight as the device can hold",
      bundles_in_flight },
    { "of large copies two at a time are enough", two_large_copies_are_enough },
    { "cores rest while a device works and loads wait", cores_rest },
    { "a device alone does not wait for a slow generator", slow_generator })
