/* SPDX-License-Identifier: MIT */
/* test_virtual_dataflow_link.c: what cores compute beside a modelled GPU of
   which the link binds.
   Thread safety: one thread. */
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

HASS_TEST_SUITE (
    virtual_dataflow_link,
    { "cores soon compute tasks whose copies home bind the link of a GPU",
      link_binds },
    { "cores do not try 200 tasks that a GPU computes while it copies",
      kernels_bind })
