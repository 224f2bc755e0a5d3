/* SPDX-License-Identifier: MIT */
/* hass_ce.c: HASS for small loads of equal size: basic HASS in the first
   round, then shares that follow from the rounds before.

   Zhang 2011, 3.4.2, "Algorithm 3: HASS_ce" (its number 2). A round costs
   O(devices^2), a decision O(devices).

   Loses where rounds are few, or unlike each other: costs that drift faster
   than two rounds, or loads of distinct sizes, whose counts say nothing
   about their work (HASS_cd). A GPU that steals single units at the end pays
   a launch for each.

   Read so:
   - i and j_k are "the ratio of loads executed". As listed, only GPUs steal,
     and from the CPU: the CPU's ratio could shrink and never grow. Shares are
     in proportion to units per busy time instead, so that all would finish
     together; what was executed is in that, and the CPU's share can grow.
   - A GPU's rate is that of its largest bundle of a round, launch included,
     because its next share is such a bundle. Stolen single units would say
     how it fares with single units.
   - Rates are sums over rounds, each counting half as much as the next: one
     disturbed round cannot throw the shares.
   - The listing fills the CPU's buffer inside the loop over the GPUs, n
     times; it is filled once.
   - q * j_k is no whole number: shares are rounded by largest remainder, so
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
