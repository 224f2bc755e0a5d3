/* SPDX-License-Identifier: MIT */
/* cpu_only.c: the cores compute all; a GPU gets only what no core can run.

   The yardstick "CPU" of the papers (CAP 2013, table 3; Kaleem 2014, section
   8; Lee 2015, section 6). Cores pull from the common range on their own: no
   decision a unit, nothing is measured or learned.

   Loses to everything that uses a GPU where a GPU is worth its copies.

   Read so:
   - The papers' CPU yardstick of CAP is one thread; here it is all cores of
     the pool, as in the others. HASS_NCPU=1 gives the other.
   - A machine without a CPU pool still has to compute the farm: there the GPUs
     share what is left, each a part in its turn.

   Thread safety: as hass/strategy.h. */
#include "common.h"

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassCrew *crew = self;
  (void)force;
  if (device == crew->cpu)
    {
      grant->source = HASS_FROM_FRONT;
      return hass_round_waiting (round) + hass_round_exclusive (round, device)
                     > 0
                 ? HASS_TAKE
                 : HASS_DONE;
    }
  if (hass_crew_exclusive (crew, round, device, grant)
      || (crew->cpu == crew->n
          && hass_crew_leftovers (crew, round, device, TRUE, grant)))
    return HASS_TAKE;
  return HASS_DONE;
}

const HassStrategyOps hass_cpu_only = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "cpu-only",
  .summary = "the cores compute all that a core can run",
  .source = "CAP 2013, table 3; Kaleem 2014, 8",
  .farms = HASS_FARM_ANY,
  .create = hass_crew_create,
  .begin_round = hass_crew_begin_round,
  .grant = decide,
  .observe = hass_crew_observe,
  .destroy = hass_crew_destroy,
};
