/* SPDX-License-Identifier: MIT */
/* shared_queue.c: one queue for all devices: a GPU takes fixed chunks from it,
   cores take single units.

   Kaleem et al. 2014, sections 3.2.2 and 7.3 (SharedQ), with which the paper
   compares its own schemes. A decision is O(1), and nothing is learned.

   Loses by the last chunk: the round waits for a GPU that took one late, and a
   round of less than two chunks runs almost entirely on the GPU. Small chunks
   cost one launch each and do not fill the GPU.

   Interpretation: the chunk is "profile size", as many units as fill the GPU
   (4.2), for each GPU by its own width; fewer when fewer remain. GPUs take from
   the front, as cores do, since the queue has one end only.

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
  /* A device whose last bundle failed gets single units until one succeeds. */
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
