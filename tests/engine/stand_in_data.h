/* SPDX-License-Identifier: MIT */
/* stand_in_data.h: a device for dataflows whose memory is host memory, and that
   can be told to fail.

   DESIGN. Copies and kernels are really executed, in an order drawn from a
   seed: without threads of its own by the proxy inside wait(), which makes a
   run repeatable, else by these threads. Fresh memory, and what a failed
   operation should have written, is filled with a pattern. Memory of a lost
   device is filled and freed at once, so that AddressSanitizer sees a use of
   it. The device notes what the engine does wrong: memory that it does not
   have, memory freed during an operation, a ticket used twice, a copy with
   impossible sizes, memory left at close.

   Thread safety: as hass/device_data.h; the counts by anyone after the
   farm. */
#ifndef STAND_IN_DATA_H
#define STAND_IN_DATA_H

#include "hass/codelet.h"
#include "hass/device_data.h"

/**
 * StandInDataPlan: counts are from 1; 0: never.
 * @name: "gpu0" when NULL.
 * @kind: of HassDeviceOps; "stand-in" when NULL. Only devices of the same kind
 *   copy from each other.
 * @width: of HassDeviceTraits; 0: 64.
 * @memory_bytes: the sum of all allocated bytes; 0: 1 TiB.
 * @link_bytes_per_ns: of HassDeviceTraits; 0: 10.
 * @most_computing: as the op; 0: 2.
 * @threads: that execute operations; 0: none, wait() executes one. Then a wait
 *   without time, too, finds an operation done only sometimes.
 * @seed: of the order in which operations begin and are reported.
 * @delay_us: most time before each operation, drawn; by threads only.
 * @copy_us, @kernel_us: what it says that an operation took, beside its time.
 * @fail_open: open fails; @open_waits: it returns when the farm is over;
 *   @opening_ns: how long it says that open takes.
 * @fail_alloc_at: this call fails for lack of memory; @fail_alloc_every: so
 *   does each so manyth.
 * @refuse_at, @refuse_every: a copy or a computation does not begin, counted
 *   together.
 * @fail_at, @fail_every: an operation fails, counted as they begin. Of a failed
 *   computation the kernels ran, or not, as the seed says.
 * @lose_at: with this operation the device is lost.
 * @lose_at_call: with this call of alloc, copy or compute.
 * @hang_at: this operation never ends; with HassDeviceFarm.bundle_deadline_ns
 *   the device is then lost.
 */
typedef struct
{
  const char *name, *kind;
  guint64 width;
  gsize memory_bytes;
  double link_bytes_per_ns; /* 0: 10 */
  guint most_computing, threads;
  guint32 seed;
  guint delay_us, copy_us, kernel_us;
  gboolean fail_open, open_waits;
  gint64 opening_ns;
  guint fail_alloc_at, fail_alloc_every;
  guint refuse_at, refuse_every;
  guint fail_at, fail_every;
  guint lose_at, lose_at_call, hang_at;
} StandInDataPlan;

/* begun: operations; ended: of these, reported. */
typedef struct
{
  guint opened, closed;
  guint allocs, no_memory, frees;
  guint copies_in, copies_out, copies_peer, computed;
  guint begun, ended, failed;
  guint64 bytes_in, bytes_out, bytes_peer;
  guint most_in_flight, most_computing;
  gsize bytes, most_bytes;
  gboolean lost;
  const char *wrong; /* what the engine did that it must not, or NULL */
} StandInDataCounts;

HassDevice *stand_in_data_new (const StandInDataPlan *plan);
void stand_in_data_free (HassDevice *device);
StandInDataCounts stand_in_data_counts (HassDevice *device);

typedef void (*StandInCallKernel) (const HassCall *call);

/* For GPU functions of codelets: runs @kernel when the operation's turn has
   come, with a copy of @call, of its views, and of the @argument_bytes that its
   arguments have. */
void stand_in_data_launch (HassGpuStream *stream, StandInCallKernel kernel,
                           const HassCall *call, gsize argument_bytes);

#endif
