/* SPDX-License-Identifier: MIT */
/* build.h: building a SimFlow.
   Thread safety: any thread, each with objects of its own. */
#ifndef HASS_SIM_FLOW_BUILD_H
#define HASS_SIM_FLOW_BUILD_H

#include "flow.h"

/* A graph without tasks. */
SimFlow *sim_flow_empty (const char *spec, const char *name);
/* Adds @n data of @bytes each. */
void sim_flow_add_data (SimFlow *f, guint32 n, gsize bytes);
/* Returns: the number of the codelet. @name: copied. */
guint sim_flow_add_codelet (SimFlow *f, const char *name);
void sim_flow_begin_task (SimFlow *f, guint codelet, double core_ns);
/* An access of the task that was begun last. */
void sim_flow_use (SimFlow *f, guint32 datum, HassAccessMode mode);

#endif
