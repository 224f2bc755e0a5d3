/* SPDX-License-Identifier: MIT */
/* hass/codelet.h: codelets, data and tasks of a dataflow.
   Thread safety: the hass_graph functions belong to the build callback of the
   graph, on its thread. */
#ifndef HASS_CODELET_H
#define HASS_CODELET_H

#include <hass/callbacks.h>

HASS_BEGIN_DECLS

/* A graph that is being built and runs, and a datum of it: memory that tasks
   access. Both belong to the library. */
typedef struct HassGraph HassGraph;
typedef struct HassData HassData;

/**
 * HassAccessMode: what a task does with a datum.
 * @HASS_READ: reads it. Tasks that read run concurrently.
 * @HASS_WRITE: writes it whole, and does not read what was there.
 * @HASS_UPDATE: reads and writes it.
 * @HASS_COMMUTE: as UPDATE, but consecutive COMMUTE tasks run in any order, one
 *   at a time.
 * @HASS_REDUCE: adds to it: consecutive REDUCE tasks run concurrently, each on
 *   a private copy of the worker, which begins as the init function of
 *   hass_graph_reduction() says. The copies are merged into the datum before
 *   the next access of another mode. In which order they are merged is
 *   undefined.
 */
typedef enum
{
  HASS_READ,
  HASS_WRITE,
  HASS_UPDATE,
  HASS_COMMUTE,
  HASS_REDUCE
} HassAccessMode;

/**
 * HassDataView: where a datum lies: [@rows][@row_bytes], rows @pitch bytes
 * apart.
 * @data: address of the first row; NULL: the datum has no bytes.
 */
typedef struct
{
  gpointer data;
  gsize row_bytes, rows, pitch;
} HassDataView;

/**
 * HassCall: one execution of a task; valid during the call.
 * @views: [@n_views] the data of the task's accesses, in their order.
 * @arguments: the library's copy of HassTask arguments; NULL: none.
 * @user_data: HassCodelet.user_data.
 */
typedef struct
{
  const HassDataView *views;
  guint n_views;
  gconstpointer arguments;
  gpointer user_data;
} HassCall;

/**
 * HassCodeletFunc: computes a task on a core.
 *
 * Runs concurrently with other tasks on all cores, never with one that the
 * accesses exclude. If the data that it has changed are lost with a device, the
 * task runs again, on the data as they were. It may block, which leaves the
 * core idle, and may call hass_worker_parallel_for(). If it fails, what it has
 * an access to other than READ is invalid; see HassDataflow.
 */
typedef gboolean (*HassCodeletFunc) (const HassCall *call, HassWorker *worker,
                                     GError **error);

/**
 * HassCodeletGpuFunc: enqueues the kernels of tasks on @stream.
 * @calls: [@n_calls], at most HassCodelet.gpu_most: tasks that may run
 *   concurrently. Their views have device addresses, and rows are adjacent.
 *
 * It must return without waiting for the kernels. Runs on the proxy thread of
 * the device, which has made the device current, and may run again for the same
 * tasks. If it or a kernel fails, the tasks run on another device or on cores;
 * if none is left, they fail, with its error.
 */
typedef gboolean (*HassCodeletGpuFunc) (const HassCall *calls, guint n_calls,
                                        HassGpuStream *stream, GError **error);

/**
 * HassKindCodelet: the function of a codelet for devices of one kind.
 * @kind: name of the kind; NULL ends an array.
 *
 * The struct is frozen.
 */
typedef struct
{
  const char *kind;
  HassCodeletGpuFunc func;
} HassKindCodelet;

/**
 * HassCodelet: a function that tasks execute. Start from HASS_CODELET_INIT;
 * must stay valid until the dataflow has ended.
 * @struct_size: set by the initialiser; the struct may end after @cpu.
 * @name: in messages and reports; NULL: "codelet 1", "codelet 2", ... in the
 *   order of their first tasks.
 * @cpu: computes a task on a core; NULL: cores cannot.
 * @user_data: HassCall.user_data; NULL: that of the dataflow.
 * @gpu: enqueues tasks on a GPU; NULL: GPUs cannot. Tasks with COMMUTE or
 *   REDUCE accesses run on cores all the same.
 * @gpu_most: most tasks of a call of @gpu; 0: 1.
 * @kinds: (nullable): [] functions for devices of other kinds.
 */
typedef struct
{
  gsize struct_size;
  const char *name;
  HassCodeletFunc cpu;
  gpointer user_data;
  HassCodeletGpuFunc gpu;
  guint gpu_most;
  const HassKindCodelet *kinds;
} HassCodelet;

/**
 * HassAccess: one datum that a task accesses, and how.
 */
typedef struct
{
  HassData *data;
  HassAccessMode mode;
} HassAccess;

