/* SPDX-License-Identifier: MIT */
/* test_virtual_maker.c: HassFlowTask.maker, on a modelled machine with two
   GPUs.
   Thread safety: one thread. */
#include <string.h>

#include "tests/engine/trial.h"
#include "virtual_flow.h"

/* By codelet. @makers: of the task that was placed last. */
static gint makers[4];
static guint n_placed[4];

static void
note (gpointer self, const HassFlowState *state, const HassFlowTask *task,
      HassFlowSpot *spot)
{
  (void)self, (void)state, (void)spot;
  makers[task->codelet] = task->maker;
  n_placed[task->codelet]++;
}

/* The second GPU computes all. */
static gboolean
second_looks (gpointer self, const HassFlowState *state, gint worker, guint n,
              HassFlowLook *look)
{
  (void)self, (void)state, (void)look;
  return worker == 1 && n == 0;
}

static const HassStrategyOps notes = { .struct_size = sizeof (HassStrategyOps),
                                       .name = "test-maker",
                                       .summary = "notes who made tasks ready",
                                       .source = "test",
                                       .farms = HASS_FARM_DATAFLOW,
                                       .create = trial_env,
                                       .place = note,
                                       .look = second_looks };

/* The modelled GPU runs no code. */
static gboolean
on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
        GError **error)
{
  (void)calls, (void)n_calls, (void)stream, (void)error;
  return FALSE;
}

static const HassCodelet codelets[4]
    = { HASS_CODELET (.name = "first", .gpu = on_gpu),
        HASS_CODELET (.name = "after a GPU", .gpu = on_gpu),
        HASS_CODELET (.name = "cores", .cpu = virtual_flow_count),
        HASS_CODELET (.name = "after cores", .gpu = on_gpu) };

static guint8 blocks[2][1000];

static gboolean
submit_chain (HassGraph *graph, gpointer data, GError **error)
{
  HassData *d = hass_graph_data (graph, blocks[0], 1000, 1, 0);
  (void)data, (void)error;
  for (guint i = 0; i < G_N_ELEMENTS (codelets); i++)
    virtual_flow_submit (graph, &codelets[i], d, HASS_UPDATE, 30);
  return TRUE;
}

/* Two tasks, of which each needs all memory of a GPU. */
static gboolean
submit_large (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (guint i = 0; i < 2; i++)
    virtual_flow_submit (graph, &codelets[i],
                         hass_graph_data (graph, blocks[i], 1000, 1, 0),
                         HASS_UPDATE, 30);
  return TRUE;
}

static void
run (HassBuildFunc build, guint64 times)
{
  VirtualFlow flow = { .n_cores = 2,
                       .n_gpus = 2,
                       .dry = TRUE,
                       .strategy = notes.name,
                       .times = times };
  g_autoptr (GError) error = NULL;
  if (!hass_strategy_find (notes.name, NULL))
    CU_ASSERT_TRUE (hass_strategy_register (&notes, NULL));
  memset (n_placed, 0, sizeof n_placed);
  CU_ASSERT_TRUE (virtual_flow_run (&flow, build, &error));
  hass_report_free (flow.report);
}

static void
chain (void)
{
  for (guint64 times = 0; times < 3; times++)
    {
      run (submit_chain, times);
      CU_ASSERT_EQUAL (makers[0], HASS_FLOW_NO_WORKER);
      CU_ASSERT_EQUAL (makers[1], 1);
      CU_ASSERT_EQUAL (makers[3], HASS_FLOW_CORES);
      CU_ASSERT_EQUAL (n_placed[1], MAX (times, 1));
      CU_ASSERT_EQUAL (n_placed[3], MAX (times, 1));
    }
}

static void
no_room (void)
{
  g_setenv ("HASS_GPU_MEM", "1000", TRUE);
  run (submit_large, 0);
  g_unsetenv ("HASS_GPU_MEM");
  CU_ASSERT_EQUAL (makers[1], 1);
}

HASS_TEST_SUITE (
    virtual_maker,
    { "a strategy sees which worker has made a task ready, recorded or not",
      chain },
    { "it sees which one gives a task back as its memory is full", no_room })
