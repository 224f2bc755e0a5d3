/* SPDX-License-Identifier: MIT */
/* plan_player.h: a strategy that plays given plans of tiny rounds.
   Thread safety: one thread. */
#ifndef HASS_TEST_PLAN_PLAYER_H
#define HASS_TEST_PLAN_PLAYER_H

#include <glib.h>

enum
{
  MOST_GPUS = 2,
  MOST_UNITS = 6
};

/* Units that a GPU gets at once. */
typedef struct
{
  guint gpu, units;
} Bundle;

/* What each device of a round gets; the rest is the CPU's. */
typedef struct
{
  guint8 order[MOST_UNITS]; /* of units, as they are emitted */
  guint n_cpu, n_bundles;
  Bundle bundles[MOST_UNITS]; /* as they are granted */
} Plan;

/* Registers the strategy, once; returns its name. */
const char *plan_player_register (void);

/* From now on round r of a farm is played as the r-th of these Plans, which
   live as long as the farm. */
void plan_player_play (const GArray *plans);

#endif
