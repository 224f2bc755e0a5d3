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
               const HassReport *report, const char *path, GError **error)
{
  g_autoptr (DrawTrace) trace = trace_of (f, p, o, report, error);
  if (!trace)
    return FALSE;
  add_losses (trace, o, report);
  g_autofree char *svg = draw_gantt (trace, f->spec);
  return g_file_set_contents_full (path, svg, -1, G_FILE_SET_CONTENTS_NONE,
                                   0666, error);
}
