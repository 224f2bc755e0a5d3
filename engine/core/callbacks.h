/* SPDX-License-Identifier: MIT */
/* hass/callbacks.h: the callbacks that a user writes, and the functions that
   they may call.

   A callback gets the user's pointer last and fails by returning FALSE with
   @error set. A callback that sets @error has failed whatever it returns. The
   farm's error has the domain and code of the callback's error; its message
   names the farm and the load first. A callback that fails without an error
   gets the code of HassError for its kind: GENERATOR, WORKER (CPU and GPU
   workers, gpu_result), PARTITION, BUNDLE or COLLECTOR. A GPU worker, bundler
   or unbundler that fails makes its bundle fail, not the farm; the farm fails
   with its error only if no other device can run the loads.

   Each type below says which thread runs the callback and whether it may block.
   In a callback, starting or running a farm and recording a graph are
   HASS_ERROR_MISUSE.

   An emitter is valid in its generator, a worker in the callback that got it,
   on the thread of that callback. Results and loads emitted from elsewhere stop
   the farm with HASS_ERROR_MISUSE. The emitter or worker of a farm that has
   ended does nothing; if a callback of another farm uses it, that farm stops,
   and outside of callbacks it is reported by g_warning(). Not detected are a
   call made while its farm is just ending, and one with an emitter or worker
   that a later farm has got again, at the same address. */
#ifndef HASS_CALLBACKS_H
#define HASS_CALLBACKS_H

#include <glib.h>
#include <hass/device.h>
#include <hass/error.h>
#include <hass/load.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

/* Declared here, since files are compiled faster without <gio/gio.h>. */
struct _GCancellable;
typedef struct _HassEmitter HassEmitter;
typedef struct _HassWorker HassWorker;

/* -- Generating --------------------------------------------------------- */

/**
 * HassGenerateFunc: emits the loads of a farm and returns TRUE.
 *
 * Runs once, on the thread that called the farm. It may block, and it may run
 * for an unlimited time: hass_emitter_emit() waits while the pool is full, and
 * runs CPU workers on this thread meanwhile. So the generator must not hold a
 * lock during that call that a worker takes. If it returns FALSE, the farm ends
 * by its error policy: HASS_ON_ERROR_STOP lists what is not finished,
 * HASS_ON_ERROR_CONTINUE finishes what was emitted.
 *
 * A farm returns after its generator, and nothing wakes a generator that waits
 * in a call of its own, such as read(): neither a deadline nor a cancellation.
 * It should wait for some ms at a time, as poll() does with a time limit, and
 * return once hass_emitter_stopping() is TRUE. A farm whose generator returns
 * after the deadline fails by it, even if all loads are computed.
 */
typedef gboolean (*HassGenerateFunc) (HassEmitter *emitter, gpointer user_data,
                                      GError **error);

/**
 * hass_emitter_emit:
 * @load: copied; #HassLoad says who owns its memory.
 *
 * Puts a load into the load pool of a data farm; blocks while the pool is full.
 * Only on the generator's thread, until the generator returns. In a function
 * farm it is HASS_ERROR_MISUSE.
 *
 * Returns: TRUE; or FALSE if the load was not accepted, because the farm is
 * stopping (cancelled, past its deadline, failed) or because of misuse. The
 * farm's error says which. The generator should then return. A divisible load
 * that cannot be divided is accepted and later listed as unfinished.
 */
gboolean hass_emitter_emit (HassEmitter *emitter, const HassLoad *load);

/**
 * hass_emitter_emit_array:
 * @loads: [@n_loads], not copied: must stay valid until the farm ends.
 * @n_loads: number of loads.
 *
 * Puts loads into the pool, in order and as a round of their own. The bounds of
 * the pool do not apply. Thread and return value as for hass_emitter_emit().
 */
gboolean hass_emitter_emit_array (HassEmitter *emitter, const HassLoad *loads,
                                  gsize n_loads);

