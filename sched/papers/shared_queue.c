/* SPDX-License-Identifier: MIT */
/* shared_queue.c: one queue for all: a GPU takes fixed chunks from it, the
   cores of the CPU single units.

   Kaleem et al. 2014, sections 3.2.2 and 7.3 (SharedQ), which it holds
   against its own schemes. A decision is O(1), and nothing is learned.

   Loses its last chunk: the round waits for a GPU that took one late, and a
   round of less than two chunks is the GPU's almost alone. With a small chunk
   it loses a launch for each, and the GPU is not full.

   Read so: the chunk is "profile size", as many units as fill the GPU (4.2),
   each GPU by its own width; less when less is left. Taken from the front as
   the cores do, since the queue has but one end.

   Thread safety: as hass/strategy.h. */
#include "kaleem-private.h"

static const HassParameter parameters[] = {
  { "chunk", 0, 0, 1e12, "elements of a GPU's chunk; 0: as many as fill it" },
  { .name = NULL },
};

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassCrew *crew = self;
  (void)force;
  if (!hass_crew_leftovers (crew, round, device, FALSE, grant))
    return HASS_DONE;
  grant->source = HASS_FROM_FRONT;
  /* A device that fails gets single units until one of them succeeds. */
  if (device != crew->cpu && !crew->members[device].failed)
    grant->units
        = hass_fill_units (crew->env, round, device, crew->env->parameters[0]);
  return HASS_TAKE;
}

const HassStrategyOps hass_shared_queue = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "shared-queue",
  .summary = "GPUs take fixed chunks from one queue, cores single units",
  .source = "Kaleem 2014, section 7.3 (SharedQ)",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = hass_crew_create,
  .begin_round = hass_crew_begin_round,
  .grant = decide,
  .observe = hass_crew_observe,
  .destroy = hass_crew_destroy,
};
