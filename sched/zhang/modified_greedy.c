/* SPDX-License-Identifier: MIT */
/* modified_greedy.c: whoever is idle takes: a core one unit, a GPU a bundle.

   Zhang 2011, 3.4.2 (last paragraph), for loads whose cost nobody knows
   before they ran. A decision is O(devices).

   Loses to HASS_ce and HASS_cd where costs are known, because it pays a
   launch for each of its shrinking bundles; loses to smaller bundles where
   costly units lie close together at the back of the range.

   Read so:
   - How many a GPU takes is not given, only that the reason is that of
     multi-stealing, M/(n+1) of M waiting units. That is the part of one of
     n + 1 processors that are equally fast, so here it is weighed by
     measured speed: M * rate / (sum of rates), in units per busy time.
   - That would be right if the rest cost what the past did. Since it may
     not, no bundle takes more than `cap` of what the round as a whole holds
     for this GPU: one bundle of costly units then cannot hold up the round.
   - A GPU without a measured speed gets `probe` of the round. Nobody waits
     meanwhile: the greedy strategies have no training phase.

   Thread safety: as hass/strategy.h. */
#include "common.h"

enum
{
  CAP,
  PROBE
};

static const HassParameter parameters[] = {
  { "cap", 1 / 8., 1 / 1024., 1,
    "of a GPU's part of the round that a bundle takes at most" },
  { "probe", 1 / 128., 0, 1, "of the round that an unmeasured GPU takes" },
  { .name = NULL },
};

/* The device's rate over all rates; 0: it is unmeasured. Who is unmeasured
   counts as much as the asking device does. */
static double
part_by_speed (const HassCrew *crew, const HassRound *round, guint device)
{
  double own = hass_crew_rate (crew, round, device), sum = 0;
  for (guint d = 0; d < crew->n; d++)
    {
      double rate = hass_crew_rate (crew, round, d);
      if (d == device || !crew->members[d].failed)
        sum += rate > 0 ? rate : own;
    }
  return own > 0 ? own / sum : 0;
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassCrew *crew = self;
  const double *parameter = crew->env->parameters;
  (void)force;
  if (!hass_crew_leftovers (crew, round, device, FALSE, grant))
    return HASS_DONE;
  if (device == crew->cpu || crew->members[device].failed)
    return HASS_TAKE;
  double part = part_by_speed (crew, round, device);
  double all = hass_round_units (round), waiting = hass_round_waiting (round);
  double units = part * MIN (waiting, parameter[CAP] * all);
  if (part <= 0)
    units = MIN (parameter[PROBE] * all, waiting / crew->n);
  grant->units = MAX ((guint64)MIN (units, 1e18), 1);
  return HASS_TAKE;
}

static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  hass_crew_learn (self, summary, FALSE);
}

const HassStrategyOps hass_modified_greedy = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "modified-greedy",
  .summary = "cores take one unit, GPUs a bundle by measured speed",
  .source = "Zhang 2011, 3.4.2",
  .farms = HASS_FARM_PARTITION | HASS_FARM_COMBINE | HASS_FARM_INDIVISIBLE,
  .parameters = parameters,
  .create = hass_crew_create,
  .begin_round = hass_crew_begin_round,
  .grant = decide,
  .observe = hass_crew_observe,
  .end_round = end_round,
  .destroy = hass_crew_destroy,
};
