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
 * HassSeat: a device as it is asked.
 * @failed: its last grant failed. @absent: it does not ask.
 * @hopeless: it is not measured and could not help.
 * @asked: it has asked in this round.
 * @back: it holds nothing since just now, and will ask.
 * @entered: it holds, or has copied, what it copies once a round.
 * @mute_rounds: rounds in which it could have asked and did not.
 * @asked_at: completions of all devices when it last asked.
 * @copy_ns: copying that; @entry_ns: with the turns of others on its link.
 * @bundles, @n_bundles: in flight, oldest first.
 * @queue_ns: sum of their predicted times.
 * @since_ns: when the first of them began; @end_ns: end of the last completed.
 * @round_largest: work of its largest bundle of this round, in flight or not.
 * @n_given: bundles granted.
 * @units: CPU pool: granted in this round and not stolen since.
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
 * HassForecast: of all devices.
 * @now_ns: of the last completion.
 * @begin_ns: of the round, once @begun: something of it has finished.
 * @n_told: completions. @n_waited: those of this round while units waited.
 * @spent_ns: makespans of the rounds before.
 */
typedef struct
{
  const HassUnits *u;
  const HassEstimates *e;
  HassSeat *seats; /* [n] */
  gint64 now_ns, begin_ns;
  gboolean begun;
  guint64 n_told, n_waited;
  double spent_ns;
} HassForecast;

void hass_forecast_init (HassForecast *f, const HassEstimates *e);
void hass_forecast_clear (HassForecast *f);

/* -- What happens ------------------------------------------------------- */

void hass_forecast_begin_round (HassForecast *f);

/* What the device copies once a round; after it is clear which of the devices
   before it are out. */
void hass_forecast_entry (HassForecast *f, guint device);

/* A device asks for work. force: all devices wait. */
void hass_forecast_asked (HassForecast *f, guint device, gboolean force);

/* A grant was taken: of the CPU pool, or of units that were in its share; and a
   GPU's bundle. */
void hass_forecast_cpu_granted (HassForecast *f, gint64 units);
HassBundle hass_forecast_bundle (const HassForecast *f, const HassRound *round,
                                 const HassGrant *grant, guint device,
                                 double work, double unfilled);
void hass_forecast_granted (HassForecast *f, guint device,
                            const HassBundle *bundle);

/* A completion: first the clock, which returns by how much the round's begin is
   later than it was taken to be; then the bundle, with its service time in *ns.
   FALSE: the device held no bundle that is kept track of. */
double hass_forecast_clock (HassForecast *f, const HassRound *round,
                            const HassCompletion *done);
gboolean hass_forecast_done (HassForecast *f, const HassCompletion *done,
                             HassBundle *bundle, double *ns);

/* -- What is predicted -------------------------------------------------- */

gboolean hass_forecast_out (const HassForecast *f, guint device);

/* Of the devices that are not out. */
gboolean hass_forecast_all_measured (const HassForecast *f,
                                     const HassRound *round);
gboolean hass_forecast_all_known (const HassForecast *f,
                                  const HassRound *round);

/* The device holds something, so there will be a completion. */
gboolean hass_forecast_busy (const HassForecast *f, const HassRound *round,
                             guint device);

/* Units that cores were granted and have not done. */
gint64 hass_forecast_core_units (const HassForecast *f, const HassRound *round);

/* Time until a GPU has done what it holds, and until a core is free. */
double hass_forecast_queue_ns (const HassForecast *f, guint device);
double hass_forecast_core_free_ns (const HassForecast *f,
                                   const HassRound *round, double unit_ns);

/* Part of the cores that are in the middle of a unit. */
double hass_forecast_busy_cores (const HassForecast *f, const HassRound *round);

/* A GPU that holds nothing asks after each completion; this one does not, so it
   is lost or about to be. */
gboolean hass_forecast_silent (const HassForecast *f, const HassRound *round,
                               guint device);

/* The GPUs that hold work have shown their rates: their first bundle may have
   been a warm-up, and early ones are small. plan: [n], or NULL; a GPU that is
   about to ask counts if it runs in it. */
gboolean hass_forecast_settled (const HassForecast *f, const HassRound *round,
                                const HassRunner *plan);

/* A GPU of which one bundle is known will have done as much again in so long;
   few: or a few bundles in half of that. */
gboolean hass_forecast_warming_up (const HassForecast *f,
                                   const HassRound *round,
                                   const HassRunner *plan, double soon_ns,
                                   gboolean few);

/* Units that are kept for GPUs that are open and unknown, so that they are
   tried even where rounds are tiny. */
guint64 hass_forecast_kept_units (const HassForecast *f,
                                  const HassRound *round);

#endif
