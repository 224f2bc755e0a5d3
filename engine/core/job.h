/* SPDX-License-Identifier: MIT */
/* job.h: one running farm, as the engines see it.

   DESIGN. A job has a load pool, a source of work (source.h), one strategy and
   a worker context for each core and device. From top to bottom of this room:
   job.c sets up, tears down and reports, generate.c takes what the generator
   emits, worker.c what workers emit, execute.c computes units and results.c
   takes their results, rounds.c moves loads of the pool into rounds and open.c
   what workers emit, slots.c begins, ends and retires rounds, decide.c asks the
   strategy, account.c adds up times, fate.c checks loads and stops the farm.
   The engines drive them with threads or with an event queue.

   Lock order: decision, then what a pool locks inside. No callback of the user
   runs under a lock but the partitioner, under the decision lock.

   Thread safety: each field says which thread writes it. */
#ifndef HASS_JOB_H
#define HASS_JOB_H

#include "callback.h"
#include "facts.h"

#include <stdio.h>
#include <string.h>

#include "device/cpu/cpu_pool.h"
#include "pool/event.h"
#include "pool/fence.h"
#include "pool/load_pool.h"
#include "pool/result_pool.h"
#include "pool/round_engine.h"
#include "sched/registry.h"

/* Most rounds in flight, including those whose results are not delivered yet,
   but for those that a unit can fill (slots.c). A guess: fewer, and rounds wait
   for a slow collector; more, and more memory is used. */
#define HASS_SLOTS 8

/* Least work of a core between two pulls, in ns, while enough units wait.
   Smaller, and cores contend for the range of units; larger, and they end less
   evenly. A guess. */
#define HASS_CHUNK_NS 100000
/* A pull of less work than this, in ns, is not made smaller for the sake of
   other cores: it would cost mostly contention for the range. A guess. */
#define HASS_PULL_NS 2000

struct HassSamplers;

/* Whether the strategy may be asked for a device in a round. Under the decision
   lock. */
typedef enum
{
  HASS_SEAT_ASK, /* the strategy may be asked */
  /* the strategy answered WAIT: ask after the next completion, or at again_ns
   */
  HASS_SEAT_WAIT,
  HASS_SEAT_DONE, /* the strategy answered DONE: do not ask in this round */
  HASS_SEAT_LOST  /* the device is lost: do not ask again */
} HassSeatState;

typedef struct
{
  HassSeatState state;
  gboolean completed; /* the device has completed a grant in this round */
  gint64 again_ns;    /* when a WAIT ends without a completion; 0: never */
  /* when it is looked next whether the device should have what cores have
     begun, 0: when something changes; and the time between two looks
     (spoliate.c) */
  gint64 look_ns, look_gap_ns;
  guint in_flight; /* grants in flight */
  guint depth;     /* most grants in flight, by the last grant */
  /* CPU pool: what the strategy has been told, with its bytes and its time */
  HassProgress reported;
  HassProgress reported_functions[HASS_MOST_FUNCTIONS];
  guint64 reported_bytes;
  gint64 reported_ns;
} HassSeat;

typedef enum
{
  HASS_SLOT_FREE,
  HASS_SLOT_RUNNING,
  HASS_SLOT_ENDED,   /* all units are finished, results may be undelivered */
  HASS_SLOT_RETIRING /* the loads are being released */
} HassSlotState;

/* A slot holds a round in flight. All fields are under the decision lock,
   except the atomics inside @round. */
typedef struct HassSlot
{
  HassRound round;
  HassSlotState state;
  /* key of unit 0 for the result pool: units of all earlier rounds */
  guint64 order_base;
  guint64 mark; /* the round retires when the result pool has passed it */
  /* the round has stalled: devices that answered WAIT are asked once more with
     the strategy's argument for that (force) TRUE */
  gboolean forced;
  /* GPUs take the remaining units without asking the strategy */
  gboolean grab;
  HassSeat *seats; /* [n_devices] */
  /* pipeline: the stage of the units, and how many stages after it the device
     computes as well (HassBlock) */
  guint stage, fused;
  gboolean not_for_cores; /* pipeline: the stage has no CPU worker */
} HassSlot;