/**
 * HassTaskHints: what else belongs to a task; all zero: nothing.
 * @arguments: [@argument_bytes] copied.
 * @priority: of the tasks that are ready, those with the highest priority begin
 *   first. Exact for tasks of about 2.5 us a core and more (40 us on 16 cores);
 *   shorter ones begin in the order in which they became ready, as a queue by
 *   priority would cost more than they do.
 * @work: what the task costs, in any unit that is the same for all tasks of its
 *   codelet, such as floating-point operations; 0: unknown, taken as the bytes
 *   of its data. In virtual time the unit is that of the platform's rates.
 *   Below 0 or not finite is HASS_ERROR_INVALID.
 */
typedef struct
{
  gconstpointer arguments;
  gsize argument_bytes;
  gint32 priority;
  double work;
} HassTaskHints;

/**
 * hass_graph_data:
 * @host: [@rows][@row_bytes], rows @pitch bytes apart; stays the user's, and
 *   must stay valid until the dataflow has ended. It may not overlap another
 *   datum; tiles of one matrix, with the same pitch, do not overlap.
 * @pitch: 0: @row_bytes.
 *
 * Makes a datum of the user's memory, whose value is that at this moment.
 *
 * Returns: owned by the graph; NULL on misuse, which stops the dataflow with
 * HASS_ERROR_INVALID, or if the dataflow is stopping.
 */
HassData *hass_graph_data (HassGraph *graph, gpointer host, gsize row_bytes,
                           gsize rows, gsize pitch);

/**
 * hass_graph_scratch:
 * @bytes: 0: the datum has no bytes; it orders tasks that share no memory: what
 *   must be first WRITEs it, what must follow READs it.
 *
 * Makes a datum in memory of the library, aligned to 64 bytes, whose first task
 * must WRITE it (or REDUCE into it).
 *
 * Returns: as hass_graph_data().
 */
HassData *hass_graph_scratch (HassGraph *graph, gsize bytes);

/**
 * hass_graph_name:
 * @name: (nullable): copied; in messages. NULL: "datum 1", "datum 2", ...
 */
void hass_graph_name (HassGraph *graph, HassData *data, const char *name);

/**
 * HassMergeFunc: merges a private copy of a datum into the datum: for REDUCE.
 */
typedef void (*HassMergeFunc) (const HassDataView *into,
                               const HassDataView *copy, gpointer user_data);
/**
 * HassInitFunc: fills a private copy with the neutral value.
 */
typedef void (*HassInitFunc) (const HassDataView *copy, gpointer user_data);

/**
 * hass_graph_reduction:
 * @init: (nullable): fills a copy; NULL: copies begin with bytes of 0.
 * @merge: merges a copy, under no lock, one call at a time for this datum.
 *
 * Says how tasks reduce into a datum; before its first REDUCE access.
 */
void hass_graph_reduction (HassGraph *graph, HassData *data, HassInitFunc init,
                           HassMergeFunc merge, gpointer user_data);

/**
 * hass_graph_task:
 * @accesses: [@n_accesses] copied; at most 65535, each datum once. The views of
 *   the call have their order.
 * @hints: (nullable): see #HassTaskHints.
 *
 * Submits a task. It begins when the tasks that were submitted before it and
 * whose accesses it must follow have ended: a READ follows the last task that
 * wrote, a WRITE or UPDATE all tasks since then. So the values are those of the
 * program that executes each task at once. Blocks, and computes, while
 * HassDataflow.window tasks have not ended. May compute the task itself: where
 * there is one core, or if the codelet is known to take some 60 ns or less.
 *
 * Returns: TRUE; FALSE on misuse, which stops the dataflow with
 * HASS_ERROR_INVALID or HASS_ERROR_NO_DEVICE, or if the dataflow is stopping.
 */
gboolean hass_graph_task (HassGraph *graph, const HassCodelet *codelet,
                          const HassAccess *accesses, guint n_accesses,
                          const HassTaskHints *hints);

/**
 * hass_graph_wait:
 * @data: (nullable): NULL: all data.
 *
 * Waits, and computes, until all tasks submitted so far that access the datum
 * have ended. Its memory then has its value, and may be read and written until
 * the next task that accesses it is submitted.
 *
 * Returns: TRUE; FALSE if the value of @data is invalid since a task failed
 * (not looked at if it is NULL), if the dataflow is stopping, or on misuse:
 * while a graph is recorded.
 */
gboolean hass_graph_wait (HassGraph *graph, HassData *data);

/**
 * hass_graph_forget:
 * @data: not to be used any more. A scratch datum's memory is freed when its
 *   last task has ended; the user's memory may be freed after
 *   hass_graph_wait().
 */
void hass_graph_forget (HassGraph *graph, HassData *data);

HASS_END_DECLS

#endif
