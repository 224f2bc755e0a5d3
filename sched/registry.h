/* SPDX-License-Identifier: MIT */
/* registry.h: instances of strategies, as the engines use them.
   Thread safety: one call at a time for each instance. */
#ifndef HASS_REGISTRY_H
#define HASS_REGISTRY_H

#include "hass/strategy.h"

/**
 * HassStrategy: an instance of a strategy, for one farm. @ops: the strategy.
 * @self: its state. @parameters: values in the order of its table.
 */
typedef struct
{
  const HassStrategyOps *ops;
  gpointer self;
  double *parameters;
} HassStrategy;

/* Creates an instance from a specification "name" or "name:key=value,..."; NULL
   with @error set if it is malformed or the strategy refuses the farm. Free it
   with hass_strategy_free(). */
HassStrategy *hass_strategy_new (const char *spec, HassStrategyEnv *env,
                                 GError **error);
void hass_strategy_free (HassStrategy *strategy);

/* All strategies of the library; the last entry is NULL (builtin.c). */
extern const HassStrategyOps *const hass_builtin_strategies[];

#endif
