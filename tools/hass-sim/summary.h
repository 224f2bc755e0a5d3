/* SPDX-License-Identifier: MIT */
/* summary.h: geometric means over the cases of a suite.
   Thread safety: one thread. */
#ifndef HASS_SIM_SUMMARY_H
#define HASS_SIM_SUMMARY_H

#include "sim.h"

typedef struct SimSummary SimSummary;

SimSummary *sim_summary_new (void);
void sim_summary_free (SimSummary *s);
/* Adds the results of a case to a group. */
void sim_summary_add (SimSummary *s, const char *group, GPtrArray *results);
/* Prints a table for each group, the best strategy first. */
void sim_summary_print (SimSummary *s);

#endif
