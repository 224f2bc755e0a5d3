/* SPDX-License-Identifier: MIT */
/* asym_conv.c: Kaleem's asymmetric profiling, repeated until the ratio
   converges.

   Kaleem et al. 2014, sections 5.2 and 7.3 (ASYM+CONV). A decision is
   O(devices).

   Loses where the ratio is constant for a while and then changes (FD and PF in
   the paper: "false positives"), and where launches are expensive.

   Interpretation, in addition to asym.c and kaleem-private.h:
   - "Half of remaining items are used for reprofiling": of that half a GPU
     runs its part by the current ratio, since 5.2 demands that the GPU profiles
     less than that, while the CPU pulls. It is never less than a profile, which
     would not fill the GPU; when fewer units remain, profiling ends.
   - "Two successive profiling steps" are compared by the ratio that each step
     measured on its own. The division uses the sample-weighted mean of all
     steps. With several GPUs the parts of all of them must converge.
   - Only the first invocation is profiled repeatedly (5.3: later ones update).

   Thread safety: as hass/strategy.h. */
#include "kaleem-private.h"

enum
{
  TOLERANCE = 1
};

static const HassParameter parameters[] = {
  HASS_KALEEM_PROFILE,
  { "tolerance", 0.05, 0, 1, "of ratios that count as converged" },
  { .name = NULL },
};

static guint64
step (const HassKaleem *k, HassRound *round, guint device)
{
  const HassKaleemDevice *p = &k->devices[device];
  guint64 units
      = (guint64)MIN (hass_round_waiting (round) / 2.0 * p->ratio, 1e18);
  return p->steps == 0 ? p->profile : MAX (p->profile, units);
}

static gboolean
over (const HassKaleem *k, HassRound *round)
{
  double tolerance = k->crew.env->parameters[TOLERANCE];
  gboolean converged = TRUE;
  for (guint d = 0; d < k->crew.n; d++)
    {
      const HassKaleemDevice *p = &k->devices[d];
      if (p->steps == 0 || k->crew.members[d].failed)
        continue;
      converged = converged && p->step_change <= tolerance;
      if (hass_round_waiting (round) < p->profile)
        return TRUE;
    }
  return converged;
}

static const HassKaleemScheme scheme = { .step = step, .over = over };

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return hass_kaleem_new (env, &scheme);
}

const HassStrategyOps hass_asym_conv = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "asym-conv",
  .summary = "as asym, profiling until two ratios agree",
  .source = "Kaleem 2014, section 5.2 (ASYM+CONV)",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = hass_kaleem_begin_round,
  .grant = hass_kaleem_grant,
  .granted = hass_kaleem_granted,
  .observe = hass_kaleem_observe,
  .end_round = hass_kaleem_end_round,
  .destroy = hass_kaleem_destroy,
};
