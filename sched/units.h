/* SPDX-License-Identifier: MIT */
/* units.h: what the units of the present round cost, as far as it is known, and
   how much work, how many elements and how many units a piece of it has.

   Work of a range is what the cost class shows. Where costs are unknown and
   levels are learned, it is the mean cost times the level of the positions.
   CPU cores take from one end of the common range, GPUs from the other one.

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_UNITS_H
#define HASS_SCHED_UNITS_H

#include <hass/strategy.h>

#include "levels.h"

/* A line of the explanation; a look at a pointer when none is wanted. */
#define HASS_NOTE(env, ...)                                                    \
  do                                                                           \
    if (G_UNLIKELY ((env)->note != NULL))                                      \
      (env)->note ((env)->note_data, __VA_ARGS__);                             \
  while (0)

/**
 * HassUnits: the present round's units.
 * @devices, @n: traits of all devices; @cpu: index of the CPU pool, @n where
 *   there is none; @cores: of that, at least 1.
 * @levels: NULL: costs are known, or the strategy chooses the order of units.
 * @round_units: units of the round.
 * @work, @elements, @bytes: mean of a unit; elements in GPU threads, 0: unknown
 *   or a unit has a multiprocessor to itself; bytes are input and output.
 * @longest: work of the longest unit; 0: costs are unknown or equal.
 * @first_parallel: function farm: position of the first parallel task.
 * @share_back: position behind the CPU pool's share.
 * @listed: indivisible loads in ascending order of known sizes.
 * @reversed: GPUs take from the front, cores from the back.
 */
typedef struct
{
  const HassStrategyEnv *env;
  const HassDeviceTraits *devices;
  guint n, cpu, cores;
  HassLevels *levels;
  guint64 round_units;
  double work, elements, bytes, longest;
  guint64 first_parallel, share_back;
  gboolean listed, reversed;
} HassUnits;

void hass_units_init (HassUnits *u, const HassStrategyEnv *env);
void hass_units_clear (HassUnits *u);

/* At a round's begin: the first before units are sorted, the second after. */
void hass_units_begin (HassUnits *u, const HassRound *round);
void hass_units_ordered (HassUnits *u, const HassRound *round);

/* Cost over the mean of n adjacent units, 1 where it is unknown. */
double hass_units_level (const HassUnits *u, guint64 first, guint64 n);
double hass_units_work (const HassUnits *u, const HassRound *round,
                        guint64 first, guint64 n);

/* Costs differ along the round, as is known or has been measured. */
gboolean hass_units_differ (const HassUnits *u);

/* Work of n units at the end from which GPUs, or cores, take; of fewer where
   fewer wait. */
double hass_units_next_work (const HassUnits *u, const HassRound *round,
                             gboolean gpu, guint64 n);

/* Level of the units that a GPU would get next. */
double hass_units_next_level (const HassUnits *u, const HassRound *round,
                              guint device);

/* How many units from one end of [lo, hi) have so much work, at least one. */
guint64 hass_units_for (const HassUnits *u, const HassRound *round, guint64 lo,
                        guint64 hi, gboolean back, double work);

/* Likewise at the cores' end of the common range. */
guint64 hass_units_for_cores (const HassUnits *u, const HassRound *round,
                              double work);

/* Work that no device holds. */
double hass_units_left (const HassUnits *u, const HassRound *round);
guint64 hass_units_cpu_share (const HassUnits *u, const HassRound *round);

/* Time-equivalent work of n listed loads on a GPU, one to a multiprocessor. */
double hass_units_listed_work (const HassUnits *u, const HassRound *round,
                               guint device, guint64 first, guint64 n);

/* The smallest grant of a GPU. round NULL: all of the round is meant. */
guint64 hass_units_least (const HassUnits *u, const HassRound *round,
                          guint device);

/* A GPU would get simple tasks now, one for each multiprocessor. */
gboolean hass_units_simple (const HassUnits *u, const HassRound *round);

/* GPU threads of a unit, mean of `some` of the n from first on. */
double hass_units_elements (const HassUnits *u, const HassRound *round,
                            guint64 first, guint64 n, guint some);

/* A GPU is filled by elements, and not by units. */
gboolean hass_units_count_elements (const HassUnits *u);

/* Mean units, and their work, that fill a GPU: a smaller bundle takes as long;
   0: unknown. Then that of the units that it would get next. */
double hass_units_fill (const HassUnits *u, guint device);
double hass_units_fill_work (const HassUnits *u, guint device);
double hass_units_fill_next (const HassUnits *u, const HassRound *round,
                             guint device);

/* Input bytes of one unit in the middle of those that wait; 0: none waits. */
gsize hass_units_middle_bytes (const HassRound *round);

/* The units that wait are more data than work. */
gboolean hass_units_are_data (const HassRound *round);

#endif
