/* SPDX-License-Identifier: MIT */
/* asym.c: Kaleem's asymmetric profiling: a GPU runs a profile while the CPU
   goes on pulling from the shared pool; then the CPU's counters are read in
   mid-round and what is left is divided.

   Kaleem et al. 2014, section 5 and figure 6. A decision is O(devices).

   Loses where the profile's units are not like the others (BH, FD and RT in
   the paper); where a profile is a large part of the round; and, since T_n
   only grows, when speeds change after many rounds.

   Read so, beside what kaleem-private.h says:
   - In the proof of theorem 2 the CPU's items while the GPU profiles are
     called a maximum. They are min (t_p C_r, (1 - f_p) N): it cannot do more
     than what is left, nor more than it has the time for.
   - Which update function later rounds use is said in 7.3: sample weighted.
     The first round's division is its first sample, greedy by definition;
     what follows in it is the second.

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
