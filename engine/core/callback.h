/* SPDX-License-Identifier: MIT */
/* callback.h: which of the user's callbacks a thread runs, of which farm or
   recorded graph and with which worker, implemented in fate.c; and the emitter
   and the workers that callbacks are given.
   Thread safety: each thread has its own callback; the structs say which thread
   uses them. */
#ifndef HASS_CALLBACK_H
#define HASS_CALLBACK_H

#include "callbacks.h"
#include "pool/result_pool.h"
#include "pool/unit_range.h"

typedef struct HassJob HassJob;

/**
 * HassRecording: a dataflow that is recorded, which has no job.
 * @name: of the dataflow.
 * @refuse: makes the recording fail with HASS_ERROR_MISUSE.
 * @graph: first argument of @refuse.
 */
typedef struct
{
  const char *name;
  void (*refuse) (gpointer graph, const char *why);
  gpointer graph;
} HassRecording;

/**
 * HassCallback: the user's callback that a thread runs.
 * @what: its name for people; NULL: the thread runs none.
 * @job: its farm; NULL: the callback builds @recording.
 * @worker: the worker that it was given; NULL: it has none, or one that may not
 *   emit: that of a loop's body.
 * @charged: the worker whose busy time the thread's time counts to: @worker,
 *   or the one whose callback runs the loop.
 */
typedef struct
{
  const char *what;
  HassJob *job;
  HassWorker *worker, *charged;
  const HassRecording *recording;
} HassCallback;

/* The calling thread's. Not initial-exec, which would save the shared library a
   call each time: a library with the thread-local variables of the CUDA runtime
   in it could not be loaded by dlopen() then. */
extern __thread HassCallback hass_callback;

/* Returns: a pointer that no other living thread gets; without a call, where
   the compiler can. */
static inline gconstpointer
hass_this_thread (void)
{
#if __GNUC__ >= 11 || defined __clang__
  return __builtin_thread_pointer ();
#else
  return &hass_callback;
#endif
}

HassCallback hass_engine_enter_callback (const char *what, HassJob *job,
                                         HassWorker *worker);
/* Likewise the build callback of a graph that is recorded. */
HassCallback hass_engine_enter_recording (const HassRecording *recording);
void hass_engine_leave_callback (HassCallback before);
void hass_engine_dead_handle (const char *function);
gint64 hass_worker_take_helped (HassWorker *worker); /* worker.c */

/* Returns: TRUE if the calling thread runs a callback that was given @worker;
   reads nothing of @worker, which may belong to another thread. */
static inline gboolean
hass_worker_is_current (const HassWorker *worker)
{
  return hass_callback.worker == worker;
}

/* Memory for copies of emitted tasks, at the end of a chunk; see copies.c. */
typedef struct HassCopyChunk HassCopyChunk;
typedef struct
{
  guint8 *next;
  guint n_left; /* number of copies that fit from @next on */
} HassCopier;

typedef struct HassFunctionCounts HassFunctionCounts;

/* What a core computes, for devices that might take it away (spoliate.c). The
   core and whoever has the decision lock write, any thread reads; relaxed, as
   what is out of date leads to a decision that loses time at worst. */
typedef struct
{
  _Alignas(HASS_CACHE_LINE) _Atomic gint64 begin_ns; /* 0: nothing */
  _Atomic (struct HassSlot *) slot;
  _Atomic guint32 first, n; /* its units */
  _Atomic double work;
  /* its worker has asked since then whether to stop; it shall give back what it
     has not finished */
  _Atomic gboolean asked, unneeded;
} HassInHand;

/* A worker context: what the callbacks that run on one core, or for the bundles
   of one device, get as their HassWorker. Only the context's thread uses it,
   except where stated. */
struct _HassWorker
{
  _Alignas(HASS_CACHE_LINE) HassJob *job; /* NULL: its farm has ended */
  guint index;
  guint counter; /* index of its counter in every round */
  /* results emitted by the current pull or bundle, or NULL */
  HassRun *run;
  const HassBlock *unit; /* the unit that the callback computes, or NULL */
  gboolean has_result;   /* the current unit has emitted a result */
  /* loads that the current pull or bundle has emitted: nested[0 .. n_nested) */
  HassLoad *nested; /* [nested_room] */
  guint n_nested, nested_room;
  HassCopier copier; /* memory for the copies of emitted tasks */
  gpointer accumulator;
  const _Atomic gboolean *unneeded; /* nobody needs the result; or NULL */
  _Atomic gboolean *asks; /* set when a callback asks for that; or NULL */
  double unit_ns;         /* recent time of a unit, in ns; 0: unknown */
  gint64 begin_ns; /* when the present pull or bundle began; 0: unknown */
  /* earliest end of what the worker has computed last, and the latest of all
     such ends, in ns from the farm's begin; see open.c */
  double path_ns, longest_ns;
  guint32 last_chunk; /* units of the last pull */
  gint64 now_ns;      /* when the last pull ended; 0: look at the clock */
  /* units that it has finished and not yet counted; see hass_job_settle() */
  struct HassSlot *owed_to;
  guint32 n_owed;
  gint64 yielded_ns; /* when it last yielded its core to proxy threads */
  /* core where it yielded last; < 0: it does not compute. All threads read. */
  _Atomic int cpu;
  /* the worker does not move to another core before move_at_ns; move_gap_ns is
     the time between two moves, which doubles */
  gint64 move_at_ns, move_gap_ns;
  gint64 last_end_ns; /* as now_ns, but never reset */
  /* For account.c, as the following: last_end_ns without the time for
     delivering the results of that pull. */
  gint64 computed_ns;
  gint64 early_ns; /* busy before the generator had returned */
  /* time for delivering results, or for waiting while another thread does */
  gint64 collect_ns;
  /* time of other threads in its loops; any thread */
  _Atomic gint64 helped_ns;
  /* what it has done of each function, see functions.c; NULL: not counted */
  HassFunctionCounts *functions;
  gboolean gave_back; /* its unit ended early because it is unneeded */
  HassInHand in_hand;
};

/* What an emitter accepts: it depends on the farm's kind, and on whether the
   generator runs. */
typedef enum
{
  HASS_EMITS_NOTHING, /* the generator does not run */
  HASS_EMITS_LOADS,
  HASS_EMITS_TASKS
} HassEmits;

struct _HassEmitter
{
  HassJob *job;        /* NULL: its farm has ended */
  gconstpointer owner; /* hass_this_thread() of its thread */
  HassEmits emits;     /* read and written by that thread only */
  HassCopier copier;
};

/* The emitter and the workers that a farm's callbacks are given. Their memory
   outlives the job, see handles.c. */
typedef struct HassHandles HassHandles;
struct HassHandles
{
  HassHandles *next;
  guint capacity; /* length of @workers */
  HassEmitter emitter;
  HassWorker workers[];
};

#endif
