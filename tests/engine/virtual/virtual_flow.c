/* SPDX-License-Identifier: MIT */
/* virtual_flow.c: see virtual_flow.h. */
#include "virtual_flow.h"

#include <gio/gio.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/engine/trial.h"

char *
virtual_flow_machine (guint cores, guint n_gpus, gsize bytes, double noise)
{
  GString *text = g_string_new ("[platform]\nname = test\n");
  g_string_append_printf (text,
                          "noise = %g\n[cpu]\ncores = %u\nwork_per_us = 1\n"
                          "pull_us = 0\n",
                          noise, cores);
  for (guint g = 0; g < n_gpus; g++)
    {
      g_string_append_printf (text,
                              "[gpu%u]\nmultiprocessors = 4\nwidth = 64\n"
                              "work_per_us = 10\nlaunch_us = 2\nlink_us = 5\n"
                              "h2d_gbps = 1\n",
                              g);
      if (bytes > 0)
        g_string_append_printf (text, "memory_bytes = %zu\n", bytes);
    }
  char *path = trial_file (text->str);
  g_string_free (text, TRUE);
  return path;
}

gboolean
virtual_flow_count (const HassCall *call, HassWorker *worker, GError **error)
{
  VirtualFlow *flow = call->user_data;
  (void)worker, (void)error;
  if (++flow->n_computed == 2 && flow->cancellable)
    g_cancellable_cancel (flow->cancellable);
  return TRUE;
}

const HassCodelet virtual_flow_counts
    = HASS_CODELET (.name = "count", .cpu = virtual_flow_count);
void
virtual_flow_submit (HassGraph *graph, const HassCodelet *codelet,
                     HassData *data, HassAccessMode mode, double work)
{
  HassAccess access = { data, mode };
  hass_graph_task (graph, codelet, &access, data ? 1 : 0,
                   &(HassTaskHints){ .work = work });
}

static gboolean
run (VirtualFlow *flow, const HassDataflow *d, GError **error)
{
  if (flow->times == 0)
    return hass_dataflow (d, &flow->report, error);
  g_autoptr (HassRecorded) recorded = hass_dataflow_record (d, error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (recorded);
  return hass_recorded_run (recorded, flow->times, NULL, &flow->report, error);
}

gboolean
virtual_flow_run (VirtualFlow *flow, HassBuildFunc build, GError **error)
{
  g_autofree char *path = virtual_flow_machine (MAX (flow->n_cores, 1),
                                                flow->n_gpus, 0, flow->noise);
  if (flow->more)
    {
      FILE *file = fopen (path, "a");
      CU_ASSERT_PTR_NOT_NULL_FATAL (file);
      fputs (flow->more, file);
      fclose (file);
    }
  HassDataflow d = HASS_DATAFLOW_INIT;
  d.build = build;
  d.user_data = flow;
  d.window = flow->window;
  d.run.platform = path;
  d.run.dry = flow->dry;
  d.run.strategy = flow->strategy;
  d.run.seed = flow->seed;
  d.run.on_error = flow->on_error;
  d.run.deadline_ms = flow->deadline_ms;
  d.run.cancellable = flow->cancellable;
  flow->n_computed = 0;
  g_clear_pointer (&flow->report, hass_report_free);
  gboolean ok = run (flow, &d, error);
  flow->us = flow->report->makespan_s * 1e6;
  unlink (path);
  return ok;
}

void
virtual_flow_takes (VirtualFlow *flow, HassBuildFunc build, double us)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (virtual_flow_run (flow, build, &error));
  CU_ASSERT_DOUBLE_EQUAL (flow->us, us, 1e-6);
  if (error || ABS (flow->us - us) > 1e-6)
    g_printerr ("\n    %s; %g us, not %g\n", error ? error->message : "ran",
                flow->us, us);
}
