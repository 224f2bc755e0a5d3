/* SPDX-License-Identifier: MIT */
/* test_dataflow_astray.c: a strategy that has tasks wait where no worker finds
   them ends the dataflow. Thread safety: one thread beside those of the
   dataflows. */
#include <string.h>

#include "device_flow.h"
#include "tests/engine/trial.h"
#include "tests/engine/virtual/virtual_flow.h"

static void
place_in_7 (gpointer self, const HassFlowState *state, const HassFlowTask *task,
            HassFlowSpot *spot)
{
  (void)self, (void)state, (void)task;
  spot->queue = 7;
}

static gboolean
look_into_6 (gpointer self, const HassFlowState *state, gint worker, guint n,
             HassFlowLook *look)
{
  (void)self, (void)state, (void)worker;
  look->queue = 6;
  return n == 0;
}

/* Cores look into queue 7, which holds tasks for devices. */
static gboolean
cores_look_into_7 (gpointer self, const HassFlowState *state, gint worker,
                   guint n, HassFlowLook *look)
{
  (void)self, (void)state;
  look->queue = worker == HASS_FLOW_CORES ? 7 : 6;
  return n == 0;
}

/* What a strategy was told where there is nothing to tell: the sum, or the
   least of copy_ns. */
static double told, told_copy_ns = G_MAXDOUBLE;

static void
ask (const HassFlowState *state, gint worker)
{
  told += state->task_ns (state, worker) + state->after_ns (state, worker);
  told_copy_ns = MIN (told_copy_ns, state->copy_ns (state, worker));
}

static void
place_and_ask (gpointer self, const HassFlowState *state,
               const HassFlowTask *task, HassFlowSpot *spot)
{
  (void)self, (void)task, (void)spot;
  ask (state, (gint)state->n_devices);
  ask (state, G_MAXINT);
}

static gboolean
look_and_ask (gpointer self, const HassFlowState *state, gint worker, guint n,
              HassFlowLook *look)
{
  (void)self, (void)look;
  ask (state, worker);
  ask (state, HASS_FLOW_CORES);
  return n == 0;
}

static const HassStrategyOps curious = { .struct_size = sizeof curious,
                                         .name = "test-curious",
                                         .summary = "asks about no task",
                                         .source = "test",
                                         .farms = HASS_FARM_DATAFLOW,
                                         .create = trial_env,
                                         .place = place_and_ask,
                                         .look = look_and_ask };

static const HassStrategyOps strategies[]
    = { { .struct_size = sizeof (HassStrategyOps),
          .name = "test-place-astray",
          .summary = "nobody looks into queue 7",
          .source = "test",
          .farms = HASS_FARM_DATAFLOW,
          .create = trial_env,
          .place = place_in_7 },
        { .struct_size = sizeof (HassStrategyOps),
          .name = "test-look-astray",
          .summary = "nobody looks into queue 0",
          .source = "test",
          .farms = HASS_FARM_DATAFLOW,
          .create = trial_env,
          .look = look_into_6 },
        { .struct_size = sizeof (HassStrategyOps),
          .name = "test-cores-astray",
          .summary = "cores find tasks for devices",
          .source = "test",
          .farms = HASS_FARM_DATAFLOW,
          .create = trial_env,
          .place = place_in_7,
          .look = cores_look_into_7 } };

static void
add_strategies (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
    if (!hass_strategy_find (strategies[i].name, NULL))
      CU_ASSERT_TRUE (hass_strategy_register (&strategies[i], NULL));
}

/* Returns: TRUE if the error names the strategy, the queue and the task. */
static gboolean
is_named (const GError *error, const char *strategy, guint queue)
{
  g_autofree char *where = g_strdup_printf ("wait in queue %u,", queue);
  gboolean ok = g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY)
                && strstr (error->message, strategy)
                && strstr (error->message, where)
                && strstr (error->message, "has task ");
  if (!ok)
    g_printerr ("\n    %s: %s\n", strategy, error ? error->message : "ran");
  return ok;
}

static gboolean
on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
        GError **error)
{
  (void)calls, (void)n_calls, (void)stream, (void)error;
  return FALSE;
}

static const HassCodelet both
    = HASS_CODELET (.name = "both", .cpu = virtual_flow_count, .gpu = on_gpu);
