/* SPDX-License-Identifier: MIT */
/* job.h: one running farm, as the engines see it.

   DESIGN. A job has a load pool, a few slots for rounds, one strategy and a
   worker context for each core and device. From top to bottom of this room:
   job.c sets up, tears down and reports, generate.c takes what the generator
   emits, worker.c what workers emit, execute.c computes units and results.c
   takes their results, rounds.c moves loads into rounds and retires them,
   decide.c asks the strategy, account.c adds up times, fate.c stops the farm.
   The engines drive them with threads or with an event queue.

   Lock order: decision, then whatever a pool locks inside. A callback of the
   user runs under no lock, except the partitioner, which runs under the
   decision lock.

   Thread safety: each field says which thread writes it. */
#ifndef HASS_JOB_H
#define HASS_JOB_H

#include "facts.h"

#include <stdio.h>
#include <string.h>

#include "device/cpu/cpu_pool.h"
#include "pool/event.h"
#include "pool/load_pool.h"
#include "pool/result_pool.h"
#include "pool/round_engine.h"
#include "sched/registry.h"

#define HASS_SLOTS 8

/* Least work of a core between two pulls, in ns, while enough units wait.
   Smaller, and cores contend for the range; larger, and they end less evenly. A
   guess. */
#define HASS_CHUNK_NS 100000
/* A pull of less work, in ns, is not made smaller for the sake of other cores.
 */
#define HASS_PULL_NS 2000

typedef struct HassJob HassJob;
struct HassSamplers;

/* A device within a round; under the decision lock. */
typedef enum
{
  HASS_SEAT_ASK,  /* may be asked */
  HASS_SEAT_WAIT, /* said WAIT: ask after the next completion, or in time */
  HASS_SEAT_DONE, /* said DONE */
  HASS_SEAT_LOST  /* the device is gone */
} HassSeatState;

typedef struct
{
  HassSeatState state;
  gboolean completed;    /* has completed a grant in this round */
  gint64 again_ns;       /* WAIT, but not for longer; 0: for as long as it is */
  guint in_flight;       /* bundles */
  guint depth;           /* in_flight of the last grant */
  HassProgress reported; /* CPU pool: what observe was told of */
  guint64 reported_bytes;
  gint64 reported_ns;
} HassSeat;

typedef enum
{
  HASS_SLOT_FREE,
  HASS_SLOT_RUNNING,
  HASS_SLOT_ENDED,   /* all units finished, results may be on their way */
  HASS_SLOT_RETIRING /* its loads are being released */
} HassSlotState;

/* A round in flight. The round's own atomics apart, under the decision
   lock. */
typedef struct
{
  HassRound round;
  HassSlotState state;
  HassSpan span;
  guint64 order_base; /* result key of unit 0 */
  guint64 mark;       /* what the result pool must have passed */
  gboolean forced;    /* WAITing devices are asked with force */
  gboolean grab;      /* GPUs take what is left without the strategy */
  HassSeat *seats;    /* [n_devices] */
} HassSlot;

/* Where emitted tasks are copied to; see copies.c. */
typedef struct HassCopyChunk HassCopyChunk;
typedef struct
{
  guint8 *next;
  guint n_left; /* copies that have room from there on */
} HassCopier;

/* A core or a device's bundles, as user callbacks see it. Its thread's. */
struct _HassWorker
{
  _Alignas(HASS_CACHE_LINE) HassJob *job; /* NULL: its farm has ended */
  pthread_t owner;                        /* while there is a unit */
  guint index;
  guint counter;         /* in every round */
  HassRun *run;          /* results of the current units, or NULL */
  const HassBlock *unit; /* the current one, or NULL */
  gboolean has_result;   /* the current unit emitted one */
  GArray *nested;        /* HassLoad emitted by the current units */
  HassCopier copier;     /* for them */
  gpointer accumulator;
  double unit_ns;     /* recent cost of a unit */
  guint32 last_chunk; /* units of the last pull */
  gint64 now_ns;      /* when the last units ended */
  gint64 yielded_ns;  /* to proxies */
  _Atomic int cpu;    /* where it yielded last; < 0: it does not compute */
  gint64 move_at_ns, move_gap_ns; /* not before; doubles */
  gint64 last_end_ns;             /* the same, kept over idle times */
  /* For account.c. */
  gint64 computed_ns; /* last_end_ns without the collecting before it */
  gint64 early_ns;    /* busy before the generator had returned */
  gint64 collect_ns; /* delivering results, or waiting for a thread that does */
};

/* Units that have left a round, computed or failed. */
typedef struct
{
  guint32 n;
  guint32 n_failed; /* of these */
  gsize bytes;
  double work;       /* as the cost class shows it */
  double exclusive;  /* of it, what no other kind of device may run */
  gsize halo;        /* elements read beside the units' own */
  gint64 collect_ns; /* at the end */
  gboolean part;     /* of a bundle that was counted before */
} HassDone;

/* What an emitter takes: depends on the farm's kind. */
typedef enum
{
  HASS_EMITS_NOTHING, /* now */
  HASS_EMITS_LOADS,
  HASS_EMITS_TASKS
} HassEmits;

