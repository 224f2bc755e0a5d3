/* SPDX-License-Identifier: MIT */
/* splitting.c: divides each round into equal pieces; every piece is divided by
   the speeds measured in the previous one.

   Splitting scheduling as CAP 2013, 2.2.3 describes it. All devices wait for
   each other after each piece. A round costs O(pieces * devices * log n), a
   decision O(devices).

   Loses by its synchronisations and because a GPU gets small bundles, which
   CAP is designed to avoid. Loses to strategies that steal within a piece.

   Interpretation:
   - The number of pieces is not given: `pieces`, by default 10.
   - The first piece is divided equally, since there is no "last execution" yet,
     at least one unit for each device.
   - A device that got nothing in a piece keeps its last speed.
   - Speed is work by busy time, copies and launches included (section 3).
   - The paper has one CPU and one GPU; parts by speed extend to any number.
   - Each round is a task of its own: nothing is kept for the next.

   Thread safety: as hass/strategy.h. */
#include "sched/phases.h"

enum
{
  PIECES
};

static const HassParameter parameters[] = {
  { "pieces", 10, 2, 1000, "equal parts of a round" },
  { .name = NULL },
};

static double
plan (HassPhases *p, HassRound *round, double waiting)
{
  guint pieces = (guint)p->crew.env->parameters[PIECES];
  (void)round;
  if (p->n_begun > 0)
    hass_phases_by_speed (p, p->speeds);
  else
    hass_phases_equal (p);
  return p->n_begun < pieces ? waiting / (pieces - p->n_begun) : waiting;
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return hass_phases_new (sizeof (HassPhases), env, plan);
}

const HassStrategyOps hass_splitting = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "splitting",
  .summary = "equal pieces of a round, each divided by the speeds of the last",
  .source = "CAP 2013, 2.2.3",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = hass_phases_begin_round,
  .grant = hass_phases_grant,
  .observe = hass_phases_observe,
  .destroy = hass_phases_destroy,
};
