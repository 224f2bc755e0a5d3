/* SPDX-License-Identifier: MIT */
/* compare.h: what a task costs beside its work.
   Thread safety: a call blocks its thread; the plate is its own. */
#ifndef HEAT_COMPARE_H
#define HEAT_COMPARE_H

#include "heat.h"

/* Computes all steps of a job by turns as a recorded graph and block by block
   in a loop on one core, and prints the medians of the times of a block. The
   plate is reset before and holds the same cells afterwards. */
gboolean heat_compare (const HeatJob *job, GError **error);

#endif
