/* SPDX-License-Identifier: MIT */
/* graph-private.h: a running dataflow, as its own files see it.
   Thread safety: each field says who reads and writes it. */
#ifndef HASS_GRAPH_PRIVATE_H
#define HASS_GRAPH_PRIVATE_H

#include "engine/graph/graph.h"
#include "engine/graph/task.h"

/* Most tasks that a core takes at once if they are short. More, and other cores
   find nothing at the end; fewer, and cores contend for the queue. A guess. */
#define HASS_MOST_TAKEN 8

/* A queue of ready tasks: one worker pushes, all take from its front. Its
   length is a power of two and not less than the number of tasks that can be
   ready, so an entry is not written again before it is taken. */
typedef struct
{
  _Atomic guint32 *entries; /* see ready.c */
  guint32 mask;
  _Alignas(HASS_CACHE_LINE) _Atomic guint64 head; /* by those that take */
  _Alignas(HASS_CACHE_LINE) _Atomic guint64 tail; /* by the owner */
} HassTaskQueue;

/* A task in the heap of ready tasks. */
typedef struct
{
  gint32 priority;
  guint32 level;
  guint32 task;  /* index */
  float ns;      /* HassFlowSpot.ns */
  guint64 order; /* of entering the heap */
} HassRanked;

/* What one worker has done of a codelet. */
typedef struct
{
  guint64 n;
  guint64 measured; /* of these, tasks whose time was measured */
  gint64 ns;        /* their total time */
} HassCodeletCount;

/* Why a core found no task to compute. */
typedef enum
{
  HASS_IDLE_SUBMIT, /* the build callback had submitted no more */
  HASS_IDLE_DEPEND, /* tasks waited for others that were being computed */
  HASS_IDLE_WINDOW, /* likewise, and the window was full */
  HASS_IDLE_WAIT,   /* the build callback waited in hass_graph_wait() */
  HASS_N_IDLE
} HassIdle;

typedef struct
{
  HassTaskQueue queue;
  /* tasks that it has ended; written by the worker, read by all */
  _Alignas(HASS_CACHE_LINE) _Atomic guint64 n_ended;
  /* it looks for a task, or computes, on a machine with devices; likewise */
  _Atomic gboolean busy;
  /* such tasks that are not in @n_ended yet, by the worker as is what follows
   */
  _Alignas(HASS_CACHE_LINE) guint64 n_unsaid;
  guint64 n_computed;
  gint64 busy_ns;
  HassGraphTask
      *own; /* virtual time: that it computes, or does next; or NULL */
  /* since when it has found no task, and why; 0: it computes */
  gint64 idle_since_ns;
  HassIdle idle;
  gint64 idle_ns[HASS_N_IDLE]; /* total times without a task */
  guint victim;                /* worker from which it took last */
  guint64 *passed; /* [n_queues]: where it left a queue alone, see ready.c */
  gint64 until_look_ns;       /* expected time until it measures a task */
  GArray *views;              /* HassDataView: of tasks with many accesses */
  HassCodeletCount *codelets; /* [HASS_MOST_CODELETS] */
} HassGraphWorker;

/* A task whose codelet has failed. */
typedef struct
{
  guint64 number;
  guint64 took; /* tasks that failed in consequence */
  char *message;
} HassTaskFailure;

/* What a recorded graph keeps of its edges. @first: [n_tasks + 1] index of a
   task's first successor in @next. @next: [n_edges] index of a task. @late:
   [n_edges] TRUE if it waits not only for what the task changes, but until the
   task is settled (place.h). */
typedef struct
{
  guint32 n_tasks;
  guint32 *first, *next;
  guint8 *late;
} HassEdges;

/* What the submitting thread waits for. */
typedef enum
{
  HASS_WAIT_SLOT,  /* a free slot */
  HASS_WAIT_DATUM, /* all tasks that access HassGraph.awaited */
  HASS_WAIT_ALL
} HassGraphWait;

/* Most slots. */
#define HASS_MOST_WINDOW (1 << 24)

