/* SPDX-License-Identifier: MIT */
/* hass/round.h: a round of units, as a strategy reads and divides it.

   An open round has no order of positions that a strategy could use: its units
   wait by priority, and get positions when they are taken. It cannot be
   ordered, carved or assigned, and front and back are 0.

   A round holds n units at positions [0, n). A waiting unit is either in the
   common range, from whose front and back devices take, or in the share of
   one device. When a round begins, all units are in the common range, in
   order of emission; in a function farm in the order [SPD | MPD].

   Thread safety: only inside the ops of a strategy, which the engine calls one
   at a time. CPU cores take units concurrently, so the number of waiting units
   may decrease between two calls. No function blocks. */
#ifndef HASS_ROUND_H
#define HASS_ROUND_H

#include <glib.h>
#include <hass/load.h>

HASS_BEGIN_DECLS

/* Most functions of a function farm that are told apart. A guess: more takes
   memory in each counter, fewer leaves farms of many functions as one. */
#define HASS_MOST_FUNCTIONS 8

typedef struct _HassRound HassRound;

/**
 * HassProgress: what a device has finished in a round so far.
 * @units: number of finished units.
 * @work: their work.
 * @busy_ns: time spent computing or copying, in ns; for a CPU pool the sum
 *   over its cores divided by their number.
 *
 * Returned by value, so the struct is frozen.
 */
typedef struct
{
  guint64 units;
  double work;
  double busy_ns;
} HassProgress;

/* Returns: whether the round is open: its units join while it runs
   (HASS_STRATEGY_OPEN). */
gboolean hass_round_is_open (const HassRound *round);
/* Returns: the number of the round in its farm, from 0. */
guint64 hass_round_number (const HassRound *round);
/* Returns: the number of units that the round began with; of an open round,
   that have joined it. */
guint64 hass_round_units (const HassRound *round);
/* Returns: when the round began, in ns on the clock of completions. */
gint64 hass_round_begin_ns (const HassRound *round);
/* Returns: the number of units waiting in the common range, or ready to join an
   open round, including those that a failed device gave back. */
guint64 hass_round_waiting (const HassRound *round);
/* Returns: the number of units waiting in the share of @device. */
guint64 hass_round_share (const HassRound *round, guint device);
/* Returns: the number of waiting units that only devices of @device's kind can
   run. They are taken first whenever such a device is granted units. */
guint64 hass_round_exclusive (const HassRound *round, guint device);
/* Returns: the work of positions [@first, @first + @n) as the cost class
   shows it: 1 a unit for EQUAL and UNKNOWN (its elements in a partition farm),
   the cost hint or the size for SIZED. O(n) up to 16 units, else O(32) after
   a first call of O(units). */
double hass_round_work (const HassRound *round, guint64 first, guint64 n);
/* Returns: the work of the units waiting in the common range, or ready to join
   an open round. */
double hass_round_waiting_work (const HassRound *round);
/* Returns: the work of all units of the round. */
double hass_round_total_work (const HassRound *round);
/* Returns: the first waiting position of the common range. */
guint64 hass_round_front (const HassRound *round);
/* Returns: the position after the last waiting one of the common range; equal
   to the front if it is empty. CPU cores do not move it. */
guint64 hass_round_back (const HassRound *round);
/* Returns: the number of elements of the unit at @position, which is the
   parallelism it offers a GPU (its PD in a function farm); 0: unknown. */
guint64 hass_round_elements (const HassRound *round, guint64 position);
/* Returns: the input bytes of the unit at @position, which a GPU copies in. */
gsize hass_round_input_bytes (const HassRound *round, guint64 position);
/* Returns: the output bytes of the unit at @position, which a GPU copies
   back. */
gsize hass_round_output_bytes (const HassRound *round, guint64 position);
/* Returns: what @device has finished, up to date also within a chunk. */
HassProgress hass_round_progress (const HassRound *round, guint device);
/* Returns: which of the farm's functions the unit at @position calls, from 0
   to HassStrategyEnv.n_functions - 1; 0 where functions are not told apart. */
guint hass_round_function (const HassRound *round, guint64 position);
/* Returns: a number that the functions of all units of the round are below, at
   most HassStrategyEnv.n_functions: 1 where all call the first function that
   the farm had; 0 where functions are not told apart, and in an open round. */
guint hass_round_functions (const HassRound *round);

/**
 * hass_round_order_by_work:
 *
 * Sorts the waiting units of the common range by ascending work, ties in order
 * of emission: the front holds the shortest units for the CPU (STF), the back
 * the longest for the GPUs (LTF; Zhang 2011, section 3.5.2). In a function
 * farm SPD and MPD units are sorted separately. Has no effect where the cost
 * class gives no work. Takes O(n log n) time and 4 bytes a unit.
 */
void hass_round_order_by_work (HassRound *round);

/**
 * hass_round_order_by_function:
 * @rank: [HassStrategyEnv.n_functions] smaller ranks come first.
 *
 * Sorts the waiting units of the common range by the ranks of their functions;
 * those of equal rank keep their order. Has no effect where functions are not
 * told apart. Takes O(n) time and 4 bytes a unit. A function farm's order
 * [SPD | MPD] is lost.
 */
void hass_round_order_by_function (HassRound *round, const double *rank);

/**
 * hass_round_carve:
 * @units: [n_devices] number of units for each device.
 *
 * Moves waiting units of the common range into the shares of the devices:
 * those of device 0 from the front, then those of device 1, and so on; the
 * remainder stays in the common range. Numbers that exceed the waiting units
 * are clipped. A share that is not empty stays unchanged.
 */
void hass_round_carve (HassRound *round, const guint64 *units);

/**
 * hass_round_carve_back:
 *
 * Moves the last @units waiting units of the common range, or all if there are
 * fewer, into the share of @device, in their order. A share that is not empty
 * stays unchanged.
 */
void hass_round_carve_back (HassRound *round, guint device, guint64 units);

/**
 * HassAssignFunc:
 * @position: a waiting position; positions are visited in ascending order.
 *
 * Returns: the device that owns the unit, or n_devices to leave the unit in
 * the common range.
 */
typedef guint (*HassAssignFunc) (HassRound *round, guint64 position,
                                 gpointer user_data);

/**
 * hass_round_assign:
 *
 * Calls @assign for each waiting unit of the common range and moves the units
 * into the shares, each share in the order visited (as min-min needs). Units
 * change their positions: afterwards the shares are adjacent. O(n).
 */
void hass_round_assign (HassRound *round, HassAssignFunc assign,
                        gpointer user_data);

HASS_END_DECLS

#endif