/**
 * hass_emitter_buffer:
 * @bytes: size.
 *
 * Gets a buffer for the inputs of loads with HASS_LOAD_BUFFER. Thread as for
 * hass_emitter_emit().
 *
 * Returns: host memory [@bytes], aligned to 64 bytes, not cleared; NULL if
 * memory is insufficient, which stops the farm, or on misuse. Owned by the
 * library, which recycles it: valid until the last load with an input in it is
 * finished, or until the farm ends if there is no such load.
 */
gpointer hass_emitter_buffer (HassEmitter *emitter, gsize bytes);

/* Returns: TRUE if the farm is stopping (cancelled, past its deadline, failed)
   and the generator should return. On the generator's thread. */
gboolean hass_emitter_stopping (HassEmitter *emitter);

/* -- Partitioning and bundling ------------------------------------------ */

/**
 * HassPartitionFunc: cuts a block from a divisible load (the partitioner of
 * Zhang 2011, section 3.4.2).
 * @first: first element of the block.
 * @count: suggested number of elements: the block size of the farm, or the
 *   remaining elements of the load.
 * @block: filled in with the default slice [@first, @first + @count).
 *
 * May change @block->count, within 1 and the remaining elements, and the
 * pointers and sizes. Blocks must tile the load: a changed first element, an
 * empty block or one past the end of the load is HASS_ERROR_PARTITION. Runs on
 * one thread before the load's round begins, under the farm's decision lock;
 * it should not block.
 */
typedef gboolean (*HassPartitionFunc) (const HassLoad *load, gsize first,
                                       gsize count, HassBlock *block,
                                       gpointer user_data, GError **error);

/**
 * HassReleaseFunc: the library no longer uses a load and its memory.
 * @committed: TRUE: the load was computed and its results were delivered, or
 *   refused by a collector that failed. FALSE: it is listed as unfinished.
 *
 * Called exactly once for each accepted load, also in a farm that stops. On any
 * thread; should not block.
 */
typedef void (*HassReleaseFunc) (const HassLoad *load, gboolean committed,
                                 gpointer user_data);

/* -- Computing ---------------------------------------------------------- */

/**
 * HassCpuWorkerFunc: computes one unit on a core.
 * @block: the load or block; several adjacent blocks of a divisible load may
 *   come as one if the default partitioner cut them.
 *
 * Runs on all cores concurrently. It may block, which leaves a core idle. It
 * may call the hass_worker functions with its own @worker. When it fails, the
 * results and loads that it emitted for this unit are discarded.
 */
typedef gboolean (*HassCpuWorkerFunc) (const HassBlock *block,
                                       HassWorker *worker, gpointer user_data,
                                       GError **error);

/* Returns: the index of the worker, one for each core and one for each other
   device, that runs the callback: at least 0 and below hass_worker_count(). No
   two callbacks run concurrently with the same index. */
guint hass_worker_index (const HassWorker *worker);
guint hass_worker_count (const HassWorker *worker);

/**
 * hass_worker_result:
 * @data: [@bytes], copied.
 * @bytes: size.
 *
 * Emits a result of the current unit. A unit may emit any number of results;
 * they keep their order and reach the collector when the unit is committed.
 *
 * Returns: TRUE; or FALSE on misuse, for instance in a farm without a
 * collector: the farm then stops with HASS_ERROR_MISUSE.
 */
gboolean hass_worker_result (HassWorker *worker, gconstpointer data,
                             gsize bytes);

/**
 * hass_worker_emit:
 * @load: copied.
 *
 * Emits a new load of the same data farm (nested generation). The load waits
 * outside the bounded pool, so the call never blocks, and enters a later round
 * once the current unit is committed. In a function farm, in the dry run of a
 * partition farm and in a pipeline, whose stages call hass_token_emit(), it is
 * HASS_ERROR_MISUSE.
 *
 * Returns: TRUE; or FALSE on misuse, if memory is insufficient, or after 2^31
 * loads from one pull or bundle: the farm then stops with HASS_ERROR_MISUSE,
 * HASS_ERROR_NO_MEMORY or HASS_ERROR_OVERFLOW.
 */
