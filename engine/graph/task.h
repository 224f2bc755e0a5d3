/* SPDX-License-Identifier: MIT */
/* task.h: tasks, their accesses and data, as the files of this room see them.
   Thread safety: each field says who reads and writes it. */
#ifndef HASS_GRAPH_TASK_H
#define HASS_GRAPH_TASK_H

#include "engine/graph/codelet.h"
#include "pool/round_engine.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Accesses that lie in the task itself. */
#define HASS_TASK_INLINE 3
/* Bytes of a task, and its alignment: two cache lines. */
#define HASS_TASK_BYTES 128
/* Most codelets in a graph: each worker has a counter for each. */
#define HASS_MOST_CODELETS 256
/* Mean time of a task, in ns for each core, from which its priority is obeyed
   exactly. Measured, 1000 tasks in the heap: entering and leaving it takes 1.5
   us, on one core at a time, for it moves through their caches. Shorter, and
   cores wait for each other there; longer, and tasks run out of order. */
#define HASS_LONG_NS 2500

/* What is short, looking at the clock included. Measured, where a task that is
   computed at once takes the same time as on two to sixteen cores: tasks of a
   tiled Cholesky 110 to 230 ns, those of 64 chains 50 to 180. */
#define HASS_SHORT_NS 100
/* Tasks seem to take up to so many times longer where their data come from
   other cores. A guess, so it is the least time that must be short, and the
   mean less than this times as much. */
#define HASS_SHORT_FAR 4

/* Refers to an access: (number of its task + 1) << 16 | its index; 0: none. */
typedef guint64 HassRef;

typedef struct HassTaskAccess HassTaskAccess;
struct HassTaskAccess
{
  /* accesses that wait for this one, linked by @next; HASS_ACCESS_OVER */
  _Atomic (HassTaskAccess *) waiting;
  HassTaskAccess *next;
  /* of a shared group: the member before; by the submitting thread */
  HassRef older;
  guintptr data; /* HassData, and the HassAccessMode in the lowest bits */
};

#define HASS_ACCESS_OVER ((HassTaskAccess *)1)
#define HASS_ACCESS_MODE ((guintptr)7)
/* In HassTaskAccess.data: the access lies in a HassTaskMore. */
#define HASS_ACCESS_MORE ((guintptr)8)

typedef enum
{
  HASS_TASK_LOCKS = 1,      /* it has COMMUTE accesses */
  HASS_TASK_REDUCES = 2,    /* it has REDUCE accesses; INTERNAL: it merges */
  HASS_TASK_HAS_MORE = 4,   /* HassGraphTask.more is valid, else .arguments */
  HASS_TASK_ARGUMENTS = 8,  /* the arguments lie in allocated memory */
  HASS_TASK_FEW_BYTES = 16, /* they lie in HassGraphTask.bytes */
  HASS_TASK_INTERNAL = 32,  /* inserted by the library */
  /* it may begin again, or has (place.h); under HassPlacing.lock */
  HASS_TASK_AGAIN = 64,
  /* a device has computed it, and its datum has not come home; likewise */
  HASS_TASK_UNSETTLED = 128
} HassTaskFlags;

/* HassGraphTask.ended of a recorded task that is not settled: those that waited
   for what it has changed may have begun. */
#define HASS_TASK_CLOSED 2

/* What the library knows of a codelet. */
typedef struct
{
  HassCodelet public;
  const HassCodelet *key; /* the user's */
  char *name;
  guint index;
  /* recent mean time of a task, in ns; 0: unknown. A hint. */
  _Atomic guint mean_ns;
  _Atomic guint least_ns; /* about the least of these times; likewise */
  /* a mask of those that can compute it; constant while the graph runs */
  guint32 devices;
  /* under HassPlacing.lock: */
  guint device_ns;    /* recent mean time of a task on a device; 0: unknown */
  guint n_waiting;    /* ready tasks that a device may compute */
  guint64 n_entered;  /* that have become such */
  gboolean tried;     /* a core has taken one of these */
  gboolean loading;   /* @device_ns is of the first call on a device */
  guint64 n_computed; /* tasks that devices have computed */
  /* by the submitting thread: the sum of HassTaskHints.work of @n_work tasks,
     if the first task has it */
  _Alignas(HASS_CACHE_LINE) double work;
  guint64 n_work;
  gboolean begun; /* a task of it was submitted; likewise */
  gsize bytes;    /* of that task's data */
  /* tasks, where devices can compute them; read by other threads */
  _Atomic guint64 n_submitted;
  gboolean sized; /* constant */
} HassCodeletState;

/* The submitting thread: one more task has come. */
static inline void
hass_codelet_count (HassCodeletState *codelet)
{
  if (codelet->devices != 0)
    atomic_store_explicit (
        &codelet->n_submitted,
        atomic_load_explicit (&codelet->n_submitted, memory_order_relaxed) + 1,
        memory_order_relaxed);
}

/* Returns: TRUE if tasks of the codelet are short, as far as is known. */
static inline gboolean
hass_codelet_is_short (const HassCodeletState *codelet)
{
  guint mean = atomic_load_explicit (&codelet->mean_ns, memory_order_relaxed);
  guint least = atomic_load_explicit (&codelet->least_ns, memory_order_relaxed);
  return mean > 0 && mean < HASS_SHORT_FAR * HASS_SHORT_NS
         && (least > 0 ? least : mean) < HASS_SHORT_NS;
}

