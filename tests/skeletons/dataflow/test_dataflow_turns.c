/* SPDX-License-Identifier: MIT */
/* test_dataflow_turns.c: which of two devices that take long to open is opened,
   and when. Thread safety: one thread beside those of the dataflows. */
#include <stdatomic.h>
#include <unistd.h>

#include "device_flow.h"

#define HOUR_NS (3600 * G_GINT64_CONSTANT (1000000000))
#define SOON_NS (200 * G_GINT64_CONSTANT (1000000))
#define N 60

static Block blocks[N];
/* What each of the first kernels takes, and how many these are. */
static guint first_us, n_first = 1;
/* Kernels that have begun, and whether two have run at once. */
static _Atomic guint n_run;
static _Atomic gboolean both;
static StandInCallKernel kernel; /* of the codelet "timed" */

static gboolean
build_some (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)error;
  for (guint i = 0; i < *(guint *)user_data; i++)
    submit_grow (graph, &grow_alone, block_data (graph, &blocks[i]));
  return TRUE;
}

/* After the first ones a kernel waits until another one runs beside it, on
   another device. */
static void
grow_beside (const HassCall *call)
{
  guint before = atomic_fetch_add (&n_run, 1);
  if (before < n_first)
    usleep (first_us);
  if (before == n_first + 1)
    atomic_store (&both, TRUE);
  while (before == n_first && !atomic_load (&both))
    usleep (100);
  grow (call);
}

/* When the latest kernel began, and the longest time between two, but for the
   first. One thread at a time. */
static gint64 begun_us, most_us;

/* The first kernel takes 0.5 s, as if it had to be loaded, the others 1 ms. */
static void
grow_late (const HassCall *call)
{
  guint before = atomic_fetch_add (&n_run, 1);
  gint64 now_us = g_get_monotonic_time ();
  if (before > 1)
    most_us = MAX (most_us, now_us - begun_us);
  begun_us = now_us;
  usleep (before == 0 ? 500000 : 1000);
  grow (call);
}

static gboolean
on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
        GError **error)
{
  (void)error;
  for (guint i = 0; i < n_calls; i++)
    stand_in_data_launch (stream, kernel, &calls[i], 0);
  return TRUE;
}

static const HassCodelet timed = HASS_CODELET (.name = "timed", .gpu = on_gpu);

static gboolean
build_timed (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  for (guint i = 0; i < N; i++)
    submit_grow (graph, &timed, block_data (graph, &blocks[i]));
  return TRUE;
}

/* Tasks may come until two kernels have run at once. */
static gboolean
build_until_both (HassGraph *graph, gpointer user_data, GError **error)
{
  build_timed (graph, user_data, error);
  while (!atomic_load (&both))
    usleep (100);
  return TRUE;
}

/* Runs @n tasks on two devices, which say that they take so long to open. */
static DeviceFlow
run (StandInDataPlan first, StandInDataPlan second, HassBuildFunc build,
     guint n)
{
  DeviceFlow f = device_flow_begin ("turns", 2, blocks, N);
  first.name = f.plans[0].name;
  second.name = f.plans[1].name;
  f.plans[0] = first;
  f.plans[1] = second;
  atomic_store (&n_run, 0);
  atomic_store (&both, FALSE);
  device_flow_must_run (&f, build, &n);
  for (guint i = 0; i < n; i++)
    CU_ASSERT_TRUE (block_is (&blocks[i], 1));
  return f;
}

static void
assert_opened (const DeviceFlow *f, guint first, guint second)
{
  CU_ASSERT_EQUAL (f->counts[0].opened, first);
  CU_ASSERT_EQUAL (f->counts[1].opened, second);
  if (f->counts[0].opened != first || f->counts[1].opened != second)
    g_printerr ("\n    opened %u, %u\n", f->counts[0].opened,
                f->counts[1].opened);
}

static void
one_suffices (void)
{
  DeviceFlow f
      = run ((StandInDataPlan){ .opening_ns = HOUR_NS },
             (StandInDataPlan){ .opening_ns = HOUR_NS }, build_some, N);
  assert_opened (&f, 1, 0);
  CU_ASSERT_EQUAL (f.counts[0].computed, N);
}

static void
soonest_first (void)
{
  DeviceFlow f
      = run ((StandInDataPlan){ .opening_ns = HOUR_NS },
             (StandInDataPlan){ .opening_ns = SOON_NS }, build_some, N);
  assert_opened (&f, 0, 1);
  f = run ((StandInDataPlan){ .opening_ns = HOUR_NS }, (StandInDataPlan){ 0 },
           build_some, N);
  assert_opened (&f, 0, 1);
}

/* When the first two tasks have taken 20 ms each, 58 are left; or, on a machine
   that stands still meanwhile, more time has passed. */
static void
follows_for_work (void)
{
  kernel = grow_beside;
  first_us = 20000;
  n_first = 2;
  DeviceFlow f
      = run ((StandInDataPlan){ .opening_ns = SOON_NS },
             (StandInDataPlan){ .opening_ns = SOON_NS }, build_timed, N);
  first_us = 0;
  n_first = 1;
  assert_opened (&f, 1, 1);
}

static void
follows_in_time (void)
{
  kernel = grow_beside;
  DeviceFlow f
      = run ((StandInDataPlan){ .opening_ns = SOON_NS },
             (StandInDataPlan){ .opening_ns = SOON_NS }, build_until_both, N);
  assert_opened (&f, 1, 1);
}

/* 59 tasks of 0.5 s, or of three quarters of that, would take more than 18 s.
   They take 1 ms, unless the machine stands still; then nothing is claimed. */
static void
loads_first (void)
{
  const gint64 opening_us = 9000000;
  kernel = grow_late;
  most_us = 0;
  DeviceFlow f = run ((StandInDataPlan){ .opening_ns = 1000 * opening_us },
                      (StandInDataPlan){ .opening_ns = 1000 * opening_us },
                      build_timed, N);
  if (N * most_us < opening_us)
    assert_opened (&f, 1, 0);
  else
    g_printerr ("(a task took %" G_GINT64_FORMAT " us) ", most_us);
}

static void
replaces (void)
{
  DeviceFlow f
      = run ((StandInDataPlan){ .opening_ns = HOUR_NS, .lose_at = 5 },
             (StandInDataPlan){ .opening_ns = HOUR_NS }, build_some, N);
  assert_opened (&f, 1, 1);
  f = run ((StandInDataPlan){ .opening_ns = HOUR_NS, .fail_open = TRUE },
           (StandInDataPlan){ .opening_ns = HOUR_NS }, build_some, N);
  assert_opened (&f, 0, 1);
}

/* The kinds' starts do not hinder each other. */
static void
other_kind (void)
{
  kernel = grow_beside;
  DeviceFlow f
      = run ((StandInDataPlan){ .opening_ns = HOUR_NS, .kind = "another" },
             (StandInDataPlan){ .opening_ns = HOUR_NS }, build_until_both, N);
  assert_opened (&f, 1, 1);
}

HASS_TEST_SUITE (
    dataflow_turns,
    { "of two devices that take long to open one may suffice", one_suffices },
    { "the device that opens soonest goes first", soonest_first },
    { "the second device is opened if what has come takes long",
      follows_for_work },
    { "the second device is opened if tasks come for as long as that takes",
      follows_in_time },
    { "a first task that takes long does not count for those to come",
      loads_first },
    { "the second device is opened if the first one fails", replaces },
    { "devices of another kind do not wait for each other", other_kind })
