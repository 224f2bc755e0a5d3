/* SPDX-License-Identifier: MIT */
/* fake_cudart.h: a stand-in for the CUDA runtime, over host memory, that can
   be told to fail.

   DESIGN. What CUDA promises holds here, and what it does not promise does
   not: each stream has a thread of its own that works off its operations in
   order, so a copy from pinned memory reads it when its turn has come; the
   present device and the last error are each thread's own; an error that was
   not taken with last_error is seen by the next GPU worker; a sticky error is
   the answer to every later call. Nothing is copied any more when the first
   of these is told: CUDA does not promise that in words, but nobody who is told
   could wait for anything. Device pointers cannot be dereferenced on the host:
   only kernels get real ones. Freshly allocated memory is not zero. What a
   caller must not do is counted as wrong, with a text.

   Memory of a pool exists, for other streams than the one that allocated it,
   behind an event of that one.

   A copy that fails when it is executed makes its stream, and those that
   wait for it, skip what was enqueued until a call has reported the error:
   events recorded behind it carry the error.

   Thread safety: install and remove while nothing else calls; the rest as in
   CUDA. */
#ifndef FAKE_CUDART_H
#define FAKE_CUDART_H

#include "device/cuda/cudart-private.h"
#include "hass/device.h"

#define FAKE_DEVICES 4

/* The codes; their values are CUDA's. */
enum
{
  FAKE_OK = 0,
  FAKE_INVALID_VALUE = 1,
  FAKE_NO_MEMORY = 2,
  FAKE_NO_DRIVER = 35,
  FAKE_GONE = 46, /* sticky, of one device */
  FAKE_NO_DEVICE = 100,
  FAKE_INVALID_DEVICE = 101,
  FAKE_INVALID_HANDLE = 400,
  FAKE_NOT_READY = 600,
  FAKE_ILLEGAL_ADDRESS = 700, /* sticky */
  FAKE_NO_RESOURCES = 701,
  FAKE_ASSERT = 710, /* sticky */
  FAKE_REGISTERED = 712,
  FAKE_NOT_REGISTERED = 713,
  FAKE_NOT_SUPPORTED = 801
};

/* The calls of the table, and launching. */
typedef enum
{
  FAKE_DEVICE_COUNT,
  FAKE_PROPERTIES,
  FAKE_SET_DEVICE,
  FAKE_MEMORY_INFO,
  FAKE_ALLOCATE,
  FAKE_RELEASE,
  FAKE_ALLOCATE_HOST,
  FAKE_RELEASE_HOST,
  FAKE_REGISTER,
  FAKE_UNREGISTER,
  FAKE_STREAM_NEW,
  FAKE_STREAM_FREE,
  FAKE_STREAM_QUERY,
  FAKE_STREAM_WAIT,
  FAKE_EVENT_NEW,
  FAKE_EVENT_FREE,
  FAKE_EVENT_RECORD,
  FAKE_EVENT_QUERY,
  FAKE_EVENT_WAIT,
  FAKE_EVENT_ELAPSED,
  FAKE_COPY,
  FAKE_COPY_BATCH,
  FAKE_COPY_ROWS,
  FAKE_CLEAR,
  FAKE_POOL_KEEP,
  FAKE_POOL_SPARE,
  FAKE_POOL_SHARE,
  FAKE_ALLOCATE_ASYNC,
  FAKE_RELEASE_ASYNC,
  FAKE_COPY_PEER,
  FAKE_LAUNCH,
  FAKE_N_CALLS
} FakeCall;

/* "allocate", "event_record", ... */
const char *fake_call_name (FakeCall call);

/**
 * FakePlan: the machine and its faults; counts are from 1; 0: never.
 * @n_devices: 0: 1.
 * @device_count_code: FAKE_NO_DRIVER or FAKE_NO_DEVICE: there is none.
 * @memory_bytes: of each device; 0: 256 MiB. @foreign_bytes: of these, taken
 *   by another process.
 * @multiprocessors: 0: 4. @threads: of each; 0: 32. @compute_major: 0: says 0.
 * @copy_delay_us, @kernel_delay_us: before each is executed.
 * @allocate_us: that allocating pinned memory takes.
 * @hold_kernels_until: none is executed before this call was made; 0: no such.
 * @hold_copies: those that have begun go on when fake_let_copies() lets them,
 *   or when their device has failed.
 * @called: is told of each call before anything else, on the calling thread.
 *   It may call the stand-in.
 * @fail_at: [call]: this call of its kind fails, and may be tried again.
 *   @fail_every: each so manyth. What gives something back fails after it
 *   has done so. Both count from @after_launches launches on.
 * @fail_above_bytes: allocations on a device of more fail.
 * @fail_copy_at: this copy or clear fails when it is executed.
 * @fail_copy_every: each so manyth.
 * @sticky_at_call: of all calls, counted together.
 * @sticky_at_kernel: this kernel fails a device assert when it is executed.
 * @gone_at_call: from this one of all calls on, @gone_device fails.
 * @hang_kernel_at: this kernel first hangs for @hang_ms, or until
 *   fake_end_hang().
 * @version: of the runtime. @look_ms: that device_count takes.
 * @start_ms: what it says that a device's first start takes; @open_ms: what
 *   that really takes.
 * @hold_opening: the first set_device of each device, which makes its
 *   context, waits for fake_let_open().
 */