struct HassGraph
{
  /* Constant while the graph runs, or seldom written. */
  HassJob *job;     /* NULL: the graph is only recorded */
  const char *name; /* NULL: the graph has ended */
  const HassGraphRun *run;
  HassEmitter *emitter;
  HassGraphTask *tasks; /* [most]: slots */
  double *work; /* [most]: what tasks cost as hints say; NULL: live, built */
  HassGraphWorker *workers; /* [n_workers] */
  gboolean modelled;        /* it runs in virtual time */
  gboolean in_order; /* the submitting thread alone runs a recorded graph */
  guint n_workers;
  guint n_queues;              /* cores: only these compute tasks */
  HassEdges edges;             /* running a recorded graph; else NULL */
  struct HassPlacing *placing; /* NULL: there are only cores */
  guint64 most;                /* tasks that have slots */
  guint32 mask;                /* of the index of a slot */
  gboolean tells;             /* that or @tells_submitted; read for each task */
  gboolean tells_computed;    /* listeners want to be told of computed tasks */
  gboolean recalls;           /* the profile store knows some of its codelets */
  _Atomic gboolean ranked;    /* priorities matter */
  _Atomic guint caller_waits; /* 1 + HassGraphWait; 0: it does not wait */
  _Atomic guint n_failures;
  /* the calling thread sleeps until a core is not busy any more, see left.c */
  _Atomic gboolean awaits_rest;
  gboolean tells_submitted; /* and of submitted ones */
  /* [most], as HassComputed.after, by the thread that makes the task ready,
     before others see it; NULL: no listener wants to be told of computed
     tasks. Beside what is read for each task anyway. */
  guint64 *lasts;
  /* see outlook.c; under HassPlacing.lock; NULL: no strategy has asked */
  float *after_ns;
  HassGraph *next; /* of graphs that have ended */

  /* By the submitting thread, which writes some for every task: no other looks
     at these lines. */
  _Alignas(HASS_CACHE_LINE) pthread_t owner;
  gboolean building;  /* it is in the build callback */
  gboolean allocates; /* tasks have memory of their own */
  guint64 n_submitted;
  guint64 n_retired; /* all tasks with a lower number have ended */
  /* of its time in hass_graph_task(): for tasks that it computed as they came
   */
  gint64 at_once_ns;
  guint64 catch_up_at; /* number of the task at which it looks, see at_once.c */
  guint too_long;      /* index of a codelet that was too long for that */
  GPtrArray *data;     /* all HassData, owned */
  guint n_data;        /* that were ever made */
  /* the data in the user's memory, see overlap.h */
  struct HassOccupied *occupied;
  GPtrArray *codelets; /* HassCodeletState, owned */
  GHashTable *by_key;  /* the user's HassCodelet -> HassCodeletState */
  HassCodeletState *last_codelet;
  HassGraphWait waits_for;
  const HassData *awaited;
  GPtrArray *forgotten; /* HassData that may still be in use */
  guint sweep_at;       /* length of @forgotten at which it is looked through */
  /* recording: pairs of guint64, the number of a task, and that of a later one
     that waits for it, times 2, + 1 if the edge is late; else NULL */
  GArray *pairs;

  /* = n_submitted, for other threads */
  _Alignas(HASS_CACHE_LINE) _Atomic guint64 published;

  /* HassData.busy and .parked; taken before @lock */
  _Alignas(HASS_CACHE_LINE) pthread_mutex_t commute;
  pthread_mutex_t lock; /* the fields from here on */
  GError *error;        /* no job: what was wrong first */
  GArray *heap;         /* HassRanked */
  guint64 order;
  GArray *failures;       /* HassTaskFailure */
  GArray *internal;       /* guint64: numbers of the library's own tasks */
  guint64 n_forgotten;    /* such tasks before those in @internal */
  _Atomic guint n_ranked; /* length of @heap, read without the lock */
};

static inline guint32
hass_task_index (const HassGraph *graph, const HassGraphTask *task)
{
  return (guint32)(task - graph->tasks);
}

static inline HassGraphTask *
hass_task_of (const HassGraph *graph, HassRef ref)
{
  return &graph->tasks[((ref >> 16) - 1) & graph->mask];
}

static inline HassTaskAccess *
hass_ref_access (const HassGraph *graph, HassRef ref)
{
  return hass_task_access (hass_task_of (graph, ref), ref & 0xffff);
}

/* Returns: TRUE if the task of an access may not have ended; only then its slot
   is still its own. The submitting thread. */
