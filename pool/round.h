/* SPDX-License-Identifier: MIT */
/* hass/round.h: a round of units, as a strategy sees and carves it.

   A round holds n units at positions [0, n). They wait in the common range,
   from whose front and back devices take, or in a device's own share. At a
   round's begin all of them wait in the common range, in order of emission;
   a function farm's round begins in the order [SPD | MPD].

   Thread safety: call these only inside a strategy callback; the engine
   calls those one at a time. CPU cores keep taking units meanwhile, so
   what is read as waiting may be less a moment later. */
#ifndef HASS_ROUND_H
#define HASS_ROUND_H

#include <glib.h>
#include <hass/load.h>

HASS_BEGIN_DECLS

typedef struct _HassRound HassRound;

/**
 * HassProgress: what a device has finished in a round so far.
 * @units: units finished.
 * @work: their work.
 * @busy_ns: time it was computing or copying; on a CPU pool the sum over its
 *   cores divided by their number.
 *
 * Returned by value, so the struct is frozen.
 */
typedef struct
{
  guint64 units;
  double work;
  double busy_ns;
} HassProgress;

/* Number of the round in its farm, from 0. */
guint64 hass_round_number (const HassRound *round);
/* Units that the round began with. */
guint64 hass_round_units (const HassRound *round);
/* When it began, on the engine's clock, as completions have it. */
gint64 hass_round_begin_ns (const HassRound *round);
/* Units that wait in the common range, for any device, those that a failed
   device gave back included. */
guint64 hass_round_waiting (const HassRound *round);
/* Units that wait in @device's own share. */
guint64 hass_round_share (const HassRound *round, guint device);
/* Units that only @device's kind can run and that still wait. They are given
   first whenever a device of that kind is granted anything. */
guint64 hass_round_exclusive (const HassRound *round, guint device);
/* Work of the positions [@first, @first + @n), as the cost class shows it:
   1 a unit for EQUAL and UNKNOWN (elements in a partition farm), the cost
   hint or size for SIZED. O(n) up to 16 units; beyond, O(32) after a first
   call of O(units). */
double hass_round_work (const HassRound *round, guint64 first, guint64 n);
/* Work of all units of the round. */
double hass_round_total_work (const HassRound *round);
/* First waiting position of the common range. */
guint64 hass_round_front (const HassRound *round);
/* The position after the last waiting one of the common range; equal to the
   front when it is empty. CPU cores do not move it. */
guint64 hass_round_back (const HassRound *round);
/* Elements of the unit at @position: the parallelism it offers a GPU (its
   PD in a function farm); 0: unknown. */
guint64 hass_round_elements (const HassRound *round, guint64 position);
/* Bytes of input of the unit at @position, which a GPU that gets it copies. */
gsize hass_round_input_bytes (const HassRound *round, guint64 position);
/* Bytes of results of the unit at @position, which a GPU copies back. */
gsize hass_round_output_bytes (const HassRound *round, guint64 position);
/* What @device has finished; readable in the middle of a chunk of units. */
HassProgress hass_round_progress (const HassRound *round, guint device);

/**
 * hass_round_order_by_work:
 *
 * Sorts the units that wait in the common range by ascending work, ties in
 * order of emission, so that the front holds the shortest for the CPU (STF)
 * and the back the largest for the GPUs (LTF; Zhang 2011, 3.5.2). In a
 * function farm SPD and MPD units are sorted each for themselves. Nothing
 * happens where the cost class knows no work. O(n log n), 4 bytes a unit.
 */
void hass_round_order_by_work (HassRound *round);

/**
 * hass_round_carve:
 * @units: [n_devices] units for each device.
 *
 * Moves waiting units of the common range into the devices' own shares: for
 * device 0 from the front, then for device 1 and so on; what is over stays
 * common. Counts that exceed what waits are clipped. Shares that still hold
 * units keep them and are not carved again.
 */
void hass_round_carve (HassRound *round, const guint64 *units);

/**
 * hass_round_carve_back:
 *
 * Moves the last @units that wait in the common range, or all of them if they
 * are fewer, into @device's own share, which they make up in their order. A
 * share that still holds units keeps them and is not carved again.
 */
void hass_round_carve_back (HassRound *round, guint device, guint64 units);

/**
 * hass_round_assign_func:
 * @position: a waiting position, visited in order.
 *
 * Returns the device that shall own the unit, or n_devices to leave it in
 * the common range.
 */
typedef guint (*HassAssignFunc) (HassRound *round, guint64 position,
                                 gpointer user_data);

/**
 * hass_round_assign:
 *
 * Asks @assign for each waiting unit of the common range and moves the units
 * into the shares, each share in the order visited (min-min and its kin).
 * The positions change: the shares lie one after another. O(n).
 */
void hass_round_assign (HassRound *round, HassAssignFunc assign,
                        gpointer user_data);

HASS_END_DECLS

#endif
