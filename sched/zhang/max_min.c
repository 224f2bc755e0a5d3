/* SPDX-License-Identifier: MIT */
/* max_min.c: maps each round by Max-min, the largest unit first.

   Maheswaran et al. 1999, which Zhang 2011, 2.4.2 compares with Min-min: of
   all units, the one whose earliest completion time is the latest is mapped
   next, to the device that completes it first. If times are linear in the work
   (Zhang 2011, chapter 4), this is always the largest remaining unit, so the
   map is one pass in descending order: O(n log n + n * devices) for SIZED
   units, O(devices^2) for equal ones; a decision is O(devices).

   Better than Min-min where few units are much larger than the rest: they run
   beside the small ones, not after them. Loses to bundling wherever a launch
   counts, and, like Min-min, where the measured unit was not typical. Loses
   where a large unit cannot fill the width of a GPU, so that a core would
   complete it earlier: there times are not linear.

   Interpretation:
   - Rates are measured with one unit on each device in the first round of the
     farm and not updated, as Zhang measures them for Min-min.
   - A device computes its units in the order of the map, the largest first.
     This matters on a CPU pool, which is one machine in the map but has many
     cores: the pool takes one unit for each core at a time.
   - Units that only one kind of device can run are not mapped; the engine
     grants them first. In a function farm MPD tasks are mapped before SPD
     tasks, each set in descending order, since the range keeps them apart.

   Thread safety: as hass/strategy.h. */
#include "common.h"

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  HassCrew *crew = hass_crew_create (env, error);
  crew->order = HASS_MAP_LARGEST_FIRST;
  return crew;
}

/* Grants units of the device's own share: one to a GPU, one for each core to
   the CPU pool. Sorted shares end with the largest units, which are taken
   first by stealing from the back of the own share. Units without known sizes
   are not sorted and come from the front. Returns: FALSE if the share is
   empty. */
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
