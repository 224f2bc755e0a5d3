/* SPDX-License-Identifier: MIT */
/* hass/device.h: the interface of a device that gets bundles over a link.

   DESIGN. A device is a table of ops and an opaque state. The live engine
   runs one proxy thread for each device. The proxy asks the strategy for
   grants, passes bundles to submit() and awaits them in wait(). Several
   bundles may be in flight, so that copies overlap kernels. Inputs stay in
   host memory until their bundle is done: the units of a failed bundle are
   given back to the round and run on another device.

   Thread safety: submit, wait, open, close, opening_ns and unopened are called
   by the proxy thread of the device only; opening_ns also by another thread
   before there is one, describe by any thread before open.
   Any thread may cancel the cancellable that open gets. */
#ifndef HASS_DEVICE_H
#define HASS_DEVICE_H

#include <glib.h>
#include <hass/load.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

/* Declared here so that kernels need not include gio/gio.h. */
struct _GCancellable;
struct _HassDeviceDataOps;

/* The stream that a GPU worker enqueues on. Its type depends on the device;
   for CUDA see hass/cuda.h. */
typedef struct _HassGpuStream HassGpuStream;

/**
 * HassConstant: data that all units may read, such as a pattern or a matrix.
 * @data: host memory [@bytes], owned by the user, valid until the farm ends;
 *   copied once to each device.
 * @bytes: its size.
 *
 * The struct is frozen.
 */
typedef struct
{
  gconstpointer data;
  gsize bytes;
} HassConstant;

/**
 * HassRectangle: tiles of a bundle that form one array on the device, so that
 * one kernel can compute them and one copy fetches them.
 * @first_block: index of the first tile in the bundle.
 * @n_blocks: number of tiles.
 * @across: number of tiles side by side; the next @across tiles lie below.
 * @offset: offset of the first byte in #HassBundle.output.
 * @row_bytes: bytes in a row of the array; rows are adjacent.
 * @rows: number of rows.
 *
 * The struct is frozen.
 */
typedef struct
{
  gsize first_block, n_blocks;
  gsize across;
  gsize offset;
  gsize row_bytes, rows;
} HassRectangle;

/**
 * HassBundle: the blocks of one bundle, as a GPU worker gets them. A large
 * grant arrives as several bundles, so that copies overlap kernels. Adjacent
 * blocks of a divisible load arrive as one block if the default partitioner
 * cut them. All memory is owned by the library and valid until the bundle's
 * work on the stream is done.
 * @n_blocks: number of blocks.
 * @blocks: host memory [@n_blocks]: descriptors, whose pointers are to host
 *   memory. Of a bundle that passes several stages of a pipeline on the device,
 *   each worker gets the blocks of its stage: their sizes are those at this
 *   stage; their input is NULL if it is the output of a stage before, their
 *   output is NULL if it is not copied to the host.
 * @input: device pointer, aligned to 256 bytes. Block i, halos included,
 *   occupies @input + @offsets[i] up to @offsets[i + 1].
 * @offsets: device pointer [@n_blocks + 1], ascending; NULL if @n_blocks is 1.
 * @halos: device pointer [@n_blocks]: bytes of the halo before the first
 *   element of each block; NULL without halos or if @n_blocks is 1.
 * @input_start: bytes of the halo before the first element of block 0.
 * @input_bytes: size of all blocks, halos included.
 * @output: device pointer, aligned to 256 bytes. The output of block i begins
 *   at @output + @output_offsets[i]; rows of a tile are adjacent. Outputs are
 *   in the order of the blocks without gaps, so on the host the offset of
 *   block i is the sum of output_bytes of @blocks before it. With
 *   #HassDataFarm.join_tiles see @rectangles instead. The bytes are not
 *   cleared: they may be those of an earlier bundle or stage.
 * @output_offsets: device pointer [@n_blocks + 1]; NULL if @n_blocks is 1 or
 *   there is no output.
 * @output_bytes: size of all outputs.
 * @elements: device pointer [@n_blocks + 1]: number of elements of the bundle
 *   before block i; NULL if @n_blocks is 1.
 * @n_elements: number of elements of all blocks.
 * @functions: device pointer [@n_blocks]: #HassTask.gpu_function of each task;
 *   NULL outside function farms.
 * @accumulator: device pointer to a fresh accumulator of the farm, which is
 *   reduced into the farm's when the bundle is done; NULL without a reduce
 *   function.
 * @records: device pointer [@record_capacity * @record_bytes] to results of
 *   varying number; see hass_append() in hass/cuda_device.cuh.
 * @record_blocks: device pointer [@record_capacity]: the block of each record.
 * @n_records: device pointer to the number of records, initially 0. It may
 *   exceed the capacity: then the bundle is computed again with more room.
 * @record_capacity: number of records with room.
 * @record_bytes: size of a record.
 * @constants: host array [@n_constants] of device pointers.
 * @n_constants: number of constants.
 * @rectangles: host array [@n_rectangles]: the arrays that tiles of outputs
 *   form on the device; NULL if outputs are not tiles.
 * @n_rectangles: number of rectangles.
 * @output_pitches: device pointer [@n_blocks]: bytes from one row of block
 *   i's tile to the next; NULL if @n_blocks is 1 or rows are adjacent, as they
 *   are without #HassDataFarm.join_tiles.
 */
