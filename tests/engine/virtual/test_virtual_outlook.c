/* SPDX-License-Identifier: MIT */
/* test_virtual_outlook.c: HassFlowState.after_ns, rest_ns and home_ns, on a
   modelled machine with two GPUs, of which the copies of 1000 bytes are
   predicted to take 8 us. Thread safety: one thread. */
#include <string.h>

#include "tests/engine/trial.h"
#include "virtual_flow.h"

#define COPY_NS 8000.0

enum
{
  FIRST,
  SECOND,
  LAST
};

/* By codelet and worker + 1: what the strategy has seen last. */
static double seen_ns[3][3];
/* By codelet: HassFlowState.rest_ns. */
static double seen_rest_ns[3];

static void
note (gpointer self, const HassFlowState *state, const HassFlowTask *task,
      HassFlowSpot *spot)
{
  (void)self, (void)spot;
  seen_rest_ns[task->codelet] = state->rest_ns;
  for (gint w = HASS_FLOW_CORES; w < 2; w++)
    seen_ns[task->codelet][w + 1] = state->after_ns (state, w);
}

/* Most of HassFlowTask.home_ns, HassFlowState.home_ns and core_free_ns, by
   devices. */
static double seen_task_home_ns, seen_home_ns, seen_free_ns;

static HassFlowAnswer
take (gpointer self, const HassFlowState *state, gint worker,
      const HassFlowTask *task, HassFlowVerdict *verdict)
{
  (void)self, (void)verdict;
  if (worker >= 0)
    {
      seen_free_ns = MAX (seen_free_ns, state->core_free_ns);
      seen_task_home_ns = MAX (seen_task_home_ns, task->home_ns);
      seen_home_ns = MAX (seen_home_ns, state->home_ns);
    }
  return worker >= 0 && task->cores ? HASS_FLOW_LEAVE : HASS_FLOW_TAKE;
}

static const HassStrategyOps notes = { .struct_size = sizeof (HassStrategyOps),
                                       .name = "test-outlook",
                                       .summary = "notes the time after tasks",
                                       .source = "test",
                                       .farms = HASS_FARM_DATAFLOW,
                                       .create = trial_env,
                                       .place = note,
                                       .suits = take };

static const HassStrategyOps takes = { .struct_size = sizeof (HassStrategyOps),
                                       .name = "test-home",
                                       .summary = "leaves cores what they can",
                                       .source = "test",
                                       .farms = HASS_FARM_DATAFLOW,
                                       .create = trial_env,
                                       .suits = take };

/* The modelled GPU runs no code. */
static gboolean
on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
        GError **error)
{
  (void)calls, (void)n_calls, (void)stream, (void)error;
  return FALSE;
}

static const HassCodelet first
    = HASS_CODELET (.name = "first", .gpu = on_gpu),
    second = HASS_CODELET (.name = "second", .gpu = on_gpu),
    last = HASS_CODELET (.name = "last", .cpu = virtual_flow_count),
    either
    = HASS_CODELET (.name = "either", .cpu = virtual_flow_count, .gpu = on_gpu);

#define N_BLOCKS 20
static guint8 blocks[N_BLOCKS][1000];

/* The GPUs take 5 us for the first task and 12 us for the second, the cores 10
   us for the last; each changes what the next one reads. */
static gboolean
submit_chain (HassGraph *graph, gpointer data, GError **error)
{
  HassData *d = hass_graph_data (graph, blocks[0], 1000, 1, 0);
  (void)data, (void)error;
  virtual_flow_submit (graph, &first, d, HASS_UPDATE, 30);
  virtual_flow_submit (graph, &second, d, HASS_UPDATE, 100);
  virtual_flow_submit (graph, &last, d, HASS_UPDATE, 10);
  return TRUE;
}

/* The second task does not read what the first has written, the last reads it:
   it need not be copied to the second. */
static gboolean
submit_overwriting (HassGraph *graph, gpointer data, GError **error)
{
  HassData *d = hass_graph_data (graph, blocks[0], 1000, 1, 0);
  (void)data, (void)error;
  virtual_flow_submit (graph, &first, d, HASS_UPDATE, 30);
  virtual_flow_submit (graph, &second, d, HASS_WRITE, 100);
  return TRUE;
}

/* Of two ways to the end the longer one counts. */
static gboolean
submit_fork (HassGraph *graph, gpointer data, GError **error)
{
  HassData *d = hass_graph_data (graph, blocks[0], 1000, 1, 0);
  HassData *e = hass_graph_data (graph, blocks[1], 1000, 1, 0);
  HassAccess both[] = { { d, HASS_READ }, { e, HASS_UPDATE } };
  (void)data, (void)error;
  virtual_flow_submit (graph, &first, d, HASS_UPDATE, 30);
  virtual_flow_submit (graph, &second, d, HASS_READ, 100);
  hass_graph_task (graph, &last, both, 2, &(HassTaskHints){ .work = 10 });
  hass_graph_task (graph, &last, both, 2, &(HassTaskHints){ .work = 10 });
  return TRUE;
}

