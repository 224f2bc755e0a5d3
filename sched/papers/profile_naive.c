/* SPDX-License-Identifier: MIT */
/* profile_naive.c: Kaleem's naive profiling: in the first round the CPU and
   each GPU run one profile and wait for each other; the remainder and all later
   rounds are divided by the measured rates.

   Kaleem et al. 2014, section 4 and figure 3. A decision is O(devices).

   Loses by the wait at the barrier where one device is much faster than
   another (equation 5: with a GPU 10 times as fast, a profile of 5 % costs
   45 % of the work); where the units of the profile are not typical (theorem
   1); and when speeds change later.

   Interpretation, in addition to kaleem-private.h:
   - "Another N f_p iterations" for the CPU are as many units as fill the GPU;
     with several GPUs, the narrowest.
   - Rates are kept from the first round in which they were measured. "For
     already-seen kernels, the runtime uses the old values": the update
     functions of 5.3.1 belong to the asymmetric schemes. A GPU that was
     excluded from that round is profiled, with all others, in the first round
     in which its profile fits.

   Thread safety: as hass/strategy.h. */
#include "kaleem-private.h"

static const HassParameter parameters[] = {
  HASS_KALEEM_PROFILE,
  { .name = NULL },
};

static const HassKaleemScheme scheme
    = { .barrier = TRUE, .step = hass_kaleem_profile };

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return hass_kaleem_new (env, &scheme);
}

const HassStrategyOps hass_profile_naive = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "profile-naive",
  .summary
  = "a profile on each device up to a barrier, then parts by its rates",
  .source = "Kaleem 2014, section 4",
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
