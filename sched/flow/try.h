/* SPDX-License-Identifier: MIT */
/* try.h: when a core measures a codelet that devices compute.
   Thread safety: any thread; pure. */
#ifndef HASS_FLOW_TRY_H
#define HASS_FLOW_TRY_H

#include "hass/flow.h"

/* So many tasks of a codelet are known for each open device before a core tries
   the first one. If a core takes r times as long as a device, the try may cost
   the time of r tasks at the end, and k cores gain k / (k + r) of the devices'
   time: this pays for more than r * (k + r) / k tasks. 400 are that for 16
   cores and r = 72, as platform h200 has them. Measured by hass-sim,
   doc/results/dataflow-tries.md: with 256, graphs on devices that are
   thousands of times as fast as a core end late; with 512, cores do not help
   with 500 tasks on slow ones. A task counts more than once where
   copies home bind the device's link (HassFlowTask.n_known): a core is not so
   much slower than a link as it may be than kernels. */
#define HASS_FLOW_TRY 400

/* Of a task whose time on cores is unknown. Returns: TRUE if a core may try it:
   no other has, and it pays. */
static inline gboolean
hass_flow_may_try (const HassFlowTask *task)
{
  guint n = (guint)__builtin_popcountll (task->devices);
  return task->n_known > 0 && task->n_known >= (guint64)n * HASS_FLOW_TRY;
}

#endif