static const HassCodelet alone = HASS_CODELET (.name = "alone", .gpu = on_gpu);

static guint8 bytes[1000];

static gboolean
submit_two (HassGraph *graph, gpointer data, GError **error)
{
  HassData *d = hass_graph_data (graph, bytes, sizeof bytes, 1, 0);
  const VirtualFlow *flow = data;
  (void)error;
  for (guint i = 0; i < 2; i++)
    virtual_flow_submit (graph,
                         strstr (flow->strategy, "cores") ? &alone : &both, d,
                         HASS_UPDATE, 30);
  return TRUE;
}

static void
modelled (void)
{
  static const guint queues[] = { 7, 0, 7 };
  add_strategies ();
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (GError) error = NULL;
      VirtualFlow flow = { .n_cores = 2,
                           .n_gpus = 2,
                           .dry = TRUE,
                           .deadline_ms = 10000,
                           .strategy = strategies[i].name };
      CU_ASSERT_FALSE (virtual_flow_run (&flow, submit_two, &error));
      CU_ASSERT_TRUE (is_named (error, flow.strategy, queues[i]));
      hass_report_free (flow.report);
    }
}

static HassFlowAnswer
leave (gpointer self, const HassFlowState *state, gint worker,
       const HassFlowTask *task, HassFlowVerdict *verdict)
{
  (void)self, (void)state, (void)worker, (void)task, (void)verdict;
  return HASS_FLOW_LEAVE;
}

static void
left_by_all (void)
{
  static const HassStrategyOps lazy = { .struct_size = sizeof lazy,
                                        .name = "test-lazy",
                                        .summary = "leaves each task",
                                        .source = "test",
                                        .farms = HASS_FARM_DATAFLOW,
                                        .create = trial_env,
                                        .suits = leave };
  g_autoptr (GError) error = NULL;
  VirtualFlow flow
      = { .n_cores = 2, .n_gpus = 2, .dry = TRUE, .strategy = lazy.name };
  CU_ASSERT_TRUE (hass_strategy_register (&lazy, NULL));
  CU_ASSERT_FALSE (virtual_flow_run (&flow, submit_two, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY)
                  && strstr (error->message, "strategy \"test-lazy\" "));
  hass_report_free (flow.report);
}

static void
asks_about_nothing (void)
{
  VirtualFlow flow = { .n_cores = 2,
                       .n_gpus = 2,
                       .dry = TRUE,
                       .deadline_ms = 10000,
                       .strategy = curious.name };
  CU_ASSERT_TRUE (hass_strategy_register (&curious, NULL));
  CU_ASSERT_TRUE (virtual_flow_run (&flow, submit_two, NULL));
  CU_ASSERT_EQUAL (told, 0);
  CU_ASSERT_EQUAL (told_copy_ns, G_MAXDOUBLE);
  hass_report_free (flow.report);
}

static Block blocks[20];

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)error;
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    submit_grow (graph, user_data, block_data (graph, &blocks[i]));
  return TRUE;
}

static void
live (void)
{
  static const guint queues[] = { 7, 0, 7 };
  add_strategies ();
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (GError) error = NULL;
      DeviceFlow flow = device_flow_begin ("astray", 2, blocks, 20);
      flow.n_cores = 2;
      flow.deadline_ms = 10000;
      g_setenv ("HASS_STRATEGY", strategies[i].name, TRUE);
      CU_ASSERT_FALSE (device_flow_run (
          &flow, build, (gpointer)(i == 2 ? &grow_alone : &grow_both), &error));
      g_unsetenv ("HASS_STRATEGY");
      CU_ASSERT_TRUE (is_named (error, strategies[i].name, queues[i]));
      hass_report_free (flow.report);
    }
}

HASS_TEST_SUITE (
    dataflow_astray,
    { "on a modelled machine, a queue into which no worker looks ends the "
      "dataflow",
      modelled },
    { "on devices, a queue into which no worker looks ends the dataflow",
      live },
    { "on a modelled machine, a strategy by which every worker leaves each "
      "task "
      "ends the dataflow",
      left_by_all },
    { "what is asked about no task, or no worker, is known to be nothing",
      asks_about_nothing })
