/* SPDX-License-Identifier: MIT */
/* output.h: what hass-sim --dataflow prints of a run.
   Thread safety: one thread. */
#ifndef HASS_SIM_FLOW_OUTPUT_H
#define HASS_SIM_FLOW_OUTPUT_H

#include <json-glib/json-glib.h>

#include "flow.h"

/* A graph, the machine that it ran on, what came of it and the bounds. */
typedef struct
{
  const SimFlow *flow;
  const HassPlatform *platform;
  const SimFlowOutcome *outcome;
  SimFlowBound bound;
  guint64 seed;
} SimFlowResult;

void sim_flow_print_table (const SimFlowResult *result);
/* Adds an object to an array. */
void sim_flow_add_json (JsonBuilder *json, const SimFlowResult *result);
/* The line of the columns' names; a line for each device of a run. */
void sim_flow_print_csv_head (void);
void sim_flow_print_csv (const SimFlowResult *result);

#endif
