/* SPDX-License-Identifier: MIT */
/* test_virtual_dataflow_gpus.c: dataflows on modelled GPUs: times, memory,
   devices that get slower or are lost.
   Thread safety: single-threaded. */
#include <unistd.h>

#include "engine/graph/graph.h"
#include "engine/virtual/virtual.h"
#include "sched/registry.h"
#include "virtual_flow.h"

/* The modelled GPU runs no code. */
static gboolean
on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
        GError **error)
{
  (void)calls, (void)n_calls, (void)stream, (void)error;
  return FALSE;
}

static gboolean
grow (const HassCall *call, HassWorker *worker, GError **error)
{
  guint8 *bytes = call->views[0].data;
  for (gsize i = 0; i < call->views[0].row_bytes; i++)
    bytes[i]++;
  return virtual_flow_count (call, worker, error);
}

static void
merge (const HassDataView *into, const HassDataView *copy, gpointer data)
{
  (void)into, (void)copy, (void)data;
}

static const HassCodelet grows
    = HASS_CODELET (.name = "grow", .cpu = grow, .gpu = on_gpu);
static const HassCodelet for_gpu
    = HASS_CODELET (.name = "alone", .gpu = on_gpu);

static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return FALSE;
}

static guint8 blocks[8][1000];

/* Grows the first block twice. */
static gboolean
grow_one (HassGraph *graph, gpointer data, GError **error)
{
  HassData *d = hass_graph_data (graph, blocks[0], 1000, 1, 0);
  (void)data, (void)error;
  memset (blocks, 0, sizeof blocks);
  virtual_flow_submit (graph, &grows, d, HASS_UPDATE, 30);
  virtual_flow_submit (graph, &grows, d, HASS_UPDATE, 30);
  return TRUE;
}

/* Grows each block. */
static gboolean
grow_all (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  memset (blocks, 0, sizeof blocks);
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    virtual_flow_submit (graph, &grows,
                         hass_graph_data (graph, blocks[i], 1000, 1, 0),
                         HASS_UPDATE, 30);
  return TRUE;
}

/* Waits for the first block while another one is computed, and after cores have
   reduced into the second. */
static gboolean
grow_waiting (HassGraph *graph, gpointer data, GError **error)
{
  HassData *d = hass_graph_data (graph, blocks[0], 1000, 1, 0);
  (void)data, (void)error;
  memset (blocks, 0, sizeof blocks);
  virtual_flow_submit (graph, &grows, d, HASS_UPDATE, 30);
  CU_ASSERT_TRUE (hass_graph_wait (graph, d));
  CU_ASSERT_EQUAL (blocks[0][0], 1);
  d = hass_graph_data (graph, blocks[1], 1000, 1, 0);
  hass_graph_reduction (graph, d, NULL, merge, NULL);
  virtual_flow_submit (graph, &virtual_flow_counts, d, HASS_REDUCE, 10);
  virtual_flow_submit (graph, &grows, d, HASS_UPDATE, 30);
  return TRUE;
}

static void
gpu_times (void)
{
  VirtualFlow flow = { .n_cores = 1, .n_gpus = 1 };
  /* in 6, two kernels of 5, out 6 */
  virtual_flow_takes (&flow, grow_one, 22);
  CU_ASSERT_TRUE (blocks[0][0] == 2 && blocks[0][999] == 2);
  CU_ASSERT_EQUAL (flow.report->devices[1].units, 2);
  CU_ASSERT_EQUAL (flow.report->devices[1].bytes, 1000);
  CU_ASSERT_EQUAL (flow.report->devices[0].bytes, 1000);
  CU_ASSERT_DOUBLE_EQUAL (flow.report->devices[1].busy_s, 10e-6, 1e-12);
  /* three times these kernels and out; in only once */
  flow.times = 3;
  virtual_flow_takes (&flow, grow_one, 54);
  CU_ASSERT_TRUE (blocks[0][0] == 6 && blocks[0][999] == 6);
  flow.times = 0;
  /* 17; the cores' 10, the merge, 17 */
  virtual_flow_takes (&flow, grow_waiting, 44);
  /* the links bind in both directions: eight times 6, the last kernel, out 6 */
  virtual_flow_takes (&flow, grow_all, 59);
  flow.n_gpus = 2;
  virtual_flow_takes (&flow, grow_all, 35);
  CU_ASSERT_EQUAL (flow.report->devices[1].units, 4);
  CU_ASSERT_EQUAL (flow.report->devices[2].units, 4);
  CU_ASSERT_TRUE (blocks[0][999] == 1 && blocks[7][999] == 1);
  flow.dry = TRUE;
  virtual_flow_takes (&flow, grow_all, 35);
  CU_ASSERT_TRUE (blocks[0][999] == 0 && blocks[7][999] == 0);
  hass_report_free (flow.report);
}

