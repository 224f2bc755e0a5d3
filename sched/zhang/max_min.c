/* SPDX-License-Identifier: MIT */
/* max_min.c: map each round by Max-min, the largest unit first.

   Maheswaran et al. 1999, as Zhang 2011, 2.4.2 sets it against Min-min: of
   all units the one whose earliest completion is the latest goes next, to the
   device that completes it first. With times linear in the work (Zhang 2011,
   chapter 4) that is always the largest unit left, so the map is one pass in
   descending order: O(n log n + n * devices) for SIZED units, O(devices^2)
   for equal ones; a decision is O(devices).

   Better than Min-min where a few units are much larger than the rest: they
   run beside the small ones, not after them. Loses to bundling wherever a
   launch counts, and wherever the measured unit was not typical, as Min-min
   does. Loses where a large unit fits the GPU's width so badly that a core
   would have it done sooner: times are not linear there.

   Read so:
   - Rates are measured with one unit on each device in the first round of the
     farm and not learned after, as Zhang measures them for Min-min.
   - A device computes its units in the order in which they were mapped, the
     largest first; that matters on a CPU pool, which is one machine to the
     map and many cores in truth. The pool takes a unit for each core at a
     time.
   - Units that only one kind of device can run are not in the map; the engine
     hands them out first. In a function farm MPD tasks are mapped before SPD
     tasks, each set in descending order, because the range keeps them apart.

   Thread safety: as hass/strategy.h. */
#include "common.h"

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  HassCrew *crew = hass_crew_create (env, error);
  crew->order = HASS_MAP_LARGEST_FIRST;
  return crew;
}

/* From the back of its own share, where the largest lie; 0: the rest of the
   range was not sorted. */
static gboolean
own_largest (HassCrew *crew, HassRound *round, guint device, HassGrant *grant)
{
  if (!hass_crew_own (crew, round, device, 1, grant))
    return FALSE;
  if (crew->env->cost == HASS_COST_SIZED
      && crew->env->farm != HASS_FARM_PARTITION)
    {
      grant->source = HASS_FROM_THEFT;
      grant->units = 1;
      if (device == crew->cpu)
        grant->units = MAX (crew->env->devices[device].cores, 1);
    }
  return TRUE;
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassCrew *crew = self;
  HassAnswer answer;
  if (!hass_crew_mapped (crew, round, device, force, grant, &answer))
    return answer;
  if (own_largest (crew, round, device, grant)
      || hass_crew_leftovers (crew, round, device, FALSE, grant))
    return HASS_TAKE;
  return HASS_DONE;
}

const HassStrategyOps hass_max_min = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "max-min",
  .summary = "Max-min map, the largest unit first, units one by one",
  .source = "Zhang 2011, 2.4.2; Maheswaran 1999",
  .farms = HASS_FARM_ANY,
  .create = create,
  .begin_round = hass_crew_begin_mapped,
  .grant = decide,
  .observe = hass_crew_observe,
  .destroy = hass_crew_destroy,
};