/* Totals of units that have left a round, computed or failed. */
typedef struct
{
  guint32 n;
  guint32 n_failed; /* of the n units */
  gsize bytes;
  double work; /* total cost, in the unit of the cost class */
  /* the part of @work that no other kind of device may run */
  double exclusive;
  gsize halo; /* neighbouring elements that the units read */
  /* time for delivering the units' results, at the end of their busy time */
  gint64 collect_ns;
  /* the units belong to a grant that was counted as a bundle before */
  gboolean part;
  guint function; /* of the first unit, see hass_round_function() */
} HassDone;

/* Sums over the rounds so far for one device. Under the decision lock. */
typedef struct
{
  guint64 units, bytes, bundles, failures, failed_units;
  double work, busy_ns, kernel_ns, tail_ns;
  /* work per ns: of the fastest bundle; in virtual time the model's, in cost
     per ns */
  double rate;
  /* virtual time: total cost that the models were asked to compute */
  double cost;
  double exclusive;    /* work that no other kind of device may run */
  guint64 halo;        /* elements read besides the units' own */
  double imbalance_ns; /* the part of @tail_ns that is lost_imbalance_s */
  gboolean tells_busy; /* hass_busy_added_ns() of the kernels */
  /* idle time before the generator had returned that had another cause than the
     generator */
  double early_ns;
  /* cores: delivering results while no unit was computed */
  double drained_ns;
  /* when a GPU had been opened; 0: usable from the beginning */
  gint64 ready_ns;
  /* cores: units that were taken from them (spoliate.c), and the time that they
     had spent on these */
  guint64 taken_back;
  gint64 vain_ns;
  gboolean lost;
  /* why the device first failed or was not opened, or NULL */
  char *message;
  GQuark error_domain; /* of the error that @message comes from; 0: none */
  gint error_code;
  /* 1 + the first load of the bundle that @message is about; 0: of none */
  guint64 failed_load;
  HassTransfers transfers;
} HassTotals;

/* When the phases of a farm began, or how long they took, in ns, for account.c;
   written by the calling thread unless stated otherwise. */
typedef struct
{
  gint64 generate_ns; /* when the generator was called */
  /* when the generator had returned; published by the release of
     HassJob.generated */
  gint64 generated_ns;
  /* duration: while the generator ran, the calling thread computed because the
     pool was full */
  gint64 room_ns;
  gint64 worked_ns; /* when no load waited and no unit ran any more */
  gint64 flush_ns;  /* duration: delivering the results left at the end */
  gint64 reduce_ns; /* duration: merging the accumulators */
  /* sum of durations in which results were delivered and no unit was computed;
     under the decision lock */
  gint64 drain_ns;
} HassPhases;

/* What engine/core asks of the engine that runs the job (live or virtual). */
typedef struct
{
  /* times are measured on the real machine, so they are worth keeping */
  gboolean real_time;
  gint64 (*now) (HassJob *job);
  /* Called when a load is emitted while the pool is full: computes until there
     is room. FALSE: the farm is stopping. */
  gboolean (*make_room) (HassJob *job);
  /* Called when loads have entered the pool (loads_came, see
     hass_job_loads_came()) or the ready set (joined), and when something else
     that threads sleep for has changed. */
  void (*loads_came) (HassJob *job), (*joined) (HassJob *job);
  void (*changed) (HassJob *job);
  /* (nullable): what it costs the worker to have another core compute, in ns */
  gint64 (*waking_ns) (HassJob *job, const HassWorker *worker);
  /* (nullable): the calling thread: HassSourceOps.wants one device more */
  void (*wanted) (HassJob *job);
} HassEngineOps;

