/* SPDX-License-Identifier: MIT */
/* aspara_single.c: calibrates once, then divides each round by fitness.

   ASPARA, single-round scheduling, as Zhang 2011, 2.2 describes it (after
   Gonzalez-Velez and Cole 2010). The fitness F of a processor is its speed over
   the sum of all speeds; of a round of size a it gets a * F, as one bundle.
   Calibration precedes execution in the paper; here it is the first part of the
   first round. A round costs O(devices * log n), a decision O(devices).

   Loses when a speed changes, since F is not updated; where a GPU is slower in
   the calibration than in a round, since its cost is not linear (Zhang 2011,
   2.2); and where costs lie unevenly.

   Interpretation:
   - "The simplest choice is to use the execution speed": work by busy time. If
     the engine or the profile store has the rates of all devices, they are F,
     and there is no calibration.
   - The size of the calibration is not given: here 1/64 of the first round in
     equal parts, at least one unit for each device. A device for which the
     first round had no unit is calibrated in the next.
   - A device whose bundle fails has no part until a single unit succeeds.

   Thread safety: as hass/strategy.h. */
#include "sched/phases.h"

#include <string.h>

enum
{
  CALIBRATION
};

static const HassParameter parameters[] = {
  { "calibration", 1 / 64., 1e-6, 0.5, "part of the first round" },
  { .name = NULL },
};

/* Plans the next phase: sets each device's part of it and returns the phase's
   work; @waiting is the remaining work of the round. The first phase of the
   first round is the calibration, with equal parts. All later ones divide the
   whole remainder by p->kept, the speeds that the calibration measured. */
static double
plan (HassPhases *p, HassRound *round, double waiting)
{
  (void)round;
  gboolean known = hass_phases_known (p, p->kept);
  if (!known && p->n_begun == 0)
    {
      hass_phases_equal (p);
      return waiting * p->crew.env->parameters[CALIBRATION];
    }
  if (!known)
    memcpy (p->kept, p->speeds, p->crew.n * sizeof *p->kept);
  hass_phases_by_speed (p, p->kept);
  return waiting;
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  HassPhases *p = hass_phases_new (sizeof (HassPhases), env, plan);
  (void)error;
  hass_crew_told_rates (&p->crew, p->kept);
  return p;
}

const HassStrategyOps hass_aspara_single = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "aspara-single",
  .summary = "calibrated once, then one bundle a round by fitness",
  .source = "Zhang 2011, 2.2 (ASPARA)",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = hass_phases_begin_round,
  .grant = hass_phases_grant,
  .observe = hass_phases_observe,
  .destroy = hass_phases_destroy,
};
