/* SPDX-License-Identifier: MIT */
/* levels.h: how unknown costs lie along a round.

   DESIGN. Rounds of a farm are often alike: the end of a triangle is always its
   wide one. The times of bundles and cores, by the positions of their units,
   show this from round to round.
   1. A round is cut into parts of equal length. For each device and part two
      decayed sums are kept, of units and of their time. The level of a part is
      the cost of its units over the mean cost. Rates of devices and levels of
      parts are fitted to each other in turn, so that a device does not look
      slow because it computes the costly end. What a part shows counts a little
      for the parts beside it: where the units of one device end and those of
      another begin, this separates costs from speeds.
   2. Noise looks like a shape of costs. So the level of each bundle is compared
      with the levels of the rounds before. The trust in the shape is the
      fraction of deviations from the mean that come back in the next round.
      Costs that lie anew in each round get no trust.
   3. The remaining error of predicted bundles is the uncertainty of costs: the
      smaller this error, the larger bundles may be.

   A completed bundle costs O(parts), a round O(devices * parts), a decision
   O(1).

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_LEVELS_H
#define HASS_SCHED_LEVELS_H

#include <glib.h>

#define HASS_LEVELS_PARTS 32

typedef struct HassLevels HassLevels;

HassLevels *hass_levels_new (guint n_devices);
void hass_levels_free (HassLevels *levels);

/* Returns the mean level (cost of a unit over the mean cost of the round)
   between two positions, as far as it is trusted. Positions are fractions of
   the round, 0 to 1. */
double hass_levels_between (const HassLevels *levels, double from, double to);

/* hass_levels_add() takes in that a device computed @units between two
   positions (fractions of the round) in @ns, without the time that a bundle
   takes whatever it holds. hass_levels_end() fits levels and rates to all of
   these after a round. */
void hass_levels_add (HassLevels *levels, guint device, double from, double to,
                      double units, double ns);
void hass_levels_end (HassLevels *levels, guint n_devices);

/* Returns the relative error of the predicted work of bundles; less than 0:
   unknown. */
double hass_levels_doubt (const HassLevels *levels);

/* Returns the rate of a device in recent rounds, in units of mean cost per ns;
   0: unknown. */
double hass_levels_rate (const HassLevels *levels, guint device);

/* Returns how far the costs along a round are trusted to come back in the next
   round, from 0 (not at all) to 1 (fully). */
double hass_levels_trust (const HassLevels *levels);

#endif