struct HassJob
{
  /* Constant while the job runs. */
  const HassFarm *farm;
  const HassEngineOps *engine;
  const HassSourceOps *source; /* NULL until it is created */
  HassDeviceTraits *devices;   /* [n_devices], the CPU pool first */
  /* [n_devices], live engine: the device, NULL for the CPU pool */
  HassDevice **gpus;
  guint n_devices;
  gint cpu;                 /* index of the CPU pool, or -1 */
  guint n_cores, n_workers; /* cores of the CPU pool, worker contexts */
  HassHandles *handles;
  HassWorker *workers;          /* [n_workers], memory of @handles */
  HassStrategyEnv env;          /* what the strategy is told of the farm */
  const HassProfileRate *known; /* rates of earlier runs, or NULL */
  HassStrategy *strategy;
  HassLoadPool *pool;
  /* loads that wait for an open round; NULL: the strategy keeps closed ones */
  HassReadySet *ready;
  HassResultPool *results; /* NULL: the farm has no collector */
  HassListener *listeners; /* see facts.h */
  HassFarmFacts facts;     /* what these are told of the farm at its begin */
  gboolean dry, ordered;
  gboolean spoliates; /* devices may get what cores have begun (spoliate.c) */
  gint64 begin_ns, deadline_ns; /* deadline_ns 0: none */
  /* virtual time: most work per ns of a core or a GPU; else 0 */
  double fastest;
  HassPhases phases;
  const char *platform_name;

  /* The threads of the live engine share the fields from here on. */
  gpointer flow;   /* the HassStream or HassGraph; NULL: rounds */
  gpointer driver; /* the engine's own state: HassLive or the virtual one's */
  gboolean flows_at_once; /* what is emitted passes all stages before more is */
  /* the engine is told of loads while fewer cores than this are @inside; 0:
     never */
  guint told_below;
  _Alignas(HASS_CACHE_LINE) HassEvent event;

  /* What each emission reads, written by rare events. */
  /* cores besides the calling thread that compute for the job or are on their
     way */
  _Alignas(HASS_CACHE_LINE) _Atomic guint inside;
  /* a pipeline has work for the calling thread alone; a hint for its emitter */
  _Atomic gboolean caller_wanted;
  _Atomic gboolean stop;

  _Alignas(HASS_CACHE_LINE) _Atomic (HassSlot *) current;
  /* the open round that loads join, or NULL */
  _Atomic (HassSlot *) open;
  /* loads have joined since the seats of open rounds were looked at */
  _Atomic gboolean joined;
  _Atomic gboolean generated; /* the generator has returned */
  /* the generating thread found no room in the pool; it slept meanwhile, so
     units that end have to wake it, as they may make room */
  _Atomic gboolean full, awaits_units;
  _Atomic gboolean alone; /* cores are: no other device is started for now */
  _Atomic guint n_ended;  /* slots in the state ENDED */
  _Atomic guint n_taken;  /* number of slots in use */
  /* units of all rounds begun so far; written under the decision lock */
  _Atomic guint64 n_units;

  _Alignas(HASS_CACHE_LINE) HassLock decision;
  /* under decision: HassSlot, the rounds in flight: HASS_SLOTS for loads of the
     pool, then those for open rounds or, in a farm without these, more */
  GPtrArray *slots;
  gboolean has_urgent; /* under decision: a task had a priority */
  gboolean has_opened; /* under decision: an open round was begun */
  guint64 n_rounds;    /* under decision: rounds begun so far */
  /* loads begun; written under decision, in a pipeline by who admits */
  _Atomic guint64 n_loads;
  /* under decision: completions that the strategy was told of, and grants that
     it was asked for */
  guint64 n_told, n_asked;
  /* under decision: of a partition farm: elements per ns in the last round, at
     first by the rates of earlier runs; 0: unknown */
  double elements_per_ns;
  /* under decision: since when too few loads wait for a round to begin, in ns,
     see live/begin.c; 0: they do not */
  gint64 hungry_ns;
  HassTotals *totals; /* under decision: [n_devices] */
  /* under decision: [n_devices], scratch for the round that ends */
  HassDeviceSummary *summary;
  /* under decision; for the profile store; NULL: nothing is measured */
  struct HassSamplers *samplers;
  guint64 loads_before; /* of a pipeline's last run; constant; 0: unknown */

  _Atomic guint64 units_done, bytes_done, loads_done;

