/* SPDX-License-Identifier: MIT */
/* hass/device.h: whatever takes bundles over a link.

   DESIGN. A device is an ops table and an opaque state. The live engine
   gives each device a proxy thread, which asks the strategy for grants,
   hands bundles to submit and waits for them with wait; several may be in
   flight so that copies and kernels overlap. Inputs stay in host memory
   until the bundle is done, so a bundle that fails is given back and runs
   elsewhere.

   Thread safety: submit, wait, open and close, opening_ns and unopened are
   called by the device's proxy thread alone; describe by any thread before
   open. The cancellable of open is cancelled by any thread. */
#ifndef HASS_DEVICE_H
#define HASS_DEVICE_H

#include <glib.h>
#include <hass/load.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

struct _GCancellable; /* of gio/gio.h, which kernels need not include */

/* The stream a GPU worker enqueues on; what it is, the device says
   (hass/cuda.h for CUDA). */
typedef struct _HassGpuStream HassGpuStream;

/**
 * HassConstant: bytes that every unit may read: a pattern, a matrix. Copied
 * once to each device. The struct is frozen.
 */
typedef struct
{
  gconstpointer data;
  gsize bytes;
} HassConstant;

/**
 * HassRectangle: tiles of one array that are one array on the device as well,
 * so that one kernel can compute and one copy fetch them.
 * @first_block, @n_blocks: the tiles, of a bundle's.
 * @across: so many lie side by side, the next so many below them.
 * @offset: of the first byte in #HassBundle.output.
 * @row_bytes, @rows: of the array on the device, its rows without gaps.
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
 * HassBundle: the blocks of one bundle, as a GPU worker sees them. A large
 * grant comes as several bundles, so that copies overlap kernels; adjacent
 * blocks of a divisible load cut by the default partitioner come as one.
 * @n_blocks, @blocks: host descriptors, one a block; their pointers are to
 *   host memory.
 * @input: device pointer, aligned to 256 bytes; block i, halos included,
 *   lies at @input + @offsets[i] up to @offsets[i + 1].
 * @offsets: device pointer [@n_blocks + 1], ascending; NULL where @n_blocks
 *   is 1.
 * @halos: device pointer [@n_blocks]: bytes of the halo before each block's
 *   first element; NULL where there is no halo or @n_blocks is 1.
 * @input_start: the same of block 0, whether there is a table or not.
 * @input_bytes: of all blocks together, halos included.
 * @output: device pointer, aligned to 256 bytes; block i's output lies at
 *   @output + @output_offsets[i], rows of a tile one after another. Outputs
 *   lie in the order of the blocks without gaps, so the host finds block i's
 *   behind the output_bytes of the @blocks before it. With
 *   #HassDataFarm.join_tiles they lie as @rectangles says.
 * @output_offsets: device pointer [@n_blocks + 1]; NULL where @n_blocks is 1
 *   or there is no output.
 * @elements: device pointer [@n_blocks + 1]: elements of the bundle before
 *   block i; NULL where @n_blocks is 1.
 * @n_elements: of all blocks together.
 * @functions: device pointer [@n_blocks]: #HassTask.gpu_function of each
 *   task; NULL outside function farms.
 * @accumulator: device pointer to a fresh accumulator of the farm, which is
 *   reduced into the farm's when the bundle is done; NULL without a reduce
 *   function.
 * @records: device pointer [@record_capacity * @record_bytes] for results of
 *   varying number, see hass_append() in hass/cuda_device.cuh.
 * @record_blocks: device pointer [@record_capacity]: each record's block.
 * @n_records: device pointer to the counter, 0 at first. It may run past the
 *   capacity: then the bundle is computed again with more.
 * @constants: [@n_constants] device pointers.
 * @rectangles: [@n_rectangles], host: where outputs are tiles, what of them is
 *   one array on the device; NULL where they are not.
 * @output_pitches: device pointer [@n_blocks]: bytes from a row of block i's
 *   tile to the next; NULL where @n_blocks is 1 or rows lie one after another,
 *   as they do without #HassDataFarm.join_tiles.
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
 * HassGpuWorkerFunc: computes a bundle.
 *
 * Only enqueues work on @stream and returns; it must not wait. Runs on the
 * device's proxy thread, where the device is current, and may be called
 * again for the same bundle. Failing gives the bundle back to the round.
 */
