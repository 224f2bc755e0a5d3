/* SPDX-License-Identifier: MIT */
/* skmd-private.h: performance prediction and partitioning of SKMD (Lee et al.
   2015), in three parts.

   DESIGN.
   1. HassSkmdModel (skmd_model.c) predicts the time of a device from the work
      of its part: section 3.3, equations 2 to 4, fitted to samples.
   2. hass_skmd_partition() (skmd_partition.c) is section 3.4, Algorithm 1, for
      times that the caller estimates.
   3. HassSkmd (skmd_train.c) collects samples in the first rounds and divides
      each round, by Algorithm 1 (skmd.c) or linearly (skmd_linear.c).

   Thread safety: as the strategy that owns it. */
#ifndef HASS_SCHED_SKMD_PRIVATE_H
#define HASS_SCHED_SKMD_PRIVATE_H

#include "common.h"

/* -- 1. Prediction ------------------------------------------------------ */

#define HASS_SKMD_BUCKETS 160

/* The average of samples of similar work. */
typedef struct
{
  double work, ns;
} HassSkmdSample;

/**
 * HassSkmdModel: time in ns = constant + linear * x + curved * x * g (x), where
 * x is work and g is equation 3 with slope a and place b.
 * @samples: by the logarithm of their work.
 * @n_samples: buckets in use.
 */
typedef struct
{
  HassSkmdSample samples[HASS_SKMD_BUCKETS];
  guint n_samples;
  double a, b;
  double constant, linear, curved;
} HassSkmdModel;

double hass_skmd_g (double x, double a, double b);
void hass_skmd_model_add (HassSkmdModel *model, double work, double ns);
void hass_skmd_model_fit (HassSkmdModel *model);
void hass_skmd_model_set_linear (HassSkmdModel *model, double latency_ns,
                                 double work_per_ns);
double hass_skmd_model_ns (const HassSkmdModel *model, double work);

/* -- 2. Partitioning ---------------------------------------------------- */

/**
 * HassSkmdTimesFunc: EstAllDevsTime of Algorithm 1.
 * @partition: [n] units.
 * @times_ns: [n], out: time of each device, copies and waiting for the link
 *   included; 0 without units; infinite for a device that cannot be used.
 */
typedef void (*HassSkmdTimesFunc) (const guint64 *partition, double *times_ns,
                                   gpointer user_data);

/**
 * HassSkmdTask: what is divided.
 * @n: devices.
 * @units: of the round.
 * @steps: of the decision tree: @units / @steps, rounded up, are offloaded at
 *   a time.
 * @merge_ns: of the results of several devices; 0 for a contiguous kernel.
 * @times: estimates the devices' times; is called with @user_data.
 */
typedef struct
{
  guint n;
  guint64 units, steps;
  double merge_ns;
  HassSkmdTimesFunc times;
  gpointer user_data;
} HassSkmdTask;

/* Fills @partition [n]: the units of each device; all 0 where no device can
   be used. */
void hass_skmd_partition (const HassSkmdTask *task, guint64 *partition);

/* -- 3. Training and dividing ------------------------------------------- */

/* The measurements of one device. */
typedef struct
{
  HassSkmdModel kernel;
  double in_ns, out_ns,
      copied_work; /* sums of copy times, and the work copied */
  double entry_ns; /* its entry copies in each round */
  guint bundles;   /* finished bundles of all rounds */
  gboolean trained;
  gboolean changed; /* a sample differed from its prediction */

  /* The estimated node: ends of copies in, of the kernel, of copies out. */
  double in_end_ns, ready_ns, out_end_ns;

  /* Cached estimates for two part sizes. */
  guint64 known_units[2];
  double known_ns[2];
  guint oldest;

  /* In this round. */
  gboolean asked;
  guint64 next, last; /* units of its training bundles; next 0: finished */
  double seen_work, seen_ns; /* CPU: progress at the last sample */
} HassSkmdDevice;

typedef struct _HassSkmd HassSkmd;

/* Sets crew.weights [n] to the parts of a round of @units units. */
typedef void (*HassSkmdDivideFunc) (HassSkmd *s, guint64 units);

struct _HassSkmd
{
  HassCrew crew; /* first: passed to the ops of the crew */
  HassSkmdDivideFunc divide;
  HassSkmdDevice *devices; /* [n] */
  double unit_work;        /* mean work of a unit in the round */
  gboolean training;
  gboolean trained_in; /* this round began with training */
};

HassSkmd *hass_skmd_new (const HassStrategyEnv *env, HassSkmdDivideFunc divide);
double hass_skmd_kernel_ns (HassSkmd *s, guint device, guint64 units);
void hass_skmd_times (const guint64 *partition, double *times_ns,
                      gpointer skmd);
void hass_skmd_begin_round (gpointer self, HassRound *round);
HassAnswer hass_skmd_grant (gpointer self, HassRound *round, guint device,
                            gboolean force, HassGrant *grant);
void hass_skmd_observe (gpointer self, HassRound *round,
                        const HassCompletion *done);
void hass_skmd_end_round (gpointer self, const HassRoundSummary *summary);
void hass_skmd_destroy (gpointer self);

#endif
