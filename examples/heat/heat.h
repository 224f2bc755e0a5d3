/* SPDX-License-Identifier: MIT */
/* heat.h: steps of a plate as tasks of a dataflow.
   Thread safety: a call blocks its thread; the plate is its own. */
#ifndef HEAT_HEAT_H
#define HEAT_HEAT_H

#include <hass/dataflow.h>

#include "plate.h"

/**
 * HeatJob: how a plate is computed.
 * @steps: at most, a multiple of @check, not 0.
 * @check: steps after which the largest change of a cell is looked at, an even
 *   number.
 * @tolerance: the iteration ends when no cell changes by more in a step.
 */
typedef struct
{
  HeatPlate *plate;
  gsize steps, check;
  double tolerance;
  HassRunOptions run;
} HeatJob;

/* @steps: that were computed. @change: the largest one in the last step. */
typedef struct
{
  gsize steps;
  double change;
} HeatResult;

/**
 * HeatGraph: a recorded graph of HeatJob.check steps.
 */
typedef struct HeatGraph HeatGraph;

/* Records the graph of a job, which must stay valid. NULL with the error of
   hass_dataflow_record(). Free with heat_graph_free(). */
HeatGraph *heat_record (const HeatJob *job, GError **error);
void heat_graph_free (HeatGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HeatGraph, heat_graph_free)

/* Computes the steps of a plate that has been reset by running the graph again
   and again. Returns: FALSE with the error of hass_recorded_run(). */
gboolean heat_run (HeatGraph *graph, HeatResult *result, HassReport **report,
                   GError **error);

/* Computes the steps of a plate that has been reset by submitting the tasks of
   all steps; waits for the largest change after each HeatJob.check of them.
   Returns: FALSE with the error of hass_dataflow(). */
gboolean heat_built (const HeatJob *job, HeatResult *result,
                     HassReport **report, GError **error);

#endif
