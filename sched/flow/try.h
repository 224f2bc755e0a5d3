/* SPDX-License-Identifier: MIT */
/* try.h: when a core measures a codelet that devices compute.
   Thread safety: any thread; pure. */
#ifndef HASS_FLOW_TRY_H
#define HASS_FLOW_TRY_H

#include "hass/flow.h"

/* So many tasks of a codelet are known for each open device before a core tries
   the first one. If a core takes r times as long as a device, the try may cost
   the time of r tasks at the end, and k cores gain k / (k + r) of the devices'
   time: this pays for more than r * (k + r) / k tasks. 256 are that for 16
   cores and r = 56. A guess: fewer, and small graphs on fast devices end late;
   more, and cores do not help slow ones. A task counts more than once where
   copies home bind the device's link (HassFlowTask.n_known): a core is not so
   much slower than a link as it may be than kernels. */
#define HASS_FLOW_TRY 256

/* Of a task whose time on cores is unknown. Returns: TRUE if a core may try it:
   no other has, and it pays. */
static inline gboolean
hass_flow_may_try (const HassFlowTask *task)
{
  guint n = (guint)__builtin_popcountll (task->devices);
  return task->n_known > 0 && task->n_known >= (guint64)n * HASS_FLOW_TRY;
}

#endif
