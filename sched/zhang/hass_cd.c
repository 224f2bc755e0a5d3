/* SPDX-License-Identifier: MIT */
/* hass_cd.c: HASS for small loads of distinct sizes: a new Min-min map in each
   round, and GPUs steal many units at a time.

   Zhang 2011, 3.4.2, the second "Algorithm 3" (HASS_cd). The map costs
   O(n log n + n * devices) a round, a decision O(devices).

   Loses to HASS_ce on equal loads (figure 29): the map follows from one
   measured unit for each device and does not improve. May steal too much: the
   last steal can give a slow GPU more than the CPU had left, which the thesis
   accepts for the launches saved.

   Interpretation:
   - The listing fills the buffers by j_k and i, which it never sets; the text
     says that a traditional heuristic maps each round. The text is followed.
   - n in M/(n+1) is the number of GPUs, so that the CPU keeps a part like each
     GPU's; the text calls it the number of processors, which would count the
     CPU twice. At least one unit is stolen.
   - "In each round" does not say which estimates are used. By default they are
     those of the first round, as the thesis measures them. With learn=1 the
     map uses rates learned as in hass_ce.c: work per time is comparable between
     rounds even if numbers of units are not.

   Thread safety: as hass/strategy.h. */
#include "common.h"

enum
{
  LEARN
};

static const HassParameter parameters[] = {
  { "learn", 0, 0, 1, "1: map by rates learned from earlier rounds" },
  { .name = NULL },
};

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassCrew *crew = self;
  HassAnswer answer;
  if (!hass_crew_mapped (crew, round, device, force, grant, &answer))
    return answer;
  guint64 waiting
      = crew->cpu < crew->n ? hass_round_share (round, crew->cpu) : 0;
  guint64 loot = MAX (waiting / (crew->n_gpus + 1), 1);
  if (hass_crew_own (crew, round, device, 0, grant)
      || hass_crew_leftovers (crew, round, device, TRUE, grant)
      || hass_crew_steal (crew, round, device, loot, grant))
    return HASS_TAKE;
  return HASS_DONE;
}

static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  HassCrew *crew = self;
  if (crew->env->parameters[LEARN] > 0)
    hass_crew_learn (crew, summary, TRUE);
}

const HassStrategyOps hass_cd = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "hass-cd",
  .summary = "Min-min map each round, GPUs steal M/(n+1) at a time",
  .source = "Zhang 2011, 3.4.2, Algorithm 3 (HASS_cd)",
  .farms = HASS_FARM_PARTITION | HASS_FARM_COMBINE,
  .parameters = parameters,
  .create = hass_crew_create,
  .begin_round = hass_crew_begin_mapped,
  .grant = decide,
  .observe = hass_crew_observe,
  .end_round = end_round,
  .destroy = hass_crew_destroy,
};
