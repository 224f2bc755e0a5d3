/* SPDX-License-Identifier: MIT */
/* builtin.c: the strategies of this room, one line each.
   Thread safety: immutable. */
#include "registry-private.h"

extern const HassStrategyOps hass_auto, hass_basic, hass_cd, hass_ce, hass_f,
    hass_i, hass_min_min, hass_modified_greedy, hass_naive_greedy, hass_p,
    hass_static, hass_profile_naive, hass_asym, hass_asym_conv, hass_asym_size,
    hass_shared_queue, hass_cpu_weight, hass_skmd, hass_skmd_linear;

const HassStrategyOps *const hass_builtin_strategies[] = {
  &hass_auto,
  &hass_naive_greedy,
  &hass_modified_greedy,
  &hass_min_min,
  &hass_basic,
  &hass_ce,
  &hass_cd,
  &hass_p,
  &hass_i,
  &hass_f,
  &hass_static,
  &hass_profile_naive,
  &hass_asym,
  &hass_asym_conv,
  &hass_asym_size,
  &hass_shared_queue,
  &hass_cpu_weight,
  &hass_skmd,
  &hass_skmd_linear,
  NULL,
};
