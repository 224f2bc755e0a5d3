/* SPDX-License-Identifier: MIT */
/* facts.h: what a running farm announces, and to whom.

   DESIGN. A farm has a list of listeners, which HassFarm.observe adds when the
   farm is set up. The core and the engines announce a fact with HASS_ANNOUNCE:
   each listener whose table has a function for that fact is called, in the
   order of the list. Without a listener a fact costs the load of one pointer
   and a branch, and the structure that describes it is not built.

   Nothing that a listener does changes the course of the farm, except that it
   takes time. A fact is only valid during the call.

   Thread safety: pulled, staged, computed and part are announced by the thread
   of the worker; begun, submitted, over, ended and free by the thread that
   called the farm; the other facts under the decision lock, those that a
   strategy of a dataflow says under the lock of its questions. */
#ifndef HASS_FACTS_H
#define HASS_FACTS_H

#include "farm.h"
#include "pool/round_engine.h"

/* The stages of a bundle, by which HassStages is indexed. */
enum
{
  HASS_COPY_IN,
  HASS_KERNEL,
  HASS_COPY_OUT,
  HASS_N_STAGES
};

/* When the stages of a bundle began and ended, in ns on the engine's clock. */
typedef struct
{
  gint64 begin_ns[HASS_N_STAGES], end_ns[HASS_N_STAGES];
} HassStages;

/* Returns: the time in ns that a bundle or a grant adds to the busy time of one
   of the stages of its device: @busy_ns, or all of its duration @ns if the
   device does not tell busy times. 0 means none or unknown, but the first
   bundle of a device that tells adds something. @tells: of that device and
   stage, FALSE at first: it has told one. */
static inline double
hass_busy_added_ns (gboolean *tells, double busy_ns, double ns)
{
  *tells |= busy_ns > 0;
  return *tells ? busy_ns : ns;
}

/**
 * HassFarmFacts: what the listeners are told of the farm; valid as long as the
 * listener.
 * @strategy: name of the strategy; NULL before it has been made.
 * @platform: name of the modelled machine of a farm in virtual time; else NULL.
 * @devices: [@n_devices], the CPU pool first.
 * @known: [@n_devices], rates of the devices from earlier runs; or NULL.
 * @cpu: index of the CPU pool, or -1.
 * @n_workers: number of worker contexts: those of the cores first, at least
 *   one, then one for each other device.
 * @real_time: the farm runs on the real machine.
 * @ordered: results are delivered in sequence order.
 * @classes: [@n_classes] the stages of a pipeline; else NULL and 0.
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
  guint n_classes;
  const HassClassTraits *classes;
  gint64 begin_ns;
} HassFarmFacts;

/* The opening of a device from @begin_ns to @end_ns has succeeded (@ok) or
   failed. */
typedef struct
{
  guint device;
  gint64 begin_ns, end_ns;
  gboolean ok;
} HassOpened;

/**
 * HassRoundFact: a round has begun, or has ended.
 * @first: number of its first unit, counted over all rounds.
 * @n_loads: number of loads that the round was made of.
 * @work: work done in the round, in the unit of the cost class; 0 at its begin.
 * @at_ns: when it began or ended.
 */
typedef struct
{
  const HassRound *round;
  guint64 first, n_loads;
  double work;
  gint64 at_ns;
} HassRoundFact;

/* The strategy has granted @device units of a round. */
typedef struct
{
  const HassRound *round;
  guint device;
  const HassGrant *grant;
  gint64 at_ns;
} HassGranted;

/**
 * HassPulled: a core has computed the units that it pulled at once.
 * @first: number of the round's first unit, counted over all rounds.
 * @worker: index of the core's worker.
 * @extent: positions of the pulled units in the round.
 * @n: units of the front of @extent that were computed; the others were given
 *   back to the round.
 * @work: their work, in the unit of the cost class.
 * @failed: one of them failed.
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
 * HassStaged: a core has computed a batch of tokens at a stage of a pipeline.
 * @stage: index of the stage.
 * @worker: index of the core's worker.
 * @first: sequence number of the batch's first load.
 * @n_taken: tokens that were computed; @bytes: total size of their inputs.
 * @n: tokens that go on: not dropped, failed or sent back.
 */
typedef struct
{
  guint stage, worker;
  guint64 first, bytes;
  guint32 n_taken, n;
  gint64 begin_ns, end_ns;
} HassStaged;