struct _HassEmitter
{
  HassJob *job; /* NULL: its farm has ended */
  pthread_t owner;
  HassEmits emits; /* the owner's */
  HassCopier copier;
};

/* What a farm's callbacks are given; outlives the job, see handles.c. */
typedef struct HassHandles HassHandles;
struct HassHandles
{
  HassHandles *next;
  guint capacity; /* workers */
  HassEmitter emitter;
  HassWorker workers[];
};

/* Sums over the rounds so far, of one device; decision lock. */
typedef struct
{
  guint64 units, bytes, bundles, failures, failed_units;
  double work, busy_ns, kernel_ns, tail_ns;
  double rate;      /* of the best bundle, work per ns, or of the model, cost */
  double cost;      /* virtual: what the models were asked to compute */
  double exclusive; /* work that no other kind of device may run */
  guint64 halo;     /* elements */
  double imbalance_ns; /* of tail_ns, what lost_imbalance_s has */
  double early_ns;     /* before the generator had returned, other causes */
  double drained_ns;   /* cores: collecting while nothing else was done */
  gint64 ready_ns;     /* a GPU's: when it was; 0: from the begin */
  gboolean lost;
  char *message;       /* why it first failed or was never started, or NULL */
  GQuark error_domain; /* of the error with that message; 0: none */
  gint error_code;
  HassTransfers transfers;
} HassTotals;

/* When the phases of a farm began or how long they took, for account.c; written
   by the caller unless stated otherwise. */
typedef struct
{
  gint64 generate_ns;  /* the generator was called */
  gint64 generated_ns; /* it had returned; released by HassJob.generated */
  gint64 room_ns;      /* meanwhile spent on computing: the pool was full */
  gint64 worked_ns;    /* nothing waited and nothing ran any more */
  gint64 flush_ns;     /* duration: results left for the end */
  gint64 reduce_ns;    /* duration */
  gint64 drain_ns;     /* durations: only results were delivered; decision */
} HassPhases;

/* What the core asks of its engine. */
typedef struct
{
  gboolean real_time; /* what is measured is worth keeping */
  gint64 (*now) (HassJob *job);
  /* Called by emit when the pool is full; FALSE: the farm is stopping. */
  gboolean (*make_room) (HassJob *job);
  /* Loads have come, or something has changed that sleepers wait for. */
  void (*loads_came) (HassJob *job);
  void (*changed) (HassJob *job);
} HassEngineOps;

struct HassJob
{
  /* Constant while the job runs. */
  const HassFarm *farm;
  const HassEngineOps *engine;
  HassDeviceTraits *devices; /* [n_devices], the CPU pool first */
  HassDevice **gpus;         /* [n_devices], live: the device or NULL */
  guint n_devices;
  gint cpu;      /* index of the CPU pool, or -1 */
  guint n_cores; /* worker contexts of the CPU pool */
  guint n_workers;
  HassHandles *handles;
  HassWorker *workers;          /* [n_workers], of the handles */
  HassStrategyEnv env;          /* the strategy's */
  const HassProfileRate *known; /* rates of earlier runs, or NULL */
  HassStrategy *strategy;
  HassLoadPool *pool;
  HassResultPool *results; /* or NULL */
  HassListener *listeners; /* see facts.h */
  HassFarmFacts facts;     /* what the listeners are told of the farm */
  gboolean dry, ordered;
  gint64 begin_ns, deadline_ns; /* 0: none */
  HassPhases phases;
  const char *platform_name;

  /* Live: what the threads share. */
  HassEvent event;
  gpointer driver; /* the engine's own */

  _Alignas(HASS_CACHE_LINE) _Atomic (HassSlot *) current;
  _Atomic gboolean generated; /* the generator has returned */
  _Atomic gboolean full;      /* it waits for room in the pool */
  _Atomic gboolean stop;
  _Atomic guint n_ended;   /* slots that wait to be retired */
  _Atomic guint n_taken;   /* slots that are not free */
  _Atomic guint64 n_units; /* begun; written under the decision lock */

  _Alignas(HASS_CACHE_LINE) pthread_mutex_t decision;
  HassSlot slots[HASS_SLOTS];    /* decision */
  guint64 n_rounds, n_loads;     /* decision: begun */
  guint64 n_told;                /* decision: completions */
  guint64 n_asked;               /* decision: grants that were asked for */
  gint64 hungry_ns;              /* decision: see live.c */
  HassTotals *totals;            /* decision: [n_devices] */
  HassDeviceSummary *summary;    /* decision: scratch [n_devices] */
  struct HassSamplers *samplers; /* decision; or NULL: nothing is measured */

  _Atomic guint64 units_done, bytes_done;

  pthread_mutex_t failure; /* the rest */
  GError *error;           /* the first that stopped the farm */
  GArray *unfinished;      /* HassUnfinished */
  GHashTable *failed;      /* seq + 1 of loads in the list by themselves */
  _Atomic guint n_unfinished;

