/* SPDX-License-Identifier: MIT */
/* modified_greedy.c: an idle core takes one unit, an idle GPU a bundle.

   Zhang 2011, 3.4.2 (last paragraph), for loads of unknown cost. A decision is
   O(devices).

   Loses to HASS_ce and HASS_cd where costs are known, since each of its
   shrinking bundles costs a launch; loses to smaller bundles where costly
   units are adjacent at the back of the range.

   Interpretation:
   - The paper does not give the size of a bundle, but derives it as for
     multi-stealing, M/(n+1) of M waiting units: the part of one of n + 1
     equally fast processors. Here it is weighted by measured rates:
     M * rate / sum(rates), in units per busy time.
   - This size assumes that the remaining units cost what the finished ones
     did. As they may cost more, a bundle is at most `cap` of the part that the
     GPU has of the whole round: one bundle of costly units cannot delay the
     round by more.
   - A GPU without a measured rate gets `probe` of the round. The other devices
     do not wait: the greedy strategies have no training phase.

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

/* Returns: the device's rate over the sum of the rates of all working devices;
   0 if the device is unmeasured. Another device that is unmeasured counts with
   the rate of this one. */
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
