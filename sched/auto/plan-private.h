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

#include "blocks-private.h"
#include "pipeline-private.h"

/**
 * HassAutoKnown: all that a plan is computed from.
 * @u: work of the round's units. @e: how fast each device is. @f: what each
 *   device holds and when it is done with it. @p: how a GPU's copies and
 *   kernels overlap. @b: how a GPU's time for a sorted load depends on the
 *   load's size.
 */
typedef struct
{
  HassUnits u;
  HassEstimates e;
  HassForecast f;
  HassAutoPipeline p;
  HassAutoBlocks b;
} HassAutoKnown;

/* A CPU pool with less than this fraction of the sum of the GPUs' rates is
   negligible: the round does not wait for one of its units. A guess: more
   excludes cores that help; less, and a late unit delays the round. */
#define HASS_AUTO_NEGLIGIBLE 0.05

/* Returns TRUE if the device belongs to an arm, which is a set of devices that
   a round may be given to: arm d < n is device d alone, n is all devices, n + 1
   all but the CPU pool. */
gboolean hass_auto_arm_has (const HassUnits *u, guint arm, guint device);

/* Returns the plan for the rest of the round: the devices of the arm that
   participate, and when they finish together. arm: number of a set of devices,
   see hass_auto_arm_has(). asking: the device that has room, n if none asks.
   runners: [n] room for the plan. */
HassPlan hass_auto_plan (const HassAutoKnown *k, const HassRound *round,
                         guint arm, guint asking, HassRunner *runners);

/* Returns the plan for a whole round of @work from its begin, with the time to
   merge results at its end. runners: [n] room for the plan. */
HassPlan hass_auto_plan_whole (const HassAutoKnown *k, guint arm, double work,
                               HassRunner *runners);

/* Rounds of sorted loads (sorted.c). The first function decides whether GPUs
   take from the front, and where they meet the cores. The second returns how
   many times their work the loads up to there count for on a GPU. */
void hass_auto_sorted_begin (HassAutoKnown *k, const HassRound *round);
double hass_auto_sorted_times (const HassAutoKnown *k, const HassRound *round,
                               guint device);

/* Returns the time, in ns, of the next unit on one core of a CPU pool whose
   cores together have the given rate. */
double hass_auto_unit_ns (const HassAutoKnown *k, const HassRound *round,
                          double rate);

/* Returns TRUE if the host's cores need longer to copy units for the GPU than
   to compute the same units, so that the GPU would delay the round. */
gboolean hass_auto_costs_more (const HassAutoKnown *k, guint arm, guint device);

#endif