static void
factors (void)
{
  VirtualFlow flow = { .n_gpus = 1,
                       .more = "[codelet grow]\ngpu = 0.3\n"
                               "[codelet count]\ncpu = 2\n" };
  /* as grow_waiting() above, the kernels take 12 us and the core's task 5 */
  virtual_flow_takes (&flow, grow_waiting, 53);
  hass_report_free (flow.report);
}

/* Writes parts of 100 bytes, faster than they go home. */
static gboolean
write_parts (HassGraph *graph, gpointer data, GError **error)
{
  static const HassCodelet writes
      = HASS_CODELET (.name = "write", .cpu = virtual_flow_count,
                      .gpu = on_gpu);
  (void)data, (void)error;
  for (guint i = 0; i < 40; i++)
    virtual_flow_submit (
        graph, &writes, hass_graph_data (graph, blocks[0] + 100 * i, 100, 1, 0),
        HASS_WRITE, 1);
  return TRUE;
}

static void
waits_for_memory (void)
{
  VirtualFlow flow = { .n_cores = 1, .n_gpus = 1 };
  g_setenv ("HASS_GPU_MEM", "1000", TRUE);
  /* a kernel of 2.1 us, forty copies home of 5.1 us */
  virtual_flow_takes (&flow, write_parts, 206.1);
  g_unsetenv ("HASS_GPU_MEM");
  CU_ASSERT_EQUAL (flow.report->devices[1].units, 40);
  hass_report_free (flow.report);
}

static void
limited (void)
{
  VirtualFlow flow = { .n_cores = 1, .n_gpus = 1 };
  g_setenv ("HASS_GPU_MEM", "999", TRUE);
  virtual_flow_takes (&flow, grow_one, 60); /* on the core */
  g_unsetenv ("HASS_GPU_MEM");
  CU_ASSERT_EQUAL (flow.report->devices[1].units, 0);
  hass_report_free (flow.report);
}

/* Grows each block four times. */
static gboolean
grow_often (HassGraph *graph, gpointer data, GError **error)
{
  HassData *d[G_N_ELEMENTS (blocks)];
  (void)data, (void)error;
  memset (blocks, 0, sizeof blocks);
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    d[i] = hass_graph_data (graph, blocks[i], 1000, 1, 0);
  for (guint k = 0; k < 4 * G_N_ELEMENTS (blocks); k++)
    virtual_flow_submit (graph, &grows, d[k % G_N_ELEMENTS (blocks)],
                         HASS_UPDATE, 30);
  return TRUE;
}

/* Runs grow_often on one core and two GPUs, to the second of which @event
   happens, with memory for so many bytes of data; 0: unlimited. Returns: the
   makespan in us. */
static double
run_event (const char *strategy, HassVirtualEvent event, gsize bytes,
           HassReport **report)
{
  VirtualFlow flow = { .n_computed = 0 };
  HassGraphRun of = { .build = grow_often, .user_data = &flow };
  HassRunOptions options = { .dry = FALSE };
  HassFarm farm = { .name = "events",
                    .kind = HASS_FARM_DATAFLOW,
                    .user_data = &of,
                    .generate = hass_graph_generate,
                    .cpu_worker = never,
                    .gpu_kind = "model",
                    .strategy = strategy,
                    .pool_loads = 1,
                    .source = &hass_graph_ops,
                    .run = &options };
  HassVirtualModel model = { .events = &event, .n_events = 1 };
  g_autofree char *path = virtual_flow_machine (1, 2, bytes, 0);
  HassPlatform *platform = hass_platform_load (path, "events", NULL);
  g_autoptr (GError) error = NULL;
  event.device = 2;
  CU_ASSERT_TRUE (
      hass_virtual_run_model (&farm, platform, &model, report, &error));
  if (error)
    g_printerr ("\n    %s\n", error->message);
  hass_platform_free (platform);
  unlink (path);
  guint n_wrong = 0;
  for (guint i = 0; i < sizeof blocks; i++)
    n_wrong += ((guint8 *)blocks)[i] != 4;
  CU_ASSERT_EQUAL (n_wrong, 0);
  return (*report)->makespan_s * 1e6;
}

/* At each moment of the run that is not far from another one. */
static void
gpu_lost (void)
{
  guint n_again = 0;
  for (gint64 ns = 1; ns < 80000; ns += 500)
    {
      g_autoptr (HassReport) r = NULL;
      run_event ("flow-auto", (HassVirtualEvent){ .at_ns = ns },
                 ns / 500 % 5 * 1500, &r);
      CU_ASSERT_EQUAL (r->loads, 32);
      CU_ASSERT_TRUE (r->devices[2].lost || r->makespan_s * 1e9 < ns);
      n_again += r->devices[2].units < 16 && r->devices[2].units > 0;
    }
  CU_ASSERT_TRUE (n_again > 0);
}

