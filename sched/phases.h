/* SPDX-License-Identifier: MIT */
/* phases.h: rounds that are divided in phases, each of which ends
   when all devices have done their part of it.

   DESIGN. Sampling, splitting, CAP and the schemes that train or calibrate
   divide a part of the round, wait for all, look at the speeds and divide
   again.
   1. A phase begins: the strategy's plan says how much of what waits it takes
      and whose part is how large; the shares are carved.
   2. Each device takes its share, then waits.
   3. When no unit is granted any more the phase has ended: each device's speed
      is its work in the phase over its busy time, and the next phase begins.

   A decision is O(devices), the begin of a phase O(devices * log n). A device
   whose grant failed has no part in a phase until one of its grants succeeds;
   meanwhile it gets single units, also of other devices' shares, and no device
   waits for them. A device that is lost while its share is full is noticed when
   all others wait; they run the share.

   Thread safety: as the strategy that owns the phases. */
#ifndef HASS_SCHED_PHASES_H
#define HASS_SCHED_PHASES_H

#include "common.h"

typedef struct HassPhases HassPhases;

/* HassPlanFunc: a strategy's plan for the phase that begins. It fills in
   phases->parts, in proportion to the devices' work, and returns the total work
   of the phase; @waiting is the work that waits. phases->n_begun phases of this
   round have ended before. */
typedef double (*HassPlanFunc) (HassPhases *phases, HassRound *round,
                                double waiting);

/**
 * HassPhases: what a strategy that divides rounds into phases begins its state
 * with.
 * @crew: the devices and what is measured of them.
 * @plan: called when a phase begins.
 * @n_begun: number of phases of this round so far.
 * @parts: [n] parts of the present phase, for each device.
 * @speeds: [n] work per ns of busy time in the last phase in which the device
 *   computed; 0: none yet.
 * @kept: [n] for the strategy's use, zeros at first.
 * @work, @ns: [n] work and busy time of this round before the present phase.
 * @trying: [n] the device failed and now has a single unit.
 * @untouched: the phase began because all devices waited, and no grant has
 *   finished since.
 */
struct HassPhases
{
  HassCrew crew;
  HassPlanFunc plan;
  guint n_begun;
  double *parts;
  double *speeds;
  double *kept;

  double *work, *ns;
  gboolean *trying;
  gboolean untouched;
};

/* Allocates a strategy's state of the given size, which begins with HassPhases;
   the rest is zeros. hass_phases_clear() frees what the phases own, but not the
   state. */
gpointer hass_phases_new (gsize bytes, const HassStrategyEnv *env,
                          HassPlanFunc plan);
void hass_phases_clear (HassPhases *phases);

/* These functions fit the ops table of a strategy whose state begins with
   HassPhases. */
void hass_phases_begin_round (gpointer phases, HassRound *round);
HassAnswer hass_phases_grant (gpointer phases, HassRound *round, guint device,
                              gboolean force, HassGrant *grant);
void hass_phases_observe (gpointer phases, HassRound *round,
                          const HassCompletion *done);
void hass_phases_destroy (gpointer phases);

/* Fill in phases->parts for a plan: equal parts, or parts in proportion to
   @speeds. hass_phases_known() returns TRUE if all working devices have a
   speed. */
void hass_phases_equal (HassPhases *phases);
void hass_phases_by_speed (HassPhases *phases, const double *speeds);
gboolean hass_phases_known (const HassPhases *phases, const double *speeds);

#endif
