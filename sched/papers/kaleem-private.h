/* SPDX-License-Identifier: MIT */
/* kaleem-private.h: online profiling as in Kaleem et al. 2014, the steps that
   its four schemes share.

   DESIGN. A kernel of the paper is a farm, an invocation a round, an item a
   unit, and f_p a number of units that fills the GPU (section 4.2).
   1. The first invocation begins with a profiling phase. With a barrier
      (section 4) the CPU and each GPU run one profile and wait for each other;
      without (section 5) the CPU pulls from the shared pool while the GPUs run
      profiles from its front.
   2. When the scheme ends profiling, the remaining units are carved by the
      ratio and each device runs its part without stealing (5, figure 6).
   3. Later invocations are carved when they begin. The asymmetric schemes
      update the ratio with each of them, weighted by samples (5.3.1).

   The paper has one CPU and one GPU. Here the ratio is a vector: the rate of
   each device over the sum of rates. A GPU that has finished its profile while
   another has not runs one more, so that devices idle at the barrier only.

   Interpretation, for all four:
   - Table 2 gives 0 % to kernels with fewer items than a profile (LMD with
     1000, HW with 51), so a GPU whose profile does not fit into the round
     beside those of the GPUs before it is excluded from the round.
   - The rate of the CPU is by the busy time of its cores, as the counters of
     its workers show it, also within a chunk. While they have finished no unit,
     GPUs run further profiles.
   - Items are alike in the paper. Where sizes are known, rates and parts are
     rates and parts of work.
   - Profiling is online only: the profile store and calibrated rates are
     ignored.
   - A GPU that never asked in the round counts as lost, and a device whose last
     grant failed has no part; one unit stays in the common range for it, so
     that it can show that it works again.

   A decision is O(devices), a carving O(devices).

   Thread safety: as the strategy that owns it. */
#ifndef HASS_SCHED_KALEEM_PRIVATE_H
#define HASS_SCHED_KALEEM_PRIVATE_H

#include "common.h"

typedef struct _HassKaleem HassKaleem;

/**
 * HassKaleemScheme: the differences between Kaleem's four schemes.
 * @barrier: whether the devices wait for each other after their profiles (a
 *   profile is a sample of units that fills the GPU). Rates are then measured
 *   once and never updated.
 * @step: returns the number of units of the device's next profile, at least
 *   one.
 * @over: returns whether profiling may end, once each device has a rate; NULL:
 *   it ends then in any case.
 */
typedef struct
{
  gboolean barrier;
  guint64 (*step) (const HassKaleem *k, HassRound *round, guint device);
  gboolean (*over) (const HassKaleem *k, HassRound *round);
} HassKaleemScheme;

/* What is measured on one device. A profile is a sample of units that fills
   the device; a step is one finished profile. */
typedef struct
{
  double rate;  /* work per busy ns in the last sample; 0: none yet */
  double ratio; /* the device's part of a round's work, 0 to 1 */

  /* The fields below are reset in each round. */
  gboolean invited; /* the waiting units suffice for a profile of this device */
  gboolean asked;
  guint64 profile; /* units in a profile of this device */
  /* Units granted to the device while the round was profiled. */
  guint64 taken;
  guint steps; /* finished profiles */
  /* The part of the device as its last profile alone measured it. */
  double step_ratio;
  /* Absolute difference of the last two step_ratio; infinite before the
     second. */
  double step_change;
  /* Work done since the last sample, and its busy time in ns. */
  double work, ns;
  /* CPU pool only: work and busy time (ns) of the round at the last sample. */
  double seen_work, seen_ns;
} HassKaleemDevice;

struct _HassKaleem
{
  HassCrew crew; /* first member, since the crew's functions get this struct */
  const HassKaleemScheme *scheme;
  HassKaleemDevice *devices; /* [n] */
  /* T_n of 5.3.1: work of all samples that the ratio is based on */
  double samples;
  gboolean profiling;
  gboolean profiled; /* this round began with a profiling phase */
};

/* The first parameter of each of Kaleem's strategies: how many elements a GPU
   runs in one profile. */
#define HASS_KALEEM_PROFILE                                                    \
  {                                                                            \
    "profile", 0, 0, 1e12,                                                     \
        "elements of a profile on a GPU; 0: as many as fill it"                \
  }

HassKaleem *hass_kaleem_new (const HassStrategyEnv *env,
                             const HassKaleemScheme *scheme);
void hass_kaleem_begin_round (gpointer self, HassRound *round);
HassAnswer hass_kaleem_grant (gpointer self, HassRound *round, guint device,
                              gboolean force, HassGrant *grant);
void hass_kaleem_granted (gpointer self, HassRound *round, guint device,
                          const HassGrant *grant);
void hass_kaleem_observe (gpointer self, HassRound *round,
                          const HassCompletion *done);
void hass_kaleem_end_round (gpointer self, const HassRoundSummary *summary);
void hass_kaleem_destroy (gpointer self);

guint64 hass_kaleem_profile (const HassKaleem *k, HassRound *round,
                             guint device);
guint64 hass_fill_units (const HassStrategyEnv *env, HassRound *round,
                         guint device, double elements);
double hass_kaleem_sample_weight (double sampled, double samples);

#endif