gboolean hass_worker_emit (HassWorker *worker, const HassLoad *load);

/**
 * hass_worker_accumulator:
 *
 * Returns: the accumulator [accumulator_bytes] of this worker, initially zero
 * or set by reduce_init; NULL without a reduce function. A unit that fails must
 * leave it unchanged, so update it last.
 */
gpointer hass_worker_accumulator (HassWorker *worker);

/* Returns: the farm constant at @index in host memory; NULL past the last. */
gconstpointer hass_worker_constant (const HassWorker *worker, guint index);

/**
 * hass_worker_stopping:
 *
 * For units that take long: whether the callback may fail early, which then is
 * no failure. It should ask as often as it can without taking longer, about
 * each 100 us. A worker that asks makes mistakes of the scheduler cheap: where
 * a unit turns out to take a core longer than another device, it is taken from
 * the core, and what the callback has emitted for it is dropped. Its output
 * may be written in part, as by a worker that fails; an accumulator must be
 * unchanged.
 *
 * Returns: TRUE if the farm is stopping; if another device is to compute the
 * unit; or if one has computed the token of a pure stage.
 */
gboolean hass_worker_stopping (const HassWorker *worker);

/**
 * HassLoopFunc: the body of a nested loop, for iterations
 * [@first, @first + @count).
 * @worker: valid for hass_worker_stopping(), hass_worker_constant(),
 *   hass_worker_count(), hass_worker_index() (that of the unit, on all
 *   threads) and hass_worker_parallel_for(). It has no accumulator (NULL).
 *   Emitting a result, a load or a task with it stops the farm with
 *   HASS_ERROR_MISUSE; the unit emits them after the loop.
 *
 * Runs on any threads of the pool, concurrently. May block. A body that fails
 * ends the loop; without an error set that is HASS_ERROR_WORKER.
 */
typedef gboolean (*HassLoopFunc) (gsize first, gsize count, HassWorker *worker,
                                  gpointer user_data, GError **error);

/**
 * hass_worker_parallel_for:
 * @n: number of iterations.
 * @grain: minimum number of iterations a call; 0: chosen by the library.
 * @body: called for disjoint ranges that cover [0, @n).
 * @user_data: passed to @body.
 *
 * Runs @body on idle cores of the pool and on this one, and returns when all
 * calls have ended. For farms with few, long units. The loop does not end by
 * itself when the farm is stopping; the body may check and fail.
 *
 * Returns: TRUE; or FALSE with the error of the body that failed first. After
 * that no further call was begun.
 */
gboolean hass_worker_parallel_for (HassWorker *worker, gsize n, gsize grain,
                                   HassLoopFunc body, gpointer user_data,
                                   GError **error);

/* -- Results ------------------------------------------------------------ */

/**
 * HassResult: a result, as the collector gets it.
 * @seq: sequence number of its load.
 * @tag: tag of its load.
 * @first, @count: elements of its block.
 * @data: [@bytes], valid during the call: the bytes of hass_worker_result(); or
 *   the output of the unit, if it has one and the worker emitted no result.
 * @bytes: size of @data.
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
 * Runs on any thread of the farm, one call at a time. May block: results then
 * queue up to a bound, after which the workers wait. A failure stops the farm.
 */
typedef gboolean (*HassCollectFunc) (const HassResult *result,
                                     gpointer user_data, GError **error);

