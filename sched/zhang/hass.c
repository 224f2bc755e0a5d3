/* SPDX-License-Identifier: MIT */
/* hass.c: basic HASS: map by Min-min, bundle each GPU's share, let idle GPUs
   steal from the CPU.

   Zhang 2011, 3.4.2, Algorithm 1. The map costs as in min_min.c, a decision
   O(devices). A launch is paid once for a GPU's whole share and once for each
   stolen unit.

   Loses to HASS_ce where rounds are alike, because it maps each round by the
   unit that it measured first, which underrates a GPU by its latency; the
   rest is then stolen at a launch for each unit.

   Read so:
   - The text has "idling GPUs steal work from CPU and vice versa", the
     listing only the former. The CPU steals too, from a share that a GPU
     could not take as one bundle; where it could, nothing is there to steal.
   - With no CPU pool there is no buffer to steal from; GPUs that could not
     take all of theirs are stolen from alike.
   - Stealing is there so that all end together. A GPU leaves the last units
     alone when the CPU has them done before even its shortest bundle so far
     would be back.
   - Measured once, as in min_min.c.

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
  if (hass_crew_own (crew, round, device, 0, grant)
      || hass_crew_leftovers (crew, round, device, TRUE, grant)
      || hass_crew_steal (crew, round, device, 1, grant))
    return HASS_TAKE;
  return HASS_DONE;
}

const HassStrategyOps hass_basic = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "hass",
  .summary = "Min-min map, GPU shares bundled, GPUs steal from the CPU",
  .source = "Zhang 2011, 3.4.2, Algorithm 1",
  .farms = HASS_FARM_PARTITION | HASS_FARM_COMBINE,
  .create = hass_crew_create,
  .begin_round = hass_crew_begin_mapped,
  .grant = decide,
  .observe = hass_crew_observe,
  .destroy = hass_crew_destroy,
};
