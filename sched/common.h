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

/**
 * HassMember: a device of a crew, the set of devices of a strategy of the
 * papers. The time of a GPU's bundle is its service time, its launch included.
 * @rate: work per ns of busy time; 0: unknown.
 * @round_work, @round_ns: work and busy time of this round so far.
 * @bundle_work, @bundle_ns: of its largest bundle of this round.
 * @end_ns: its last completion.
 * @share_end_ns: its last completion of units of its own share.
 * @probing: the unit with which it is measured is in flight.
 * @begun: it has taken from its own share in this round.
 * @own: its last grant came from its own share.
 * @past_work, @past_ns: sums behind a learned rate, halved with each round.
 * @least_ns: service time of its shortest bundle of all rounds; 0: none yet.
 * @failed: its last grant failed.
 */
typedef struct
{
  double rate;

  double round_work, round_ns;
  double bundle_work, bundle_ns;
  gint64 end_ns;
  gint64 share_end_ns;
  gboolean probing;
  gboolean begun;
  gboolean own;

  double past_work, past_ns;

  double least_ns;
  gboolean failed;
} HassMember;

/* HassMapOrder: the order in which units are assigned, each to the device that
   would finish it first: always the unit that can be finished first (Min-min),
   as they were emitted, or always the largest. */
typedef enum
{
  HASS_MAP_MIN_MIN,
  HASS_MAP_AS_EMITTED,
  HASS_MAP_LARGEST_FIRST
} HassMapOrder;

/**
 * HassCrew: the devices of a strategy of the papers.
 * @env: the farm and its devices. @n: number of devices.
 * @cpu: index of the CPU pool; @n: there is none. @n_gpus: number of others.
 * @unit_work: mean work of the round's units, once they are in the shares.
 * @gpu_part: units that only GPUs can run, for each GPU.
 * @mapped: this round's units are in the shares.
 * @order: the order in which hass_crew_map() assigns units.
 * @members: [n] the devices. @weights: [n] scratch.
 * @counts: [n] units of each device when shares were last cut.
 */
typedef struct
{
  const HassStrategyEnv *env;
  guint n;
  guint cpu;
  guint n_gpus;
  double unit_work;
  guint64 gpu_part;
  gboolean mapped;
  HassMapOrder order;
  HassMember *members;
  double *weights;
  guint64 *counts;
} HassCrew;

/* -- common.c: the crew and what is measured ---------------------------- */

/* These four functions fit the ops table of a strategy whose state is a crew
   (its devices and their rates) or begins with one. */
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
