/* SPDX-License-Identifier: MIT */
/* hass/callbacks.h: the functions that a user writes and what they may call.

   Each callback gets the user's pointer last and fails by returning FALSE
   with @error set. A callback that sets @error has failed, whatever it
   returns. The farm's error has the domain and code of the callback's own,
   and its message behind the names of farm and load; a callback that fails
   without an error gets the code of HassError that is named for it: GENERATOR,
   WORKER (CPU and GPU workers, gpu_result), PARTITION, BUNDLE or COLLECTOR.
   A GPU worker, bundler or unbundler that fails makes the bundle fail, not
   the farm; the farm has its error where no device is left for the loads.

   Which thread runs a callback and whether it may block is said at each. No
   callback may start or run a farm: that fails with HASS_ERROR_MISUSE.

   An emitter serves its generator, a worker the callback it was given to, on
   that thread. Results and loads from anywhere else stop the farm with
   HASS_ERROR_MISUSE. The emitter or worker of a farm that has ended does
   nothing: the farm stops in whose callback it is used; outside of any there
   is a warning (g_warning). A call that comes while its farm is just ending
   cannot be told. */
#ifndef HASS_CALLBACKS_H
#define HASS_CALLBACKS_H

#include <gio/gio.h>
#include <hass/device.h>
#include <hass/error.h>
#include <hass/load.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

typedef struct _HassEmitter HassEmitter;
typedef struct _HassWorker HassWorker;

/* -- Generating --------------------------------------------------------- */

/**
 * HassGenerateFunc: emits the farm's loads; ends by returning TRUE.
 *
 * Runs once, on the thread that called the farm. It may block. It may be
 * endless: when the pool is full, hass_emitter_emit() waits, and meanwhile
 * runs CPU workers on this thread, so hold no lock over it that a worker
 * takes. Returning FALSE ends the farm by its error policy: STOP names what
 * is not finished, CONTINUE finishes what was emitted.
 */
typedef gboolean (*HassGenerateFunc) (HassEmitter *emitter, gpointer user_data,
                                      GError **error);

/**
 * hass_emitter_emit:
 * @load: copied; see #HassLoad for who owns its bytes.
 *
 * Puts a load into the pool. Waits while the pool is full. Only on the
 * generator's thread, only until the generator returns. For data farms: in a
 * function farm it is HASS_ERROR_MISUSE.
 *
 * Returns: FALSE when the load was not accepted: the farm is stopping
 * (cancelled, past its deadline, failed) or the call is misuse; the farm's
 * error says which. The generator should then return. A divisible load that
 * cannot be cut is accepted and then listed as unfinished.
 */
gboolean hass_emitter_emit (HassEmitter *emitter, const HassLoad *load);

/**
 * hass_emitter_emit_array:
 * @loads: [@n_loads], not copied: must stay valid until the farm ends.
 *
 * Puts many loads into the pool at once, in order, as a round of their own.
 * Neither bound of the pool applies to them. Threads and return as for
 * hass_emitter_emit().
 */
gboolean hass_emitter_emit_array (HassEmitter *emitter, const HassLoad *loads,
                                  gsize n_loads);

/**
 * hass_emitter_buffer:
 *
 * Returns: @bytes of host memory, aligned to 64 bytes, recycled from loads
 * that are finished; NULL: there is too little memory, and the farm stops, or
 * the call is misuse. The library's: valid until the last load that claims it
 * (HASS_LOAD_BUFFER) is finished; a buffer that none claims, until the farm
 * ends. Same thread rules as hass_emitter_emit().
 */
gpointer hass_emitter_buffer (HassEmitter *emitter, gsize bytes);

/* TRUE when the farm is stopping and the generator should return. */
gboolean hass_emitter_stopping (HassEmitter *emitter);

/* -- Partitioning and bundling ------------------------------------------ */

/**
 * HassPartitionFunc: cuts a divisible load (Zhang 2011, 3.4.2, partitioner).
 * @first: first element of the block.
 * @count: elements suggested: the farm's block, or what is left.
 * @block: prefilled with the default slice [@first, @first + @count).
 *
 * May change @block->count to a nearby boundary, 1 <= count <= elements left,
 * and the pointers and byte counts. Blocks must tile the load: a changed
 * first, an empty block or one past the end is HASS_ERROR_PARTITION. Runs
 * before the load's round on one thread, must not block for long.
 */
typedef gboolean (*HassPartitionFunc) (const HassLoad *load, gsize first,
                                       gsize count, HassBlock *block,
                                       gpointer user_data, GError **error);

/**
 * HassReleaseFunc: the library no longer needs a load and its bytes.
 * @committed: it was computed and its results were delivered (or refused by a
 *   collector that failed); FALSE: it is among the report's unfinished loads.
 *
 * Called exactly once for each accepted load, on any thread, also for loads
 * of a farm that stopped. Must not block for long.
 */
typedef void (*HassReleaseFunc) (const HassLoad *load, gboolean committed,
                                 gpointer user_data);

/* -- Computing ---------------------------------------------------------- */