typedef struct
{
  gsize n_blocks;
  const HassBlock *blocks;
  const guint8 *input;
  const guint64 *offsets;
  const guint64 *halos;
  gsize input_start;
  gsize input_bytes;
  guint8 *output;
  const guint64 *output_offsets;
  gsize output_bytes;
  const guint64 *elements;
  guint64 n_elements;
  const guint32 *functions;
  gpointer accumulator;
  gpointer records;
  guint32 *record_blocks;
  guint64 *n_records;
  guint64 record_capacity;
  gsize record_bytes;
  const gpointer *constants;
  guint n_constants;
  const HassRectangle *rectangles;
  gsize n_rectangles;
  const guint64 *output_pitches;
} HassBundle;

/**
 * HassGpuWorkerFunc: enqueues the kernels of a bundle on @stream.
 *
 * It must return without waiting for them. Runs on the proxy thread of the
 * device, which has made the device current, and may run again for the same
 * bundle. If it returns FALSE with @error set, the units are given back to the
 * round.
 */
typedef gboolean (*HassGpuWorkerFunc) (const HassBundle *bundle,
                                       HassGpuStream *stream,
                                       gpointer user_data, GError **error);

/**
 * HassKindWorker: a worker for the devices of one kind.
 * @kind: name of the kind; NULL ends an array of workers.
 * @worker: computes bundles on devices of this kind. The kind defines what a
 *   #HassGpuStream is.
 *
 * The struct is frozen.
 */
typedef struct
{
  const char *kind;
  HassGpuWorkerFunc worker;
} HassKindWorker;

/**
 * HassStaging: pinned host memory for one bundle.
 * @data: [@capacity] bytes.
 * @capacity: size of @data.
 * @offsets: [n + 1]: block i occupies [offsets[i], offsets[i + 1]). A bundler
 *   of the farm gathers halos only if it chooses to.
 *
 * The struct is frozen.
 */
typedef struct
{
  guint8 *data;
  gsize capacity;
  guint64 *offsets;
} HassStaging;

/**
 * HassBundleFunc: gathers the inputs of @n blocks into @staging and sets its
 * offsets (the bundler of Zhang 2011, section 3.4.1). The default copies them
 * one after another. Offsets that do not ascend or exceed the capacity are
 * HASS_ERROR_BUNDLE. Runs on the proxy thread; may block, while the device
 * may idle.
 */
typedef gboolean (*HassBundleFunc) (const HassBlock *blocks, gsize n,
                                    HassStaging *staging, gpointer user_data,
                                    GError **error);

/**
 * HassUnbundleFunc: copies the outputs of @n blocks from @staging to their
 * places. The default copies the output of each block to HassBlock.output.
 * Runs on the proxy thread.
 */
