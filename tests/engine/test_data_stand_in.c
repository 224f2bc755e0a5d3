/* SPDX-License-Identifier: MIT */
/* test_data_stand_in.c: the stand-in device that dataflows are tested with.
   Thread safety: single-threaded; the devices have threads of their own. */
#include <stdio.h>
#include <string.h>

#include "data_trial.h"
#include "hass/error.h"
#include "hass_test.h"
#include "stand_in_data.h"

#define TRIALS 300

static void
add (const HassCall *call)
{
  guint8 *data = call->views[0].data;
  for (gsize i = 0; i < call->views[0].row_bytes; i++)
    data[i] = (guint8)(data[i] + *(const guint8 *)call->arguments);
}

static void
launch (HassGpuStream *stream, gpointer data, gsize bytes, guint8 what)
{
  HassDataView view = { data, bytes, 1, bytes };
  HassCall call = { .views = &view, .n_views = 1, .arguments = &what };
  stand_in_data_launch (stream, add, &call, 1);
}

static void
run_plans (const StandInDataPlan *plans, guint n, guint32 seed,
           gint64 deadline_ns, DataTrialCounts *counts)
{
  DataTrial trial = { .n_devices = n,
                      .launch = launch,
                      .seed = seed,
                      .steps = 600,
                      .most_bytes = 2000,
                      .deadline_ns = deadline_ns };
  for (guint i = 0; i < n; i++)
    trial.devices[i] = stand_in_data_new (&plans[i]);
  const char *wrong = data_trial_run (&trial, counts);
  for (guint i = 0; i < n && !wrong; i++)
    {
      StandInDataCounts c = stand_in_data_counts (trial.devices[i]);
      wrong = c.wrong;
      if (!wrong && (c.bytes > 0 || c.opened != c.closed))
        wrong = "memory or an open device is left";
      if (!wrong && plans[i].memory_bytes > 0
          && c.most_bytes > plans[i].memory_bytes)
        wrong = "it gave more memory than it has";
    }
  for (guint i = 0; i < n; i++)
    stand_in_data_free (trial.devices[i]);
  CU_ASSERT_PTR_NULL (wrong);
  if (wrong)
    printf ("\nseed %u: %s\n", seed, wrong);
}

static void
random_operations (void)
{
  DataTrialCounts sum = { 0 };
  for (guint32 seed = 0; seed < TRIALS; seed++)
    {
      DataTrialCounts c;
      StandInDataPlan plan = { .seed = seed,
                               .memory_bytes = seed % 3 ? 0 : 5000,
                               .threads = seed % 4 == 3 ? 2 : 0,
                               .delay_us = seed % 8 == 7 ? 50 : 0 };
      StandInDataPlan plans[] = { plan, plan };
      run_plans (plans, 2, seed, 0, &c);
      CU_ASSERT_EQUAL (c.begun, c.ended);
      CU_ASSERT_EQUAL (c.failed + c.lost, 0);
      sum.ended += c.ended;
      sum.no_memory += c.no_memory;
    }
  CU_ASSERT_TRUE (sum.ended > 60 * TRIALS);
  CU_ASSERT_TRUE (sum.no_memory > TRIALS);
}

static void
random_failures (void)
{
  DataTrialCounts sum = { 0 };
  for (guint32 seed = 0; seed < TRIALS; seed++)
    {
      DataTrialCounts c;
      StandInDataPlan plan = { .seed = seed,
                               .threads = seed % 4 == 3 ? 2 : 0,
                               .fail_alloc_every = seed % 5,
                               .refuse_every = seed % 7,
                               .fail_every = seed % 3 ? 5 + seed % 11 : 0,
                               .lose_at = seed % 2 ? 1 + seed % 90 : 0,
                               .lose_at_call = seed % 8 ? 0 : 1 + seed % 90,
                               .hang_at = seed % 6 ? 0 : 1 + seed % 40 };
      StandInDataPlan plans[] = { plan, plan };
      plans[1].lose_at = plans[1].hang_at = 0;
      run_plans (plans, 2, seed, 2000000, &c);
      sum.ended += c.ended;
      sum.failed += c.failed;
      sum.refused += c.refused;
      sum.no_memory += c.no_memory;
      sum.lost += c.lost;
    }
  CU_ASSERT_TRUE (sum.ended > 10 * TRIALS);
  CU_ASSERT_TRUE (sum.failed > TRIALS / 2);
  CU_ASSERT_TRUE (sum.refused > TRIALS / 2);
  CU_ASSERT_TRUE (sum.no_memory > TRIALS / 2);
  CU_ASSERT_TRUE (sum.lost > TRIALS / 3);
}

