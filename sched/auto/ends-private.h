/* SPDX-License-Identifier: MIT */
/* ends-private.h: from which end of a round's range of units GPUs take.

   DESIGN. The CPU pool takes units from one end of the range, the GPUs from the
   other.
   1. Indivisible loads of known sizes are sorted, and each multiprocessor
      computes one at a time. Whether GPUs or cores get the largest loads
      follows from a plan of both (sorted.c).
   2. Elsewhere one end may suit the GPUs better than the other, because costs
      drift along the range, and differently for a GPU and a core. The rates
      measured at one end do not show that. So once the devices' rates are
      known, one round is done with the ends exchanged. If that round is not
      much slower a second one is done, since the first was planned with rates
      from the other end. The faster end is kept, and the other is tried again
      later. A trial that gains nothing costs a fraction of one round in about
      thirty. Where all units cost the same there is no trial.

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_ENDS_PRIVATE_H
#define HASS_SCHED_AUTO_ENDS_PRIVATE_H

#include "guard-private.h"

/**
 * HassAutoEnd: the rounds in which GPUs took from one end of the range.
 * @ns_per_work: decayed mean of makespan over work, in ns.
 * @rounds: number of those rounds.
 */
typedef struct
{
  double ns_per_work;
  guint rounds;
} HassAutoEnd;

/**
 * HassAutoEndView: what a device has shown while GPUs took from one end.
 * @view: its estimates, as they were when the GPUs changed to the other end.
 * @valid: there are such estimates.
 */
typedef struct
{
  HassEstimateView view;
  gboolean valid;
} HassAutoEndView;

/**
 * HassAutoEnds: chooses from which end of a round's range of units GPUs take;
 * the cores take from the other. Index 0: GPUs take from the back; 1: from the
 * front.
 * @ends: measured rounds of each end.
 * @views: [n] what each device has shown at each end.
 * @best: index of the end that was faster.
 * @trying: in this round the other end is tried.
 * @tried: number of rounds of the present trial so far.
 * @again_at: number of the round of the next trial.
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

/* hass_auto_ends_begin() chooses the end for a round, after the guard has
   chosen the round's devices; hass_auto_ends_end() takes the finished round in,
   before the guard does. idle: devices were idle for much of the round while
   others were measured. */
void hass_auto_ends_begin (HassAutoEnds *e, const HassRound *round);
void hass_auto_ends_end (HassAutoEnds *e, const HassRoundSummary *summary,
                         gboolean idle);

#endif