typedef gboolean (*HassGpuWorkerFunc) (const HassBundle *bundle,
                                       HassGpuStream *stream,
                                       gpointer user_data, GError **error);

/**
 * HassKindWorker: a worker for the devices of one kind.
 * @kind: the kind's name; NULL ends an array of these.
 * @worker: computes bundles on devices of this kind; what its stream is, the
 *   kind says.
 *
 * The struct is frozen.
 */
typedef struct
{
  const char *kind;
  HassGpuWorkerFunc worker;
} HassKindWorker;

/**
 * HassStaging: host memory that a bundler fills.
 * @data: [@capacity] bytes.
 * @offsets: [n + 1]: block i occupies [offsets[i], offsets[i + 1]). With a
 *   bundler of the farm's own there are no halos but those it makes.
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
 * HassBundleFunc: gathers the inputs of @n blocks into @staging (Zhang 2011,
 * 3.4.1, bundler). The default copies them one after another. Offsets must
 * ascend and stay within the capacity, else HASS_ERROR_BUNDLE. Proxy thread.
 */
typedef gboolean (*HassBundleFunc) (const HassBlock *blocks, gsize n,
                                    HassStaging *staging, gpointer user_data,
                                    GError **error);

/**
 * HassUnbundleFunc: scatters the outputs of @n blocks from @staging. The
 * default copies each block's output to its place. Proxy thread.
 */
typedef gboolean (*HassUnbundleFunc) (const HassBlock *blocks, gsize n,
                                      const HassStaging *staging,
                                      gpointer user_data, GError **error);

/**
 * HassDeviceFarm: what a device has to know of the farm it is opened for.
 * Valid until close.
 * @gpu_worker, @gpu_worker_of, @worker_of: a device calls hass_device_worker(),
 *   which reads these. Devices from before that function read the first two.
 * @accumulator_bytes: 0: the farm reduces nothing on devices.
 * @accumulator_init: [@accumulator_bytes] in host memory; NULL: zeros.
 * @record_bytes: 0: the farm has no results of varying number.
 * @records_per_element: expected.
 * @bundle_deadline_ns: a bundle that takes longer fails, and the device with
 *   it; 0: never.
 * @unwanted: cancelled when the farm is over; NULL: it never is. For an open
 *   that takes long.
 * @join_tiles: as #HassDataFarm.join_tiles.
 * @device_kind: the kind of the device; NULL: the device stands in for a GPU.
 */
typedef struct
{
  const char *name;
  HassFarmKind kind;
  HassGpuWorkerFunc gpu_worker; /* NULL in a function farm */
  HassGpuWorkerFunc (*gpu_worker_of) (const HassLoad *load);
  guint32 (*gpu_function_of) (const HassLoad *load);
  HassBundleFunc bundle;     /* NULL: default */
  HassUnbundleFunc unbundle; /* NULL: default */
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
} HassDeviceFarm;

