/* SPDX-License-Identifier: MIT */
/* measure.h: measurements of memory, links and launches.
   Thread safety: one measurement at a time, since each loads the machine. */
#ifndef INFO_MEASURE_H
#define INFO_MEASURE_H

#include "device/cuda/gpus-private.h"

/* Enqueues an empty kernel. Returns: the code of the runtime. */
typedef int (*InfoLaunch) (gpointer stream);

/**
 * InfoEffort: the extent of a measurement.
 * @copy_bytes: size of a large copy.
 * @copies: number of copies in a row on a stream.
 * @rates: number of rates of which the median is taken.
 * @latencies: number of latencies of which the median is taken.
 * @warm_ns: warm-up time of a GPU, in ns, so that its clocks rise.
 * @read_bytes: bytes of host memory to read; 0: several times the caches.
 * @read_ns: minimum time of one rate, in ns.
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
 * InfoSpeed: speeds of a GPU and its link; 0: not measured.
 * @to_device_gbps, @to_host_gbps: pinned memory, by the GPU's clock.
 * @pageable_to_device_gbps: ordinary memory.
 * @register_ms_per_gib, @unregister_ms_per_gib: pinning ordinary memory.
 * @copy_4k_us: 4 KiB to the device, until the host sees the end.
 * @launch_us: an empty kernel, until the host, which polls, sees the end.
 * @launch_asleep_us: the same until the host, which sleeps, has woken up.
 * @launch_is_kernel: FALSE: the program has no kernel, and clearing four bytes
 *   was measured instead.
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
