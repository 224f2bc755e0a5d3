/* SPDX-License-Identifier: MIT */
/* min_min.c: maps each round by Min-min and runs the map unit by unit.

   Maheswaran et al. 1999 as in Zhang 2011, chapter 4: one unit is computed on
   each device, and the times of the others are predicted from their work. Then
   the unit that can finish first is repeatedly assigned to the device that
   finishes it first. The map costs O(n log n + n * devices) for SIZED units
   and O(devices^2) for equal ones; a decision is O(devices).

   Loses to bundling wherever a launch counts, as in figure 29: a GPU takes its
   units one by one, which is the point of the comparison. Loses where the
   measured unit was not typical, since nothing corrects the map.

   Interpretation:
   - Rates are measured once, in the first round of the farm, and not updated:
     the thesis chooses "a load" and compares all others with it.
   - Units that only one kind of device can run are not mapped; the engine
     grants them first.
   - In a function farm the map visits SPD tasks before MPD tasks, in the order
     of the range.

   Thread safety: as hass/strategy.h. */
#include "common.h"

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

const HassStrategyOps hass_min_min = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "min-min",
  .summary = "Min-min map, units one by one",
  .source = "Zhang 2011, chapter 4; Maheswaran 1999",
  .farms = HASS_FARM_ANY,
  .create = hass_crew_create,
  .begin_round = hass_crew_begin_mapped,
  .grant = decide,
  .observe = hass_crew_observe,
  .destroy = hass_crew_destroy,
};
