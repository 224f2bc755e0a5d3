/* SPDX-License-Identifier: MIT */
/* solo-private.h: how fast a device is while the other devices are idle.

   DESIGN. Devices may slow each other down, by using the same memory or cores,
   and plans do not show this. When the rates of all devices are measured, and
   rarely later, each device that does much of the work gets a bundle while the
   others are idle. If the device takes less time for the bundle than beside the
   others, the predicted time of a round on the device alone becomes shorter. A
   device with less than a third of the sum of all rates is not measured: it
   would be faster alone only if the others slowed it down more than threefold,
   and the others would idle during its bundle. A GPU is not measured if its
   kernels for the whole round take as long as all devices together need, since
   no other device slows kernels down.

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_SOLO_PRIVATE_H
#define HASS_SCHED_AUTO_SOLO_PRIVATE_H

#include "guard-private.h"

/**
 * HassAutoAlone: the time of a device's work while all other devices are idle,
 * as measured in this round.
 * @fixed_ns: fixed part of that time, a launch.
 * @ns_per_work: time per work; 0: the device was not measured in this round.
 * @again_at: number of the round from which on it may be measured again.
 */
typedef struct
{
  double fixed_ns, ns_per_work;
  guint64 again_at;
} HassAutoAlone;

/**
 * HassAutoSolo: measures devices one after another, while the others are idle.
 * @of: [n] what each device has shown alone.
 * @probing: devices are still being measured in this round.
 * @probed: at least one device has been measured in this round.
 * @later: a device was not measured, as that would cost too much of the time
 *   that has passed so far; it is considered again in the next round.
 * @again_at: number of the round from which on devices are measured again.
 * @device: the device that is being measured; n: none.
 * @work: work that the device may be granted.
 * @given: work that it was granted.
 * @ns: service time of what it was granted.
 * @fits: the device's fits (its lines of bundle time over work) as they were
 *   before, since what it shows alone does not hold beside other devices.
 * @seen: progress of the CPU pool before it was measured.
 */
typedef struct
{
  HassAutoKnown *k;
  HassAutoGuard *g;
  HassAutoAlone *of;
  gboolean probing, probed, later;
  guint64 again_at;
  guint device;
  double work, given, ns;
  HassFit fits[HASS_FITS];
  HassProgress seen;
} HassAutoSolo;

void hass_auto_solo_init (HassAutoSolo *s, HassAutoKnown *k, HassAutoGuard *g);
void hass_auto_solo_clear (HassAutoSolo *s);

/* Decides whether devices are measured alone in this round. Called after the
   guard has chosen the round's arm, which is the set of devices that computes
   it. */
void hass_auto_solo_begin (HassAutoSolo *s, const HassRound *round);

/* Called for each device that asks, while devices are measured one after
   another. Returns TRUE if this device has to wait because another one is being
   measured; else sets *work to the work that it may get, 0: no bound. force:
   all devices wait, so measuring ends. When the next device is begun with,
   *plan is made anew. */
gboolean hass_auto_solo_waits (HassAutoSolo *s, const HassRound *round,
                               guint device, gboolean force, HassPlan *plan,
                               double *work);

/* Take in that the device was granted work, and that a bundle of a GPU took ns;
   ignored unless that device is being measured. */
void hass_auto_solo_granted (HassAutoSolo *s, guint device, double work);
void hass_auto_solo_done (HassAutoSolo *s, guint device, double ns);

/* After a round that counts as a measure: sets the factor of each measured
   device's arm (the set of that device alone) to the time that the round would
   have taken it, over the time that is planned from what the device does beside
   others. */
void hass_auto_solo_end (HassAutoSolo *s);

#endif