/**
 * HassCpuWorkerFunc: computes one unit on a core.
 * @block: the load or block; of a divisible load cut by the default
 *   partitioner it may be several adjacent blocks in one.
 *
 * Runs on any core, on many at once. May block, but a blocked core is a core
 * less. It may call the hass_worker functions with its own @worker. When it
 * fails, results and loads that it emitted for this unit are dropped.
 */
typedef gboolean (*HassCpuWorkerFunc) (const HassBlock *block,
                                       HassWorker *worker, gpointer user_data,
                                       GError **error);

/* Index of the core or bundle slot that runs this, 0 <= index <
   hass_worker_count(). Never two callbacks at once with the same index. */
guint hass_worker_index (const HassWorker *worker);
guint hass_worker_count (const HassWorker *worker);

/**
 * hass_worker_result:
 * @data: [@bytes], copied.
 *
 * Emits a result of the current unit; any number of them, in order. They
 * reach the collector when the unit is committed.
 */
gboolean hass_worker_result (HassWorker *worker, gconstpointer data,
                             gsize bytes);

/**
 * hass_worker_emit:
 * @load: copied.
 *
 * Emits a new load of the same farm (nested generation). It waits beside the
 * bounded pool, so this never blocks; it enters a later round, when the
 * current unit is committed. For data farms: in a function farm it is
 * HASS_ERROR_MISUSE. Not in a partition farm's dry run.
 */
gboolean hass_worker_emit (HassWorker *worker, const HassLoad *load);

/**
 * hass_worker_accumulator:
 *
 * Returns: this worker's accumulator [accumulator_bytes], zeroed or set by
 * the farm's init function; NULL without a reduce function. A unit that fails
 * must leave it as it was: update it last.
 */
gpointer hass_worker_accumulator (HassWorker *worker);

/* The farm constant at @index, in host memory; NULL past the last. */
gconstpointer hass_worker_constant (const HassWorker *worker, guint index);

/* TRUE when the farm is stopping: a long unit may fail early. */
gboolean hass_worker_stopping (const HassWorker *worker);

/**
 * HassLoopFunc: body of a nested loop over [@first, @first + @count).
 * @worker: the body's own, for what several threads may do at once:
 *   hass_worker_stopping(), hass_worker_constant(), hass_worker_count(),
 *   hass_worker_index(), which is the unit's on all threads, and
 *   hass_worker_parallel_for(). It has no accumulator (NULL), and emitting a
 *   result, a load or a task with it stops the farm with HASS_ERROR_MISUSE: the
 *   worker that runs the loop does that when the loop is over.
 *
 * Any thread of the pool, several at once. May block. A body that fails ends
 * the loop; without @error set that is HASS_ERROR_WORKER.
 */
typedef gboolean (*HassLoopFunc) (gsize first, gsize count, HassWorker *worker,
                                  gpointer user_data, GError **error);

/**
 * hass_worker_parallel_for:
 * @n: iterations.
 * @grain: at least so many at a time; 0: the library chooses.
 *
 * Runs @body over [0, @n) on idle cores of the pool and this one, and
 * returns when all is done. For units that are few and long. It does not end
 * by itself when the farm is stopping: the body may ask and fail.
 *
 * Returns: FALSE with the error of the body that failed first. Bodies that
 * were running then have ended, and no other was begun.
 */
gboolean hass_worker_parallel_for (HassWorker *worker, gsize n, gsize grain,
                                   HassLoopFunc body, gpointer user_data,
                                   GError **error);

/* -- Results ------------------------------------------------------------ */

/**
 * HassResult: what a collector gets.
 * @seq: of the load it came from; @tag: that load's tag.
 * @first, @count: elements of the block it came from.
 * @data: [@bytes], valid during the call: the bytes of hass_worker_result(),
 *   or the unit's output, when the load has output and the worker emitted
 *   no result for the unit.
 */
typedef struct
{
  guint64 seq;
  gpointer tag;
  gsize first;
  gsize count;
  gconstpointer data;
  gsize bytes;
} HassResult;

/**
 * HassCollectFunc: takes one result.
 *
 * One call at a time, on any of the farm's threads. May block; then results
 * queue up to a bound and the workers wait. Failing stops the farm.
 */
typedef gboolean (*HassCollectFunc) (const HassResult *result,
                                     gpointer user_data, GError **error);

/**
 * HassGpuResultFunc: takes what a GPU worker has left for one block, on the
 * host, when its outputs are back.
 * @records: [@n_records] records of the farm's gpu_record_bytes, as the
 *   worker appended them, in any order.
 *
 * Called for each block of a bundle, with or without records, on the
 * device's proxy thread; adjacent blocks of a divisible load cut by the
 * default partitioner are one. It may call the hass_worker functions, as a
 * CPU worker does, and should not take long: the device waits for it. When
 * it fails, the block's units fail as those of a CPU worker do.
 */
typedef gboolean (*HassGpuResultFunc) (const HassBlock *block,
                                       gconstpointer records, gsize n_records,
                                       HassWorker *worker, gpointer user_data,
                                       GError **error);

