/* SPDX-License-Identifier: MIT */
/* naive_greedy.c: an idle device takes one unit.

   Zhang 2011, 3.4.2 (last paragraph) and chapter 4, where it is the peer
   of all other strategies. A decision is O(devices); nothing is measured and
   no device waits.

   Loses wherever a launch costs as much as a unit: a GPU pays its latency
   for each unit and most of its width stays idle. A slow device that takes
   the last unit delays the end of the round.

   Interpretation: the paper does not say from which end a processor requests.
   GPUs take from the back, cores from the front: the order of the pool is
   irrelevant to the strategy, and the two do not contend.

   Thread safety: as hass/strategy.h. */
#include "common.h"

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  (void)force;
  return hass_crew_leftovers (self, round, device, FALSE, grant) ? HASS_TAKE
                                                                 : HASS_DONE;
}

const HassStrategyOps hass_naive_greedy = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "naive-greedy",
  .summary = "an idle device takes one unit",
  .source = "Zhang 2011, 3.4.2",
  .farms = HASS_FARM_ANY,
  .create = hass_crew_create,
  .grant = decide,
  .destroy = hass_crew_destroy,
  .flags = HASS_STRATEGY_OPEN,
};
