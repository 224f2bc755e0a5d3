/* SPDX-License-Identifier: MIT */
/* asym_size.c: Kaleem's asymmetric profiling, repeated until half of the
   first round is done.

   Kaleem et al. 2014, sections 5.2 and 7.3 (ASYM+SIZE), the best of its
   schemes. A decision is O(devices).

   Loses where launches are expensive compared to a profile, since half of the
   first round runs in profiles, and where the second half differs from the
   first.

   Interpretation, in addition to asym.c and kaleem-private.h:
   - 7.3 profiles "until at least half of the total items are left", which holds
     at once. Here profiling ends when less than half remains.
   - Each step is a profile, f_p items, and the ratio is the sample-weighted
     mean of all steps.
   - The 96.8 % that section 8 attributes to ASYM+CONV belong to this scheme
     (7.4, 7.5).
   - Only the first invocation is profiled repeatedly (5.3: later ones update).

   Thread safety: as hass/strategy.h. */
#include "kaleem-private.h"

enum
{
  REMAINING = 1
};

static const HassParameter parameters[] = {
  HASS_KALEEM_PROFILE,
  { "remaining", 0.5, 0, 1, "profile while more than this part remains" },
  { .name = NULL },
};

static gboolean
over (const HassKaleem *k, HassRound *round)
{
  return hass_round_waiting (round)
         < k->crew.env->parameters[REMAINING] * hass_round_units (round);
}

static const HassKaleemScheme scheme
    = { .step = hass_kaleem_profile, .over = over };

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return hass_kaleem_new (env, &scheme);
}

const HassStrategyOps hass_asym_size = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "asym-size",
  .summary = "as asym, profiling until half of the round is done",
  .source = "Kaleem 2014, section 5.2 (ASYM+SIZE)",
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
