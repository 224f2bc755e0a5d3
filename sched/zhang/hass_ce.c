/* SPDX-License-Identifier: MIT */
/* hass_ce.c: HASS for small loads of equal size: basic HASS in the first
   round, then shares from the measurements of earlier rounds.

   Zhang 2011, 3.4.2, "Algorithm 3: HASS_ce" (its number 2). A round costs
   O(devices^2), a decision O(devices).

   Loses where rounds are few or differ: costs that drift faster than two
   rounds, or loads of distinct sizes, whose number does not determine their
   work (HASS_cd). A GPU that steals single units at the end pays one launch
   each.

   Interpretation:
   - i and j_k are "the ratio of loads executed". As listed, only GPUs steal,
     and only from the CPU, so the CPU's ratio could never grow. Here shares
     are proportional to units per busy time, so that all devices are predicted
     to finish together and the CPU's share can grow.
   - The rate of a GPU is that of its largest bundle of a round, launch
     included, since its next share is such a bundle. Stolen single units would
     measure single units.
   - Rates are sums over rounds with weights that halve from round to round
     backwards, so that one disturbed round changes the shares little.
   - The listing fills the CPU's buffer in the loop over the n GPUs, that is n
     times; here it is filled once.
   - q * j_k is not an integer: shares are rounded by largest remainder, so
     that they add up to q.

   Thread safety: as hass/strategy.h. */
#include "common.h"

static void
begin_round (gpointer self, HassRound *round)
{
  HassCrew *crew = self;
  hass_crew_begin_round (crew, round);
  if (hass_crew_known (crew))
    hass_crew_carve (crew, round, hass_crew_weights (crew));
}

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

static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  hass_crew_learn (self, summary, TRUE);
}

const HassStrategyOps hass_ce = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "hass-ce",
  .summary = "shares learned from round to round, GPUs steal one by one",
  .source = "Zhang 2011, 3.4.2, Algorithm 3 (HASS_ce)",
  .farms = HASS_FARM_PARTITION | HASS_FARM_COMBINE,
  .create = hass_crew_create,
  .begin_round = begin_round,
  .grant = decide,
  .observe = hass_crew_observe,
  .end_round = end_round,
  .destroy = hass_crew_destroy,
};
