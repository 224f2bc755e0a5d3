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

/* Largest number of bundles on a device at a time; a limit of the arrays. */
#define HASS_MOST_IN_FLIGHT 8

/* Index of a fit (a line of bundle time over work) of a device: a sum of
   these. */
enum
{
  HASS_FIT_IDLE = 1,   /* of bundles that found the device idle */
  HASS_FIT_SIMPLE = 2, /* of bundles of tasks of parallelism 1 */
  HASS_FITS = 4
};

/**
 * HassBundle: a bundle as it was granted.
 * @work: its work; if it does not fill the GPU, that of a bundle that does.
 * @ns: predicted service time.
 * @unfilled: how many times its work the kernel could do in the same time; at
 *   least 1.
 * @fit: index of the fit (line of bundle time over work) that it belongs to.
 * @enters: it is the device's first of a round, and waits for what the device
 *   copies once a round.
 * @first, @n: position of its first unit, and number of units.
 * @level: predicted mean cost of its units over the mean cost of all units.
 * @end_ns: predicted time, by copies and kernels, at which its results are
 *   back.
 */
typedef struct
{
  double work, ns, unfilled;
  guint fit;
  gboolean enters;
  guint64 first, n;
  double level, end_ns;
} HassBundle;

/**
 * HassEstimateView: what a device has shown of its speed.
 * @fits: of a GPU: lines of bundle time over work.
 * @work, @busy_ns: of the CPU pool: decayed sums of work and of its time.
 * @mean_rate: work per ns of the last round in which the device did much, where
 *   costs are unknown; 0: none yet.
 */
typedef struct
{
  HassFit fits[HASS_FITS];
  double work, busy_ns;
  double mean_rate;
} HassEstimateView;

/**
 * HassEstimate: what is known of the speed of one device. Sums are decayed.
 * @shown: what it has shown.
 * @prior_rate: work per ns before anything is measured; 0: unknown.
 * @prior_ns: fixed part of a bundle's time then, in ns.
 * @largest: work of its largest bundle.
 * @n_done: bundles that succeeded, of all rounds.
 * @first_work, @first_ns: work and time of the first of them.
 * @waited_ns, @needed_ns: time of bundles at a shared link: waiting, copying.
 * @link_wait: @waited_ns / @needed_ns.
 * @in_ns, @kernels_ns, @out_ns: time of copies in, kernels and copies out.
 * @computed_ns, @computed_work: time in which kernels ran, and their work.
 * @host_ns, @host_work: core time that its bundles cost the host, and their
 *   work.
 * @done_work, @done_ns: in this round, without the fixed parts of bundles.
 * @seen: of the CPU pool: its progress when it was last looked at.
 */
typedef struct
{
  HassEstimateView shown;
  double prior_rate, prior_ns;
  double largest;
  guint64 n_done;
  double first_work, first_ns;
  double waited_ns, needed_ns, link_wait;
  double in_ns, kernels_ns, out_ns;
  double computed_ns, computed_work;
  double host_ns, host_work;
  double done_work, done_ns;
  HassProgress seen;
} HassEstimate;

/**
 * HassEstimates: the estimates of all devices.
 * @u: the present round's units.
 * @wanted_in_flight: bundles that a device is to hold at a time; 0: as many as
 *   are useful.
 * @of: [n] what is known of each device.
 */
typedef struct
{
  const HassUnits *u;
  guint wanted_in_flight;
  HassEstimate *of;
} HassEstimates;

void hass_estimates_init (HassEstimates *e, const HassUnits *u,
                          guint wanted_in_flight);
void hass_estimates_clear (HassEstimates *e);
void hass_estimates_begin_round (HassEstimates *e);

/* Takes a finished round of @work in, if it is a measure: all devices could
   have done its units. */
void hass_estimates_end_round (HassEstimates *e,
                               const HassRoundSummary *summary, double work);

/* -- What is observed --------------------------------------------------- */

/* Takes in what the cores have done since the last call. */
void hass_estimates_look_at_cpu (HassEstimates *e, const HassRound *round);

/* Returns the completion without the time for what a GPU worker makes once, in
   its first bundle. */
HassCompletion hass_estimates_without_setup (const HassEstimates *e,
                                             const HassCompletion *told);

/* Returns the service time ns of a bundle without its wait for copies of other
   devices. copy_ns: the part of its copy in that happens once a round. */
double hass_estimates_without_wait (HassEstimates *e,
                                    const HassCompletion *done, double copy_ns,
                                    double ns);

/* Takes in the times of a bundle that succeeded. copy_ns: the part of its copy
   in that happens once a round. ns: its service time, from the end of the
   device's bundle before it, without waits for copies of other devices.
   served_ns: service time with these waits. Returns FALSE if the bundle filled
   so little of the device that nothing was learned. */
gboolean hass_estimates_observe (HassEstimates *e, const HassCompletion *done,
                                 const HassBundle *b, double copy_ns, double ns,
                                 double served_ns);

/* -- What is known ------------------------------------------------------ */

/* Returns TRUE if the device has completed units, so that its rate is
   measured. */
gboolean hass_estimates_measured (const HassEstimates *e,
                                  const HassRound *round, guint device);

/* Returns TRUE if the device's rate is measured, or known from earlier runs or
   its traits. */
gboolean hass_estimates_known (const HassEstimates *e, const HassRound *round,
                               guint device);

/* Returns the line of bundle time over work for the device's next bundle. idle:
   the bundle finds the device idle, else it queues behind another. round NULL:
   the line is for a whole round. */
const HassFit *hass_estimates_fit (const HassEstimates *e,
                                   const HassRound *round, guint device,
                                   gboolean idle);

/* Return the rate, in work per ns, of all cores together and of one of them; 0:
   unknown. */
double hass_estimates_cpu_rate (const HassEstimates *e);
double hass_estimates_core_rate (const HassEstimates *e);

/* Returns the rate of a GPU in work per ns: mean_rate, the rate of a whole
   round, if that is above 0, else the rate by @fit, a line of bundle time over
   work; 0: unknown. */
double hass_estimates_gpu_rate (const HassEstimates *e, guint device,
                                double mean_rate, const HassFit *fit);

/* Return the predicted service time in ns of a bundle by @fit, a line of bundle
   time over work: of one with @work in units of relative cost @level, and of
   one without work. */
double hass_estimates_bundle_ns (const HassEstimates *e, guint device,
                                 const HassFit *fit, double work, double level);
double hass_estimates_fixed_ns (const HassEstimates *e, const HassRound *round,
                                guint device, const HassFit *fit);

/* Returns TRUE if a unit takes a core so long that other decisions are due
   before it is over. */
gboolean hass_estimates_long_units (const HassEstimates *e);

/* Return how many bundles a device should hold at a time, and whether that
   makes copies overlap kernels. */
guint hass_estimates_in_flight (const HassEstimates *e, guint device);
gboolean hass_estimates_overlaps (const HassEstimates *e, guint device);

/* Returns the fraction by which a bundle takes longer if it finds the device
   idle: its copy in, kernels and copy out then overlap those of no other
   bundle, so the fraction is (in + kernels + out) / longest of the three -
   1. */
double hass_estimates_alone_part (const HassEstimates *e, guint device);

/* Returns TRUE if two devices are of the same kind and size, and so need the
   same time for a bundle. */
gboolean hass_estimates_alike (const HassEstimates *e, guint one, guint other);

#endif
