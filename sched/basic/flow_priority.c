/* SPDX-License-Identifier: MIT */
/* flow_priority.c: dataflows on cores: ready tasks begin in the order of their
   priorities, and of their paths to the end where a graph was recorded.

   Cores alone leave nothing else to decide; the order is that of the engine
   (engine/graph/ready.c).

   Thread safety: as hass/strategy.h. */
#include "hass/strategy.h"

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return (gpointer)env;
}

const HassStrategyOps hass_flow_priority = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-priority",
  .summary = "ready tasks of a dataflow by priority, on cores",
  .source = "list scheduling by priority",
  .farms = HASS_FARM_DATAFLOW,
  .create = create,
};
