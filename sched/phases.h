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

/* Fills in phases->parts, of any sum. Returns the work of the phase that
   begins, of `waiting` that waits; phases->n_begun ended before it. */
typedef double (*HassPlanFunc) (HassPhases *phases, HassRound *round,
                                double waiting);

struct HassPhases
{
  HassCrew crew;
  HassPlanFunc plan;
  guint n_begun;  /* phases of this round */
  double *parts;  /* [n] of the phase that began last */
  double *speeds; /* [n] work per busy ns in the last phase that it took part
                     in; 0: none yet */
  double *kept; /* [n] what the strategy keeps of each device, zeros at first */

  double *work, *ns;  /* [n] this round's, when the phase began */
  gboolean *trying;   /* [n] has a single unit, because it failed */
  gboolean untouched; /* begun because of force, nothing finished since */
};

/* A strategy's state of so many bytes, zeros but for the phases that it begins
   with. */
gpointer hass_phases_new (gsize bytes, const HassStrategyEnv *env,
                          HassPlanFunc plan);
void hass_phases_clear (HassPhases *phases);

/* These fit the ops table of a strategy whose state begins with phases. */
void hass_phases_begin_round (gpointer phases, HassRound *round);
HassAnswer hass_phases_grant (gpointer phases, HassRound *round, guint device,
                              gboolean force, HassGrant *grant);
void hass_phases_observe (gpointer phases, HassRound *round,
                          const HassCompletion *done);
void hass_phases_destroy (gpointer phases);

/* Parts for a plan. */
void hass_phases_equal (HassPhases *phases);
void hass_phases_by_speed (HassPhases *phases, const double *speeds);
gboolean hass_phases_known (const HassPhases *phases, const double *speeds);

#endif