static inline gboolean
hass_ref_lives (const HassGraph *graph, HassRef ref)
{
  return ref >> 16 > graph->n_retired;
}

/* misuse.c: any thread, except where stated. */
gboolean hass_graph_may_not (HassGraph *graph, const char *function);
gboolean hass_graph_owns (HassGraph *graph, const HassData *data,
                          const char *function);
void hass_graph_refuse (HassGraph *graph, HassError code, const char *format,
                        ...) G_GNUC_PRINTF (3, 4);
const char *hass_data_name (const HassData *data, char buffer[32]);
gboolean hass_graph_check_access (HassGraph *graph,
                                  const HassCodeletState *codelet,
                                  const HassAccess *a, guint i);
void hass_graph_refuse_codelet (HassGraph *graph, const HassCodelet *codelet,
                                gboolean can_run);
gboolean hass_graph_refuse_for_cores (HassGraph *graph,
                                      const HassCodeletState *codelet);
/* Returns: TRUE if the cost of a task is finite and not negative. */
static inline gboolean
hass_work_is_valid (double work)
{
  return work >= 0 && work <= G_MAXDOUBLE;
}

gboolean hass_graph_refuse_task (HassGraph *graph,
                                 const HassCodeletState *codelet, guint n,
                                 const HassTaskHints *hints);
void hass_graph_note_internal (HassGraph *graph);
guint64 hass_graph_number (HassGraph *graph, guint64 number);

/* forget.c: the submitting thread. */
void hass_data_drop_copies (HassData *data, guint n_workers);
void hass_data_drop_places (HassData *data);
void hass_data_free (gpointer data);
void hass_graph_sweep (HassGraph *graph);

/* Returns: TRUE if the calling thread may use the graph and it is not being
   stopped. Inline, as it runs for every task. */
static inline gboolean
hass_graph_may (HassGraph *graph, const char *function)
{
  return G_LIKELY (graph && pthread_equal (pthread_self (), graph->owner)
                   && graph->building && graph->job
                   && !hass_job_must_stop (graph->job))
         || hass_graph_may_not (graph, function);
}

/* heap.c: under the lock of the heap's owner. */
void hass_heap_push (GArray *heap, const HassRanked *task);
void hass_heap_remove (GArray *heap, guint i);

/* ready.c: the worker's thread, or one that is no core's. */
void hass_task_to_cores (HassGraph *graph, guint worker, HassGraphTask *task);
gboolean hass_task_queue_init (HassTaskQueue *queue, guint64 most);
gboolean hass_task_is_ranked (const HassGraph *graph,
                              const HassGraphTask *task);
guint hass_ready_take (HassGraph *graph, guint worker, guint32 *tasks);
gboolean hass_ready_any (HassGraph *graph);

/* tell.c */
void hass_graph_listen (HassGraph *graph);
/* @node: number of the task, those of the library counted. Only if
   HassGraph.tells. */
void hass_graph_tell_submitted (HassGraph *graph, HassGraphTask *task,
                                guint64 node);
void hass_graph_tell_computed (HassGraph *graph, const HassComputed *fact);
/* Returns: what HassGraph.lasts gets for the tasks that the end of this one
   makes ready; without such a table 0. The task's slot is still its own. */
guint64 hass_task_as_last (HassGraph *graph, const HassGraphTask *task);
/* Notes that the end of @before has made a task ready. There is a table. */
void hass_graph_note_last (HassGraph *graph, const HassGraphTask *task,
                           const HassGraphTask *before);

/* idle.c: the thread that has the worker's seat. */
void hass_graph_idle (HassGraph *graph, guint worker);
void hass_graph_busy (HassGraphWorker *worker, gint64 now_ns);

/* graph_report.c: the thread that called, when all others have left; progress
   by any. */
void hass_graph_finish (HassJob *job);
HassCodeletCount hass_graph_count (const HassGraph *graph, guint codelet);
void hass_graph_report (HassJob *job, HassReport *report);
void hass_graph_progress (HassJob *job, HassProgressInfo *info);
HassRest hass_graph_rest (HassJob *job, guint device);

/* profiled.c: the submitting thread; the thread that called. */
void hass_codelet_recall (const HassGraph *graph, HassCodeletState *codelet,
                          double work);
