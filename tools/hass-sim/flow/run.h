/* SPDX-License-Identifier: MIT */
/* run.h: how a graph runs on its modelled machine: disturbed, traced, drawn.
   Thread safety: any thread, each with a graph of its own. */
#ifndef HASS_SIM_FLOW_RUN_H
#define HASS_SIM_FLOW_RUN_H

#include "flow.h"

/**
 * SimFlowOptions: how a graph runs.
 * @strategy: NULL: the default one.
 * @trace: a file that gets a line of JSON an event; "": none; NULL: that of
 *   HASS_TRACE.
 * @modelled: the machine is not as its file says, or there are events.
 *   HASS_REPORT then has no effect.
 * @times: the graph is recorded and runs so often; 0: it is not recorded, and
 *   runs once. Of a record HASS_REPORT has no effect.
 * @extra: one more run for the program's own use; neither HASS_RECORD nor
 *   HASS_REPORT has an effect.
 * @events: [@n_events], devices that get slower or are lost.
 */
typedef struct
{
  guint64 seed;
  const char *strategy, *trace;
  gboolean modelled, extra;
  guint times;
  const HassVirtualEvent *events;
  guint n_events;
} SimFlowOptions;

/* run.c: runs the graph. Returns: its report, or NULL with an error. */
HassReport *sim_flow_run_as (SimFlow *flow, const HassPlatform *p,
                             const SimFlowOptions *options, GError **error);

/* run.c: likewise, with the time of each run; free with
   sim_flow_outcome_free(). */
SimFlowOutcome *sim_flow_run_times (SimFlow *flow, const HassPlatform *p,
                                    const SimFlowOptions *options,
                                    GError **error);

/* disturb.c: what @slow and @lose, of the command line, say of the graph's run
   as @options describe it otherwise. Where they name a part of the run, the
   graph runs once without them. Returns (transfer full): HassVirtualEvent, to
   be freed with g_array_unref(); NULL with an error. */
GArray *sim_flow_events (SimFlow *flow, const HassPlatform *p,
                         const SimFlowOptions *options, char **slow,
                         char **lose, GError **error);

/**
 * SimFlowPicture: a Gantt chart.
 * @path: the file.
 * @task: it shows the chain of this task, "last" or a number; NULL: none.
 * @chain: (out): a table of the chain; free with g_free(). NULL: none.
 */
typedef struct
{
  const char *path, *task;
  char *chain;
} SimFlowPicture;

/* draw.c: runs the graph again, with the same result, and draws it. @report: of
   the run. */
gboolean sim_flow_draw (SimFlow *flow, const HassPlatform *p,
                        const SimFlowOptions *options, const HassReport *report,
                        SimFlowPicture *picture, GError **error);

#endif
