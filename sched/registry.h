/* SPDX-License-Identifier: MIT */
/* registry.h: instances of strategies, as the engines use them.
   Thread safety: one call at a time for each instance. */
#ifndef HASS_REGISTRY_H
#define HASS_REGISTRY_H

#include "hass/strategy.h"

typedef struct
{
  const HassStrategyOps *ops;
  gpointer self;
  double *parameters;
} HassStrategy;

HassStrategy *hass_strategy_new (const char *spec, HassStrategyEnv *env,
                                 GError **error);
void hass_strategy_free (HassStrategy *strategy);

/* The strategies of the library; NULL-terminated (builtin.c). */
extern const HassStrategyOps *const hass_builtin_strategies[];

#endif
