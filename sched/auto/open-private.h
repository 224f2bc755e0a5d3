/* SPDX-License-Identifier: MIT */
/* open-private.h: what devices get of an open round, whose units become ready
   one by one.

   DESIGN. The units wait by priority, and how many will follow is unknown, so
   nothing is planned ahead.
   1. A GPU takes the units of highest priority, in bundles that take several
      times as long as its launch, but few of them, since more urgent ones may
      follow. Its first bundle is one unit, and each later one at most 4 times
      the largest so far. It takes nothing that the other devices are expected
      to have done before it would be.
   2. A core takes the least urgent unit, and only if it ends it before the GPUs
      would have got to it: by the work that waits and the rates of the GPUs.
      This threshold is published with the grant, as a multiple of the unit's
      own work, so cores do not ask for each unit. GPUs whose rate is unknown do
      not count. While only the rate of the cores is unknown, one core at a time
      takes one unit, the least urgent.
   3. Rates are decayed sums of work and time of completions, at first those of
      the traits or of earlier runs.

   A decision costs O(devices).

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_OPEN_PRIVATE_H
#define HASS_SCHED_AUTO_OPEN_PRIVATE_H

#include "sched/strategy.h"

/**
 * HassOpenRate: what one device has shown in open rounds.
 * @work, @ns: decayed sums over its completions; of a CPU pool, time of the
 *   whole pool.
 * @most: units of its largest bundle so far.
 * @failed: its last grant failed.
 */
typedef struct
{
  double work, ns;
  guint64 most;
  gboolean failed;
} HassOpenRate;

typedef struct
{
  const HassStrategyEnv *env;
  HassOpenRate *of;  /* [n_devices] */
  gboolean measures; /* a core has a unit so that its rate becomes known */
} HassAutoOpen;

void hass_auto_open_init (HassAutoOpen *o, const HassStrategyEnv *env);
void hass_auto_open_clear (HassAutoOpen *o);
HassAnswer hass_auto_open_grant (HassAutoOpen *o, const HassRound *round,
                                 guint device, gboolean force,
                                 HassGrant *grant);
void hass_auto_open_granted (HassAutoOpen *o, const HassRound *round,
                             guint device, const HassGrant *grant);
void hass_auto_open_observe (HassAutoOpen *o, const HassCompletion *done);

#endif
