/* SPDX-License-Identifier: MIT */
/* area.h: what the bounds of a graph share: how fast devices are, and how long
   all of them need together.
   Thread safety: see area.c. */
#ifndef HASS_SIM_FLOW_AREA_H
#define HASS_SIM_FLOW_AREA_H

#include "flow.h"

/* Of device @d, 0: one core, else GPU @d - 1. Returns: its rate for a
   codelet, in ns of a core without factors per ns. */
double sim_flow_rate (const SimFlow *flow, const HassPlatform *p, guint d,
                      guint codelet);
/* Returns: what each task takes besides its work, in ns. */
double sim_flow_overhead_ns (const HassPlatform *p, guint d);

/* @head_ns, @tail_ns: [tasks] the longest paths to each task and from it,
   without it; @path_ns: the longest path of all. Returns: no schedule takes
   less, in ns. */
double sim_flow_area_ns (const SimFlow *flow, const HassPlatform *p,
                         const double *head_ns, const double *tail_ns,
                         double path_ns);

#endif