/**
 * HassReduceFunc: accumulates @part into @accumulator; associative, but it
 * need not be commutative: @part is always of later workers than
 * @accumulator.
 *
 * At the farm's end neighbours in the order of worker indices are merged, then
 * neighbours of these, and so on; at last the user's accumulator takes the
 * first, which holds all. So it runs once for each worker, also in a farm that
 * stopped. Which are merged depends on the number of workers alone. Where
 * merging takes long it runs on several cores at once, on different
 * accumulators; else on the calling thread. Besides it runs on a device's proxy
 * thread, from each bundle's accumulator into that of the proxy.
 */
typedef void (*HassReduceFunc) (gpointer accumulator, gconstpointer part,
                                gpointer user_data);

/* Sets a fresh accumulator to the neutral element; on the calling thread. */
typedef void (*HassReduceInitFunc) (gpointer accumulator, gpointer user_data);

/**
 * HassReduceClearFunc: frees what an accumulator owns, but not its own bytes.
 *
 * Called exactly once for each accumulator that the library has made: each
 * worker's, when it was merged into another or the farm has failed before that,
 * and, where there is a function that initialises them, one for each device, of
 * which its bundles' accumulators are copies by bytes. These copies and the
 * user's own accumulator are not cleared. On any core, on several at once.
 */
typedef void (*HassReduceClearFunc) (gpointer accumulator, gpointer user_data);

/**
 * HassResultOrder:
 * @HASS_RESULTS_UNORDERED: as they come.
 * @HASS_RESULTS_ORDERED: in order of sequence number, then of blocks.
 */
typedef enum
{
  HASS_RESULTS_UNORDERED,
  HASS_RESULTS_ORDERED
} HassResultOrder;

/* -- Running ------------------------------------------------------------ */

/* STOP: the first failure ends the farm. CONTINUE: failed units are listed
   in the report and the rest is computed. */
typedef enum
{
  HASS_ON_ERROR_STOP,
  HASS_ON_ERROR_CONTINUE
} HassErrorPolicy;

/**
 * HassProgressInfo: how far a running farm is.
 * @elapsed_s: since its begin, on the engine's clock.
 * @loads_emitted, @units_done, @bytes_done: so far.
 * @generated: the generator has returned, so nothing but nested loads comes.
 */
typedef struct
{
  double elapsed_s;
  guint64 loads_emitted;
  guint64 units_done;
  guint64 bytes_done;
  gboolean generated;
} HassProgressInfo;

/* Called every interval on a thread of its own; must not call hass. */
typedef void (*HassProgressFunc) (const HassProgressInfo *info,
                                  gpointer user_data);

/**
 * HassRunOptions: how a farm runs; zero is the sensible default everywhere.
 * @strategy: "name" or "name:key=value,..."; NULL: HASS_STRATEGY, else the
 *   default of the farm's kind and cost class.
 * @platform: platform file, or the name of one that is shipped ("thesis"):
 *   runs the farm on that modelled machine in virtual time; NULL:
 *   HASS_PLATFORM, else the real machine.
 * @dry: virtual time only: the workers are not called.
 * @seed: for the modelled noise.
 * @n_cores: so many cores of the real machine; 0: HASS_NCPU, else what the
 *   affinity mask and the cgroup allow.
 * @on_error: error policy.
 * @cancellable: stops the farm when cancelled; not owned.
 * @deadline_ms: the farm stops so long after its begin; 0: never.
 * @progress, @progress_data, @progress_interval_ms: 0 means 200 ms; not in
 *   virtual time.
 * @trace: file for a line of JSON per event; NULL: HASS_TRACE.
 * @devices: [@n_devices] devices beside the CPU pool and the devices of the
 *   machine; not owned. A device whose kind is neither registered nor named in
 *   the farm's workers stands in for the machine's GPUs: it runs the farm's
 *   GPU worker, and the GPUs are left out.
 * @n_gpus: at most so many devices of the machine, GPUs first, -1: none, so
 *   that only @devices are used; 0: HASS_NGPU GPUs at most, and all others.
 * @bundle_deadline_ms: a GPU that needs longer for a bundle is given up and
 *   the bundle runs elsewhere; 0: never.
 * @record: file for what every unit cost, for hass-sim --replay; NULL:
 *   HASS_RECORD.
 * @explain: file to which lines are added that say what the strategy decided
 *   and why, "-": stderr; NULL: HASS_EXPLAIN. Strategies that explain nothing
 *   write nothing.
 * @reserved: zero, else HASS_ERROR_INVALID; for later versions. The struct
 *   keeps its size, since fields of the farm follow it.
 */
typedef struct
{
  const char *strategy;
  const char *platform;
  gboolean dry;
  guint64 seed;
  guint n_cores;
  HassErrorPolicy on_error;
  GCancellable *cancellable;
  gint64 deadline_ms;
  HassProgressFunc progress;
  gpointer progress_data;
  guint progress_interval_ms;
  const char *trace;
  HassDevice *const *devices;
  guint n_devices;
  gint n_gpus;
  gint64 bundle_deadline_ms;
  const char *record;
  const char *explain;
  gpointer reserved[8];
} HassRunOptions;

HASS_END_DECLS

#endif
