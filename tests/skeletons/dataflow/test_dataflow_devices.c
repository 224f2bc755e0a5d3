/* SPDX-License-Identifier: MIT */
/* test_dataflow_devices.c: random graphs on cores and on devices
   (device_mix.h). Thread safety: one thread beside those of the dataflows. */
#include "device_mix.h"
#include "hass_test.h"

/* Of the tests below with codelets for devices alone: how much of the others
   devices compute is a matter of time. */
static DeviceTally sum;

static void
whole_devices (void)
{
  static const DeviceMix mix = { .name = "whole", .n = 300, .flags = PLAN_GPU };
  DeviceTally tally = { 0 };
  device_mix_run (&mix, &tally);
}

static void
small_devices (void)
{
  static const DeviceMix mix
      = { .name = "small", .n = 300, .flags = PLAN_GPU, .small = TRUE };
  DeviceTally tally = { 0 };
  device_mix_run (&mix, &tally);
}

static void
faulty_devices (void)
{
  static const DeviceMix mix
      = { .name = "faulty", .n = 400, .flags = PLAN_GPU, .faulty = TRUE };
  static const DeviceMix both = { .name = "small and faulty",
                                  .n = 200,
                                  .flags = PLAN_GPU,
                                  .small = TRUE,
                                  .faulty = TRUE };
  DeviceTally tally = { 0 };
  device_mix_run (&mix, &tally);
  device_mix_run (&both, &tally);
}

static void
failing_tasks (void)
{
  static const DeviceMix mix
      = { .name = "failing tasks", .n = 200, .flags = PLAN_GPU | PLAN_FAILS };
  DeviceTally tally = { 0 };
  device_mix_run (&mix, &tally);
}

static void
recorded_graphs (void)
{
  static const DeviceMix mixes[] = {
    { .name = "recorded", .n = 60, .flags = PLAN_GPU | PLAN_RECORDS },
    { .name = "recorded, small and faulty",
      .n = 150,
      .flags = PLAN_GPU | PLAN_RECORDS,
      .small = TRUE,
      .faulty = TRUE },
    { .name = "recorded, small and alone",
      .n = 100,
      .flags = PLAN_GPU | PLAN_ALONE | PLAN_RECORDS,
      .small = TRUE },
    { .name = "recorded, faulty and alone",
      .n = 150,
      .flags = PLAN_GPU | PLAN_ALONE | PLAN_RECORDS,
      .faulty = TRUE },
  };
  DeviceTally tally = { 0 };
  for (guint i = 0; i < G_N_ELEMENTS (mixes); i++)
    device_mix_run (&mixes[i], &tally);
  CU_ASSERT_TRUE (tally.computed > tally.graphs);
}

static void
devices_alone (void)
{
  static const DeviceMix mix
      = { .name = "alone", .n = 300, .flags = PLAN_GPU | PLAN_ALONE };
  device_mix_run (&mix, &sum);
}

static void
small_devices_alone (void)
{
  static const DeviceMix mix = { .name = "small, alone",
                                 .n = 300,
                                 .flags = PLAN_GPU | PLAN_ALONE,
                                 .small = TRUE };
  device_mix_run (&mix, &sum);
}

static void
one_sound_device (void)
{
  static const DeviceMix mix = { .name = "faulty, alone",
                                 .n = 300,
                                 .flags = PLAN_GPU | PLAN_ALONE,
                                 .faulty = TRUE };
  device_mix_run (&mix, &sum);
}

/* The tests before this one prove nothing about devices that have no work. */
static void
devices_worked (void)
{
  if (sum.graphs < 500)
    {
      hass_test_skip ("few graphs were run");
      return;
    }
  CU_ASSERT_TRUE (sum.computed > sum.graphs);
  CU_ASSERT_TRUE (sum.copies > sum.graphs);
  CU_ASSERT_TRUE (sum.no_memory > sum.graphs / 50);
  CU_ASSERT_TRUE (sum.failed > sum.graphs / 50);
  CU_ASSERT_TRUE (sum.lost > sum.graphs / 50);
}

HASS_TEST_SUITE (
    dataflow_devices,
    { "random graphs on cores and devices leave the sequential values",
      whole_devices },
    { "random graphs leave them on devices with little memory", small_devices },
    { "random graphs leave them on devices with faults", faulty_devices },
    { "tasks fail with the data that they need on devices, too",
      failing_tasks },
    { "recorded graphs leave the sequential values on devices, too",
      recorded_graphs },
    { "random graphs with codelets for devices alone leave their values",
      devices_alone },
    { "random graphs leave them on devices with room for the largest task",
      small_devices_alone },
    { "random graphs leave them if one device is sound", one_sound_device },
    { "devices computed, were full, failed and were lost in these graphs",
      devices_worked })
