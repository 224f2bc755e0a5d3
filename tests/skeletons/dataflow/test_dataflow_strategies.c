/* SPDX-License-Identifier: MIT */
/* test_dataflow_strategies.c: what holds under every strategy of dataflows:
   random graphs leave the values of the sequential program, each task computed
   once, on cores and devices with little memory and with faults.
   Thread safety: one thread beside those of the dataflows. */
#include "device_mix.h"
#include "hass_test.h"
#include "sched/registry.h"

/* Runs a mix under each strategy. */
static void
run_under_all (DeviceMix mix, DeviceTally *tally)
{
  const HassStrategyOps *const *all = hass_builtin_strategies;
  guint n = 0;
  for (guint i = 0; all[i]; i++)
    if (all[i]->farms & HASS_FARM_DATAFLOW)
      {
        mix.strategy = all[i]->name;
        device_mix_run (&mix, tally);
        n++;
      }
  CU_ASSERT_TRUE (n >= 7);
}

static void
whole (void)
{
  DeviceTally tally = { 0 };
  run_under_all ((DeviceMix){ .name = "whole", .n = 40, .flags = PLAN_GPU },
                 &tally);
  run_under_all (
      (DeviceMix){ .name = "alone", .n = 40, .flags = PLAN_GPU | PLAN_ALONE },
      &tally);
  CU_ASSERT_TRUE (tally.computed > tally.graphs);
}

static void
small (void)
{
  DeviceTally tally = { 0 };
  run_under_all (
      (DeviceMix){ .name = "small", .n = 40, .flags = PLAN_GPU, .small = TRUE },
      &tally);
  run_under_all ((DeviceMix){ .name = "small, alone",
                              .n = 40,
                              .flags = PLAN_GPU | PLAN_ALONE,
                              .small = TRUE },
                 &tally);
  CU_ASSERT_TRUE (tally.no_memory > 0);
}

static void
faulty (void)
{
  DeviceTally tally = { 0 };
  run_under_all (
      (DeviceMix){
          .name = "faulty", .n = 50, .flags = PLAN_GPU, .faulty = TRUE },
      &tally);
  run_under_all ((DeviceMix){ .name = "faulty, alone",
                              .n = 50,
                              .flags = PLAN_GPU | PLAN_ALONE,
                              .faulty = TRUE },
                 &tally);
  run_under_all ((DeviceMix){ .name = "small and faulty",
                              .n = 40,
                              .flags = PLAN_GPU,
                              .small = TRUE,
                              .faulty = TRUE },
                 &tally);
  CU_ASSERT_TRUE (tally.lost > 0);
  CU_ASSERT_TRUE (tally.failed > 0);
}

static void
failing (void)
{
  DeviceTally tally = { 0 };
  run_under_all ((DeviceMix){ .name = "failing tasks",
                              .n = 40,
                              .flags = PLAN_GPU | PLAN_FAILS },
                 &tally);
}

static void
recorded (void)
{
  DeviceTally tally = { 0 };
  run_under_all ((DeviceMix){ .name = "recorded, faulty and alone",
                              .n = 20,
                              .flags = PLAN_GPU | PLAN_ALONE | PLAN_RECORDS,
                              .faulty = TRUE },
                 &tally);
  run_under_all ((DeviceMix){ .name = "recorded, small and faulty",
                              .n = 20,
                              .flags = PLAN_GPU | PLAN_RECORDS,
                              .small = TRUE,
                              .faulty = TRUE },
                 &tally);
}

HASS_TEST_SUITE (
    dataflow_strategies,
    { "under every strategy random graphs leave the sequential values", whole },
    { "so they do on devices with little memory", small },
    { "so they do if devices are lost, and if operations fail", faulty },
    { "so they do if tasks fail", failing },
    { "so do recorded graphs that are run again", recorded })
