/* SPDX-License-Identifier: MIT */
/* facts.h: what a running farm announces, and to whom.

   DESIGN. A farm has a list of listeners, which HassFarm.observe adds when the
   farm is set up. The core and the engines announce a fact with HASS_ANNOUNCE:
   each listener whose table has a function for that fact is called, in the
   order of the list. Without a listener a fact costs the load of one pointer
   and a branch, and the structure that describes it is not built.

   Nothing that a listener does changes the course of the farm, except that it
   takes time. A fact is only valid during the call.

   Thread safety: pulled and part are announced by the thread of the worker;
   begun, over, ended and free by the thread that called the farm; the other
   facts under the decision lock. */
#ifndef HASS_FACTS_H
#define HASS_FACTS_H

#include "farm.h"
#include "pool/round_engine.h"

#define HASS_N_STAGES 3

/* When a bundle was copied in, computed and copied out. */
typedef struct
{
  gint64 begin_ns[HASS_N_STAGES], end_ns[HASS_N_STAGES];
} HassStages;

/**
 * HassFarmFacts: the farm; valid as long as the listener.
 * @strategy: its name; NULL before it has been made.
 * @platform: of a farm in virtual time; else NULL.
 * @devices: [@n_devices], the CPU pool first.
 * @known: [@n_devices], rates from earlier runs; or NULL.
 * @cpu: index of the CPU pool, or -1.
 * @n_workers: cores come first, at least one, then a worker for each other
 *   device.
 * @begin_ns: when the farm was called, on the engine's clock.
 */
typedef struct
{
  const HassFarm *farm;
  const char *strategy, *platform;
  guint n_devices;
  const HassDeviceTraits *devices;
  const HassProfileRate *known;
  gint cpu;
  guint n_cores, n_workers;
  gboolean real_time, ordered;
  gint64 begin_ns;
} HassFarmFacts;

/* A device was made ready, or was not. */
typedef struct
{
  guint device;
  gint64 begin_ns, end_ns;
  gboolean ok;
} HassOpened;

/**
 * HassRoundFact: a round has begun, or has ended.
 * @first: its first unit, counted over all rounds.
 * @n_loads: that it was made of.
 * @work: that has been done; 0 at the begin.
 */
typedef struct
{
  const HassRound *round;
  guint64 first, n_loads;
  double work;
  gint64 at_ns;
} HassRoundFact;

/* A device was granted units of a round. */
typedef struct
{
  const HassRound *round;
  guint device;
  const HassGrant *grant;
  gint64 at_ns;
} HassGranted;

/**
 * HassPulled: a core has computed what it pulled.
 * @first: the round's first unit, counted over all rounds.
 * @worker: index of the core's worker.
 * @n: units of the front of @extent that were computed; the others were given
 *   back.
 */
typedef struct
{
  const HassRound *round;
  guint64 first;
  guint worker;
  HassExtent extent;
  guint32 n;
  double work;
  gboolean failed;
  gint64 begin_ns, end_ns;
} HassPulled;

/**
 * HassPartFact: a part of a grant has left its device, or was refused.
 * @first: the round's first unit, counted over all rounds.
 * @n: units of the front of @extent that were computed, or that failed.
 * @start_ns: the device had nothing before it from then on.
 * @left_ns: it left the device.
 * @end_ns: the engine took it over.
 * @settled_ns: its results were taken over.
 * @h2d_ns, @kernel_ns, @d2h_ns: durations, one after another up to @left_ns.
 * @busy_times: these hold no time in which the part waited for other parts.
 * @stages: when they were, estimated where the device does not say.
 */
typedef struct
{
  const HassRound *round;
  guint64 first;
  guint device, worker;
  HassExtent extent;
  guint32 n;
  gint64 grant_ns, submit_ns, start_ns, left_ns, end_ns, settled_ns;
  double h2d_ns, kernel_ns, d2h_ns;
  gboolean busy_times;
  const HassStages *stages;
  double work;
  guint64 elements, in_bytes, out_bytes;
  gboolean failed;
} HassPartFact;

/* The strategy is told of a completion. */
typedef struct
{
  const HassRound *round;
  const HassCompletion *told;
} HassCompleted;

/**
 * HassEnded: the farm is over and its makespan known.
 * @devices: [n_devices].
 */
typedef struct
{
  gint64 makespan_ns;
  guint64 n_rounds, n_units;
  guint n_unfinished;
  gboolean ok;
  const struct HassDeviceFacts
  {
    guint64 direct_bytes, registered_bytes, staged_bytes;
  } * devices;
} HassEnded;

/**
 * HassListenerOps: functions may be NULL.
 * @open: the strategy has been made. FALSE: the farm is not run.
 * @said: the strategy explains a decision, @ns after the farm's begin.
 * @over: the last unit is finished and nothing more is announced but @ended.
 *   FALSE: what was written is not complete.
 * @ended: as @over.
 */
typedef struct
{
  gboolean (*open) (gpointer self, const HassFarmFacts *farm, GError **error);
  void (*said) (gpointer self, gint64 ns, const char *text);
  void (*begun) (gpointer self);
  void (*opened) (gpointer self, const HassOpened *fact);
  void (*round_begun) (gpointer self, const HassRoundFact *fact);
  void (*granted) (gpointer self, const HassGranted *fact);
  void (*pulled) (gpointer self, const HassPulled *fact);
  void (*part) (gpointer self, const HassPartFact *fact);
  void (*completed) (gpointer self, const HassCompleted *fact);
  void (*round_ended) (gpointer self, const HassRoundFact *fact);
  gboolean (*over) (gpointer self, GError **error);
  gboolean (*ended) (gpointer self, const HassEnded *fact, GError **error);
  void (*free) (gpointer self);
} HassListenerOps;

struct HassListener
{
  HassListener *next;
  const HassListenerOps *ops;
  gpointer self;
};

/* Calls the listeners' function of this name, with the arguments behind it. */
#define HASS_ANNOUNCE(job, fact, ...)                                          \
  do                                                                           \
    {                                                                          \
      if (G_UNLIKELY ((job)->listeners != NULL))                               \
        for (HassListener *l_ = (job)->listeners; l_; l_ = l_->next)           \
          if (l_->ops->fact)                                                   \
            l_->ops->fact (l_->self, __VA_ARGS__);                             \
    }                                                                          \
  while (0)

#endif
