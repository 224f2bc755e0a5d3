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

/* The average of samples of similar size: their work, and their kernel time in
   ns. */
typedef struct
{
  double work, ns;
} HassSkmdSample;

/**
 * HassSkmdModel: predicted kernel time in ns of one device as a function of
 * the work x: constant + linear * x + curved * x * g (x), where g is equation
 * 3 of the paper with slope @a and place @b.
 * @samples: measured averages; the index is 4 * log2 (work) + 40, so each
 *   element holds the samples of a quarter of an octave of work.
 * @n_samples: number of elements of @samples in use.
 * @a, @b: the parameters of g.
 * @constant, @linear, @curved: coefficients of the three terms; 0: term not
 *   used.
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
 * HassSkmdTimesFunc: predicts the times of a partition (EstAllDevsTime of
 * Algorithm 1).
 * @partition: [n]: number of units of each device.
 * @times_ns: [n], out: time of each device in ns, its copies and its waiting
 *   for the link included; 0 for every device without units; infinite for a
 *   device that has units but cannot be used.
 */
typedef void (*HassSkmdTimesFunc) (const guint64 *partition, double *times_ns,
                                   gpointer user_data);

/**
 * HassSkmdTask: a round to be divided, the input of the decision tree.
 * @n: number of devices.
 * @units: number of units of the round.
 * @steps: of the decision tree: @units / @steps units, rounded up, are moved
 *   from the base device to another one at a time.
 * @merge_ns: time to merge the results of several devices, in ns; 0 for a
 *   contiguous kernel, whose results need no merge.
 * @times: predicts the devices' times of a partition; is called with
 *   @user_data.
 */
typedef struct
{
  guint n;
  guint64 units, steps;
  double merge_ns;
  HassSkmdTimesFunc times;
  gpointer user_data;
} HassSkmdTask;

/* Divides the units of @task among the devices by the decision tree of
   Algorithm 1: sets @partition [n] to the number of units of each device. All
   are 0 if no device can be used. */
void hass_skmd_partition (const HassSkmdTask *task, guint64 *partition);

/* -- 3. Training and dividing ------------------------------------------- */

/* What is measured and predicted for one device. */
typedef struct
{
  HassSkmdModel kernel;
  /* Sums over bundles, halved when a round begins: copy times in ns, and the
     work that was copied. */
  double in_ns, out_ns, copied_work;
  /* Time in ns of the copies with which the device begins each round. */
  double entry_ns;
  guint bundles; /* finished bundles of all rounds */
  gboolean trained;
  /* A sample has differed from its prediction: the model must be fitted
     again. */
  gboolean changed;

  /* Predicted ends, in ns from the beginning of the round, in the partition
     that is being estimated: of copies in, of the kernel, of copies out. */
  double in_end_ns, ready_ns, out_end_ns;

  /* Cache of predicted kernel times (ns) for the last two numbers of units;
     `oldest` is the index that was written last. */
  guint64 known_units[2];
  double known_ns[2];
  guint oldest;

  /* The fields below are reset in each round. */
  gboolean asked;
  /* Units of the device's next and last training bundle; next is 0 when its
     training has finished. */
  guint64 next, last;
  /* CPU pool only: work and busy time (ns) of the round that were sampled. */
  double seen_work, seen_ns;
} HassSkmdDevice;

typedef struct _HassSkmd HassSkmd;

/* Divides a round of @units units: sets s->crew.weights [n] to numbers
   proportional to the parts of the devices. */
typedef void (*HassSkmdDivideFunc) (HassSkmd *s, guint64 units);

struct _HassSkmd
{
  HassCrew crew; /* first member, since the crew's functions get this struct */
  HassSkmdDivideFunc divide;
  HassSkmdDevice *devices; /* [n] */
  double unit_work;        /* mean work of a unit in the round */
  gboolean training;
  gboolean trained_in; /* this round began with a training phase */
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
