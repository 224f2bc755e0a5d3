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

/* Checks the name and the parameters of a specification "name" or
   "name:key=value,...". @values: NULL, or set to the values in the order of the
   strategy's table; free with g_free(). Returns: NULL with an error if it is
   malformed. */
const HassStrategyOps *hass_strategy_parse (const char *spec, double **values,
                                            GError **error);

/* -- Lists (list.c) ----------------------------------------------------- */

/* Splits "a,b:key=value,key=value,c" into specifications: between commas, text
   whose first "=" has no ":" before it is a parameter of the strategy before
   it; all other text is another strategy. Returns: NULL-terminated; free with
   g_strfreev(). */
char **hass_strategy_split (const char *list);

/* Finds the first strategy of a list that serves a kind of farm; all of them
   are checked. @spec: set to it, to be freed with g_free(), or to NULL if none
   serves. Returns: FALSE with HASS_ERROR_STRATEGY if one is malformed. */
gboolean hass_strategy_choose (const char *list, HassFarmKind farm, char **spec,
                               GError **error);

/* Returns: the names of the strategies that serve a kind of farm, with commas
   between; free with g_free(). */
char *hass_strategy_serving (HassFarmKind farm);

/* All strategies of the library; the last entry is NULL (builtin.c). */
extern const HassStrategyOps *const hass_builtin_strategies[];

#endif
