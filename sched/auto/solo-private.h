/* SPDX-License-Identifier: MIT */
/* solo-private.h: how fast a device is while the others are idle.

   DESIGN. Devices may slow each other down, which no plan shows. When all are
   measured, once, and rarely later, each device that does much of the work gets
   a bundle while the others are idle. If it is faster then, it is so much
   faster alone, and the factor of its arm falls. A device with less than a
   third of the rates would win alone only if the others slowed it down more
   than threefold, and its bundle would cost them its time. Kernels run on the
   GPU alone: where they take as long as all devices together, the GPU is not
   measured, as it could hardly be faster.

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_SOLO_PRIVATE_H
#define HASS_SCHED_AUTO_SOLO_PRIVATE_H

#include "guard-private.h"

/* Of one device, as measured in this round; @ns_per_work 0: it was not. */
typedef struct
{
  double fixed_ns, ns_per_work;
  guint64 again_at; /* round */
} HassAutoAlone;

/**
 * HassAutoSolo: which device is measured alone.
 * @probing: devices are still measured in this round; @probed: one has been.
 * @later: a device is left out until more time has passed.
 * @again_at: round.
 * @device: that is measured; n: none yet.
 * @work: what it may get; @given, @ns: what it got, and took.
 * @fits: those of the device, as they were before.
 * @seen: progress of the CPU pool before.
 */
typedef struct
{
  HassAutoKnown *k;
  HassAutoGuard *g;
  HassAutoAlone *of; /* [n] */
  gboolean probing, probed, later;
  guint64 again_at;
  guint device;
  double work, given, ns;
  HassFit fits[HASS_FITS];
  HassProgress seen;
} HassAutoSolo;

void hass_auto_solo_init (HassAutoSolo *s, HassAutoKnown *k, HassAutoGuard *g);
void hass_auto_solo_clear (HassAutoSolo *s);

/* After the guard has chosen an arm. */
void hass_auto_solo_begin (HassAutoSolo *s, const HassRound *round);

/* Measures devices one after another. TRUE: this one waits; else *work is what
   it may get, 0: no bound. The plan is made anew when the next one begins. */
gboolean hass_auto_solo_waits (HassAutoSolo *s, const HassRound *round,
                               guint device, gboolean force, HassPlan *plan,
                               double *work);

/* The device was granted so much; a bundle of a GPU took ns. */
void hass_auto_solo_granted (HassAutoSolo *s, guint device, double work);
void hass_auto_solo_done (HassAutoSolo *s, guint device, double ns);

/* After a round that counts: what it would have taken each measured device,
   over what is planned by what it does beside others. */
void hass_auto_solo_end (HassAutoSolo *s);

#endif