/* The strategies of dataflows. @i: the next one. */
typedef struct
{
  const HassStrategyOps *const *all;
  guint i;
} Each;

static const char *
next_strategy (Each *each)
{
  for (; each->all[each->i]; each->i++)
    if (each->all[each->i]->farms & HASS_FARM_DATAFLOW)
      return each->all[each->i++]->name;
  return NULL;
}

static void
gpu_lost_under_all (void)
{
  Each each = { .all = hass_builtin_strategies };
  for (const char *name; (name = next_strategy (&each));)
    for (gint64 ns = 1; ns < 80000; ns += 2500)
      {
        g_autoptr (HassReport) r = NULL;
        run_event (name, (HassVirtualEvent){ .at_ns = ns },
                   ns / 2500 % 5 * 1500, &r);
        CU_ASSERT_EQUAL (r->loads, 32);
        CU_ASSERT_STRING_EQUAL (r->strategy, name);
      }
}

static void
reproducible_under_all (void)
{
  Each each = { .all = hass_builtin_strategies };
  for (const char *name; (name = next_strategy (&each));)
    {
      VirtualFlow flow
          = { .strategy = name, .n_cores = 3, .n_gpus = 2, .noise = 0.3 };
      double us[2];
      for (guint i = 0; i < 2; i++)
        {
          g_autoptr (GError) error = NULL;
          CU_ASSERT_TRUE (virtual_flow_run (&flow, grow_often, &error));
          us[i] = flow.us;
        }
      CU_ASSERT_EQUAL (us[0], us[1]);
      CU_ASSERT_EQUAL (flow.report->loads, 32);
      hass_report_free (flow.report);
    }
}

static void
reproducible (void)
{
  double us[3];
  VirtualFlow flow = { .n_cores = 3, .n_gpus = 2, .noise = 0.3 };
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (GError) error = NULL;
      flow.seed = 1 + i / 2;
      CU_ASSERT_TRUE (virtual_flow_run (&flow, grow_often, &error));
      us[i] = flow.us;
    }
  CU_ASSERT_EQUAL (us[0], us[1]);
  CU_ASSERT_NOT_EQUAL (us[1], us[2]);
  hass_report_free (flow.report);
}

/* Of 100 updates of a datum on a GPU. */
static gboolean
long_on_gpu (HassGraph *graph, gpointer data, GError **error)
{
  HassData *d = hass_graph_data (graph, blocks[0], 1000, 1, 0);
  (void)data, (void)error;
  memset (blocks, 0, sizeof blocks);
  for (guint i = 0; i < 100; i++)
    virtual_flow_submit (graph, &grows, d, HASS_UPDATE, 6000);
  return TRUE;
}

static void
gpu_stopped (void)
{
  g_autoptr (GError) error = NULL;
  VirtualFlow flow = { .n_gpus = 1, .deadline_ms = 3 };
  CU_ASSERT_FALSE (virtual_flow_run (&flow, long_on_gpu, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEADLINE));
  CU_ASSERT_TRUE (flow.n_computed >= 4 && flow.n_computed <= 8);
  CU_ASSERT_TRUE (blocks[0][0] <= flow.n_computed);
  hass_report_free (flow.report);
}

static void
gpu_slower (void)
{
  g_autoptr (HassReport) before = NULL;
  g_autoptr (HassReport) after = NULL;
  double us = run_event (
      "flow-auto", (HassVirtualEvent){ .slower = 1, .at_ns = 1 }, 0, &before);
  double more = run_event (
      "flow-auto", (HassVirtualEvent){ .slower = 5, .at_ns = 1 }, 0, &after);
  CU_ASSERT_TRUE (more > us);
  CU_ASSERT_TRUE (after->devices[2].busy_s > before->devices[2].busy_s);
}

static gboolean
alone (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  virtual_flow_submit (graph, &for_gpu,
                       hass_graph_data (graph, blocks, 1000, 1, 0), HASS_UPDATE,
                       30);
  return TRUE;
}

static void
gpu_alone (void)
{
  g_autoptr (GError) error = NULL;
  VirtualFlow flow = { .n_cores = 1, .n_gpus = 1 };
  CU_ASSERT_FALSE (virtual_flow_run (&flow, alone, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_DEVICE));
  CU_ASSERT_PTR_NOT_NULL (error && strstr (error->message, "a dry run"));
  flow.dry = TRUE;
  virtual_flow_takes (&flow, alone, 17);
  hass_report_free (flow.report);
}