typedef gboolean (*HassUnbundleFunc) (const HassBlock *blocks, gsize n,
                                      const HassStaging *staging,
                                      gpointer user_data, GError **error);

/**
 * HassDeviceStage: a stage of a pipeline on a device.
 *
 * A bundle whose HassBlock.fused is more than 0 passes a chain of stages: the
 * output of a stage is, without a copy to the host, the input of the next one.
 * A stage without output leaves its input to the next. Only the last output of
 * the chain is copied to the host; the device finds it by the sizes below. The
 * sizes of the blocks' outputs are those of this output. All blocks of a bundle
 * pass the same stages. A chain of several stages is refused with
 * HASS_ERROR_INVALID for tiles, and for a farm with a bundler, an unbundler,
 * records or accumulators.
 * @name: of the stage, for messages.
 * @worker: computes the stage on the device; NULL: it cannot. Devices do not
 *   call it: the worker of hass_device_worker() does, after a look at the stage
 *   of the bundle's first block.
 * @user_data: last argument of @worker.
 * @output_bytes, @output_ratio: the output of a block has @output_bytes +
 *   @output_ratio * input bytes; see hass_device_stage_output(). Both 0: the
 *   stage makes none.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  const char *name;
  HassGpuWorkerFunc worker;
  gpointer user_data;
  gsize output_bytes;
  double output_ratio;
  guint64 reserved[3];
} HassDeviceStage;

/**
 * HassDeviceFarm: the farm that a device is opened for. Owned by the engine;
 * valid until close.
 * @name: name of the farm.
 * @kind: kind of the farm.
 * @gpu_worker: data farm: worker for the device; NULL in a function farm.
 * @gpu_worker_of: function farm: returns the GPU worker of a task; else NULL.
 *   Devices call hass_device_worker() instead of reading these two.
 * @gpu_function_of: function farm: returns the task's gpu_function; else NULL.
 * @bundle, @unbundle: NULL: default.
 * @constants: [@n_constants], copied to the device in open.
 * @n_constants: number of constants.
 * @accumulator_bytes: size of an accumulator; 0: no reduction on devices.
 * @accumulator_init: host memory [@accumulator_bytes]; NULL: zeros.
 * @record_bytes: size of a record; 0: no results of varying number.
 * @records_per_element: expected number.
 * @bundle_deadline_ns: a bundle that takes longer fails and the device is
 *   given up; 0: unlimited. Gathering its inputs and waiting for the bundles
 *   before it do not count.
 * @user_data: last argument of the callbacks.
 * @unwanted: cancelled when the farm ends, so that a long open can return;
 *   NULL: never.
 * @join_tiles: as #HassDataFarm.join_tiles.
 * @device_kind: kind of the device; NULL: the device runs GPU workers.
 * @worker_of: function farm: returns the worker of a task for a kind of
 *   devices; else NULL.
 * @stages: pipeline: [@n_stages], which HassBlock.stage is an index of; else
 *   NULL.
 * @n_stages: number of stages.
 */
typedef struct
{
  const char *name;
  HassFarmKind kind;
  HassGpuWorkerFunc gpu_worker;
  HassGpuWorkerFunc (*gpu_worker_of) (const HassLoad *load);
  guint32 (*gpu_function_of) (const HassLoad *load);
  HassBundleFunc bundle;
  HassUnbundleFunc unbundle;
  const HassConstant *constants;
  guint n_constants;
  gsize accumulator_bytes;
  gconstpointer accumulator_init;
  gsize record_bytes;
  double records_per_element;
  gint64 bundle_deadline_ns;
  gpointer user_data;
  struct _GCancellable *unwanted;
  gboolean join_tiles;
  const char *device_kind;
  HassGpuWorkerFunc (*worker_of) (const HassLoad *load, const char *kind);
  const HassDeviceStage *stages;
  guint n_stages;
} HassDeviceFarm;

