/* SPDX-License-Identifier: MIT */
/* cpu_only.c: the CPU pool computes all units; a GPU gets only units that no
   core can run.

   The baseline "CPU" of the papers (CAP 2013, table 3; Kaleem 2014, section
   8; Lee 2015, section 6). Cores pull from the common range without asking;
   nothing is measured.

   Loses to every strategy that uses a GPU where the GPU gains more than its
   copies cost.

   Interpretation:
   - The CPU baseline of CAP is one thread; here it is all cores of the pool,
     as in the other papers. HASS_NCPU=1 gives one thread.
   - Without a CPU pool the GPUs share the remaining units, each an equal part
     at a time, so that the farm is computed.

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
