/* SPDX-License-Identifier: MIT */
/* kaleem-private.h: online profiling as in Kaleem et al. 2014, the steps that
   its four schemes share.

   DESIGN. A kernel of the paper is a farm, an invocation a round, an item a
   unit, and f_p a number of units that fills the GPU (section 4.2).
   1. The first invocation begins with a profiling phase. With a barrier
      (section 4) the CPU and each GPU run one profile and wait for each
      other; without (section 5) the CPU pulls from the shared pool while
      the GPUs run profiles from its front.
   2. When the scheme says that profiling is over, what is left is carved by
      the ratio and each device runs its part; nobody steals (5, figure 6).
   3. Later invocations are carved as they begin. The asymmetric schemes
      weigh what each of them shows into the ratio by samples (5.3.1).

   The paper has one CPU and one GPU. Here the ratio is a vector: the rate of
   each device over the sum of all. A GPU that is through with its profile
   while another is not runs one more, so that nobody idles but at the
   barrier.

   Read so, in all four:
   - Table 2 gives 0 % to the kernels with fewer items than a profile (LMD
     with 1000, HW with 51), so a GPU whose profile does not fit into the
     round beside those of the GPUs before it is left out of it.
   - The CPU's rate is by the busy time of its cores, which is what the
     counters of its workers say, also in the middle of a unit's chunk.
     While no unit at all is finished there, GPUs run further profiles.
   - Items are alike in the paper. Where sizes are known, rates and parts are
     of work.
   - Profiling is online only: neither the profile store nor calibration is
     looked at.
   - A GPU that was never asked in the round is taken for lost, and a device
     whose last grant failed has no part; one unit is left for it in the
     common range, so that it can show that it works again.

   A decision is O(devices), a carving O(devices).

   Thread safety: as the strategy that owns it. */
#ifndef HASS_SCHED_KALEEM_PRIVATE_H
#define HASS_SCHED_KALEEM_PRIVATE_H

#include "common.h"

typedef struct _HassKaleem HassKaleem;

/**
 * HassKaleemScheme: what tells the four schemes from each other.
 * @barrier: profiles end at a barrier, and rates are never updated.
 * @step: units of the device's next profile, one at least.
 * @over: whether profiling is over once each device has a rate; NULL: yes.
 */
typedef struct
{
  gboolean barrier;
  guint64 (*step) (const HassKaleem *k, HassRound *round, guint device);
  gboolean (*over) (const HassKaleem *k, HassRound *round);
} HassKaleemScheme;

/* What profiling knows of a device. */
typedef struct
{
  double rate;  /* work per busy ns at its last sample; 0: none */
  double ratio; /* its part of a round */

  /* This round. */
  gboolean invited; /* its profile fits into the round */
  gboolean asked;
  guint64 profile;    /* units that fill it */
  guint64 taken;      /* at the barrier: units of its profile */
  guint steps;        /* profiles that have ended */
  double step_ratio;  /* its part as its last profile alone showed it */
  double step_change; /* that less the one before; infinite: none before */
  double work, ns;    /* not sampled yet */
  double seen_work, seen_ns; /* CPU: progress when last sampled */
} HassKaleemDevice;

struct _HassKaleem
{
  HassCrew crew; /* first: the crew's ops take it */
  const HassKaleemScheme *scheme;
  HassKaleemDevice *devices; /* [n] */
  double samples;            /* T_n: work that the ratio comes from */
  gboolean profiling;
  gboolean profiled; /* this round began with profiling */
};

/* The first parameter of each scheme. */
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
