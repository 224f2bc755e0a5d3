/* SPDX-License-Identifier: MIT */
/* auto-private.h: what the strategy auto believes of a device, and the plan
   that it makes from it.

   DESIGN. Two small things that can be tested without a round.
   1. A fit: the service time of a bundle as fixed_ns + ns_per_work * work,
      from weighted least squares over what was seen, newest first.
   2. A fill: who of the devices takes part in what is left, and when all of
      them finish together.

   Thread safety: plain values. */
#ifndef HASS_SCHED_AUTO_PRIVATE_H
#define HASS_SCHED_AUTO_PRIVATE_H

#include <glib.h>

/* Zeros: nothing seen. The sums are decayed: those for the slope after a few
   bundles, those for the fixed part after some tens. */
typedef struct
{
  double n, work, ns;             /* for the slope */
  double s, s_w, s_t, s_ww, s_wt; /* for the fixed part, weights 1/ns */
  double least_ns;                /* the shortest seen of late */
  double fixed_ns, ns_per_work;   /* the result */
  double error;                   /* relative, of what was foretold */
  guint64 seen;
} HassFit;

void hass_fit_add (HassFit *fit, double work, double ns, double latency_ns);
double hass_fit_ns (const HassFit *fit, double work);

/**
 * HassRunner: a device in a plan. Times count from now.
 * @rate: work per ns; 0: it is not planned with.
 * @ready_ns: when it could begin to compute something new.
 * @step_ns: its least bundle, or one unit on one core, takes so long.
 * @runs: filled in: it takes part.
 */
typedef struct
{
  double rate, ready_ns, step_ns;
  gboolean runs;
} HassRunner;

double hass_fill (HassRunner *runners, guint n, double work);

#endif
