/* SPDX-License-Identifier: MIT */
/* hass/device_data.h: the part of a device that dataflows need: memory in which
   data stay from task to task, copies to and from it, and kernels of tasks.

   DESIGN. The engine decides what lies where (coherency, eviction); a device
   only allocates, copies and computes. A copy or a computation is an operation,
   begun under a ticket that the engine chooses. Operations of one device run
   concurrently and end in any order: the engine begins one only when those that
   it depends on have ended. A device reports each end once, by wait().

   Thread safety: all functions by the proxy thread of the device, between open
   and close of HassDeviceOps. */
#ifndef HASS_DEVICE_DATA_H
#define HASS_DEVICE_DATA_H

#include <hass/device.h>

HASS_BEGIN_DECLS

/**
 * HassDataCopy: a copy of a datum [@rows][@row_bytes].
 * @memory: in the memory of the device that gets this operation; rows adjacent.
 * @host: in host memory, rows @host_pitch bytes apart; NULL: a copy from the
 *   memory @peer_memory of @peer, a device of the same kind.
 * @to_host: TRUE: from @memory to @host; FALSE: to @memory.
 */
typedef struct
{
  gpointer memory;
  gpointer host;
  gsize row_bytes, rows, host_pitch;
  gboolean to_host;
  HassDevice *peer;
  gconstpointer peer_memory;
} HassDataCopy;

/**
 * HassEnqueueFunc: enqueues kernels on @stream and returns without waiting for
 * them; called once, before the compute that got it returns, on its thread,
 * with the device current.
 */
typedef gboolean (*HassEnqueueFunc) (HassGpuStream *stream, gpointer data,
                                     GError **error);

/**
 * HassDataDone: an operation that has ended.
 * @ticket: as given when it was begun.
 * @ns: its duration, or 0: the library takes its own times.
 * @failed: it has failed; wait() set the error. What it should have written is
 *   undefined.
 */
typedef struct
{
  guint64 ticket;
  double ns;
  gboolean failed;
} HassDataDone;

/**
 * HassDeviceDataOps: memory, copies and kernels for dataflows.
 * @struct_size: sizeof (HassDeviceDataOps).
 * @capacity: bytes that data may take up, less what the device needs itself;
 *   HASS_GPU_MEM limits it.
 * @alloc: allocates memory, aligned to 256 bytes, contents undefined; sets
 *   *memory. FALSE with HASS_ERROR_NO_MEMORY: the engine drops or moves other
 *   data and tries again. Fast enough to be called for each task.
 * @free: frees memory that no operation uses.
 * @copy: begins a copy. Host memory may be pageable; then the device stages it.
 *   It is not written to before the copy, or the failure of the device, is
 *   reported.
 * @compute: calls @enqueue with a stream whose work is the operation. Fails
 *   with the error of @enqueue, or its own; the operation is then not in
 *   flight, and what it would have written is undefined, as a part of it may
 *   have run. Fails with HASS_ERROR_DEVICE if the device is lost meanwhile,
 *   which @wait reports.
 * @most_computing: computations to be in flight so that the device is busy.
 * @wait: waits for the end of an operation, at most @timeout_ns, without
 *   spinning. TRUE: *done is filled in, and @error is set if the operation has
 *   failed. FALSE without @error: the time is up. FALSE with @error: the device
 *   is lost, with all its memory and all operations in flight; it touches
 *   neither host memory nor peers from then on. Only close may follow.
 */
typedef struct _HassDeviceDataOps
{
  gsize struct_size;
  gsize (*capacity) (HassDevice *device);
  gboolean (*alloc) (HassDevice *device, gsize bytes, gpointer *memory,
                     GError **error);
  void (*free) (HassDevice *device, gpointer memory);
  gboolean (*copy) (HassDevice *device, guint64 ticket,
                    const HassDataCopy *copy, GError **error);
  gboolean (*compute) (HassDevice *device, guint64 ticket,
                       HassEnqueueFunc enqueue, gpointer data, GError **error);
  guint (*most_computing) (HassDevice *device);
  gboolean (*wait) (HassDevice *device, gint64 timeout_ns, HassDataDone *done,
                    GError **error);
} HassDeviceDataOps;

HASS_END_DECLS

#endif