  pthread_mutex_t failure; /* the next four fields, up to n_unfinished */
  GError *error;           /* the first error, which stopped the farm */
  /* list of HassUnfinished: units that were not computed */
  GArray *unfinished;
  /* seq + 1 of loads that have an entry of their own in @unfinished */
  GHashTable *failed;
  _Atomic guint n_unfinished;

  _Atomic gboolean has_owned; /* loads may have buffers or copied tasks */
  /* free buffers: size in bytes -> GPtrArray of Buffer */
  GHashTable *buffers;
  /* all buffers (Buffer), owned, in order of address */
  GPtrArray *all_buffers;
  /* the buffer that the generator got last, or NULL */
  gpointer last_buffer;
  pthread_mutex_t buffer_lock; /* the three fields above */
  GPtrArray *all_chunks;       /* all chunks of task copies (copies.c), owned */
  HassCopyChunk *free_chunks;
  pthread_mutex_t copy_lock; /* all_chunks and free_chunks */
};

static inline gboolean
hass_job_stopping (HassJob *job)
{
  /* Relaxed: the flag only ends loops early; the threads' data is ordered by
     locks. */
  return atomic_load_explicit (&job->stop, memory_order_relaxed);
}

/* Returns: TRUE if the engine is to be told that loads have entered the pool:
   so few cores compute that it may let in another. */
static inline gboolean
hass_job_is_told (const HassJob *job)
{
  /* Sequentially consistent, as is the subtraction of a core that leaves: see
     hass_load_pool_emit(). */
  return atomic_load_explicit (&job->inside, memory_order_seq_cst)
         < job->told_below;
}

/* Announces loads that have entered the pool. */
static inline void
hass_job_loads_came (HassJob *job)
{
  if (G_UNLIKELY (hass_job_is_told (job)))
    job->engine->loads_came (job);
}

static inline gboolean
hass_job_has_owned (HassJob *job)
{
  /* Relaxed: the load that the caller asks about was emitted after the store,
     and reached the caller through a lock. */
  return atomic_load_explicit (&job->has_owned, memory_order_relaxed);
}

/* Returns: TRUE if the next round may begin while units of the last one are
   still computed: only where the CPU pool is the only device. */
static inline gboolean
hass_job_overlaps (const HassJob *job)
{
  return job->n_devices == 1 && job->cpu == 0;
}

/* job.c */
typedef struct
{
  const HassDeviceTraits *devices; /* [n_devices], copied; the CPU pool first */
  /* [n_devices], copied; NULL for the CPU pool or a device that the engine
     models */
  HassDevice **gpus;
  guint n_devices;
  double entry_bytes, merge_ns; /* see HassStrategyEnv */
} HassJobDevices;

static inline HassSlot *
hass_job_slot (const HassJob *job, guint i)
{
  return g_ptr_array_index (job->slots, i);
}

HassJob *hass_job_new (const HassFarm *farm, const HassEngineOps *engine,
                       const HassJobDevices *devices, GError **error);
void hass_job_begin (HassJob *job);
void hass_job_free (HassJob *job);
void hass_job_finish (HassJob *job);
void hass_job_end (HassJob *job, gint64 makespan_ns);
HassReport *hass_job_report (HassJob *job, gint64 makespan_ns);
guint64 hass_job_most_bytes (const HassJob *job);
/* generate.c */
void hass_job_generate (HassJob *job);
gboolean hass_emitter_make_room (HassEmitter *emitter);

