/* SPDX-License-Identifier: MIT */
/* task_graph.h: what must hold of a task graph that was read from a file.
   Thread safety: see fuzz.h. */
#ifndef HASS_FUZZ_TASK_GRAPH_H
#define HASS_FUZZ_TASK_GRAPH_H

#include <math.h>

#include "fuzz.h"
#include "tools/hass-sim/flow/build.h"

/* Either there is a graph, whose bounds are times, or @error says why not. */
static inline void
fuzz_check_task_graph (SimFlow *f, const GError *error)
{
  FUZZ_CHECK ((f == NULL) == (error != NULL));
  if (!f)
    return;
  HassPlatform cores = { .has_cpu = TRUE, .cores = 4, .core_work_per_ns = 1 };
  SimFlowBound b = sim_flow_bound (f, &cores);
  FUZZ_CHECK (isfinite (b.path_ns) && b.path_ns > 0);
  FUZZ_CHECK (isfinite (b.area_ns) && b.area_ns > 0);
}

#endif