/* Returns: a recent mean, after one more value. @mean: 0: there was none. */
static inline guint
hass_recent_mean (guint mean, guint one)
{
  return mean > 0 ? (guint)(((guint64)3 * mean + one) / 4) : one;
}

typedef struct HassTaskMore HassTaskMore;

/* A task; written by the submitting thread until the task is published. */
typedef struct
{
  _Alignas(HASS_TASK_BYTES) HassCodeletState *codelet;
  union
  {
    gpointer arguments;
    HassTaskMore *more;
    guint8 bytes[8];
  };
  _Atomic gint32 pending; /* accesses that must be over before it may begin */
  gint32 priority;
  guint16 n;
  guint8 flags; /* HassTaskFlags */
  /* TRUE: the slot may be used again when those before may; recorded, on
     devices: see HASS_TASK_CLOSED */
  _Atomic guint8 ended;
  guint32 level; /* length of the longest path to the end; 0: unknown */
  HassTaskAccess accesses[HASS_TASK_INLINE];
} HassGraphTask;

G_STATIC_ASSERT (sizeof (HassGraphTask) == HASS_TASK_BYTES);

/* An access beyond those in the task. */
typedef struct
{
  HassTaskAccess access;
  HassGraphTask *task;
} HassFarAccess;

struct HassTaskMore
{
  gpointer arguments; /* or NULL */
  HassFarAccess accesses[];
};

static inline HassTaskAccess *
hass_task_access (HassGraphTask *task, guint i)
{
  return i < HASS_TASK_INLINE
             ? &task->accesses[i]
             : &task->more->accesses[i - HASS_TASK_INLINE].access;
}

static inline gconstpointer
hass_task_arguments (const HassGraphTask *task)
{
  if (task->flags & HASS_TASK_HAS_MORE)
    return task->more->arguments;
  return task->flags & HASS_TASK_FEW_BYTES ? task->bytes : task->arguments;
}

/* Frees what a task has allocated, when its slot is used again: until then an
   access that follows may look at its accesses. */
static inline void
hass_task_clear (HassGraphTask *task)
{
  if (task->flags & HASS_TASK_ARGUMENTS)
    g_free ((gpointer)hass_task_arguments (task));
  if (task->flags & HASS_TASK_HAS_MORE)
    free (task->more);
}

static inline HassGraphTask *
hass_access_task (HassTaskAccess *access)
{
  if (G_UNLIKELY (access->data & HASS_ACCESS_MORE))
    return ((HassFarAccess *)access)->task;
  return (HassGraphTask *)((guintptr)access & ~(guintptr)(HASS_TASK_BYTES - 1));
}

static inline HassData *
hass_access_data (const HassTaskAccess *access)
{
  return (HassData *)(access->data & ~(HASS_ACCESS_MODE | HASS_ACCESS_MORE));
}

static inline HassAccessMode
hass_access_mode (const HassTaskAccess *access)
{
  return (HassAccessMode)(access->data & HASS_ACCESS_MODE);
}

static inline gboolean
hass_mode_is_shared (HassAccessMode mode)
{
  return mode != HASS_WRITE && mode != HASS_UPDATE;
}

typedef struct HassPlaces HassPlaces; /* place.h */

/* A datum. What running a task reads is one cache line, what submitting reads
   begins the next: three lines in all. With four, data are 256 bytes apart, and
   100 of them use a quarter of the first-level cache, which then is full. */
struct HassData
{
  _Alignas(HASS_CACHE_LINE) HassDataView view;
  /* 1 + index of the failure that has made it invalid; 0: it is valid. Written
     by tasks that have exclusive access, and by those that COMMUTE or REDUCE,
     any of which may be the last. */
  _Atomic guint invalid;
  gboolean busy; /* a COMMUTE task uses it; under HassGraph.commute */
  _Atomic (HassPlaces *) places; /* NULL: it is at home and nowhere else */
  /* COMMUTE tasks that wait for it: index of a task; under HassGraph.commute */
  GQueue *parked;
  gpointer *copies; /* REDUCE: [n_workers] private copies, or NULL */

  /* By the submitting thread from here on. */
  _Alignas(HASS_CACHE_LINE) HassRef writer; /* last WRITE or UPDATE */
  const HassGraph *graph;                   /* that has made it; constant */
  /* newest access of the shared group after @writer */
  HassRef group;
  HassAccessMode group_mode;
  guint64 last_task; /* 1 + number of the task that accessed it last */
  gboolean written;  /* it has a value */
  gboolean forgotten;
  gboolean reduced; /* it has had a REDUCE access */
  gboolean own;     /* scratch: the library's memory */
  guint slot;       /* in HassGraph.data */
  guint index;      /* how many were made before it */
  char *name;       /* or NULL */
  HassInitFunc init;
  HassMergeFunc merge;
  gpointer merge_data;
};

G_STATIC_ASSERT (offsetof (HassData, writer) == HASS_CACHE_LINE
                 && sizeof (HassData) == 3 * HASS_CACHE_LINE);

static inline gsize
hass_data_bytes (const HassData *data)
{
  return data->view.rows * data->view.row_bytes;
}

/* Returns: TRUE if the access changes bytes of a datum. */
static inline gboolean
hass_access_changes (const HassTaskAccess *a)
{
  return hass_access_mode (a) != HASS_READ
         && hass_data_bytes (hass_access_data (a)) > 0;
}

#endif
