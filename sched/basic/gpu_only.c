/* SPDX-License-Identifier: MIT */
/* gpu_only.c: the GPUs compute all units, one bundle each; cores get only
   units that no GPU can run.

   The baseline "GPU" of the papers (CAP 2013, table 3; Kaleem 2014, section
   8; Lee 2015, section 6), which have one GPU and one launch. A round costs
   O(devices^2), a decision O(devices).

   Loses wherever the cores could help, and to the cores alone where copies or
   latency outweigh the work.

   Interpretation:
   - Several GPUs get shares in proportion to their measured rates (work per
     busy time of earlier rounds); equal shares while one is unmeasured.
   - Without a GPU the cores compute the farm. While all GPUs fail, the cores
     compute one unit each at a time.
   - A GPU that fails gets single units until one succeeds; other GPUs take the
     units that it gave back.

   Thread safety: as hass/strategy.h. */
#include "common.h"

static void
begin_round (gpointer self, HassRound *round)
{
  HassCrew *crew = self;
  hass_crew_begin_round (crew, round);
  if (crew->n_gpus == 0)
    return;
  gboolean known = TRUE;
  double sum = 0;
  for (guint d = 0; d < crew->n; d++)
    {
      const HassMember *m = &crew->members[d];
      gboolean fit = d != crew->cpu && !m->failed;
      crew->weights[d] = fit ? m->rate : 0;
      known = known && (!fit || m->rate > 0);
      sum += fit;
    }
  for (guint d = 0; d < crew->n && !known; d++)
    crew->weights[d] = d != crew->cpu && !crew->members[d].failed;
  if (sum > 0)
    hass_crew_carve (crew, round, crew->weights);
}

/* Returns: whether the farm has a GPU that works, that is, whose last bundle
   did not fail. While there is one, the cores leave the units to it. */
static gboolean
gpus_left (const HassCrew *crew)
{
  for (guint d = 0; d < crew->n; d++)
    if (d != crew->cpu && !crew->members[d].failed)
      return TRUE;
  return FALSE;
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassCrew *crew = self;
  if (hass_crew_exclusive (crew, round, device, grant)
      || hass_crew_own (crew, round, device, 0, grant))
    return HASS_TAKE;
  /* With @force no device of the round is busy. A device that still has units
     in its share has therefore not asked for them: it is lost, and the others
     may take its units. */
  for (guint d = 0; d < crew->n && force; d++)
    crew->members[d].failed |= hass_round_share (round, d) > 0;
  if ((device == crew->cpu && gpus_left (crew))
      || !hass_crew_leftovers (crew, round, device, TRUE, grant))
    return HASS_WAIT;
  /* The cores compute while all GPUs fail. They take one unit each at a time,
     so that a GPU that recovers still finds units. */
  if (device == crew->cpu && crew->n_gpus > 0)
    grant->units = MAX (crew->env->devices[device].cores, 1);
  return HASS_TAKE;
}

static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  hass_crew_learn (self, summary, TRUE);
}

const HassStrategyOps hass_gpu_only = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "gpu-only",
  .summary = "the GPUs compute all that a GPU can run, one bundle each",
  .source = "CAP 2013, table 3; Kaleem 2014, 8",
  .farms = HASS_FARM_ANY,
  .create = hass_crew_create,
  .begin_round = begin_round,
  .grant = decide,
  .observe = hass_crew_observe,
  .end_round = end_round,
  .destroy = hass_crew_destroy,
};
