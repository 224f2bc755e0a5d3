/* SPDX-License-Identifier: MIT */
/* replay_fit.h: what the files that fit a record share.

   DESIGN.
   1. Rounds that overlap in time become one; those that were put together in
      the record are cut evenly (replay_units.c).
   2. Each row spreads its time over its units. A row whose units lie between
      those of others gives each unit in its span a part by weight
      (replay_units.c).
   3. A device's fixed costs are the intercepts of lines through its parts;
      the slopes are then chosen so that the sums are the recorded ones
      (replay_device.c).
   4. What a unit would have cost on a device that did not compute it is the
      device's mean for so much work, times how much dearer than its work the
      unit was where it was computed. Where all units cost the same, that is
      noise and left out (replay_fit.c).

   Thread safety: any thread, each with a replay of its own. */
#ifndef HASS_SIM_REPLAY_FIT_H
#define HASS_SIM_REPLAY_FIT_H

#include "replay.h"

/* Most of a row's time that is fixed: its units cost something. */
#define REPLAY_MOST_FIXED 0.95

/* -- 1. and 2. Rounds and units ----------------------------------------- */

/* Sums by weight of what rows say of units. */
typedef struct
{
  double *weight, *sum; /* [n_units] */
} ReplaySpread;

ReplaySpread replay_spread_new (guint64 n);
void replay_spread_clear (ReplaySpread *s);
/* Units share the total alike, or by what each was said to cost. */
void replay_spread_add (const Replay *p, ReplaySpread *s, const RecordRow *row,
                        double total, gboolean by_work);
/* What the spread says of a unit; otherwise when it says nothing. */
double replay_spread_at (const ReplaySpread *s, guint64 u, double otherwise);

/* Fill in what their names say, in this order. */
void replay_make_rounds (Replay *p);
void replay_make_order (Replay *p);
void replay_make_kinds (Replay *p);
void replay_make_shapes (Replay *p);

/* 0 where there are none. */
static inline double
replay_per_unit (guint64 n)
{
  return n > 0 ? 1.0 / n : 0;
}

/* -- 3. Devices --------------------------------------------------------- */

void replay_fit_cpu (Replay *p, ReplayDevice *v);
void replay_fit_gpu (Replay *p, guint d, ReplayDevice *v);
/* Units of a device's rows that did not fail; -1: of all rows. */
guint64 replay_units_of (const GArray *rows, gint device);
/* What a row's time is by fullest and by part_of_rate; see there. */
double replay_fullest (const Replay *p, const RecordRow *r);
double replay_part_of_rate (const RecordRow *r, const ReplayDevice *v);

#endif