/**
 * HassGpuResultFunc: takes the results of a GPU worker for one block, when its
 * outputs are back in host memory.
 * @records: [@n_records] records, results of gpu_record_bytes each that the
 *   kernels have emitted for the block, in any order, valid during the call.
 * @n_records: may be 0.
 *
 * Called for each block of a bundle, on the proxy thread of the device (the
 * thread that submits bundles to it), which submits nothing meanwhile; so the
 * callback should return soon. Adjacent blocks of a divisible load come as one
 * if the default partitioner cut them. The callback may call the hass_worker
 * functions as a CPU worker does. When it fails, the units of the block fail as
 * if a CPU worker had failed: their results are discarded, and the farm goes on
 * or stops by its error policy.
 */
typedef gboolean (*HassGpuResultFunc) (const HassBlock *block,
                                       gconstpointer records, gsize n_records,
                                       HassWorker *worker, gpointer user_data,
                                       GError **error);

/**
 * HassReduceFunc: merges @part into @accumulator. Must be associative, but not
 * commutative: @part always belongs to later workers than @accumulator.
 *
 * When the farm ends, also when it stops, neighbours in the order of worker
 * indices are merged, then neighbours of the results, and so on; finally the
 * first accumulator is merged into the user's. Which accumulators are merged
 * depends on the number of workers only. Runs on the calling thread, or, where
 * a merge takes long, on several cores concurrently, on different accumulators.
 * Also runs on the proxy thread of a device, which merges the accumulator of
 * each bundle into its own.
 */
typedef void (*HassReduceFunc) (gpointer accumulator, gconstpointer part,
                                gpointer user_data);

/* HassReduceInitFunc: sets a new accumulator to the neutral element. Runs on
   the calling thread. */
typedef void (*HassReduceInitFunc) (gpointer accumulator, gpointer user_data);

/**
 * HassReduceClearFunc: frees what an accumulator owns, but not the accumulator.
 *
 * Called exactly once for each accumulator that the library initialised: that
 * of each worker, after it was merged or when the farm has failed, and that of
 * each device if there is a reduce_init. The accumulators of bundles are byte
 * copies of the latter and are not cleared, nor is the user's. Runs on several
 * cores concurrently.
 */
typedef void (*HassReduceClearFunc) (gpointer accumulator, gpointer user_data);

/**
 * HassResultOrder: the order in which the collector gets results.
 * @HASS_RESULTS_UNORDERED: order of completion.
 * @HASS_RESULTS_ORDERED: order of sequence numbers, then of blocks.
 */
typedef enum
{
  HASS_RESULTS_UNORDERED,
  HASS_RESULTS_ORDERED
} HassResultOrder;

/* -- Running ------------------------------------------------------------ */

/**
 * HassErrorPolicy: what a failed unit does to its farm.
 * @HASS_ON_ERROR_STOP: the first failure ends the farm.
 * @HASS_ON_ERROR_CONTINUE: the report lists failed units; all others are
 *   computed.
 */
typedef enum
{
  HASS_ON_ERROR_STOP,
  HASS_ON_ERROR_CONTINUE
} HassErrorPolicy;

/**
 * HassProgressInfo: the state of a running farm.
 * @elapsed_s: time since its beginning, in s.
 * @loads_emitted, @units_done, @bytes_done: totals so far. Loads and units of a
 *   dataflow are its tasks; their bytes are not counted. Units of a pipeline
 *   are its tokens that have left it, through the last stage, dropped or
 *   failed, and count once whatever the number of stages; the parts of a token
 *   count in its place, so compare @loads_done, not units, with @loads_total.
 * @generated: the generator has returned; only nested loads may follow.
 * @loads_done: of a pipeline: loads of which no token is in flight any more; of
 *   a dataflow: tasks that have ended; else 0.
 * @loads_total: of a pipeline: number of all loads, as far as it is known
 *   (HassRunOptions.loads_expected); of a dataflow: of all tasks, known when
 *   the build callback has returned, or of a recorded graph, of all its runs;
 *   else 0.
 * @loads_per_s: of both: mean of the rate, recent times weigh more; 0: no load
 *   is done yet.
 * @left_s: of both: (@loads_total - @loads_done) / @loads_per_s; -1: unknown.
 */