/* Runs a graph; @times: as VirtualFlow. */
static void
run_with (const HassStrategyOps *ops, HassBuildFunc build, guint64 times)
{
  VirtualFlow flow = { .n_cores = 1,
                       .n_gpus = 2,
                       .dry = TRUE,
                       .strategy = ops->name,
                       .times = times };
  g_autoptr (GError) error = NULL;
  if (!hass_strategy_find (ops->name, NULL))
    CU_ASSERT_TRUE (hass_strategy_register (ops, NULL));
  memset (seen_ns, 0xff, sizeof seen_ns); /* NaN */
  seen_task_home_ns = seen_home_ns = seen_free_ns = 0;
  CU_ASSERT_TRUE (virtual_flow_run (&flow, build, &error));
  hass_report_free (flow.report);
}

static void
run (HassBuildFunc build, guint64 times)
{
  run_with (&notes, build, times);
}

static void
saw (guint codelet, double cores_ns, double gpu_ns)
{
  const double *ns = seen_ns[codelet];
  CU_ASSERT_DOUBLE_EQUAL (ns[0], cores_ns, 5);
  CU_ASSERT_DOUBLE_EQUAL (ns[1], gpu_ns, 5);
  CU_ASSERT_EQUAL (ns[2], ns[1]);
}

static void
chain (void)
{
  run (submit_chain, 2);
  saw (SECOND, 10000, COPY_NS + 10000);
  saw (FIRST, COPY_NS + 12000 + COPY_NS + 10000, 12000 + COPY_NS + 10000);
}

static void
overwriting (void)
{
  run (submit_overwriting, 2);
  saw (SECOND, 0, 0);
  saw (FIRST, 12000, 12000);
}

static void
longer_way (void)
{
  run (submit_fork, 2);
  saw (SECOND, 0, 0);
  saw (FIRST, 20000, COPY_NS + 20000);
}

static void
unknown (void)
{
  run (submit_chain, 0);
  saw (SECOND, 0, 0);
  saw (FIRST, 0, 0);
  run (submit_chain, 1);
  saw (SECOND, 0, COPY_NS);
  saw (FIRST, COPY_NS + COPY_NS, COPY_NS);
}

/* What the two GPUs can compute is left until it may begin; what is placed has
   not entered yet. */
static void
rest (void)
{
  run (submit_chain, 2);
  CU_ASSERT_DOUBLE_EQUAL (seen_rest_ns[FIRST], (5000 + 12000) / 2, 5);
  CU_ASSERT_DOUBLE_EQUAL (seen_rest_ns[SECOND], 12000 / 2, 5);
  run (submit_chain, 1);
  CU_ASSERT_EQUAL (seen_rest_ns[FIRST], 0);
}

/* Both results go home. */
static gboolean
submit_two (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (guint i = 0; i < 2; i++)
    virtual_flow_submit (graph, &first,
                         hass_graph_data (graph, blocks[i], 1000, 1, 0),
                         HASS_UPDATE, 30);
  return TRUE;
}

static void
home (void)
{
  run (submit_two, 1);
  CU_ASSERT_EQUAL (seen_task_home_ns, 0);
  CU_ASSERT_EQUAL (seen_home_ns, 0);
  run (submit_two, 2);
  CU_ASSERT_DOUBLE_EQUAL (seen_task_home_ns, COPY_NS, 5);
  CU_ASSERT_DOUBLE_EQUAL (seen_home_ns, COPY_NS, 5);
}

/* The core takes 80 us for its task, and devices ask meanwhile. */
static gboolean
submit_beside_core (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (guint i = 0; i < N_BLOCKS; i++)
    virtual_flow_submit (graph, i == 0 ? &either : &first,
                         hass_graph_data (graph, blocks[i], 1000, 1, 0),
                         HASS_UPDATE, i == 0 ? 80 : 30);
  return TRUE;
}

static void
busy_core (void)
{
  run_with (&takes, submit_beside_core, 1);
  CU_ASSERT_EQUAL (seen_free_ns, 0);
  run_with (&takes, submit_beside_core, 2);
  CU_ASSERT_TRUE (seen_free_ns > 0);
  CU_ASSERT_TRUE (seen_free_ns <= 80000);
}

HASS_TEST_SUITE (
    virtual_outlook,
    { "what follows a task counts with the copies to where it is computed",
      chain },
    { "what a task writes anew is not copied to it", overwriting },
    { "of two paths after a task the longer one counts", longer_way },
    { "nothing counts after a task if no graph was recorded, and copies alone "
      "while times are unknown",
      unknown },
    { "what cannot begin yet is left for devices", rest },
    { "copies home count once a recorded graph has run", home },
    { "so does what a core has taken, whose strategy places no task",
      busy_core })