/**
 * HassUse: a datum that a task of a dataflow accesses.
 * @datum: how many data were made before it; @name: for people.
 * @bytes: its size.
 * @reads: the task needs its value; @writes: the task changes it.
 * @shared: the task may run beside others that access the datum in the same
 *   way: all follow the same earlier tasks.
 */
typedef struct
{
  guint datum;
  const char *name;
  guint64 bytes;
  gboolean reads, writes, shared;
} HassUse;

/**
 * HassSubmitted: a task of a dataflow has been submitted, or a recorded graph
 * that it is in begins to be run. Tasks are announced in the order of
 * submission.
 * @node: its number if those of the library are counted, too.
 * @task: its number in messages; of a task of the library undefined.
 * @internal: the library's task: it orders others and calls no codelet.
 * @uses: [@n].
 */
typedef struct
{
  guint64 node, task;
  const char *codelet;
  gboolean internal;
  guint n;
  const HassUse *uses;
} HassSubmitted;

/**
 * HassComputed: a task of a dataflow has been computed.
 * @after: 1 + the number of its last predecessor, the task whose end made it
 *   ready; 0: none, it was ready when it was submitted.
 * @worker: index of the worker that computed it, a core's or a device's.
 */
typedef struct
{
  guint64 task, after;
  const char *codelet;
  guint device, worker;
  gint64 begin_ns, end_ns;
} HassComputed;

/**
 * HassPartFact: a part of a grant (what is submitted to the device at once) has
 * left its device, or was refused.
 * @first: number of the round's first unit, counted over all rounds.
 * @stage: of a pipeline: the first stage that the part was computed at; else 0.
 * @fused: likewise: number of further stages that it was computed at.
 * @n: units of the front of @extent that were computed, or that failed.
 * @grant_ns: when the strategy made the grant.
 * @submit_ns: when the part was submitted to the device.
 * @start_ns: from then on no earlier part was left on the device.
 * @left_ns: when it left the device.
 * @end_ns: when the engine took it over.
 * @settled_ns: when its results had been taken over.
 * @h2d_ns, @kernel_ns, @d2h_ns: durations of copy to the device, kernel and
 *   copy back, one after another up to @left_ns.
 * @busy_ns: what the part added to the busy time of each stage, as the device
 *   says (hass_busy_added_ns()).
 * @busy_times: these durations hold no time in which the part waited for other
 *   parts.
 * @stages: when the stages were, estimated where the device reports durations
 *   only.
 */
typedef struct
{
  const HassRound *round;
  guint64 first;
  guint device, worker;
  guint stage, fused;
  HassExtent extent;
  guint32 n;
  gint64 grant_ns, submit_ns, start_ns, left_ns, end_ns, settled_ns;
  double h2d_ns, kernel_ns, d2h_ns;
  double busy_ns[HASS_N_STAGES];
  gboolean busy_times;
  const HassStages *stages;
  double work;
  guint64 elements, in_bytes, out_bytes;
  gboolean failed;
} HassPartFact;

/* A completion is about to be told to the strategy. */
typedef struct
{
  const HassRound *round;
  const HassCompletion *told;
} HassCompleted;

/**
 * HassEnded: the farm is over and its makespan known.
 * @n_unfinished: number of entries in its list of unfinished units.
 * @ok: the farm has no error.
 * @generator_ns: time that the generator took, without waiting for room; 0:
 *   there is none.
 * @devices: [n_devices], bytes copied to each device by the way they took:
 *   directly from pinned memory, from pages pinned for the copy, or through
 *   staging memory.
 */
typedef struct
{
  gint64 makespan_ns, generator_ns;
  guint64 n_rounds, n_units;
  guint n_unfinished;
  gboolean ok;
  const struct HassDeviceFacts
  {
    guint64 direct_bytes, registered_bytes, staged_bytes;
  } * devices;
} HassEnded;

/**
 * HassListenerOps: the functions of a listener; each may be NULL.
 * @open: called when the strategy has been made. Returns: FALSE: the farm is
 *   not run.
 * @said: the strategy explains a decision, @ns after the farm's begin.
 * @over: called after the last unit; nothing more is announced but @ended.
 *   Returns: FALSE with an error, which becomes the farm's, if the listener's
 *   output is incomplete.
 * @ended: called when the makespan is known; returns as @over.
 * @free: frees @self; always called last.
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
  void (*staged) (gpointer self, const HassStaged *fact);
  void (*submitted) (gpointer self, const HassSubmitted *fact);
  void (*computed) (gpointer self, const HassComputed *fact);
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

/* Calls the function @fact of each listener's table that has one, with the
   arguments that follow. */
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