/**
 * HassBundleDone: a bundle that has left the device.
 * @slot: as given to submit.
 * @failed: its outputs are not valid; the units are given back.
 * @too_large: it failed for want of memory: fewer blocks may do.
 * @lost: the device takes no more bundles.
 * @together: it failed with the bundle that left before it, for one reason:
 *   one failure of the device.
 * @h2d_ns, @kernel_ns, @d2h_ns: the stages.
 * @host_ns: of cores, that copying in host memory and pinning took.
 * @n_records: results of varying number.
 * @records: [@n_records * record_bytes], host memory, valid until the slot is
 *   used again; @record_blocks: [@n_records].
 * @accumulator: the bundle's, host memory, valid as long; or NULL.
 * @worker_ns: of the proxy thread, that the GPU worker's own calls took.
 * @kernel_busy_ns: of @kernel_ns that in which no bundle before it, by the
 * order in which they leave, had its kernels there; 0: nothing, or unknown.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  guint slot;
  gboolean failed;
  gboolean too_large;
  gboolean lost;
  gboolean together;
  double h2d_ns, kernel_ns, d2h_ns;
  double host_ns;
  guint64 n_records;
  gconstpointer records;
  const guint32 *record_blocks;
  gconstpointer accumulator;
  double worker_ns;
  double kernel_busy_ns;
  guint64 reserved[3];
} HassBundleDone;

/**
 * HassTransfers: how inputs have reached a device since it was opened.
 * @direct_bytes: straight from pinned host memory.
 * @registered_bytes: from pages that were pinned for the copy.
 * @staged_bytes: gathered into pinned staging first.
 * @constant_bytes: farm constants.
 * @peak_bytes: most device memory that was held.
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
 * @struct_size: sizeof (HassDeviceOps). A table may end after @close; what is
 *   behind its end is NULL. A farm refuses one that is shorter, and one of a
 *   later version with ops that this library does not know, with
 *   HASS_ERROR_INVALID.
 * @describe: fills in traits; the name lives as long as the device.
 * @open: makes the device ready for a farm, copies its constants. May take
 *   long, and the farm's end waits for it, unless it returns FALSE with
 *   HASS_ERROR_CANCELLED soon after the farm's @unwanted is cancelled. Then
 *   nothing is open, nothing has failed, and nothing of the farm is touched
 *   any more.
 * @submit: starts copies and kernels for @n @blocks; must not wait for them.
 *   @slot < traits.max_in_flight is free. FALSE: nothing was started; with
 *   HASS_ERROR_NO_MEMORY fewer blocks may do, or the same when nothing else
 *   is on the device. @blocks stay valid until the bundle is done.
 * @wait: waits at most @timeout_ns for any bundle, without spinning; a device
 *   may wait longer when nothing else can happen. TRUE: @done is filled in,
 *   and @error says why where it failed. FALSE without @error: time is up.
 *   FALSE with @error: the device is given up, and from then on it touches
 *   neither the blocks nor the memory they name.
 * @close: after the last bundle has left, or the device was given up.
 * @transfers: optional: what was copied how. Between open and the next open.
 * @opening_ns: optional: how long a farm's cores must still have work for open
 *   to be worth it: about what open will take, less what @unopened was told.
 *   0, as without it: open at once. Before open.
 * @unopened: optional: a farm that lasted @ns has ended without open, which
 *   @opening_ns had advised against. In place of open.
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
} HassDeviceOps;

/* First member of every device's state. */
struct _HassDevice
{
  const HassDeviceOps *ops;
};

/**
 * hass_staging_gather:
 *
 * Gathers blocks with @bundle, or one after another when it is NULL: each
 * with its halos, a tile's rows without a gap and without halos. Then
 * checks what came out: ascending offsets within the capacity and nothing
 * written past it. For those who write devices. Any thread.
 */
gboolean hass_staging_gather (const HassBlock *blocks, gsize n,
                              HassStaging *staging, HassBundleFunc bundle,
                              gpointer user_data, GError **error);

/* Scatters outputs, the reverse. */
gboolean hass_staging_scatter (const HassBlock *blocks, gsize n,
                               const HassStaging *staging,
                               HassUnbundleFunc unbundle, gpointer user_data,
                               GError **error);

/**
 * hass_device_worker:
 *
 * Returns: the worker that computes @block on the device that @farm was given
 * to. In a function farm the blocks of a bundle may have different workers.
 * For those who write devices. Any thread.
 */
HassGpuWorkerFunc hass_device_worker (const HassDeviceFarm *farm,
                                      const HassBlock *block);

/**
 * hass_gpu_worker_call:
 *
 * Calls a GPU worker: TRUE where it has returned TRUE and set no error; else
 * @error is set, also where the worker gave no reason. For those who write
 * devices. Proxy thread.
 */
gboolean hass_gpu_worker_call (HassGpuWorkerFunc worker,
                               const HassBundle *bundle, HassGpuStream *stream,
                               gpointer user_data, GError **error);

/* Bytes that hass_staging_gather needs behind the capacity for its check. */
#define HASS_STAGING_GUARD 64

HASS_END_DECLS

#endif
