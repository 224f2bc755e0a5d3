/* SPDX-License-Identifier: MIT */
/* asym.c: Kaleem's asymmetric profiling: a GPU runs a profile while the CPU
   continues to pull from the shared pool; then the CPU's progress is read and
   the remaining units are divided.

   Kaleem et al. 2014, section 5 and figure 6. A decision is O(devices).

   Loses where the units of the profile are not typical (BH, FD and RT in the
   paper); where a profile is a large part of the round; and, since T_n only
   grows, when speeds change after many rounds.

   Interpretation, in addition to kaleem-private.h:
   - The proof of theorem 2 calls the CPU's items during the GPU's profile a
     maximum. They are min (t_p C_r, (1 - f_p) N): limited by the remaining
     items and by the time.
   - The update function of later rounds is given in 7.3: sample weighted. The
     division of the first round is its first sample, greedy by definition; the
     rest of that round is the second sample.

   Thread safety: as hass/strategy.h. */
#include "kaleem-private.h"

static const HassParameter parameters[] = {
  HASS_KALEEM_PROFILE,
  { .name = NULL },
};

static const HassKaleemScheme scheme = { .step = hass_kaleem_profile };

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return hass_kaleem_new (env, &scheme);
}

const HassStrategyOps hass_asym = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "asym",
  .summary
  = "a profile on the GPUs while the CPU works on, then parts by rates",
  .source = "Kaleem 2014, section 5",
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
