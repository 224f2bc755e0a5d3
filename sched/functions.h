/* SPDX-License-Identifier: MIT */
/* functions.h: rounds of a function farm whose tasks call several
   functions, of which each suits the devices in its own way.

   DESIGN. A device has a pace for each function: the time of a unit of work, of
   a GPU with a fixed part for each bundle. Paces come from this farm's
   completions, each of which is of one function, and before these from earlier
   runs.
   1. Order. Units are sorted by how many times as fast a GPU is as a core:
      those that suit cores lie at the front, from which cores take, those that
      suit GPUs at the back (as HeteroPrio orders queues: Agullo et al. 2016).
      The order is made anew when a pace becomes known.
   2. Cores. A core gets a unit if it ends it before the GPUs would be done with
      all that waits. Of short units in front of the position at which cores and
      GPUs would meet so many become a share, from which cores take without
      asking, that they compute them for a while.
   3. GPUs. A GPU takes units of the function at the back, as long as it ends
      one before the cores would be done with all that waits: half of its part
      up to the meeting point, so that bundles shrink (guided self-scheduling),
      but so much that the fixed part of a bundle's time is small, and all if it
      is surely done with it before a core ends a unit. While cores compute
      their first units it takes single ones. Bundles of a function that it
      has not shown its pace in are in flight alone: of two that end at about
      the same time nobody could say what each has taken.
   4. What is unknown. One GPU tries each function with one unit, or what fills
      a quarter of it, first; cores leave it one. Until another GPU has computed
      the function, it is taken to be as fast, for GPUs of a machine are mostly
      alike, and its first bundle is as small. A function that cores have not
      computed is taken to take them as long per work as another one. Of cores
      that have computed nothing a unit is taken to take as long as in other
      rounds (start.c), in the function that the GPUs do fastest.
   5. Bundles that do not fill a GPU. What a kernel takes then does not depend
   on the number of units, be they simple tasks (parallelism 1), of which a GPU
      computes one on each multiprocessor, or parallel ones of few threads:
      until bundles of several sizes have shown it, that part of a bundle's time
      is taken to be fixed.

   A decision costs O(functions * devices + log units).

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_FUNCTIONS_H
#define HASS_SCHED_FUNCTIONS_H

#include "fit.h"
#include "forecast.h"

/**
 * HassFunctionPace: how fast a device computes one function.
 * @fit: GPU: its bundles in this farm. @work, @ns: of a CPU pool, work and core
 *   time in this farm.
 * @told_ns, @took_ns: GPU: of the bundles in this farm, the time that earlier
 *   runs let expect, and the true one.
 * @trying: its first bundle is in flight.
 */
typedef struct
{
  HassFit fit;
  double work, ns;
  double told_ns, took_ns;
  gboolean trying;
} HassFunctionPace;

/**
 * HassFunctionSeat: what a device holds.
 * @end_ns: when a GPU should be done with it. @last_ns: end of its last bundle.
 * @in_flight: its bundles. @function: of the last one.
 * @failed: its last grant failed.
 */
typedef struct
{
  double end_ns, last_ns;
  guint in_flight, function;
  gboolean failed;
} HassFunctionSeat;

/**
 * HassFunctions: functions of a farm.
 * @u, @f: units of the round; only the clock and what time has passed.
 * @n: number of functions; below 2: this module is not used.
 * @paces: [@n * n_devices] of function k on device d at k * n_devices + d.
 * @seats: [n_devices].
 * @order: [@n] the functions as they lie in the round. @first: [@n + 1] at
 *   which position each of them begins, and the end of the last one.
 * @work: [@n] mean work of a unit. @elements: [@n] its parallelism.
 * @held: [@n] units that cores hold.
 * @n_known: number of known paces when the order was made.
 * @begin_ns: when the round began.
 * @several: a round has had several functions. @used: the round is one of this
 *   module, as is each after the first with several functions, unless all of
 *   its units are for some devices alone.
 */
typedef struct
{
  const HassUnits *u;
  const HassForecast *f;
  guint n, n_known;
  HassFunctionPace *paces;
  HassFunctionSeat *seats;
  guint order[HASS_MOST_FUNCTIONS];
  guint64 first[HASS_MOST_FUNCTIONS + 1];
  double work[HASS_MOST_FUNCTIONS], elements[HASS_MOST_FUNCTIONS];
  gint64 held[HASS_MOST_FUNCTIONS];
  gint64 begin_ns;
  gboolean several, used;
} HassFunctions;

void hass_functions_init (HassFunctions *s, const HassUnits *u,
                          const HassForecast *f);
void hass_functions_clear (HassFunctions *s);

/* Takes in a new round, whose units it sorts if it is for this module. Returns:
   whether it is. */
gboolean hass_functions_begin (HassFunctions *s, HassRound *round);
/* Sorts the units anew if a pace has become known, or units have come back. */
void hass_functions_sort (HassFunctions *s, HassRound *round);

void hass_functions_granted (HassFunctions *s, const HassRound *round,
                             guint device, const HassGrant *grant);
void hass_functions_observe (HassFunctions *s, const HassCompletion *done);

/* Return the time of one unit of a function on a core, and of @units units as a
   bundle on a GPU, in ns; INFINITY: unknown. */
double hass_function_core_ns (const HassFunctions *s, guint function);
double hass_function_gpu_ns (const HassFunctions *s, guint function,
                             guint device, double units);
/* Returns what each further unit of a bundle takes a GPU, in ns. */
double hass_function_each_ns (const HassFunctions *s, guint function,
                              guint device);
/* Returns how many units of a function fill a GPU; 0: unknown. */
double hass_function_fill (const HassFunctions *s, guint function,
                           guint device);
/* Returns the time of the last completion, or of the round's begin. */
double hass_functions_now_ns (const HassFunctions *s);
/* Return whether a device has shown its pace in a function, and whether it is
   known, of a GPU from another one if need be. */
gboolean hass_function_shown (const HassFunctions *s, guint function,
                              guint device);
gboolean hass_function_known (const HassFunctions *s, guint function,
                              guint device);
/* Returns whether a GPU computes its first units of a function. */
gboolean hass_function_tried (const HassFunctions *s, guint function);
/* Returns whether a GPU may be counted on: it has not failed, and is open or
   predicted to be, and not long overdue. */
gboolean hass_function_counts (const HassFunctions *s, guint device);

/* Return when the GPUs, or the cores, would be done with what they hold and the
   units at [lo, hi), in ns from now; INFINITY: unknown. */
double hass_functions_gpus_ns (const HassFunctions *s, guint64 lo, guint64 hi);
double hass_functions_cores_ns (const HassFunctions *s, guint64 lo, guint64 hi);

#endif
