/* SPDX-License-Identifier: MIT */
/* fit.h: the service time of a device's bundles as a line over their work,
   fixed_ns + ns_per_work * work, learned from the bundles that it completes.
   Thread safety: plain values. */
#ifndef HASS_SCHED_FIT_H
#define HASS_SCHED_FIT_H

#include <glib.h>

/**
 * HassFit: a line and the sums that it is computed from; zeros: no bundle yet.
 * @n, @work, @ns: sums for the slope, decayed over a few bundles.
 * @s, @s_w, @s_t, @s_ww, @s_wt: sums for the fixed part, of weight 1/ns,
 *   decayed over some tens of bundles.
 * @least_ns: the shortest of the recent bundles.
 * @fixed_ns, @ns_per_work: the line.
 * @error: relative error of its predictions, a decayed mean.
 * @pair_ns, @step, @last_work, @last_ns: of hass_fit_compare().
 * @spread: sizes differed enough to tell the fixed part from the slope.
 * @seen: bundles.
 * @last: for the owner: the device's number of bundles at the last of them.
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

/* latency_ns is the fixed part until sizes have differed. */
void hass_fit_add (HassFit *fit, double work, double ns, double latency_ns);
void hass_fit_compare (HassFit *fit, double work, double ns, double latency_ns);
void hass_fit_scale (HassFit *fit, double times);
void hass_fit_limit (HassFit *fit, double most_fixed_ns);
gboolean hass_fit_hides (const HassFit *fit, double largest);
double hass_fit_ns (const HassFit *fit, double work);

#endif
