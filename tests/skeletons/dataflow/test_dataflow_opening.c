/* SPDX-License-Identifier: MIT */
/* test_dataflow_opening.c: who computes the first task while a device is being
   opened. Thread safety: one thread beside those of the dataflows. */
#include "device_flow.h"
#include "engine/graph/place.h"

/* Longer than any test lasts. */
#define LONG_NS (G_MAXINT64 / 2)

static gboolean
build_one (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)error;
  submit_grow (graph, &grow_both, block_data (graph, user_data));
  return TRUE;
}

/* Runs one task that @build submits and that cores and the device can compute,
   @late_ns being how long cores wait for the device. Returns: TRUE if the
   device computed it. */
static gboolean
computes_what (HassBuildFunc build, StandInDataPlan plan, gint64 late_ns)
{
  Block block;
  DeviceFlow f = device_flow_begin ("opening", 1, &block, 1);
  gint64 before = hass_place_late_ns;
  plan.name = f.plans[0].name;
  f.plans[0] = plan;
  hass_place_late_ns = late_ns;
  device_flow_must_run (&f, build, &block);
  hass_place_late_ns = before;
  CU_ASSERT_TRUE (block_is (&block, 1));
  return f.counts[0].computed > 0;
}

static gboolean
device_computes (StandInDataPlan plan, gint64 late_ns)
{
  return computes_what (build_one, plan, late_ns);
}

static void
opens_soon (void)
{
  CU_ASSERT_TRUE (device_computes ((StandInDataPlan){ 0 }, LONG_NS));
}

static void
opens_slowly (void)
{
  CU_ASSERT_FALSE (device_computes (
      (StandInDataPlan){ .open_waits = TRUE, .opening_ns = 10000000000 },
      LONG_NS));
}

static void
opens_late (void)
{
  CU_ASSERT_FALSE (
      device_computes ((StandInDataPlan){ .open_waits = TRUE }, 1000000));
}

/* The only core looks at a task, which it leaves to the device until 1 ns
   later; it does not sleep before it has looked again. */
static gboolean
build_and_look (HassGraph *graph, gpointer user_data, GError **error)
{
  build_one (graph, user_data, error);
  CU_ASSERT_FALSE (hass_graph_any (graph));
  gint64 again_ns = hass_place_again_ns (graph->job);
  CU_ASSERT_TRUE (again_ns > 0);
  CU_ASSERT_TRUE (again_ns <= graph->job->engine->now (graph->job));
  CU_ASSERT_TRUE (hass_graph_any (graph));
  CU_ASSERT_EQUAL (hass_place_again_ns (graph->job), 0);
  return TRUE;
}

static void
late_after_a_look (void)
{
  CU_ASSERT_FALSE (computes_what (build_and_look,
                                  (StandInDataPlan){ .open_waits = TRUE }, 1));
}

static void
fails_to_open (void)
{
  CU_ASSERT_FALSE (
      device_computes ((StandInDataPlan){ .fail_open = TRUE }, LONG_NS));
}

HASS_TEST_SUITE (
    dataflow_opening,
    { "cores leave the first task to a device that opens soon", opens_soon },
    { "cores compute it while a device opens that says it takes long",
      opens_slowly },
    { "cores compute it if the device does not open in time", opens_late },
    { "none sleeps after a look before the device was late",
      late_after_a_look },
    { "cores compute it if the device fails to open", fails_to_open })
