/* SPDX-License-Identifier: MIT */
/* fit.h: declarations shared by the files that fit a model to a record.

   DESIGN.
   1. Rounds that overlap in time become one; rounds that were merged in the
      record are divided evenly (units.c).
   2. Each row spreads its time over its units. A row whose units lie between
      those of others gives each unit in its span a part by weight
      (units.c).
   3. The fixed costs of a device are the intercepts of lines through its parts;
      the slopes are then chosen so that the sums equal the recorded ones
      (device.c).
   4. The cost of a unit on a device that did not compute it is the device's
      mean for its work, times the unit's cost over its work where it was
      computed. Where all units cost the same, this factor is noise and is
      omitted (fit.c).

   Thread safety: any thread, each with a replay of its own. */
#ifndef HASS_SIM_REPLAY_FIT_H
#define HASS_SIM_REPLAY_FIT_H

#include "replay.h"

/* Maximum part of a row's time that is fixed: its units cost something. */
#define REPLAY_MOST_FIXED 0.95

/* -- 1. and 2. Rounds and units ----------------------------------------- */

/* Weighted sums of what rows measured of units. */
typedef struct
{
  double *weight, *sum; /* [n_units] */
} ReplaySpread;

ReplaySpread replay_spread_new (guint64 n);
void replay_spread_clear (ReplaySpread *s);
/* Distributes @total equally over the units, or by their stated costs. */
void replay_spread_add (const Replay *p, ReplaySpread *s, const RecordRow *row,
                        double total, gboolean by_work);
/* Returns: the value of a unit; @otherwise if it has none. */
double replay_spread_at (const ReplaySpread *s, guint64 u, double otherwise);

/* Each computes what its name says; to be called in this order. */
void replay_make_rounds (Replay *p);
void replay_make_order (Replay *p);
void replay_make_kinds (Replay *p);
void replay_make_shapes (Replay *p);

/* Returns: 1 / n; 0 for n = 0. */
static inline double
replay_per_unit (guint64 n)
{
  return n > 0 ? 1.0 / n : 0;
}

/* -- 3. Devices --------------------------------------------------------- */

void replay_fit_cpu (Replay *p, ReplayDevice *v);
void replay_fit_gpu (Replay *p, guint d, ReplayDevice *v);
/* Returns: units in the rows of a device that did not fail; -1: all rows. */
guint64 replay_units_of (const GArray *rows, gint device);
/* Factors of a row's time; see device.c. */
double replay_fullest (const Replay *p, const RecordRow *r);
double replay_part_of_rate (const RecordRow *r, const ReplayDevice *v);

#endif
