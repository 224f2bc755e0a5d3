/* SPDX-License-Identifier: MIT */
/* test_virtual_dataflow_link.c: what cores compute beside a modelled GPU of
   which the link binds.
   Thread safety: one thread. */
#include <time.h>
#include <unistd.h>

#include "virtual_flow.h"

/* The modelled GPU runs no code. */
static gboolean
on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
        GError **error)
{
  (void)calls, (void)n_calls, (void)stream, (void)error;
  return FALSE;
}

static const HassCodelet counts
    = HASS_CODELET (.name = "count", .cpu = virtual_flow_count, .gpu = on_gpu);

#define N_TILES 200

static guint8 tiles[N_TILES][40000];

/* Tasks that update a tile each, so many bytes of it: 12 us on the GPU, 100 us
   on a core. */
static gboolean
update (HassGraph *graph, gsize bytes)
{
  for (guint i = 0; i < N_TILES; i++)
    virtual_flow_submit (graph, &counts,
                         hass_graph_data (graph, tiles[i], bytes, 1, 0),
                         HASS_UPDATE, 100);
  return TRUE;
}

static gboolean
update_large (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  return update (graph, sizeof *tiles);
}

static gboolean
update_small (HassGraph *graph, gpointer data, GError **error)
{
  (void)data, (void)error;
  return update (graph, 1000);
}

/* Large tiles take 45 us to the GPU and 45 us home. Four cores and the GPU
   would need 200 / (4 / 100 + 1 / 45.0) us. */
static void
link_binds (void)
{
  const double least = N_TILES / (4 / 100.0 + 1 / 45.0);
  g_autoptr (GError) error = NULL;
  VirtualFlow flow = { .n_cores = 4, .n_gpus = 1, .dry = TRUE };
  CU_ASSERT_TRUE (virtual_flow_run (&flow, update_large, &error));
  CU_ASSERT_TRUE (flow.us >= least && flow.us <= 1.25 * least);
  if (flow.us > 1.25 * least)
    g_printerr ("\n    %g us, not %g", flow.us, least);
  hass_report_free (flow.report);
}

/* Small ones take 6 us, behind kernels. */
static void
kernels_bind (void)
{
  g_autoptr (GError) error = NULL;
  VirtualFlow flow = { .n_cores = 4, .n_gpus = 1, .dry = TRUE };
  CU_ASSERT_TRUE (virtual_flow_run (&flow, update_small, &error));
  CU_ASSERT_EQUAL (flow.report->devices[0].units, 0);
  hass_report_free (flow.report);
}

/* -- Many data ---------------------------------------------------------- */

#define MOST_SMALL 20000

static guint8 small[MOST_SMALL][8];

/* A GPU reads one datum after the other, and waits for a core each time. @data:
   of how many data. */
static gboolean
take_turns (HassGraph *graph, gpointer data, GError **error)
{
  static const HassCodelet for_gpu
      = HASS_CODELET (.name = "gpu", .gpu = on_gpu);
  static const HassCodelet for_core
      = HASS_CODELET (.name = "core", .cpu = virtual_flow_count);
  static guint8 turn[8];
  const guint *n = data;
  HassAccess a[]
      = { { hass_graph_data (graph, turn, sizeof turn, 1, 0), HASS_UPDATE },
          { NULL, HASS_READ } };
  (void)error;
  for (guint i = 0; i < *n; i++)
    {
      a[1].data = hass_graph_data (graph, small[i], sizeof *small, 1, 0);
      hass_graph_task (graph, &for_gpu, a, 2, NULL);
      hass_graph_task (graph, &for_core, a, 1, NULL);
    }
  return TRUE;
}

/* Returns: the CPU time of a dataflow with @n data, in s. */
static double
seconds_of (guint n)
{
  g_autofree char *machine = virtual_flow_machine (1, 1, 0, 0);
  struct timespec begin, end;
  HassDataflow d = HASS_DATAFLOW_INIT;
  d.user_data = &n;
  d.build = take_turns;
  d.run.platform = machine;
  d.run.dry = TRUE;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &begin);
  CU_ASSERT_TRUE (hass_dataflow (&d, NULL, NULL));
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &end);
  unlink (machine);
  return (double)(end.tv_sec - begin.tv_sec)
         + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

/* Ten times as many data take a hundred times as long if the GPU looks at all
   of them whenever it has nothing to do. */
static void
many_resident (void)
{
  double few = seconds_of (MOST_SMALL / 10), many = seconds_of (MOST_SMALL);
  CU_ASSERT_TRUE (many < 40 * few);
  if (many >= 40 * few)
    g_printerr ("\n    %g s of a tenth, %g s of all", few, many);
}

HASS_TEST_SUITE (
    virtual_dataflow_link,
    { "cores soon compute tasks whose copies home bind the link of a GPU",
      link_binds },
    { "cores do not try 200 tasks that a GPU computes while it copies",
      kernels_bind },
    { "a GPU that waits does not look at all data that it has", many_resident })