/* fate.c */
void hass_job_stop (HassJob *job, GError *error);
void hass_job_fail (HassJob *job, HassError code, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
void hass_job_check_deadline (HassJob *job, gint64 now_ns);

/* For user code that asks, since all threads may be in user code when the
   deadline passes. Returns: TRUE if the farm is stopping. */
static inline gboolean
hass_job_must_stop (HassJob *job)
{
  if (job->deadline_ns > 0)
    hass_job_check_deadline (job, job->engine->now (job));
  return hass_job_stopping (job);
}
void hass_job_add_unfinished (HassJob *job, guint64 seq, guint64 n_loads,
                              gsize first, gsize count, const char *message);

/* account.c */
void hass_report_add_teardown (HassReport *report, gint64 makespan_ns);

/* reduce.c */
typedef struct
{
  HassReduceFunc reduce;
  HassReduceInitFunc init;
  HassReduceClearFunc clear;
  gsize bytes; /* size of an accumulator */
  gpointer user_data;
} HassReduction;

static inline HassReduction
hass_farm_reduction (const HassFarm *farm)
{
  return (HassReduction){ farm->reduce, farm->reduce_init, farm->reduce_clear,
                          farm->accumulator_bytes, farm->user_data };
}

gpointer hass_accumulator_new (HassJob *job, const HassReduction *reduction,
                               GError **error);
void hass_accumulator_free (HassJob *job, const HassReduction *reduction,
                            gpointer accumulator);
void hass_job_reduce (HassJob *job, const HassReduction *reduction,
                      gpointer *accumulators, gpointer into);

/* rounds.c */
HassSlot *hass_job_begin_round (HassJob *job);
gboolean hass_job_may_begin (HassJob *job, HassSlot *slot);

/* open.c; hass_open_slot and hass_open_stalled under the decision lock */
HassSlot *hass_open_slot (HassJob *job, guint klass);
HassSlot *hass_open_pullable (HassJob *job, guint core);
gboolean hass_open_stalled (HassJob *job);

/* buffers.c */
gboolean hass_job_pins (const HassJob *job, gsize bytes);
gboolean hass_buffer_holds_part (HassJob *job, const HassLoad *load,
                                 const HassLoad *part);

/* slots.c; hass_job_idle under the decision lock */
void hass_job_let_go (HassJob *job, const HassLoad *load, guint64 seq,
                      gboolean committed);
void hass_job_units_finished (HassJob *job, HassSlot *slot, guint32 n);
void hass_job_settle (HassJob *job, HassWorker *worker);
gboolean hass_job_idle (HassJob *job);

/* Finds the worker contexts of a device: job->workers[@first .. @first + @n)
   (account.c). */
void hass_job_workers_of (const HassJob *job, guint device, guint *first,
                          guint *n);

/* decide.c; all functions under the decision lock */
void hass_decide_stop_without_devices (HassJob *job, const char *message);
gint64 hass_decide_late_ns (const HassJob *job, guint device);
gboolean hass_decide_cpu (HassJob *job, HassSlot *slot);
gint64 hass_decide_again_ns (HassJob *job, const HassSlot *slot, guint device);
gboolean hass_decide_gpu (HassJob *job, HassSlot *slot, guint device,
                          HassExtent *extent, HassGrant *grant);
void hass_decide_report_cpu (HassJob *job, HassSlot *slot);
gboolean hass_decide_give_cpu (HassRound *round, guint32 n);
gboolean hass_decide_stalled (HassJob *job, HassSlot *slot);
void hass_decide_note (HassJob *job, guint device, const char *why);
void hass_decide_lost (HassJob *job, guint device, const char *why);
void hass_decide_nobody_left (HassJob *job);
void hass_decide_served (HassJob *job, const HassStreamState *state,
                         const HassServed *served);

/* execute.c */
HassDone hass_execute (HassJob *job, HassWorker *worker, HassSlot *slot,
                       HassExtent extent, gboolean dry);
void hass_execute_count (HassJob *job, HassWorker *worker, HassSlot *slot,
                         HassDone done, gint64 busy_ns, gint64 end_ns);
guint32 hass_chunk (HassJob *job, HassWorker *worker, HassSlot *slot);

/* spoliate.c; only where job->spoliates. A core says what it computes, and that
   it no longer does. */
void hass_in_hand_begin (HassWorker *worker, HassSlot *slot, HassExtent extent,
                         gint64 now_ns);
void hass_in_hand_end (HassWorker *worker);
/* Gives back units that were taken from a core; under the decision lock. */
void hass_spoliated (HassJob *job, HassWorker *worker, HassSlot *slot,
                     HassExtent extent);

/* results.c */
gboolean hass_results_check (HassJob *job, const HassBlock *block);

#endif
