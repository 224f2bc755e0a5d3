/* SPDX-License-Identifier: MIT */
/* graph_run.h: dataflows that compute a plan.
   Thread safety: one thread beside those of the dataflows. */
#ifndef GRAPH_RUN_H
#define GRAPH_RUN_H

#include "graph_plan.h"

/**
 * GraphSettings: how.
 * @window, @n_cores, @devices, @n_devices, @bundle_deadline_ms, @platform,
 *   @strategy: as of the dataflow. The machine's own devices do not
 * participate.
 * @paces: (tests of at_once.c) codelets are believed to be short, or long, at
 *   random.
 */
typedef struct
{
  gsize window;
  guint n_cores;
  HassDevice *const *devices;
  guint n_devices;
  gint64 bundle_deadline_ms;
  const char *platform, *strategy;
  gboolean paces;
} GraphSettings;

/* Returns: what is not as the sequential program has it, to be freed, or NULL.
   Failed tasks do not end the dataflow. */
char *graph_run (const GraphPlan *plan, const GraphSettings *settings);

/* The same of a graph that is recorded, and run three times on these data and
   three times on other ones. */
char *graph_run_recorded (const GraphPlan *plan, const GraphSettings *settings);

#endif
