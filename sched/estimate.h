/* SPDX-License-Identifier: MIT */
/* estimate.h: how fast each device is, from what it has completed. Any strategy
   may keep estimates: it tells them of each bundle that it grants and of each
   completion, and asks for rates and service times.

   DESIGN.
   1. A GPU has a fit of service time over work, one for bundles that find it
      idle and one for bundles that queue behind another, because copies then
      overlap kernels; and the same two for simple tasks of a function farm.
      Time spent waiting for a shared link is a separate mean, since it is
      random.
   2. A bundle with fewer elements than the GPU is wide counts as one that fills
      it.
   3. The CPU pool has decayed sums of work and busy time, taken from the
      round's progress: cores are not told of one by one.
   4. Before anything is measured there is a prior: rates of earlier runs, or
      those in the devices' traits; of all devices or of none, since the two may
      count work in different units.

   An observation costs O(devices + parts of levels), a question O(1).

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_ESTIMATE_H
#define HASS_SCHED_ESTIMATE_H

#include "fit.h"
#include "units.h"

#define HASS_MOST_IN_FLIGHT 8 /* bundles on a device that are kept track of */

/* Which fit: a sum of these. */
enum
{
  HASS_FIT_IDLE = 1,   /* the bundle found the device idle */
  HASS_FIT_SIMPLE = 2, /* it is a set of simple tasks */
  HASS_FITS = 4
};

/**
 * HassBundle: a bundle as it was granted.
 * @work: as if it filled the GPU; @ns: predicted service time.
 * @unfilled: at least 1; the kernel could do so many times as much in its time.
 * @fit: which fit it belongs to.
 * @enters: it is the first of a round and waits for what a GPU copies once.
 * @first, @n: its units; @level: of their costs, over the mean, as predicted.
 * @end_ns: when its results are back, as its stages predict.
 */
typedef struct
{
  double work, ns, unfilled;
  guint fit;
  gboolean enters;
  guint64 first, n;
  double level, end_ns;
} HassBundle;

/* What a device has shown: fits of a GPU, sums of the CPU pool, and the rate of
   the last round in which it did much, 0: none. */
typedef struct
{
  HassFit fits[HASS_FITS];
  double work, busy_ns;
  double mean_rate;
} HassEstimateView;

/**
 * HassEstimate: of one device. Sums are decayed.
 * @prior_rate: work per ns before anything is measured; 0: unknown.
 * @largest: work of its largest bundle.
 * @n_done: bundles that succeeded; of all rounds.
 * @first_work, @first_ns: of the first of them.
 * @waited_ns, @needed_ns: time at a shared link, waiting and copying.
 * @link_wait: their ratio.
 * @in_ns, @kernels_ns, @out_ns: stages of bundles.
 * @computed_ns, @computed_work: time in which kernels kept it busy.
 * @host_ns, @host_work: time of cores that its bundles cost.
 * @done_work, @done_ns: in this round, without fixed parts.
 * @seen, @n_seen: CPU pool: progress at the last look; units of all rounds.
 */
typedef struct
{
  HassEstimateView shown;
  double prior_rate;
  double largest;
  guint64 n_done;
  double first_work, first_ns;
  double waited_ns, needed_ns, link_wait;
  double in_ns, kernels_ns, out_ns;
  double computed_ns, computed_work;
  double host_ns, host_work;
  double done_work, done_ns;
  HassProgress seen;
  guint64 n_seen;
} HassEstimate;

typedef struct
{
  const HassUnits *u;
  guint wanted_in_flight; /* bundles at a time; 0: as many as are useful */
  HassEstimate *of;       /* [n] */
} HassEstimates;

void hass_estimates_init (HassEstimates *e, const HassUnits *u,
                          guint wanted_in_flight);
void hass_estimates_clear (HassEstimates *e);
void hass_estimates_begin_round (HassEstimates *e);

/* After a round whose work all devices could do. */
void hass_estimates_end_round (HassEstimates *e,
                               const HassRoundSummary *summary, double work);

/* -- What is observed --------------------------------------------------- */

void hass_estimates_look_at_cpu (HassEstimates *e, const HassRound *round);

/* The completion without what a worker made once in its first bundle. */
HassCompletion hass_estimates_without_setup (const HassEstimates *e,
                                             const HassCompletion *told);

/* A bundle's service time ns without its wait for copies of other devices.
   copy_ns: of its copy in, what is copied once a round. */
double hass_estimates_without_wait (HassEstimates *e,
                                    const HassCompletion *done, double copy_ns,
                                    double ns);

/* A bundle succeeded. served_ns: with its wait. FALSE: it filled so little of
   the device that nothing was learned. */
gboolean hass_estimates_observe (HassEstimates *e, const HassCompletion *done,
                                 const HassBundle *b, double copy_ns, double ns,
                                 double served_ns);

/* -- What is known ------------------------------------------------------ */

gboolean hass_estimates_measured (const HassEstimates *e,
                                  const HassRound *round, guint device);

/* Measured, or there is a prior. */
gboolean hass_estimates_known (const HassEstimates *e, const HassRound *round,
                               guint device);

/* The fit for a device's next bundle. round NULL: for a whole round. */
const HassFit *hass_estimates_fit (const HassEstimates *e,
                                   const HassRound *round, guint device,
                                   gboolean idle);

/* Work per ns of all cores; 0: unknown. */
double hass_estimates_cpu_rate (const HassEstimates *e);
double hass_estimates_core_rate (const HassEstimates *e);

/* Likewise of a GPU in bundles of that fit. */
double hass_estimates_gpu_rate (const HassEstimates *e, guint device,
                                double mean_rate, const HassFit *fit);

/* Service time of so much work of some level, and of no work. */
double hass_estimates_bundle_ns (const HassEstimates *e, guint device,
                                 const HassFit *fit, double work, double level);
double hass_estimates_fixed_ns (const HassEstimates *e, const HassRound *round,
                                guint device, const HassFit *fit);

/* A unit on a core outlasts any other decision. */
gboolean hass_estimates_long_units (const HassEstimates *e);

/* Bundles that a device should hold; whether copies then overlap kernels. */
guint hass_estimates_in_flight (const HassEstimates *e, guint device);
gboolean hass_estimates_overlaps (const HassEstimates *e, guint device);

/* Extra fraction of the time of a bundle that finds the device idle. */
double hass_estimates_alone_part (const HassEstimates *e, guint device);

/* Two devices need the same time for a bundle. */
gboolean hass_estimates_alike (const HassEstimates *e, guint one, guint other);

#endif
