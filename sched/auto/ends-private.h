/* SPDX-License-Identifier: MIT */
/* ends-private.h: from which end of a round GPUs take.

   DESIGN. The CPU pool takes from one end, the GPUs from the other.
   1. Loads of known sizes, one to a multiprocessor: rates show which devices
      should take the largest.
   2. Elsewhere one end may suit the GPUs better than the other: costs drift
      along the range, and a GPU's differently from a core's. No device shows
      that by itself. So once the devices are known a round is done the other
      way round, and a second one unless that was much slower, since the first
      was planned with what was measured at the other end; then the faster way
      is kept, and tried again later. What that costs where nothing is gained is
      a part of one round in thirty; equal costs have nothing to gain.

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_ENDS_PRIVATE_H
#define HASS_SCHED_AUTO_ENDS_PRIVATE_H

#include "guard-private.h"

/* Rounds in which GPUs took from one end: decayed mean time, and their number.
 */
typedef struct
{
  double ns_per_work;
  guint rounds;
} HassAutoEnd;

/* What a device has shown at one end, when the GPUs took from the other. */
typedef struct
{
  HassEstimateView view;
  gboolean valid;
} HassAutoEndView;

/**
 * HassAutoEnds: both ends; index 1: GPUs take from the front.
 * @views: [n].
 * @best: which is faster; @trying: the other one is tried; @tried: rounds of
 *   the trial; @again_at: round of the next one.
 */
typedef struct
{
  HassAutoKnown *k;
  HassAutoGuard *g;
  HassAutoEnd ends[2];
  HassAutoEndView (*views)[2];
  gboolean best, trying;
  guint tried;
  guint64 again_at;
} HassAutoEnds;

void hass_auto_ends_init (HassAutoEnds *e, HassAutoKnown *k, HassAutoGuard *g);
void hass_auto_ends_clear (HassAutoEnds *e);

/* After the guard has chosen an arm; and before its end of the round. idle:
   devices were idle for much of the round while others were measured. */
void hass_auto_ends_begin (HassAutoEnds *e, const HassRound *round);
void hass_auto_ends_end (HassAutoEnds *e, const HassRoundSummary *summary,
                         gboolean idle);

#endif
