/* SPDX-License-Identifier: MIT */
/* flow.h: modelled dataflows: graphs of tasks, and the least time that any
   schedule needs for one.

   DESIGN. A SimFlow is a list of tasks in the order of submission, which access
   data as the tasks of a dataflow do. It is submitted to a dry dataflow on a
   modelled machine. What tasks cost is given as the time of a core, so a graph
   fits every machine; how much faster a GPU is, the machine says.

   Thread safety: any thread, each with objects of its own. */
#ifndef HASS_SIM_FLOW_H
#define HASS_SIM_FLOW_H

#include "hass/dataflow.h"
#include "tools/hass-sim/sim.h"

/* What a dataflow can have. */
#define SIM_MOST_FLOW_CODELETS 256
/* Most tasks of a graph: what takes seconds. */
#define SIM_MOST_FLOW_TASKS 2000000

typedef struct
{
  guint32 datum;
  HassAccessMode mode;
} SimFlowUse;

/* A task. @core_ns: its time on a core of the machine, without factors of its
   codelet. @first, @n: its accesses. @urgency: its time to the end of the
   graph, by sim_flow_bound() or sim_flow_path_ns(). */
typedef struct
{
  guint codelet;
  double core_ns;
  guint first, n;
  double urgency;
} SimFlowTask;

/* @name: of the dataflow; "cholesky" of "cholesky:20". @codelets: their names,
   at most SIM_MOST_FLOW_CODELETS. @sizes: of each datum, in bytes; 0: it only
   orders tasks, and its first access is a WRITE. */
typedef struct
{
  char *spec, *name;
  GPtrArray *codelets;          /* char * */
  GArray *sizes, *tasks, *uses; /* gsize, SimFlowTask, SimFlowUse */
} SimFlow;

/* graphs.c: @spec: cholesky:T, lu:T, qr:T, stencil:T:S, wavefront:T or
   wavefront:T:S, forkjoin:N, random:N, or a file NAME.stg or NAME.json. */
SimFlow *sim_flow_new (const char *spec, guint64 seed, GError **error);
/* Bytes of all data of a graph. */
gsize sim_flow_bytes (const SimFlow *flow);
void sim_flow_free (SimFlow *flow);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SimFlow, sim_flow_free)

/* No schedule takes less. @path_ns: the longest path of tasks, each on the
   device that computes it fastest; copies are not counted. @area_ns: all tasks
   by all devices, with pulls and launches, as divided best; or those of a part
   of the time, and the rest of the time (area.c). */
typedef struct
{
  double path_ns, area_ns;
} SimFlowBound;

SimFlowBound sim_flow_bound (SimFlow *flow, const HassPlatform *p);
/* Sets the urgency of tasks. Returns: SimFlowBound.path_ns. */
double sim_flow_path_ns (SimFlow *flow, const HassPlatform *p);

/**
 * SimFlowCommand: what the command line says of a dataflow.
 * @platform: NULL: the default.
 * @strategies: a list; NULL: the default one.
 * @output: 't' table, 'j' JSON, 'c' CSV.
 * @trace, @gantt: files to write; NULL: none.
 * @task: the chain of this task is shown, "last" or a number; NULL: none.
 * @noise, @start_ms: instead of the machine's; negative: the machine's.
 * @times: the graph is recorded and runs so often; 0: it is not recorded.
 * @slow, @lose: DEVICE:FACTOR:WHEN and DEVICE:WHEN; NULL: none.
 */
typedef struct
{
  const char *spec, *platform, *strategies;
  guint64 seed;
  char output;
  const char *trace, *gantt, *task;
  double noise;
  gint start_ms;
  guint times;
  char **slow, **lose;
} SimFlowCommand;

/* command.c: hass-sim --dataflow. */
/* Returns: FALSE with an error; *unwritten: a file could not be written. */
gboolean sim_flow_command (const SimFlowCommand *command, gboolean *unwritten,
                           GError **error);
/* A graph has run. @run_ns: [@times] the time of each run of a recorded graph;
   @times 0: it was not recorded. @report: of all runs together. */
typedef struct
{
  HassReport *report;
  guint times;
  double *run_ns;
} SimFlowOutcome;

void sim_flow_outcome_free (SimFlowOutcome *outcome);
/* Returns: the time of the only run or of the last one, in ns. */
double sim_flow_last_ns (const SimFlowOutcome *outcome);

/* run.c: runs the graph. Returns: its report, or NULL with an error. */
HassReport *sim_flow_run (SimFlow *flow, const HassPlatform *p, guint64 seed,
                          GError **error);
/* compare.c: Returns: the strategies of a list, in which "all" stands for those
   of dataflows; free with g_strfreev(). NULL with an error. */
char **sim_flow_strategies (const char *list, GError **error);
/* Prints a table. @outcomes: SimFlowOutcome of the graph, under each strategy.
 */
void sim_flow_compare (SimFlow *flow, const HassPlatform *p, char **strategies,
                       const GPtrArray *outcomes);

#endif
