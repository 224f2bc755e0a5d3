/* SPDX-License-Identifier: MIT */
/* builtin.c: the strategies of this room, one line each.
   Thread safety: immutable. */
#include "registry-private.h"

/* clang-format off */
#define STRATEGIES(X)     \
  X (hass_auto)             \
  X (hass_naive_greedy)     \
  X (hass_modified_greedy)  \
  X (hass_min_min)          \
  X (hass_basic)            \
  X (hass_ce)               \
  X (hass_cd)               \
  X (hass_p)                \
  X (hass_i)                \
  X (hass_f)                \
  X (hass_static)
/* clang-format on */

#define DECLARE(ops) extern const HassStrategyOps ops;
#define LIST(ops) &ops,

STRATEGIES (DECLARE)

const HassStrategyOps *const hass_builtin_strategies[]
    = { STRATEGIES (LIST) NULL };