/**
 * HassBundleDone: a bundle that has left the device.
 * @slot: as given to submit.
 * @failed: the outputs are invalid; the units are given back.
 * @too_large: it failed for lack of memory: a smaller bundle may succeed.
 * @lost: the device accepts no more bundles.
 * @together: it failed with the bundle that left before it, for the same
 *   reason: both count as one failure of the device.
 * @late_us: for how long, in us, the bundle had left the device when wait()
 *   looked, as the thread was at another bundle; 0: not at all or unknown.
 * @h2d_ns, @kernel_ns, @d2h_ns: durations of the copy to the device, of the
 *   kernels, of all stages that the bundle passes, and of the copy back.
 * @host_ns: core time spent copying in host memory and pinning.
 * @n_records: number of results of varying number.
 * @records: host memory [@n_records * record_bytes], valid until the slot is
 *   used again.
 * @record_blocks: [@n_records]: the block of each record, valid as long.
 * @accumulator: the accumulator of the bundle in host memory, valid as long;
 *   or NULL.
 * @worker_ns: time that the calls of the GPU worker took on the proxy thread.
 * @kernel_busy_ns: part of @kernel_ns in which no kernel of a bundle that left
 *   earlier ran; 0: none or unknown.
 * @h2d_busy_ns, @d2h_busy_ns: likewise of the copies, each direction by itself.
 * @setup_ns: time for which the bundle waited, before its copies, while the
 *   device prepared what later bundles use as well, such as larger buffers. It
 *   is no part of the other times; 0: none.
 */
typedef struct
{
  guint slot;
  gboolean failed;
  gboolean too_large;
  gboolean lost;
  gboolean together;
  guint late_us;
  double h2d_ns, kernel_ns, d2h_ns;
  double host_ns;
  guint64 n_records;
  gconstpointer records;
  const guint32 *record_blocks;
  gconstpointer accumulator;
  double worker_ns;
  double kernel_busy_ns;
  double h2d_busy_ns, d2h_busy_ns;
  double setup_ns;
} HassBundleDone;

/**
 * HassTransfers: how inputs have reached a device since it was opened.
 * @direct_bytes: copied directly from pinned host memory.
 * @registered_bytes: copied from pages pinned for the copy.
 * @staged_bytes: gathered into pinned staging memory first.
 * @constant_bytes: constants of the farm.
 * @peak_bytes: maximum of device memory held.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  guint64 direct_bytes, registered_bytes, staged_bytes, constant_bytes;
  guint64 peak_bytes;
  guint64 reserved[3];
} HassTransfers;

typedef struct _HassDevice HassDevice;

/**
 * HassDeviceOps: one kind of device.
 * @struct_size: sizeof (HassDeviceOps). The table may end after @close; ops
 *   beyond its end are NULL. A farm refuses a shorter table, and a longer one
 *   with ops that the library does not know, with HASS_ERROR_INVALID.
 * @kind: name of the kind, such as "cuda".
 * @describe: fills in @traits; its strings live as long as the device.
 * @open: makes the device ready for a farm and copies the farm's constants.
 *   The end of the farm waits for it, so an open that takes long must return
 *   FALSE with HASS_ERROR_CANCELLED soon after @unwanted is cancelled. Then
 *   the device is not open, has not failed, and touches nothing of the farm.
 * @submit: starts copies and kernels for @n blocks without waiting for them.
 *   @slot is free and below traits.max_in_flight. @blocks stay valid until the
 *   bundle is done. They pass at most traits.max_fused stages after the first,
 *   so a device that does not know #HassDeviceStage gets each stage as a bundle
 *   of its own. FALSE: nothing was started; with HASS_ERROR_NO_MEMORY the
 *   engine tries fewer blocks, or the same ones when no bundle is in flight.
 * @wait: waits for a bundle, at most @timeout_ns, without spinning; it may
 *   wait longer when nothing else can happen. TRUE: @done is filled in, and
 *   @error is set if the bundle failed. FALSE without @error: the time is up.
 *   FALSE with @error: the device is given up, and from then on it touches
 *   neither the blocks nor the memory they point to.
 * @close: called when the last bundle has left or the device was given up.
 * @transfers: optional: reports how inputs were copied; called between open
 *   and the next open. Default: zeros.
 * @opening_ns: optional: how long the remaining work of the cores must last
 *   for open to be worthwhile: about the expected duration of open, less the
 *   time reported to @unopened. Called before open. Default: 0, open at once.
 * @unopened: optional: a farm that lasted @ns ended without open, since
 *   @opening_ns advised against it. Called in place of open. Default: nothing.
 * @data: optional: what dataflows need, see hass/device_data.h. NULL: the
 *   device computes no tasks of dataflows.
 */
