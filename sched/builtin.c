/* SPDX-License-Identifier: MIT */
/* builtin.c: the strategies of this room, one line each.
   Thread safety: immutable. */
#include "registry-private.h"

extern const HassStrategyOps hass_auto, hass_basic, hass_cd, hass_ce, hass_f,
    hass_i, hass_min_min, hass_modified_greedy, hass_naive_greedy, hass_p,
    hass_static;
extern const HassStrategyOps hass_aspara_multi, hass_aspara_single, hass_cap,
    hass_cpu_only, hass_dls_star, hass_gpu_only, hass_max_min, hass_mct,
    hass_qilin, hass_sampling, hass_splitting;

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
  &hass_max_min,
  &hass_mct,
  &hass_cpu_only,
  &hass_gpu_only,
  &hass_qilin,
  &hass_aspara_single,
  &hass_aspara_multi,
  &hass_dls_star,
  &hass_sampling,
  &hass_splitting,
  &hass_cap,
  NULL,
};