  _Atomic gboolean has_owned;  /* loads may have buffers or copied tasks */
  GHashTable *buffers;         /* bytes -> GPtrArray of free buffers */
  GPtrArray *all_buffers;      /* owned, by address */
  gpointer last_buffer;        /* the generator's latest, or NULL */
  pthread_mutex_t buffer_lock; /* these three */
  GPtrArray *all_chunks;       /* owned */
  HassCopyChunk *free_chunks;
  pthread_mutex_t copy_lock; /* both */
};

static inline gboolean
hass_job_stopping (HassJob *job)
{
  /* Relaxed: it only ends loops early; what ended is ordered by locks. */
  return atomic_load_explicit (&job->stop, memory_order_relaxed);
}

/* Rounds may overlap where the CPU pool is the only device. */
static inline gboolean
hass_job_overlaps (const HassJob *job)
{
  return job->n_devices == 1 && job->cpu == 0;
}

/* job.c */
typedef struct
{
  const HassDeviceTraits *devices; /* [n_devices], copied; the CPU pool first */
  HassDevice **gpus; /* [n_devices], copied; NULL: the engine models it */
  guint n_devices;
  double entry_bytes, merge_ns; /* see HassStrategyEnv */
} HassJobDevices;

HassJob *hass_job_new (const HassFarm *farm, const HassEngineOps *engine,
                       const HassJobDevices *devices, GError **error);
void hass_job_begin (HassJob *job);
void hass_job_free (HassJob *job);
void hass_job_finish (HassJob *job);
void hass_job_end (HassJob *job, gint64 makespan_ns);
HassReport *hass_job_report (HassJob *job, gint64 makespan_ns);

/* generate.c */
void hass_job_generate (HassJob *job);

/* fate.c */
const char *hass_engine_enter_callback (const char *what, HassJob *job);
void hass_engine_leave_callback (const char *before);
void hass_job_stop (HassJob *job, GError *error);
void hass_job_check_deadline (HassJob *job, gint64 now_ns);

/* account.c */
void hass_report_add_teardown (HassReport *report, gint64 makespan_ns);

/* reduce.c */
gpointer hass_accumulator_new (HassJob *job);
void hass_accumulator_free (HassJob *job, gpointer accumulator);

/* rounds.c */
HassSlot *hass_job_begin_round (HassJob *job);
void hass_job_units_finished (HassJob *job, HassSlot *slot, guint32 n);
gboolean hass_job_idle (HassJob *job);
gboolean hass_job_may_begin (HassJob *job, HassSlot *slot);

/* decide.c; all but pullable under the decision lock */
gboolean hass_decide_pullable (HassSlot *slot);
gboolean hass_decide_cpu (HassJob *job, HassSlot *slot);
gint64 hass_decide_again_ns (const HassSlot *slot, guint device);
gboolean hass_decide_gpu (HassJob *job, HassSlot *slot, guint device,
                          HassExtent *extent, HassGrant *grant);
void hass_decide_report_cpu (HassJob *job, HassSlot *slot);
void hass_decide_completed (HassJob *job, HassSlot *slot,
                            const HassCompletion *done);
gboolean hass_decide_give_cpu (HassRound *round, guint32 n);
gboolean hass_decide_stalled (HassJob *job, HassSlot *slot);
void hass_decide_note (HassJob *job, guint device, const char *why);
void hass_decide_lost (HassJob *job, guint device, const char *why);
void hass_decide_nobody_left (HassJob *job);

/* execute.c */
HassDone hass_execute (HassJob *job, HassWorker *worker, HassSlot *slot,
                       HassExtent extent, gboolean dry);
void hass_execute_count (HassJob *job, HassWorker *worker, HassSlot *slot,
                         HassDone done, gint64 busy_ns, gint64 end_ns);
guint32 hass_chunk (HassJob *job, HassWorker *worker, HassSlot *slot);

/* results.c */
guint32 hass_execute_bundle_results (HassWorker *worker, HassSlot *slot,
                                     HassExtent extent, const HassBlock *blocks,
                                     gsize n_blocks,
                                     const HassBundleDone *done);
void hass_execute_refused (HassJob *job, HassWorker *worker, HassSlot *slot,
                           HassExtent extent, const char *why);
gboolean hass_execute_check (HassJob *job, const HassBlock *block);

/* The block has bytes without an address: hass_execute_check() decides. */
static inline gboolean
hass_block_is_nowhere (const HassBlock *block)
{
  return (!block->input && block->input_bytes > 0)
         || (!block->output && block->output_bytes > 0);
}

/* Units of the next part of a grant of which @rest is left and at most @most go
   at once: parts are alike, so that no small one is left over, and end at
   multiples of @multiple (0: 1) of all units where that many go at once. */
static inline guint32
hass_part_units (HassExtent rest, guint32 most, gsize multiple)
{
  guint32 step = multiple > most ? 1 : MAX ((guint32)multiple, 1);
  guint32 before = rest.first % step;
  guint32 n_steps = (before + rest.n - 1) / step + 1;
  guint32 n_parts = (n_steps - 1) / (most / step) + 1;
  guint32 n = ((n_steps - 1) / n_parts + 1) * step - before;
  return MIN (n, rest.n);
}

#endif
