/* SPDX-License-Identifier: MIT */
/* feeder_rig.h: a job with one round and a feeder, for tests of the feeder by
   itself: no engine, no device and no clock.
   Thread safety: one rig at a time; its functions are for one thread. Others
   may read what the decision lock guards while they hold it. */
#ifndef FEEDER_RIG_H
#define FEEDER_RIG_H

#include "engine/core/feeder.h"

#include "hass/hass.h"

#define FEEDER_RIG_UNIT_BYTES 1000
#define FEEDER_RIG_DEPTH 3 /* most parts in flight */

/**
 * FeederRig: a farm of equal loads on one device, with or without a CPU beside
 * it.
 * @round: the round of all its loads.
 * @now_ns: what the job takes for the time.
 * @units: most units of a grant.
 * @n_grants: how often the strategy has granted units.
 * @told: what the strategy was told of the first of its @n_told completed
 *   grants.
 */
typedef struct
{
  HassRunOptions options;
  HassFarm farm;
  HassLoad *loads;
  HassJob *job;
  HassSlot *round;
  HassFeeder feeder;
  gint64 now_ns;
  guint units, n_grants, n_told;
  HassCompletion told[64];
} FeederRig;

/* Grants have up to @granted of the @n_loads loads, parts up to @part_bytes; 0:
   no bound. */
void feeder_rig_begin (FeederRig *r, guint n_loads, guint granted,
                       guint64 part_bytes, gboolean with_cpu);
void feeder_rig_end (FeederRig *r);

/* What an engine does until nothing more can be handed over: the part is not
   submitted yet. NULL: there is none. */
HassFeederPart *feeder_rig_next_part (FeederRig *r);
HassFeederPart *feeder_rig_submitted (FeederRig *r);

/* The part of that slot comes back 10 ns after the last one. Returns: FALSE if
   there was none. */
gboolean feeder_rig_comes_back (FeederRig *r, guint slot,
                                const HassBundleDone *like);

#endif