typedef struct
{
  guint n_devices;
  int device_count_code;
  gsize memory_bytes, foreign_bytes;
  guint multiprocessors, threads, compute_major;
  guint copy_delay_us, kernel_delay_us, allocate_us;
  FakeCall hold_kernels_until;
  gboolean hold_copies;
  void (*called) (FakeCall call, gpointer data);
  gpointer called_data;
  guint fail_at[FAKE_N_CALLS], fail_every[FAKE_N_CALLS], after_launches;
  gsize fail_above_bytes;
  guint fail_copy_at, fail_copy_every;
  guint sticky_at_call, sticky_at_kernel;
  guint gone_at_call, gone_device;
  guint hang_kernel_at, hang_ms;
  guint version, look_ms;
  guint start_ms, open_ms;
  gboolean hold_opening;
} FakePlan;

/**
 * FakeCounts: what was called.
 * @kernels, @copies: executed, copies with clears. @copied: of the latter those
 *   that have ended.
 * @pageable_copies: of memory that is not pinned.
 * @ragged_copies: of pinned memory to a device, that begin or end in the middle
 *   of a line of 256 bytes.
 * @faults: of the plan that have come to pass.
 * @waits_in_release: of release and release_host for work on a device.
 * @opening, @opened: contexts that were begun and made.
 * @live_bytes, @most_bytes: [device].
 * @pool_bytes: [device] that its pool keeps.
 * @wrong: what a caller did that it must not, the first; "" when nothing.
 * @leaks: what was never given back; "" when nothing. After remove.
 */
typedef struct
{
  guint calls[FAKE_N_CALLS];
  guint n_calls, kernels, copies, pageable_copies, ragged_copies, faults;
  guint waits_in_release, copied;
  guint opening, opened;
  guint64 bytes_to_device, bytes_to_host;
  gsize live_bytes[FAKE_DEVICES], most_bytes[FAKE_DEVICES];
  gsize pool_bytes[FAKE_DEVICES];
  guint64 bytes_to_peer;
  guint n_wrong;
  char wrong[200], leaks[200];
} FakeCounts;

/* Adds a random fault to the plan of a machine with so many GPUs, and its
   description to @text. */
void fake_add_fault (GRand *r, guint n_gpus, FakePlan *plan, GString *text);

/* Puts the stand-in in the runtime's place. */
void fake_cudart_install (const FakePlan *plan);

/* Works off what is enqueued, and puts the runtime back. */
FakeCounts fake_cudart_remove (void);

FakeCounts fake_cudart_counts (void);

/* The same machine with other faults; counting starts anew for them. */
void fake_cudart_plan (const FakePlan *plan);

/* Lets who waits in set_device go on, and all who come. */
void fake_let_open (void);

/* Lets so many more of the copies that are held go on, or of those to come. */
void fake_let_copies (guint n);

int fake_current_device (void);

/* Whether a copy is still to come, or under way, that writes to this host
   memory, on a device that works. */
gboolean fake_will_write (gconstpointer memory, gsize bytes);

/* Whether a kernel hangs just now. */
gboolean fake_hanging (void);
void fake_end_hang (void);

/* -- For GPU workers --------------------------------------------------- */

/* Sees real pointers, and no blocks; on the stream's thread. */
typedef void (*FakeKernel) (const HassBundle *bundle, gpointer user_data);

/* Like a kernel launch: errors are the thread's last error, see
   fake_check. */
void fake_launch (HassGpuStream *stream, FakeKernel kernel,
                  const HassBundle *bundle, gpointer user_data);

/* A kernel that does nothing for so long. */
void fake_launch_delay (HassGpuStream *stream, guint us);

/* A kernel that fails a device assert: sticky. */
void fake_launch_assert (HassGpuStream *stream);

/* As hass_cuda_check (cudaGetLastError (), what, error). */
gboolean fake_check (const char *what, GError **error);

/* -- For kernels ------------------------------------------------------- */

/* As hass_append(). */
void fake_append (const HassBundle *bundle, guint32 block,
                  gconstpointer record);

/* As the functions of hass/cuda_device.cuh. */
const guint8 *fake_input (const HassBundle *bundle, gsize block);
gsize fake_input_bytes (const HassBundle *bundle, gsize block);
guint8 *fake_output (const HassBundle *bundle, gsize block);
guint64 fake_elements (const HassBundle *bundle, gsize block);

#endif
