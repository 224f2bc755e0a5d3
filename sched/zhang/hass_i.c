/* SPDX-License-Identifier: MIT */
/* hass_i.c: HASS for indivisible loads: an idle GPU takes the largest loads,
   one for each of its multiprocessors, an idle core the shortest load.

   Zhang 2011, 3.5.2. Loads are sorted once a round, O(n log n); the largest
   are at the back for the GPUs (LLF), the shortest at the front for the
   cores (STF). A decision is O(devices).

   Loses where a multiprocessor computes a load slower than a core does: then
   the largest loads should run on the CPU. Loses at the end of a round, when a
   GPU takes the remaining loads although the cores would finish them earlier.

   Interpretation:
   - "Similar sizes" needs no measure: neighbours in sorted order are the most
     similar. Bundles are whole multiples of the multiprocessors until fewer
     loads remain; the last bundle takes these.
   - One load for each multiprocessor and launch, as in the paper; with waves=w
     a bundle has w, which saves launches on short loads.
   - Loads of unknown size stay in order of emission.

   Thread safety: as hass/strategy.h. */
#include "common.h"

enum
{
  WAVES
};

static const HassParameter parameters[] = {
  { "waves", 1, 1, 1024, "loads for each multiprocessor in a bundle" },
  { .name = NULL },
};

static void
begin_round (gpointer self, HassRound *round)
{
  hass_crew_begin_round (self, round);
  if (!hass_crew_alone (self))
    hass_round_order_by_work (round);
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassCrew *crew = self;
  (void)force;
  if (!hass_crew_leftovers (crew, round, device, FALSE, grant))
    return HASS_DONE;
  if (device != crew->cpu && !crew->members[device].failed)
    {
      grant->multiple = MAX (crew->env->devices[device].cores, 1);
      grant->units = grant->multiple * (guint64)crew->env->parameters[WAVES];
    }
  return HASS_TAKE;
}

const HassStrategyOps hass_i = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "hass-i",
  .summary = "largest loads to GPUs, one a multiprocessor; shortest to cores",
  .source = "Zhang 2011, 3.5.2",
  .farms = HASS_FARM_INDIVISIBLE,
  .parameters = parameters,
  .create = hass_crew_create,
  .begin_round = begin_round,
  .grant = decide,
  .observe = hass_crew_observe,
  .destroy = hass_crew_destroy,
};