typedef struct
{
  gsize struct_size;
  const char *kind;
  void (*describe) (HassDevice *device, HassDeviceTraits *traits);
  gboolean (*open) (HassDevice *device, const HassDeviceFarm *farm,
                    GError **error);
  gboolean (*submit) (HassDevice *device, guint slot, const HassBlock *blocks,
                      gsize n, GError **error);
  gboolean (*wait) (HassDevice *device, gint64 timeout_ns, HassBundleDone *done,
                    GError **error);
  void (*close) (HassDevice *device);
  void (*transfers) (HassDevice *device, HassTransfers *transfers);
  gint64 (*opening_ns) (HassDevice *device);
  void (*unopened) (HassDevice *device, gint64 ns);
  const struct _HassDeviceDataOps *data;
} HassDeviceOps;

/* The first member of the state of every device: its table of functions. */
struct _HassDevice
{
  const HassDeviceOps *ops;
};

/**
 * hass_staging_gather:
 *
 * Copies the inputs of @n blocks into @staging and sets its offsets. The copy
 * is done by @bundle or, if @bundle is NULL, by the default: blocks one after
 * another without gaps, each with its halos; of a block that is a tile only
 * its rows, without the gaps between them, as a tile has no halos. For
 * implementers of devices. Any thread; blocks for the duration of the copy.
 *
 * Returns: TRUE; or FALSE with HASS_ERROR_BUNDLE if the offsets in @staging do
 * not ascend or exceed its capacity, or if @bundle wrote beyond the capacity;
 * or with the error of @bundle.
 */
gboolean hass_staging_gather (const HassBlock *blocks, gsize n,
                              HassStaging *staging, HassBundleFunc bundle,
                              gpointer user_data, GError **error);

/**
 * hass_staging_scatter:
 *
 * Scatters the outputs of @n blocks from @staging with @unbundle, or if that
 * is NULL to the output of each block. Threads and errors as for
 * hass_staging_gather().
 */
gboolean hass_staging_scatter (const HassBlock *blocks, gsize n,
                               const HassStaging *staging,
                               HassUnbundleFunc unbundle, gpointer user_data,
                               GError **error);

/**
 * hass_device_worker:
 *
 * Returns: the worker that computes @block on the device that was opened for
 * @farm. In a function farm the blocks of a bundle may have different workers.
 * For implementations of devices. Any thread.
 */
HassGpuWorkerFunc hass_device_worker (const HassDeviceFarm *farm,
                                      const HassBlock *block);

/**
 * hass_device_stage_output:
 *
 * Returns: the bytes of the output that @stage makes of @input_bytes of input:
 * output_bytes + output_ratio * @input_bytes, rounded up, in double precision;
 * G_MAXSIZE if one of the terms exceeds 2^61. 0 for a stage without output. Any
 * thread.
 */
gsize hass_device_stage_output (const HassDeviceStage *stage,
                                gsize input_bytes);

/**
 * hass_gpu_worker_call:
 *
 * Calls a GPU worker on the proxy thread. For implementers of devices.
 *
 * Returns: TRUE if the worker returned TRUE and set no error; else FALSE with
 * the error of the worker, or HASS_ERROR_WORKER if it set none.
 */
gboolean hass_gpu_worker_call (HassGpuWorkerFunc worker,
                               const HassBundle *bundle, HassGpuStream *stream,
                               gpointer user_data, GError **error);

/* Bytes that must be allocated behind HassStaging.capacity:
   hass_staging_gather() fills them with a pattern and checks it, to find
   bundlers that write too far. */
#define HASS_STAGING_GUARD 64

HASS_END_DECLS

#endif
