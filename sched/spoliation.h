/* SPDX-License-Identifier: MIT */
/* spoliation.h: which of the units that cores have begun a device without work
   should have instead.

   DESIGN. Taking a unit away pays if the device has done it before the core
   would have. How long a core still needs is known from its rate. One without a
   rate is assumed to need as long again as it has computed so far: if that is
   wrong by half, the device computes for half of the time that was spent in
   vain. The units that would end last are taken first; adjacent ones become one
   bundle.

   After the rule for one unit of Beaumont, Eyraud-Dubois and Kumar, IPDPS 2017.

   Thread safety: plain values. */
#ifndef HASS_SCHED_SPOLIATION_H
#define HASS_SCHED_SPOLIATION_H

#include <hass/strategy.h>

/**
 * HassSpoliator: a device without work, beside cores.
 * @fixed_ns: fixed part of the time of a bundle, in ns.
 * @ns_per_work: time for work of a bundle that fills the device, in ns.
 * @fill: number of units that fill it; fewer take as long as so many.
 * @core_rate: of a core, in work per ns; 0: unknown.
 */
typedef struct
{
  double fixed_ns, ns_per_work, fill, core_rate;
} HassSpoliator;

/* Sets HassBegun.take of the units that the device should have. Returns: as
   HassStrategyOps.spoliate. O(n^2). */
gint64 hass_spoliation (const HassSpoliator *by, HassBegun *begun, guint n);

#endif
