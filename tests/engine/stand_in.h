/* SPDX-License-Identifier: MIT */
/* stand_in.h: a device of host memory that stands in for a GPU, and that can
   be told to fail.

   DESIGN. A bundle is gathered into host staging, its GPU worker enqueues
   kernels with stand_in_launch, and a thread of the device's own runs them
   after a delay, bundle after bundle. A bundle that shall fail runs no
   kernel, so what a kernel has done was done for good. The device counts
   what its proxy does wrong.

   Thread safety: as hass/device.h; the counts by anyone after the farm. */
#ifndef STAND_IN_H
#define STAND_IN_H

#include "hass/device.h"

/**
 * StandInPlan: counts are from 1; 0: never.
 * @name: "gpu0" when NULL.
 * @depth: bundles it holds; 0: 1.
 * @width: elements that fill it; 0: 64.
 * @max_fused: stages that a bundle passes after the first.
 * @staging_bytes: for inputs; 0: as many as the bundle has.
 * @memory_bytes: of inputs and outputs of a bundle, and of what its stages pass
 *   on to each other; 0: no bound. More is HASS_ERROR_NO_MEMORY.
 * @delay_us: before each bundle's kernels.
 * @holds_until_lost: another stand-in, before whose loss no kernel runs.
 * @h2d_us, @kernel_us, @host_us: what it says that each bundle took.
 * @busy_us: what it says that each stage of a bundle added to its busy time; 0:
 *   it does not say.
 * @busy_bundles: after so many, bundles add nothing to it; 0: all add.
 * @open_us: how long open takes; @open_waits: it only returns when the farm is
 *   over.
 * @fail_submit_at: this call of submit fails; @fail_submit_every: so does
 *   each so manyth.
 * @fail_bundle_at, @fail_bundle_every: likewise, on the device.
 * @lose_at: with this bundle the device is lost.
 * @wait_error_at: this call of wait that would have returned a bundle fails.
 */
typedef struct
{
  const char *name;
  guint depth;
  guint64 width;
  guint max_fused;
  gsize staging_bytes, memory_bytes;
  guint delay_us;
  HassDevice *holds_until_lost;
  guint h2d_us, kernel_us, host_us, busy_us, busy_bundles;
  guint open_us;
  gboolean fail_open, open_waits;
  guint fail_submit_at, fail_submit_every;
  guint fail_bundle_at, fail_bundle_every;
  guint lose_at;
  guint wait_error_at;
} StandInPlan;

/* most_later: of those in flight when a bundle was handed over, but before one
   had come back. */
typedef struct
{
  guint opened, closed, submitted, finished;
  guint most_in_flight, most_later;
  guint64 most_staging_bytes;
  const char *wrong; /* what the proxy did that it must not, or NULL */
} StandInCounts;

HassDevice *stand_in_new (const StandInPlan *plan);
void stand_in_free (HassDevice *device);
StandInCounts stand_in_counts (HassDevice *device);

typedef void (*StandInKernel) (const HassBundle *bundle, gpointer user_data);

/* For GPU workers: runs the kernel when the bundle's turn has come. */
void stand_in_launch (HassGpuStream *stream, StandInKernel kernel,
                      const HassBundle *bundle, gpointer user_data);

/* Defines a GPU worker of this file, @name, that launches @kernel. */
#define STAND_IN_WORKER(name, kernel)                                          \
  static gboolean name (const HassBundle *bundle, HassGpuStream *stream,       \
                        gpointer user_data, GError **error)                    \
  {                                                                            \
    (void)error;                                                               \
    stand_in_launch (stream, kernel, bundle, user_data);                       \
    return TRUE;                                                               \
  }

#endif