typedef struct
{
  double elapsed_s;
  guint64 loads_emitted;
  guint64 units_done;
  guint64 bytes_done;
  gboolean generated;
  guint64 loads_done, loads_total;
  double loads_per_s, left_s;
} HassProgressInfo;

/* HassProgressFunc: called every progress_interval_ms of HassRunOptions on a
   thread of its own. It must not call functions of this library. */
typedef void (*HassProgressFunc) (const HassProgressInfo *info,
                                  gpointer user_data);

/**
 * HassRunOptions: how a farm runs. Zero is the default of each option. Options
 * given here take precedence over environment variables.
 * @strategy: "name" or "name:key=value,..."; NULL: the first of HASS_STRATEGY
 *   that serves the farm, else the default of the farm's kind and cost class.
 * @platform: platform file, or the name of an installed one ("thesis"): the
 *   farm runs on that modelled machine in virtual time. NULL: HASS_PLATFORM,
 *   else the real machine.
 * @dry: virtual time only: workers are not called.
 * @seed: seed of the modelled noise.
 * @n_cores: number of cores of the real machine; 0: HASS_NCPU, else as the
 *   affinity mask and the cgroup allow.
 * @on_error: error policy.
 * @cancellable: a GCancellable of <gio/gio.h>, which stops the farm when it is
 *   cancelled; not owned; or NULL.
 * @deadline_ms: the farm stops this many ms after its beginning; 0: never. It
 *   returns when the callbacks that run then have returned.
 * @progress: called at intervals; not in virtual time; or NULL.
 * @progress_data: last argument of @progress.
 * @progress_interval_ms: in ms; 0: 200.
 * @trace: file that gets one line of JSON an event; NULL: HASS_TRACE.
 * @devices: [@n_devices] devices besides the CPU pool and the devices of the
 *   machine; not owned. A device whose kind is neither registered nor named in
 *   the workers of the farm stands in for the GPUs of the machine: it runs the
 *   GPU worker, and the GPUs do not participate.
 * @n_devices: number of devices.
 * @n_gpus: maximum number of devices of the machine besides the CPU pool, GPUs
 *   first; -1: none, so that only @devices participate; 0: HASS_NGPU GPUs, else
 *   all, and all devices of other kinds that HASS_DEVICES allows. A modelled
 *   machine has the GPUs of its platform file, whatever this says.
 * @bundle_deadline_ms: a GPU that takes longer for a bundle is given up, and
 *   the bundle runs on another device; in ms; 0: unlimited. Gathering inputs
 *   and waiting for the bundles before it do not count. Devices of other kinds
 *   keep it only if they look at it themselves.
 * @record: file that gets the cost of each unit, for hass-sim --replay; NULL:
 *   HASS_RECORD.
 * @explain: file to which the strategy's explanation of its decisions is
 *   appended, "-": stderr; NULL: HASS_EXPLAIN. Not all strategies explain.
 * @loads_expected: number of loads that a pipeline's generator will emit, or an
 *   estimate of it; 0: unknown. Elsewhere HASS_ERROR_INVALID. For
 *   HassProgressInfo, and for the decision whether a further GPU is started,
 *   which holds up the others: until more loads have come, it is started only
 *   if what is left will take the others twice as long as a start. If the
 *   number is too small, it counts as unknown from then on; if too large, a
 *   GPU may be started in vain.
 * @reserved: zero, else HASS_ERROR_INVALID; for later versions. The struct
 *   keeps its size, since it is embedded in the farms.
 */
typedef struct
{
  const char *strategy;
  const char *platform;
  gboolean dry;
  guint64 seed;
  guint n_cores;
  HassErrorPolicy on_error;
  struct _GCancellable *cancellable;
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
  guint64 loads_expected;
  gpointer reserved[7];
} HassRunOptions;

HASS_END_DECLS

#endif
