/* SPDX-License-Identifier: MIT */
/* guard-private.h: whether all devices together compute a round faster than
   some of them, for example one device alone.

   DESIGN. An arm is a set of devices that a round may be given to: one device
   alone, all devices, or all but the CPU pool.
   1. The time of a round under an arm is predicted as the time of its plan
      times the arm's factor, which is how many times as long as planned the
      last rounds of the arm took. The plan for the factor is made in hindsight,
      from what devices showed in the round. So the factor holds what plans
      leave out, and not that a device has become slower.
   2. A round is given to the arm with the shortest prediction. The factor of an
      arm that only seemed fast is measured as soon as the arm is used; so what
      is used in the long run is the fastest of the measured arms. All devices
      together are tried again at growing intervals. When one device alone takes
      much longer than predicted, the rest of the round is given to all devices.
      Before a round is given to one device alone, a device whose launch has
      hidden so far how fast the device is gets larger bundles in some rounds of
      all devices. One round of all devices that takes much longer than any
      before does not count, since a device may have changed in its middle; a
      second such round in a row counts.
   3. What devices show under one arm must not change the prediction for other
      arms, as devices that slow each other down are faster alone. So when the
      arm has changed, the factors of the other arms are set so that their
      predictions stay. Plans do not show that devices slow each other down:
      solo-private.h measures devices alone.

   The guard costs O(devices^2) in each round, and nothing in a decision.

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_GUARD_PRIVATE_H
#define HASS_SCHED_AUTO_GUARD_PRIVATE_H

#include "plan-private.h"

/* A measured time of HASS_AUTO_MUCH_LONGER times the predicted one means that
   something has changed, and the round is not a measure. A guess: less, and
   noise changes decisions; more, and a wrong choice of devices lasts longer. */
#define HASS_AUTO_MUCH_LONGER 1.5

/**
 * HassAutoArm: a set of devices that a round may be given to.
 * @factor: mean measured time of its rounds over their planned time.
 * @rounds: number of its rounds that were measured.
 * @outlier: its last round took much longer than usual and is not in @factor.
 * @work: work of its last measured round.
 * @ns: predicted time of the present round, in ns.
 */
typedef struct
{
  double factor;
  guint rounds;
  gboolean outlier;
  double work, ns;
} HassAutoArm;

/**
 * HassAutoGuard: chooses for each round an arm, which is the set of devices
 * that computes the round.
 * @arms: [n + 2] for n devices: arm d < n is device d alone, n is all devices,
 *   n + 1 all but the CPU pool.
 * @runners: [n] scratch for plans.
 * @hidden_rounds: [n] number of rounds that were given to all devices only to
 *   see how fast this device is.
 * @arm: arm of the present round.
 * @used: arm of the last measured round.
 * @streak: number of measured rounds since that arm changed.
 * @chosen: the arm was chosen from measurements, and its round is a measure.
 * @together: all devices have done at least one round together.
 * @round_work: work of the present round.
 * @planned_ns: predicted time of the present round, in ns.
 * @retry_at: number of the round in which all devices are tried again.
 * @retry_gap: rounds between two such trials.
 * @hiding: device for whose sake the round is given to all; G_MAXUINT: none.
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

/* Chooses the arm of a round, the set of devices that computes it. */
void hass_auto_guard_begin (HassAutoGuard *g, const HassRound *round);

/* Called after each completion: gives the rest of the round to all devices if a
   device of the chosen arm failed or the round takes much longer than
   predicted. */
void hass_auto_guard_watch (HassAutoGuard *g);

/* Gives the rest of the round to all devices; the round is then no measure of
   any arm. */
void hass_auto_guard_give_up (HassAutoGuard *g);

/* hass_auto_guard_counts() returns TRUE if the finished round is a measure of
   its arm (the set of devices that computed it); then hass_auto_guard_end()
   takes its time in. idle: devices were idle for much of the round while others
   were measured, so its time is not taken in. */
gboolean hass_auto_guard_counts (HassAutoGuard *g,
                                 const HassRoundSummary *summary);
void hass_auto_guard_end (HassAutoGuard *g, const HassRoundSummary *summary,
                          gboolean idle);

/* Returns the planned time, in ns, of @work done by the devices of an arm,
   without the factor that its measured rounds have shown. */
double hass_auto_guard_planned_ns (HassAutoGuard *g, guint arm, double work);

#endif
