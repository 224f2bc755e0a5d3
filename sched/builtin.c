/* SPDX-License-Identifier: MIT */
/* builtin.c: the built-in strategies; a new one is one line here.
   Thread safety: immutable. */
#include "registry.h"

/* clang-format off */
#define STRATEGIES(X)       \
  X (hass_auto)             \
  X (hass_pipe_auto)        \
  X (hass_pipe_lp)          \
  X (hass_pipe_fixed)       \
  X (hass_aspara_pipe)      \
  X (hass_naive_greedy)     \
  X (hass_modified_greedy)  \
  X (hass_min_min)          \
  X (hass_max_min)          \
  X (hass_mct)              \
  X (hass_basic)            \
  X (hass_ce)               \
  X (hass_cd)               \
  X (hass_p)                \
  X (hass_i)                \
  X (hass_f)                \
  X (hass_static)           \
  X (hass_cpu_only)         \
  X (hass_gpu_only)         \
  X (hass_qilin)            \
  X (hass_aspara_single)    \
  X (hass_aspara_multi)     \
  X (hass_dls_star)         \
  X (hass_sampling)         \
  X (hass_splitting)        \
  X (hass_cap)              \
  X (hass_profile_naive)    \
  X (hass_asym)             \
  X (hass_asym_conv)        \
  X (hass_asym_size)        \
  X (hass_shared_queue)     \
  X (hass_skmd)             \
  X (hass_skmd_linear)      \
  X (hass_cpu_weight)       \
  X (hass_pipe_greedy)     \
  X (hass_flow_auto)        \
  X (hass_flow_eager)       \
  X (hass_flow_dmda)        \
  X (hass_flow_dmdas)       \
  X (hass_flow_heft)        \
  X (hass_flow_level)       \
  X (hass_flow_lws)         \
  X (hass_flow_peft)        \
  X (hass_flow_heteroprio)
/* clang-format on */

#define DECLARE(ops) extern const HassStrategyOps ops;
#define LIST(ops) &ops,

STRATEGIES (DECLARE)

const HassStrategyOps *const hass_builtin_strategies[]
    = { STRATEGIES (LIST) NULL };
