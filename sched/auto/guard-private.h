/* SPDX-License-Identifier: MIT */
/* guard-private.h: whether all devices together are faster than one of them
   alone.

   DESIGN. Arms are those of plan-private.h.
   1. The time of a round under an arm is predicted as that of its plan times
      the arm's factor: how many times as long as its plan its last rounds took.
      The plan is made in hindsight, so that the factor holds what plans leave
      out, and not that a device has become slower.
   2. A round begins under the arm with the shortest prediction. An arm that
      only seemed fast is soon known, because its factor is measured as soon as
      it is used; so what is used in the long run is the fastest of the measured
      arms. All devices together are tried again at growing intervals. When one
      device alone takes much longer than predicted, all participate in the rest
      of the round. Before one device does all alone, those whose launch has
      hidden so far how fast they are get larger bundles in some rounds of all.
      One round of all that takes much longer than ever does not count, since a
      device may have changed in its middle; a second one in a row does.
   3. What devices show under one arm must not change the prediction for the
      others, as devices that slow each other down are faster alone: when the
      arm has changed, factors are set so that predictions stay. Devices may
      slow each other down, which no plan shows: solo-private.h measures them
      alone.

   A round costs O(devices^2), a decision in it nothing.

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_GUARD_PRIVATE_H
#define HASS_SCHED_AUTO_GUARD_PRIVATE_H

#include "plan-private.h"

/* A measured time so many times the predicted one means that something has
   changed; a guess. */
#define HASS_AUTO_MUCH_LONGER 1.5

/**
 * HassAutoArm: a set of devices that may compute a round.
 * @factor: its rounds took so many times as long as planned.
 * @rounds: that were measured.
 * @outlier: the last of them took much longer and is not counted.
 * @work: of the last of them.
 * @ns: predicted time of the present round.
 */
typedef struct
{
  double factor;
  guint rounds;
  gboolean outlier;
  double work, ns;
} HassAutoArm;

/**
 * HassAutoGuard: the arms, and which one the round is computed by.
 * @arms: [n + 2]. @runners: [n], scratch. @hidden_rounds: [n], rounds in which
 *   all participated to see how fast a device is.
 * @arm: of this round; @used: of the last one that was measured.
 * @streak: measured rounds since that changed.
 * @chosen: the arm was chosen from measurements, and its round counts.
 * @together: all devices have done a round together.
 * @round_work, @planned_ns: of this round.
 * @retry_at, @retry_gap: rounds; when all together are tried again.
 * @hiding: device for which all participate; G_MAXUINT: none.
 */
typedef struct
{
  const HassAutoKnown *k;
  HassAutoArm *arms;
  HassRunner *runners;
  guint *hidden_rounds;
  guint arm, used, streak;
  gboolean chosen, together;
  double round_work, planned_ns;
  guint64 retry_at, retry_gap;
  guint hiding;
} HassAutoGuard;

void hass_auto_guard_init (HassAutoGuard *g, const HassAutoKnown *k);
void hass_auto_guard_clear (HassAutoGuard *g);

/* Chooses the arm of a round. */
void hass_auto_guard_begin (HassAutoGuard *g, const HassRound *round);

/* After a completion: all devices participate in the rest of the round if one
   failed or is much slower than predicted. */
void hass_auto_guard_watch (HassAutoGuard *g);

/* All participate in the rest of the round, which then does not count. */
void hass_auto_guard_give_up (HassAutoGuard *g);

/* The round is a measure of its arm. Then: takes it in. idle: devices were idle
   for much of it while others were measured. */
gboolean hass_auto_guard_counts (HassAutoGuard *g,
                                 const HassRoundSummary *summary);
void hass_auto_guard_end (HassAutoGuard *g, const HassRoundSummary *summary,
                          gboolean idle);

/* Time of so much work under an arm, by its plan alone. */
double hass_auto_guard_planned_ns (HassAutoGuard *g, guint arm, double work);

#endif
