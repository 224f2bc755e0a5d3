/* SPDX-License-Identifier: MIT */
/* aspara_single.c: calibrate once, then each round in one go by fitness.

   ASPARA, single-round scheduling, as Zhang 2011, 2.2 describes it (after
   Gonzalez-Velez and Cole 2010). The fitness F of a processor is its part of
   all speeds; of a round of size a it gets a * F, as one bundle. Calibration
   is a step of its own before execution: here the first part of the first
   round. A round costs O(devices * log n), a decision O(devices).

   Loses as soon as a speed changes, for F is not computed again; where a GPU
   in the calibration is slower than in a round, because its cost model is not
   linear (Zhang 2011, 2.2 says so); and where costs lie unevenly.

   Read so:
   - "The simplest choice is to use the execution speed": work by busy time.
     Where the engine or the profile store knows the speeds of all devices,
     they are F, and nothing is calibrated.
   - The size of the calibration is not given: 1/64 of the first round, equal
     parts, a unit for each device at least. A device that the first round had
     no unit for is calibrated in the next.
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

/* Keeps fitness, as speeds; 0: not calibrated. */
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
