/* SPDX-License-Identifier: MIT */
/* mct.c: minimum completion time: assigns each unit, in order of emission, to
   the device that would complete it first.

   Maheswaran et al. 1999, the immediate-mode heuristic of the survey from
   which Zhang 2011, 2.4.2 takes Min-min. One pass over the round, O(n *
   devices) for SIZED units, O(devices^2) for equal ones; a decision is
   O(devices).

   Loses to Max-min when the last unit is large, since no device is kept free
   for it. Loses to bundling wherever a launch counts, and, like Min-min, where
   the measured unit was not typical.

   Interpretation:
   - "As they arrive" is the order of emission; the range of a function farm
     holds SPD tasks before MPD tasks, each in that order.
   - All devices are ready when the round begins, since rounds do not overlap.
   - Rates are measured with one unit on each device in the first round of the
     farm and not updated, as Zhang measures them for Min-min.
   - Units that only one kind of device can run are not mapped; the engine
     grants them first.

   Thread safety: as hass/strategy.h. */
#include "common.h"

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  HassCrew *crew = hass_crew_create (env, error);
  crew->order = HASS_MAP_AS_EMITTED;
  return crew;
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassCrew *crew = self;
  HassAnswer answer;
  if (!hass_crew_mapped (crew, round, device, force, grant, &answer))
    return answer;
  if (hass_crew_own (crew, round, device, 1, grant)
      || hass_crew_leftovers (crew, round, device, FALSE, grant))
    return HASS_TAKE;
  return HASS_DONE;
}

const HassStrategyOps hass_mct = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "mct",
  .summary = "each unit as it comes, to the device that completes it first",
  .source = "Maheswaran 1999; Zhang 2011, 2.4.2",
  .farms = HASS_FARM_ANY,
  .create = create,
  .begin_round = hass_crew_begin_mapped,
  .grant = decide,
  .observe = hass_crew_observe,
  .destroy = hass_crew_destroy,
};
