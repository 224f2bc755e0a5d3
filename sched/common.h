/* SPDX-License-Identifier: MIT */
/* common.h: the crew, which is what the strategies of the papers know of their
   devices, and the steps that these strategies share.

   DESIGN. A strategy of the papers is made of a few steps: measure each
   device with one unit, map the round to the devices, take the own share,
   steal, take what is left. Here is one function for each step; a strategy's
   own file says which steps it takes, and in which order.

   1. hass_crew_probe (common.c): until every rate is known, one unit for each
      device; the others wait (Zhang 2011, chapter 4, how Min-min gets its
      times).
   2. hass_crew_map (Min-min) or hass_crew_carve (in proportion to rates), in
      common_map.c; where units are equal, common_shares.c says how many.
   3. hass_crew_own, hass_crew_leftovers, hass_crew_steal (common_take.c): what
      a device with room takes, in that order. Each is O(devices) and takes no
      memory.
   4. hass_crew_observe and hass_crew_learn (common.c): rates, in work per busy
      time.

   A device whose last grant failed is excluded from plans until one of its
   grants succeeds, and any device may take what waits in its share.

   Thread safety: as the strategy that owns the crew. */
#ifndef HASS_SCHED_COMMON_H
#define HASS_SCHED_COMMON_H

#include <hass/strategy.h>

/* A device of a crew. Times of a GPU are service times, launches included. */
typedef struct
{
  double rate; /* work per busy ns; 0: unknown */

  /* This round so far. */
  double round_work, round_ns;
  double bundle_work, bundle_ns; /* of its largest bundle */
  gint64 end_ns;                 /* its last completion */
  gint64 share_end_ns;           /* its last one of its own share */
  gboolean probing;              /* its calibration unit is in flight */
  gboolean begun; /* it has taken from its own share in this round */
  gboolean own;   /* its last grant came from its own share */

  /* Sums behind a learned rate, halved with each round. */
  double past_work, past_ns;

  double least_ns; /* service of its shortest bundle of all; 0: none yet */
  gboolean failed; /* its last grant failed */
} HassMember;

/* The order in which units are mapped, each to the device that would finish it
   first; Min-min always chooses the pair of unit and device that is done first.
 */
typedef enum
{
  HASS_MAP_MIN_MIN,
  HASS_MAP_AS_EMITTED,
  HASS_MAP_LARGEST_FIRST
} HassMapOrder;

typedef struct
{
  const HassStrategyEnv *env;
  guint n;
  guint cpu; /* index of the CPU pool; n where there is none */
  guint n_gpus;
  double unit_work;    /* mean of the round, once it is mapped */
  guint64 gpu_part;    /* units that only GPUs may run, for each GPU */
  gboolean mapped;     /* this round's units are in the shares */
  HassMapOrder order;  /* in which hass_crew_map maps them */
  HassMember *members; /* [n] */
  double *weights;     /* [n], scratch */
  guint64 *counts;     /* [n], units of the last map or carve */
} HassCrew;

/* -- common.c: the crew and what is measured ---------------------------- */

/* These four fit the ops table of a strategy whose state is a crew or begins
   with one. */
gpointer hass_crew_create (const HassStrategyEnv *env, GError **error);
void hass_crew_begin_round (gpointer crew, HassRound *round);
void hass_crew_observe (gpointer crew, HassRound *round,
                        const HassCompletion *done);
void hass_crew_destroy (gpointer crew);

void hass_crew_init (HassCrew *crew, const HassStrategyEnv *env);
gboolean hass_crew_alone (const HassCrew *crew);
gboolean hass_crew_known (const HassCrew *crew);
void hass_crew_learn (HassCrew *crew, const HassRoundSummary *summary,
                      gboolean largest_bundle);
void hass_crew_forget (HassCrew *crew);
void hass_crew_absent (HassCrew *crew, const HassRoundSummary *summary);
gboolean hass_crew_probe (HassCrew *crew, HassRound *round, guint device,
                          gboolean force, HassGrant *grant, HassAnswer *answer);
double hass_crew_rate (const HassCrew *crew, const HassRound *round,
                       guint device);
const double *hass_crew_weights (HassCrew *crew);
gboolean hass_crew_told_rates (const HassCrew *crew, double *rates);

/* -- common_map.c: a round is divided ----------------------------------- */

void hass_crew_map (HassCrew *crew, HassRound *round);
void hass_crew_begin_mapped (gpointer self, HassRound *round);
gboolean hass_crew_mapped (HassCrew *crew, HassRound *round, guint device,
                           gboolean force, HassGrant *grant,
                           HassAnswer *answer);
void hass_crew_carve (HassCrew *crew, HassRound *round, const double *weights);
void hass_crew_carve_parts (HassCrew *crew, HassRound *round,
                            const double *parts);
void hass_crew_carve_work (HassCrew *crew, HassRound *round, double work,
                           const double *parts, gboolean one_each);
guint64 hass_units_for_work (HassRound *round, guint64 first, guint64 n,
                             double work);

/* -- common_take.c: what a device with room takes ----------------------- */

gboolean hass_crew_own (HassCrew *crew, HassRound *round, guint device,
                        guint64 units, HassGrant *grant);
gboolean hass_crew_leftovers (const HassCrew *crew, HassRound *round,
                              guint device, gboolean bundle, HassGrant *grant);
HassAnswer hass_crew_take_part (HassCrew *crew, HassRound *round, guint device,
                                HassGrant *grant);
gboolean hass_crew_exclusive (const HassCrew *crew, HassRound *round,
                              guint device, HassGrant *grant);
gboolean hass_crew_steal (const HassCrew *crew, HassRound *round, guint device,
                          guint64 units, HassGrant *grant);

/* -- common_shares.c: whole numbers of equal units ---------------------- */

void hass_share_largest_remainder (guint64 units, const double *weights,
                                   guint n, guint64 *counts);
void hass_share_min_min (guint64 units, const double *rates, guint n,
                         guint64 *counts);

#endif
