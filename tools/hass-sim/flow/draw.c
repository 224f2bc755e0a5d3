/* SPDX-License-Identifier: MIT */
/* draw.c: draws the run of a graph.
   Thread safety: see run.h. */
#include "run.h"

#include <glib/gstdio.h>
#include <unistd.h>

#include "draw/gantt.h"

/* The trace of the same run, which ends with the last copy home: the trace has
   no copies. Returns: NULL with an error. */
static DrawTrace *
trace_of (SimFlow *f, const HassPlatform *p, const SimFlowOptions *o,
          const HassReport *report, GError **error)
{
  g_autofree char *file = NULL;
  SimFlowOptions again = *o;
  DrawTrace *trace = NULL;
  int fd = g_file_open_tmp ("hass-sim-XXXXXX", &file, error);
  if (fd < 0)
    return NULL;
  close (fd);
  again.trace = file;
  again.extra = TRUE;
  HassReport *r = sim_flow_run_as (f, p, &again, error);
  if (r)
    trace = draw_trace_load (file, 0, error);
  g_unlink (file);
  if (r)
    hass_report_free (r);
  if (trace)
    trace->end_ns = MAX (trace->end_ns, (gint64)(report->makespan_s * 1e9));
  return trace;
}

/* Adds when devices were lost, which the trace does not tell. */
static void
add_losses (DrawTrace *trace, const SimFlowOptions *o, const HassReport *report)
{
  for (guint i = 0; i < o->n_events; i++)
    {
      const HassVirtualEvent *e = &o->events[i];
      if (e->slower > 0
          || e->device >= MIN (trace->n_devices, report->n_devices)
          || !report->devices[e->device].lost)
        continue;
      gint64 *ns = &trace->devices[e->device].lost_ns;
      *ns = *ns > 0 ? MIN (*ns, e->at_ns) : e->at_ns;
    }
}

gboolean
sim_flow_draw (SimFlow *f, const HassPlatform *p, const SimFlowOptions *o,
               const HassReport *report, SimFlowPicture *picture,
               GError **error)
{
  guint64 task = 0;
  if (picture->task && !draw_chain_parse (picture->task, &task, error))
    return FALSE;
  g_autoptr (DrawTrace) trace = trace_of (f, p, o, report, error);
  if (!trace)
    return FALSE;
  add_losses (trace, o, report);
  g_autoptr (DrawChain) chain
      = picture->task ? draw_chain_new (trace, task, error) : NULL;
  if (picture->task && !chain)
    return FALSE;
  picture->chain = chain ? draw_chain_table (chain) : NULL;
  return draw_gantt_file (trace, chain, picture->path, f->spec, error);
}
