/* SPDX-License-Identifier: MIT */
/* blocks-private.h: what indivisible loads of known sizes, in ascending order,
   cost on a GPU that computes one on each multiprocessor.

   DESIGN. A multiprocessor takes c + s * w ns for a load of work w: c is large
   where a load has fewer threads than a multiprocessor, as it then takes about
   as long as a larger one. The fraction @flat = c / (c + s * mean work) of a
   load of mean size is learned for each GPU by regression over its bundles. A
   load counts for flat * mean work + (1 - flat) * w, so that a round as a whole
   counts for its work, and a GPU's time is a line over what its bundles count
   for whatever loads they have.

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_BLOCKS_PRIVATE_H
#define HASS_SCHED_AUTO_BLOCKS_PRIVATE_H

#include "sched/estimate.h"

/**
 * HassAutoBlockLine: sums for the regression of one GPU, decayed, each bundle
 * of weight 1 / time^2.
 * @nn, @nw, @ww, @nt, @wt: of products of the bundle's number n of loads, their
 *   work w and the time t of all multiprocessors.
 * @fixed_ns, @ns_per_work: c and s, in the time of all multiprocessors, when
 *   bundles last told them; 0: they never did.
 */
typedef struct
{
  double nn, nw, ww, nt, wt;
  double fixed_ns, ns_per_work;
} HassAutoBlockLine;

/**
 * HassAutoBlocks: how the time of a load depends on its size.
 * @e: the devices. @of: [n] each device's line.
 */
typedef struct
{
  const HassEstimates *e;
  HassAutoBlockLine *of;
} HassAutoBlocks;

void hass_auto_blocks_init (HassAutoBlocks *b, const HassEstimates *e);
void hass_auto_blocks_clear (HassAutoBlocks *b);

/* Learns from a bundle of sorted loads that a GPU has completed. copy_ns: the
   part of its copy in that happens once a round. */
void hass_auto_blocks_observe (HassAutoBlocks *b, const HassRound *round,
                               const HassCompletion *done,
                               const HassBundle *bundle, double copy_ns);

/* Returns the work that n loads from position @first on count for: their own
   and the time in which multiprocessors wait for the last one. */
double hass_auto_blocks_work (const HassAutoBlocks *b, const HassRound *round,
                              guint device, guint64 first, guint64 n);

/* Returns TRUE if the GPU had bundles of loads that differ so much that they
   tell how its time depends on a load's size. */
gboolean hass_auto_blocks_told (const HassAutoBlocks *b, guint device);

/* Returns the work that one load of @work counts for, waits left out. */
double hass_auto_blocks_load (const HassAutoBlocks *b, guint device,
                              double work);

#endif