/* -- What it notes --------------------------------------------------------- */

static const HassDeviceFarm farm = { .kind = HASS_FARM_DATAFLOW };

static HassDevice *
open_one (const StandInDataPlan *plan)
{
  HassDevice *device = stand_in_data_new (plan);
  CU_ASSERT_TRUE (device->ops->open (device, &farm, NULL));
  return device;
}

static void
ends_with (HassDevice *device, const char *what)
{
  device->ops->close (device);
  StandInDataCounts c = stand_in_data_counts (device);
  CU_ASSERT_PTR_NOT_NULL (c.wrong);
  CU_ASSERT_STRING_EQUAL (c.wrong ? c.wrong : "nothing", what);
  stand_in_data_free (device);
}

static void
notes_misuse (void)
{
  StandInDataPlan plan = { 0 };
  guint8 host[64], *memory = NULL;
  HassDataDone done;
  HassDevice *d = open_one (&plan);
  const HassDeviceDataOps *ops = d->ops->data;
  CU_ASSERT_TRUE (ops->alloc (d, 64, (gpointer *)&memory, NULL));
  ends_with (d, "closed with memory allocated");

  d = open_one (&plan);
  ops->alloc (d, 64, (gpointer *)&memory, NULL);
  HassDataCopy copy
      = { .memory = memory, .host = host, .row_bytes = 64, .rows = 1 };
  CU_ASSERT_TRUE (ops->copy (d, 1, &copy, NULL));
  ops->free (d, memory);
  CU_ASSERT_TRUE (ops->wait (d, 1000, &done, NULL));
  ends_with (d, "freed memory that an operation uses");

  d = open_one (&plan);
  ops->alloc (d, 63, (gpointer *)&memory, NULL);
  copy.memory = memory;
  CU_ASSERT_TRUE (ops->copy (d, 1, &copy, NULL));
  ends_with (d, "an operation on memory that is not there");

  d = open_one (&plan);
  ops->alloc (d, 64, (gpointer *)&memory, NULL);
  copy.memory = memory;
  CU_ASSERT_TRUE (ops->copy (d, 1, &copy, NULL));
  CU_ASSERT_TRUE (ops->copy (d, 1, &copy, NULL));
  ends_with (d, "a ticket that is in flight");
}

static guint8
first_byte (HassDevice *d, const guint8 *memory)
{
  guint8 host = 0;
  HassDataDone done;
  HassDataCopy copy = { .memory = (gpointer)memory,
                        .host = &host,
                        .row_bytes = 1,
                        .rows = 1,
                        .to_host = TRUE };
  CU_ASSERT_TRUE (d->ops->data->copy (d, 99, &copy, NULL));
  CU_ASSERT_TRUE (d->ops->data->wait (d, 1000, &done, NULL));
  return host;
}

static void
spoils (void)
{
  StandInDataPlan plan = { .fail_at = 2 };
  HassDevice *d = open_one (&plan);
  const HassDeviceDataOps *ops = d->ops->data;
  guint8 host[64] = { 1 };
  gpointer memory = NULL;
  HassDataDone done = { 0 };
  g_autoptr (GError) error = NULL;
  ops->alloc (d, 64, &memory, NULL);
  HassDataCopy copy
      = { .memory = memory, .host = host, .row_bytes = 64, .rows = 1 };
  CU_ASSERT_TRUE (ops->copy (d, 6, &copy, NULL));
  CU_ASSERT_TRUE (ops->wait (d, 1000, &done, NULL));
  CU_ASSERT_FALSE (done.failed);
  host[0] = 2;
  CU_ASSERT_TRUE (ops->copy (d, 7, &copy, NULL));
  CU_ASSERT_TRUE (ops->wait (d, 1000, &done, &error));
  CU_ASSERT_TRUE (done.failed && done.ticket == 7);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
  guint8 after = first_byte (d, memory);
  CU_ASSERT_TRUE (after != 1 && after != 2);
  ops->free (d, memory);
  d->ops->close (d);
  CU_ASSERT_PTR_NULL (stand_in_data_counts (d).wrong);
  stand_in_data_free (d);
}

HASS_TEST_SUITE (
    data_stand_in,
    { "random operations of two devices bring each byte where it belongs",
      random_operations },
    { "with failures of any kind what a stand-in does not lose is right",
      random_failures },
    { "a stand-in notes what the engine does wrong", notes_misuse },
    { "what a failed copy should have written is spoilt", spoils })
