/* SPDX-License-Identifier: MIT */
/* hass/device.h: whatever takes bundles over a link.

   DESIGN. A device is an ops table and an opaque state. The live engine
   gives each device a proxy thread, which asks the strategy for grants,
   hands bundles to submit and waits for them with wait; several may be in
   flight so that copies and kernels overlap. Inputs stay in host memory
   until the bundle is done, so a bundle that fails is given back and runs
   elsewhere.

   Thread safety: submit, wait, open and close are called by the device's
   proxy thread alone; describe by any thread before open. */
#ifndef HASS_DEVICE_H
#define HASS_DEVICE_H

#include <glib.h>
#include <hass/load.h>
#include <hass/types.h>

G_BEGIN_DECLS

/* The stream a GPU worker enqueues on; what it is, the device says
   (hass/cuda.h for CUDA). */
typedef struct _HassGpuStream HassGpuStream;

/**
 * HassConstant: bytes that every unit may read: a pattern, a matrix. Copied
 * once to each device.
 */
typedef struct
{
  gconstpointer data;
  gsize bytes;
} HassConstant;

/**
 * HassBundle: the blocks of one grant, as a GPU worker sees them.
 * @n_blocks, @blocks: host descriptors, one a block.
 * @input: device pointer; block i lies at @input + @offsets[i] up to
 *   @offsets[i + 1].
 * @offsets: device pointer [@n_blocks + 1].
 * @output: device pointer; block i's output lies at @output +
 *   @output_offsets[i].
 * @output_offsets: device pointer [@n_blocks + 1].
 * @n_elements: of all blocks together.
 * @constants: [@n_constants] device pointers.
 */
typedef struct
{
  gsize n_blocks;
  const HassBlock *blocks;
  const guint8 *input;
  const guint64 *offsets;
  gsize input_bytes;
  guint8 *output;
  const guint64 *output_offsets;
  gsize output_bytes;
  guint64 n_elements;
  const gpointer *constants;
  guint n_constants;
} HassBundle;

/**
 * HassGpuWorkerFunc: computes a bundle.
 *
 * Only enqueues work on @stream and returns; it must not wait. Runs on the
 * device's proxy thread. Failing gives the bundle back to the round.
 */
typedef gboolean (*HassGpuWorkerFunc) (const HassBundle *bundle,
                                       HassGpuStream *stream,
                                       gpointer user_data, GError **error);

/**
 * HassStaging: host memory that a bundler fills.
 * @data: [@capacity] bytes.
 * @offsets: [n + 1]: block i occupies [offsets[i], offsets[i + 1]).
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
 * Valid until close. In a function farm each block has a worker of its own,
 * which gpu_worker_of tells; else that is NULL.
 */
typedef struct
{
  const char *name;
  HassFarmKind kind;
  HassGpuWorkerFunc gpu_worker; /* NULL in a function farm */
  HassGpuWorkerFunc (*gpu_worker_of) (const HassLoad *load);
  HassBundleFunc bundle;     /* NULL: default */
  HassUnbundleFunc unbundle; /* NULL: default */
  const HassConstant *constants;
  guint n_constants;
  gpointer user_data;
} HassDeviceFarm;

/**
 * HassBundleDone: a bundle that has left the device.
 * @slot: as given to submit.
 * @failed: its outputs are not valid; the units are given back.
 * @lost: the device takes no more bundles.
 * @h2d_ns, @kernel_ns, @d2h_ns: the stages.
 */
typedef struct
{
  guint slot;
  gboolean failed;
  gboolean lost;
  double h2d_ns, kernel_ns, d2h_ns;
} HassBundleDone;

typedef struct _HassDevice HassDevice;

/**
 * HassDeviceOps: one kind of device.
 * @describe: fills in traits; the name lives as long as the device.
 * @open: makes the device ready for a farm, copies its constants.
 * @submit: starts copies and kernels for @n @blocks; must not wait for them.
 *   @slot < traits.max_in_flight is free. FALSE: nothing was started. @blocks
 *   stay valid until the bundle is done.
 * @wait: waits at most @timeout_ns for any bundle, without spinning. FALSE
 *   without @error: time is up.
 * @close: after the last bundle has left.
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
} HassDeviceOps;

/* First member of every device's state. */
struct _HassDevice
{
  const HassDeviceOps *ops;
};

/**
 * hass_staging_gather:
 *
 * Gathers blocks with @bundle, or one after another when it is NULL, and
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

/* Bytes that hass_staging_gather needs behind the capacity for its check. */
#define HASS_STAGING_GUARD 64

G_END_DECLS

#endif
