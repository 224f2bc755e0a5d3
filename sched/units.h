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

/* Writes a line of the explanation. If none is wanted it only tests a
   pointer. */
#define HASS_NOTE(env, ...)                                                    \
  do                                                                           \
    if (G_UNLIKELY ((env)->note != NULL))                                      \
      (env)->note ((env)->note_data, __VA_ARGS__);                             \
  while (0)

/**
 * HassUnits: what is known of the present round's units.
 * @env: the farm and its devices. @devices: [n] traits of the devices.
 * @n: number of devices. @cpu: index of the CPU pool; @n: there is none.
 * @cores: number of cores of the CPU pool, at least 1.
 * @levels: measured costs along the round; NULL: costs are known, or the
 *   strategy itself chooses the order of units.
 * @round_units: number of units of the round.
 * @work: mean work of a unit.
 * @elements: mean GPU threads of a unit, in a function farm of a parallel task;
 *   0: unknown, or units are @blocks.
 * @bytes: mean bytes of input and output of a unit.
 * @longest: work of the longest unit; 0: costs are unknown or equal.
 * @first_parallel: in a function farm, position of the first task of
 *   parallelism above 1.
 * @share_back: position behind the last unit of the CPU pool's share.
 * @blocks: each waiting unit is one thread block, which has a multiprocessor
 *   to itself: an indivisible load or a task of parallelism 1.
 * @listed: units are indivisible loads in ascending order of known sizes.
 * @reversed: GPUs take from the front and cores from the back.
 * @meet: position in sorted loads at which GPUs and cores are planned to meet.
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
  gboolean blocks, listed, reversed;
  guint64 meet;
} HassUnits;

void hass_units_init (HassUnits *u, const HassStrategyEnv *env);
void hass_units_clear (HassUnits *u);

/* Take in a new round: hass_units_begin() is called before its units are
   sorted, hass_units_ordered() after. */
void hass_units_begin (HassUnits *u, const HassRound *round);
void hass_units_ordered (HassUnits *u, const HassRound *round);

/* Returns the position of the first waiting task of parallelism above 1 in a
   round of a function farm, where tasks of parallelism 1 lie before them. */
guint64 hass_units_first_parallel (const HassRound *round);

/* Return the level of n units from position @first on, which is their mean cost
   over that of the round (1 where it is unknown), and their work. */
double hass_units_level (const HassUnits *u, guint64 first, guint64 n);
double hass_units_work (const HassUnits *u, const HassRound *round,
                        guint64 first, guint64 n);

/* Returns TRUE if the costs of units differ along the round, as is stated by
   the farm or has been measured. */
gboolean hass_units_differ (const HassUnits *u);

/* Returns the work of the next n units at the end from which GPUs take or, if
   @gpu is FALSE, cores; of all that wait there if these are fewer. */
double hass_units_next_work (const HassUnits *u, const HassRound *round,
                             gboolean gpu, guint64 n);

/* Returns the level (mean cost over that of the round) of the units that a GPU
   would get next. */
double hass_units_next_level (const HassUnits *u, const HassRound *round,
                              guint device);

/* Returns how many units at one end of the range [lo, hi) have the given work,
   at least 1; back: at the end hi. */
guint64 hass_units_for (const HassUnits *u, const HassRound *round, guint64 lo,
                        guint64 hi, gboolean back, double work);

/* Returns how many units have the given work at the end of the common range
   from which cores take, at least 1. */
guint64 hass_units_for_cores (const HassUnits *u, const HassRound *round,
                              double work);

/* Return the work of all units that no device holds yet, the share of the CPU
   pool included, and the number of units in that share. */
double hass_units_left (const HassUnits *u, const HassRound *round);
guint64 hass_units_cpu_share (const HassUnits *u, const HassRound *round);

/* Returns the number of units of the smallest grant of a GPU. */
guint64 hass_units_least (const HassUnits *u, guint device);

/* Returns TRUE if a GPU would get tasks of parallelism 1 next, of which each
   multiprocessor computes one. */
gboolean hass_units_simple (const HassUnits *u, const HassRound *round);

/* Returns the mean number of GPU threads of a unit, from @some of the n units
   from position @first on; 0: unknown. */
double hass_units_elements (const HassUnits *u, const HassRound *round,
                            guint64 first, guint64 n, guint some);

/* Return how many units of mean size fill a GPU, their work, and the work of
   the units to be granted next that fill it; 0: unknown. A smaller bundle takes
   as long as one that fills the GPU. */
double hass_units_fill (const HassUnits *u, guint device);
double hass_units_fill_work (const HassUnits *u, guint device);
double hass_units_fill_next (const HassUnits *u, const HassRound *round,
                             guint device);

/* Returns TRUE if the waiting units have so much input that copying it takes
   longer than a launch. */
gboolean hass_units_are_data (const HassRound *round);

#endif
