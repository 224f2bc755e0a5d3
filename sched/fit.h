/* SPDX-License-Identifier: MIT */
/* fit.h: the service time of a device's bundles as a line over their work,
   fixed_ns + ns_per_work * work, learned from the bundles that it completes.
   Thread safety: plain values. */
#ifndef HASS_SCHED_FIT_H
#define HASS_SCHED_FIT_H

#include "hass/strategy.h"

/**
 * HassFit: the service time of a device's bundles as a line over their work,
 * fixed_ns + ns_per_work * work, and the sums that the line is computed from.
 * Zeros: no bundle was seen yet.
 * @n, @work, @ns: number, work and time of bundles, sums for the slope, decayed
 *   over a few bundles.
 * @s, @s_w, @s_t, @s_ww, @s_wt: sums of 1, work w, time t, w * w and w * t,
 *   each of weight 1/t, for the fixed part, decayed over some tens of bundles.
 * @least_ns: time of the shortest of the recent bundles.
 * @fixed_ns, @ns_per_work: fixed part and slope of the line.
 * @error: relative error of predicted times, a decayed mean.
 * @pair_ns: median of the fixed parts that pairs of bundles show.
 * @step: factor by which @pair_ns is moved by the next pair.
 * @last_work, @last_ns: the bundle before, for the next pair.
 * @spread: sizes differed enough to tell the fixed part from the slope.
 * @seen: number of bundles.
 * @last: set by the owner: how many bundles the device had completed at the
 *   last one that was added.
 */
typedef struct
{
  double n, work, ns;
  double s, s_w, s_t, s_ww, s_wt;
  double least_ns;
  double fixed_ns, ns_per_work;
  double error;
  double pair_ns, step, last_work, last_ns;
  gboolean spread;
  guint64 seen;
  guint64 last;
} HassFit;

/* Adds a bundle to a line, by regression and by pairs of bundles. latency_ns:
   the fixed part that is assumed until sizes have differed. */
void hass_fit_add (HassFit *fit, double work, double ns, double latency_ns);
void hass_fit_compare (HassFit *fit, double work, double ns, double latency_ns);
void hass_fit_scale (HassFit *fit, double times);
void hass_fit_limit (HassFit *fit, double most_fixed_ns);
gboolean hass_fit_hides (const HassFit *fit, double largest);
double hass_fit_ns (const HassFit *fit, double work);

/* Returns the part of the kernels' time of a GPU's bundle that more units would
   not have needed, as they did not fill the GPU: simple tasks (an element each)
   fill it when each multiprocessor computes one, others by their elements. ns:
   that time, if the device did not measure it. */
double hass_unfilled_ns (const HassDeviceTraits *traits,
                         const HassCompletion *done, double ns);

#endif