void hass_graph_recall_all (const HassGraph *graph);
/* The first task of a codelet, with accesses that are right, is submitted. */
void hass_codelet_begin (const HassGraph *graph, HassCodeletState *codelet,
                         const HassAccess *accesses, guint n);
void hass_graph_store (HassJob *job, gint64 makespan_ns);

/* place.c: any thread; @worker: its own. */
void hass_task_ready (HassGraph *graph, guint worker, HassGraphTask *task);
guint hass_graph_find (HassGraph *graph, guint worker, guint32 *tasks);
gboolean hass_graph_any (HassGraph *graph);

/* left.c: the worker's thread; the calling thread. */
void hass_graph_set_busy (HassGraph *graph, guint worker, gboolean busy);
void hass_graph_found_none (HassGraph *graph, guint worker);
void hass_graph_look_left (HassGraph *graph);

/* outlook.c: the calling thread, while no task runs. */
void hass_outlook_forget (HassGraph *graph);

/* failure.c */
guint64 hass_task_number (HassGraph *graph, const HassGraphTask *task);
guint hass_task_is_poisoned (HassGraphTask *task);
void hass_task_mark (HassGraphTask *task, guint cause);
guint hass_task_note_failure (HassGraph *graph, HassGraphTask *task,
                              GError *error);
void hass_task_note_poisoned (HassGraph *graph, HassGraphTask *task,
                              guint cause);

/* end.c: what a core has in hand. */
typedef struct
{
  HassGraphTask *own; /* a task that it has made ready and computes next */
  guint n_given;      /* tasks that it has made ready for any core */
} HassHand;

void hass_task_end_accesses (HassGraph *graph, guint worker,
                             HassGraphTask *task, HassHand *hand);
void hass_task_say_ended (HassGraphWorker *worker);
gboolean hass_task_close_outputs (HassGraph *graph, HassGraphTask *task,
                                  GPtrArray *woken);
/* @last: hass_task_as_last() of the task that they waited for. */
void hass_task_count_down (HassGraph *graph, guint worker,
                           const GPtrArray *woken, guint64 last);
void hass_task_end (HassGraph *graph, guint worker, HassGraphTask *task);

/* run.c: the worker's thread; copies: the submitting one, or a task that has
   the datum to itself. */
void hass_data_free_copies (HassData *data, guint n_workers);
/* Computes a task that may begin, and measures it if those since the last
   measured one have taken long enough. @now: the time, or 0. Returns: the time,
   or 0. */
gint64 hass_task_run_measured (HassGraph *graph, HassWorker *worker,
                               HassGraphTask *task, HassHand *hand, gint64 now);
gboolean hass_graph_work (HassJob *job, HassWorker *worker);
double hass_task_cost (const HassGraph *graph, HassGraphTask *task);

/* Returns: TRUE if the submitting thread had better compute a task itself that
   may begin: it is short, or there is no other core, unless priorities decide.
 */
static inline gboolean
hass_task_suits_at_once (const HassGraph *graph, const HassGraphTask *task)
{
  gboolean is_short = hass_codelet_is_short (task->codelet);
  if (!is_short && (graph->n_queues > 1 || hass_task_is_ranked (graph, task)))
    return FALSE;
  return !graph->placing && !graph->modelled
         && !(task->flags & HASS_TASK_LOCKS);
}

/* at_once.c: the submitting thread. */
void hass_task_run_at_once (HassGraph *graph, HassGraphTask *task);
void hass_graph_catch_up (HassGraph *graph);
gboolean hass_graph_suits_in_order (HassGraph *graph);
guint32 hass_graph_run_in_order (HassGraph *graph, guint32 n_tasks);

/* wait.c: the submitting thread, but the first one by any. */
gboolean hass_graph_drained (const HassGraph *graph);
gboolean hass_graph_has_room (HassJob *job);
gboolean hass_graph_await (HassGraph *graph, HassGraphWait what,
                           const HassData *data);
void hass_graph_retire (HassGraph *graph);
gboolean hass_graph_all_over (const HassGraph *graph, const HassData *data);

/* submit.c: the submitting thread. */
gboolean hass_graph_merge (HassGraph *graph, HassData *data);
gboolean hass_graph_merge_all (HassGraph *graph);

#endif
