/* SPDX-License-Identifier: MIT */
/* hass.c: basic HASS: maps by Min-min, bundles the share of each GPU, lets idle
   GPUs steal from the CPU.

   Zhang 2011, 3.4.2, Algorithm 1. The map costs as in min_min.c, a decision
   O(devices). A GPU pays one launch for its share and one for each stolen
   unit.

   Loses to HASS_ce where rounds are alike: it maps each round by the unit that
   was measured first, which underestimates a GPU by its latency; the remainder
   is then stolen at one launch a unit.

   Interpretation:
   - The text has "idling GPUs steal work from CPU and vice versa", the listing
     only the former. Here the CPU steals as well, from the share of a GPU that
     could not take it as one bundle; otherwise that share is empty.
   - Without a CPU pool there is no buffer to steal from; then GPUs steal from
     those that could not take all of their share.
   - Stealing is meant to make all devices end together. A GPU does not steal
     the last units if the CPU is predicted to finish them before the shortest
     bundle of the GPU so far would be done.
   - Rates are measured once, as in min_min.c.

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
