/* SPDX-License-Identifier: MIT */
/* measure.h: how fast memory, links and launches are.
   Thread safety: one measurement at a time; they take the machine. */
#ifndef INFO_MEASURE_H
#define INFO_MEASURE_H

#include "device/cuda/gpus-private.h"

/* Enqueues a kernel that does nothing; returns the runtime's code. */
typedef int (*InfoLaunch) (gpointer stream);

/**
 * InfoEffort: how much is done for a measurement.
 * @copy_bytes: of one large copy.
 * @copies: at a time, one after another on a stream.
 * @rates: that a median is taken of.
 * @latencies: that a median is taken of.
 * @warm_ns: a GPU works before it is measured, so that it has woken up.
 * @read_bytes: of host memory; 0: several times the caches.
 * @read_ns: at least, for one rate.
 */
typedef struct
{
  gsize copy_bytes;
  guint copies;
  guint rates;
  guint latencies;
  gint64 warm_ns;
  gsize read_bytes;
  gint64 read_ns;
} InfoEffort;

extern const InfoEffort info_effort;

/**
 * InfoSpeed: of a GPU and its link; 0: not measured.
 * @to_device_gbps, @to_host_gbps: pinned memory, as the GPU's clock has it.
 * @pageable_to_device_gbps: from ordinary memory.
 * @register_ms_per_gib, @unregister_ms_per_gib: pinning ordinary memory.
 * @copy_4k_us: to the device, until the host sees it done.
 * @launch_us: of an empty kernel, until the host, which looks all the time,
 *   sees it done; @launch_asleep_us: until the host has been woken up.
 * @launch_is_kernel: FALSE: there is no kernel in this program, and it was
 *   four bytes that were cleared.
 */
typedef struct
{
  double to_device_gbps, to_host_gbps, pageable_to_device_gbps;
  double register_ms_per_gib, unregister_ms_per_gib;
  double copy_4k_us, launch_us, launch_asleep_us;
  gboolean launch_is_kernel;
} InfoSpeed;

gboolean info_measure_gpu (HassGpu *gpu, InfoLaunch launch,
                           const InfoEffort *effort, InfoSpeed *speed,
                           GError **error);
double info_measure_read (guint n_threads, const InfoEffort *effort);
double info_median (double *values, guint n);

#endif
