/* SPDX-License-Identifier: MIT */
/* forecast.h: what each device holds, when it will have done it, and which
   devices can be counted on. Any strategy may keep a forecast beside its
   estimates.

   DESIGN.
   1. Bundles in flight are kept oldest first, each with its predicted time. A
      bundle that is late is predicted to take as long again.
   2. A device is out, which means that it is planned without, while its last
      grant failed, while it does not ask for work although it holds none, and
      where the strategy has found it hopeless.
   3. Time is known from completions alone. Before the first of a round it is
      that of the round before.

   Each function is O(devices) at most.

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_FORECAST_H
#define HASS_SCHED_FORECAST_H

#include "estimate.h"
#include "fill.h"

/**
 * HassSeat: a device from the strategy's view: whether it asks for work, and
 * what it holds.
 * @failed: its last grant failed.
 * @absent: it does not ask for work although it could.
 * @hopeless: it could not help in this round, though it is not measured, or
 *   what its cores had begun was taken from them.
 * @asked: it has asked in this round.
 * @back: it has just completed its work, and will ask at once.
 * @entered: it has begun to copy what it copies once a round.
 * @mute_rounds: rounds in a row in which it could have asked and did not.
 * @asked_at: number of completions of all devices when it last asked.
 * @copy_ns: time of the copies that the device makes once a round.
 * @entry_ns: that time, with those of devices that copy first on its link.
 * @bundles: the bundles that it holds, oldest first. @n_bundles: their number.
 * @queue_ns: sum of the predicted times of @bundles.
 * @since_ns: when the first of @bundles began.
 * @end_ns: when its last completed bundle ended.
 * @round_largest: work of its largest bundle of this round.
 * @n_given: number of bundles that it was granted.
 * @units: of the CPU pool: units granted in this round and not stolen since.
 */
typedef struct
{
  gboolean failed, absent, hopeless, asked, back, entered;
  guint mute_rounds;
  guint64 asked_at;
  double copy_ns, entry_ns;
  HassBundle bundles[HASS_MOST_IN_FLIGHT];
  guint n_bundles;
  double queue_ns;
  gint64 since_ns, end_ns;
  double round_largest;
  guint64 n_given;
  gint64 units;
} HassSeat;

/**
 * HassForecast: what all devices hold.
 * @seats: [n] the devices.
 * @now_ns: end of the last completion, the only clock of a strategy.
 * @begin_ns: begin of the round; exact only if @begun.
 * @begun: a grant of the round has finished.
 * @n_told: number of completions so far.
 * @n_waited: completions of this round while units waited for a device.
 * @spent_ns: sum of the makespans of the rounds before.
 */
typedef struct
{
  const HassUnits *u;
  const HassEstimates *e;
  HassSeat *seats;
  gint64 now_ns, begin_ns;
  gboolean begun;
  guint64 n_told, n_waited;
  double spent_ns;
} HassForecast;

void hass_forecast_init (HassForecast *f, const HassEstimates *e);
void hass_forecast_clear (HassForecast *f);

/* -- What happens ------------------------------------------------------- */

void hass_forecast_begin_round (HassForecast *f);

/* Computes how long the device takes for what it copies once a round. Called
   for the devices in order, as those before it that participate copy first. */
void hass_forecast_entry (HassForecast *f, guint device);

/* Takes in that a device asks for work. force: all devices wait, so a device
   that has not asked is absent. */
void hass_forecast_asked (HassForecast *f, guint device, gboolean force);

/* Take a grant in. hass_forecast_cpu_granted() adds units to those of the CPU
   pool, or, if negative, removes units that a GPU took from its share.
   hass_forecast_bundle() makes a GPU's bundle with its predicted time, and
   hass_forecast_granted() adds that to what the GPU holds. */
void hass_forecast_cpu_granted (HassForecast *f, gint64 units);
HassBundle hass_forecast_bundle (const HassForecast *f, const HassRound *round,
                                 const HassGrant *grant, guint device,
                                 double work, double unfilled);
void hass_forecast_granted (HassForecast *f, guint device,
                            const HassBundle *bundle);

/* Take a completion in. hass_forecast_clock() sets the time, and returns how
   much later the round began than was assumed, in ns. Then hass_forecast_done()
   removes the bundle, and sets *ns to its service time, which counts from the
   end of the GPU's bundle before it. It returns FALSE if the device held no
   bundle. */
double hass_forecast_clock (HassForecast *f, const HassRound *round,
                            const HassCompletion *done);
gboolean hass_forecast_done (HassForecast *f, const HassCompletion *done,
                             HassBundle *bundle, double *ns);

/* -- What is predicted -------------------------------------------------- */

/* Returns TRUE if a plan must not count on the device: its last grant failed,
   it does not ask for work, or it is hopeless (too slow to help in this
   round). */
gboolean hass_forecast_out (const HassForecast *f, guint device);

/* Return TRUE if the rates of all devices that a plan can count on are
   measured, or at least known from earlier runs or traits. */
gboolean hass_forecast_all_measured (const HassForecast *f,
                                     const HassRound *round);
gboolean hass_forecast_all_known (const HassForecast *f,
                                  const HassRound *round);

/* Returns TRUE if the device holds units, so that there will be a
   completion. */
gboolean hass_forecast_busy (const HassForecast *f, const HassRound *round,
                             guint device);

/* Return the predicted time until a GPU has done what it holds, and until a
   core is free, where a unit takes a core unit_ns; in ns. */
double hass_forecast_queue_ns (const HassForecast *f, guint device);
double hass_forecast_core_free_ns (const HassForecast *f,
                                   const HassRound *round, double unit_ns);

/* Returns the fraction of the cores that are in the middle of a unit. */
double hass_forecast_busy_cores (const HassForecast *f, const HassRound *round);

/* Returns TRUE if a GPU that holds nothing has not asked for work during
   several completions of other devices: it is lost or about to be. */
gboolean hass_forecast_silent (const HassForecast *f, const HassRound *round,
                               guint device);

/* Returns TRUE if the rates of the GPUs that hold work are settled, that is
   measured by several bundles: the first may have been a warm-up, and early
   ones are small. plan: [n]; a GPU that is about to ask counts only if it
   participates in that. */
gboolean hass_forecast_settled (const HassForecast *f, const HassRound *round,
                                const HassRunner *plan);

/* Returns TRUE if a GPU of which only one bundle is measured will have done as
   much work again within soon_ns, so that its rate is known better then. few:
   TRUE also if it will have done several bundles within half of that time. */
gboolean hass_forecast_warming_up (const HassForecast *f,
                                   const HassRound *round,
                                   const HassRunner *plan, double soon_ns,
                                   gboolean few);

/* Returns how many units are kept for GPUs that are open and whose rate is
   unknown, so that these are tried even where rounds are tiny. */
guint64 hass_forecast_kept_units (const HassForecast *f,
                                  const HassRound *round);

#endif