static void
runs_nowhere (void)
{
  g_autoptr (GError) error = NULL;
  VirtualFlow flow = { .n_cores = 1, .n_gpus = 1, .dry = TRUE };
  g_setenv ("HASS_GPU_MEM", "999", TRUE);
  CU_ASSERT_FALSE (virtual_flow_run (&flow, alone, &error));
  g_unsetenv ("HASS_GPU_MEM");
  CU_ASSERT_PTR_NOT_NULL (
      error && strstr (error->message, "1000 bytes, more than gpu0"));
  CU_ASSERT_EQUAL (flow.report->devices[0].busy_s, 0);
  hass_report_free (flow.report);
}

/* Grows the first two blocks. */
static gboolean
grow_two (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (guint i = 0; i < 2; i++)
    virtual_flow_submit (graph, &grows,
                         hass_graph_data (graph, blocks[i], 1000, 1, 0),
                         HASS_UPDATE, 30);
  return TRUE;
}

static void
one_each (void)
{
  VirtualFlow flow = { .n_gpus = 2 };
  /* in 6, a kernel of 5, out 6 */
  virtual_flow_takes (&flow, grow_two, 17);
  CU_ASSERT_EQUAL (flow.report->devices[1].units, 1);
  CU_ASSERT_EQUAL (flow.report->devices[2].units, 1);
  hass_report_free (flow.report);
}

#define ROUNDS 60

/* Grows each block ROUNDS times. */
static gboolean
grow_long (HassGraph *graph, gpointer data, GError **error)
{
  HassData *d[G_N_ELEMENTS (blocks)];
  (void)data, (void)error;
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    d[i] = hass_graph_data (graph, blocks[i], 1000, 1, 0);
  for (guint k = 0; k < ROUNDS * G_N_ELEMENTS (blocks); k++)
    virtual_flow_submit (graph, &grows, d[k % G_N_ELEMENTS (blocks)],
                         HASS_UPDATE, 300);
  return TRUE;
}

/* Kernels take 32 us on one GPU and 2 + 300 / 36 us on the other one. */
static void
unequal (void)
{
  VirtualFlow flow
      = { .n_gpus = 1,
          .dry = TRUE,
          .more = "[gpu1]\nmultiprocessors = 4\nwidth = 64\nwork_per_us = 36\n"
                  "launch_us = 2\nlink_us = 5\nh2d_gbps = 1\n" };
  g_autoptr (GError) error = NULL;
  double least
      = ROUNDS * G_N_ELEMENTS (blocks) / (1 / 32.0 + 1 / (2 + 300 / 36.0));
  CU_ASSERT_TRUE (virtual_flow_run (&flow, grow_long, &error));
  CU_ASSERT_TRUE (flow.us >= least);
  CU_ASSERT_TRUE (flow.us <= least / 0.9);
  if (flow.us > least / 0.9)
    g_printerr ("\n    %g us, not %g", flow.us, least);
  hass_report_free (flow.report);
}

/* Tasks on data of their own. A core computes one in 300 us, a GPU in 32. */
static gboolean
tasks_apart (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (guint k = 0; k < G_N_ELEMENTS (blocks); k++)
    virtual_flow_submit (graph, &grows,
                         hass_graph_data (graph, blocks[k], 1000, 1, 0),
                         HASS_UPDATE, 300);
  return TRUE;
}

static void
eager (void)
{
  static const char *const names[] = { "flow-eager", "flow-auto" };
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      VirtualFlow flow
          = { .strategy = names[i], .n_cores = 1, .n_gpus = 1, .dry = TRUE };
      CU_ASSERT_TRUE (virtual_flow_run (&flow, tasks_apart, &error));
      CU_ASSERT_EQUAL (flow.report->devices[0].units > 0, i == 0);
      CU_ASSERT_EQUAL (flow.us >= 300, i == 0);
      hass_report_free (flow.report);
    }
}

HASS_TEST_SUITE (
    virtual_dataflow_gpus,
    { "a modelled GPU takes copies, kernels and the way home into account",
      gpu_times },
    { "of two ready tasks each of two equal GPUs takes one", one_each },
    { "two unequal GPUs compute chains in no more than 1 / 0.9 of the least "
      "time",
      unequal },
    { "the platform has factors of the rates for a codelet", factors },
    { "a GPU without memory waits for data that go home", waits_for_memory },
    { "HASS_GPU_MEM limits the memory of a modelled GPU", limited },
    { "when a modelled GPU is lost, what it alone had is computed again",
      gpu_lost },
    { "so it is under every strategy", gpu_lost_under_all },
    { "every strategy gives the same time with the same seed",
      reproducible_under_all },
    { "under flow-eager a core takes a task that the GPU would end earlier",
      eager },
    { "a modelled GPU that becomes slower takes longer", gpu_slower },
    { "the same seed gives the same time on a machine with noise",
      reproducible },
    { "a deadline stops a dataflow on a GPU", gpu_stopped },
    { "a codelet without a function for cores needs a dry run", gpu_alone },
    { "a task that nothing can compute takes no core's time", runs_nowhere })
