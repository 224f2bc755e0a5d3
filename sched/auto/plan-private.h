/* SPDX-License-Identifier: MIT */
/* plan-private.h: how the remaining work, or a whole round, is divided so that
   all participating devices finish together.

   A plan is a value: two calls with the same arguments give the same plan, and
   no call changes what is known. An arm is a set of devices that may compute a
   round: arm d < n is device d alone, n is all devices, n + 1 all but the CPU
   pool.

   A plan costs O(devices^2) at worst.

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_PLAN_PRIVATE_H
#define HASS_SCHED_AUTO_PLAN_PRIVATE_H

#include "pipeline-private.h"

/* What a plan is computed from. */
typedef struct
{
  HassUnits u;
  HassEstimates e;
  HassForecast f;
  HassAutoPipeline p;
} HassAutoKnown;

/* CPU pools with less than this part of the GPUs' rate are negligible: the
   round does not wait for one of their units. A guess. */
#define HASS_AUTO_NEGLIGIBLE 0.05

gboolean hass_auto_arm_has (const HassUnits *u, guint arm, guint device);

/* The rest of the round, at a device's question (n: no device's); runners: [n],
   room for the plan. */
HassPlan hass_auto_plan (const HassAutoKnown *k, const HassRound *round,
                         guint arm, guint asking, HassRunner *runners);

/* A whole round of so much work, from its begin, merging included. */
HassPlan hass_auto_plan_whole (const HassAutoKnown *k, guint arm, double work,
                               HassRunner *runners);

/* Time of the next unit on a core of a pool with that rate. */
double hass_auto_unit_ns (const HassAutoKnown *k, const HassRound *round,
                          double rate);

/* The host needs longer to copy for a GPU than cores need to compute the same:
   with its help all would be later. */
gboolean hass_auto_costs_more (const HassAutoKnown *k, guint arm, guint device);

#endif
