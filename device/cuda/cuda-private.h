/* SPDX-License-Identifier: MIT */
/* cuda-private.h: a GPU as a device of one farm, and the bundles on it; or of a
   dataflow, and the operations on it.
   Thread safety: the device's proxy thread. */
#ifndef HASS_CUDA_PRIVATE_H
#define HASS_CUDA_PRIVATE_H

#include "gpus-private.h"
#include "device/chain.h"
#include "device/kinds.h"
#include "device/layout.h"
#include "device/pinned.h"
#include "hass/device_data.h"
#include "pool/clock.h"

#define HASS_CUDA_SLOTS 4

typedef struct HassCudaDevice HassCudaDevice;

/* A group: the blocks of one bundle that have the same GPU worker. In a
   function farm tasks may have different workers; in all other farms a bundle
   is one group. */
typedef struct
{
  HassLayout layout;
  HassGpuWorkerFunc worker;
  gsize in_at;   /* offset in bytes of its tables in the input buffer */
  gsize host_at; /* likewise in the slot's staging */
  gsize out_at;  /* offset in bytes of its outputs in the output buffer */
  /* What the worker gets; with several stages, from the inputs of the first to
     the output of the last. */
  HassBundle bundle;
  /* Copies read the user's inputs and write to the outputs, without staging. */
  gboolean direct_in, direct_out;
  gboolean rings; /* inputs that are gathered pass through the ring */
} HassCudaGroup;

typedef struct
{
  gboolean busy;
  gboolean counted; /* the bundle is included in the GPU's n_bundles */
  HassGpuKit *kit;
  GArray *groups; /* HassCudaGroup */
  /* HassBlock, sorted by GPU worker; used if the blocks of this bundle have
     different GPU workers. */
  GArray *sorted;
  GArray *rectangles;  /* HassRectangle: storage for the groups' layouts */
  gpointer registered; /* pages pinned for this bundle, or NULL */
  gsize registered_of; /* bytes of the inputs that have these pages */
  gint64 submit_ns, register_ns;
  gsize n_blocks;
  /* Time that CPU cores spent on copying and pinning for the bundle. */
  gint64 host_ns;
  gint64 worker_ns; /* time that the GPU worker took to enqueue its kernels */
  gint64 setup_ns;  /* time that making room for the bundle took */
  HassChain chain;  /* the stages that the bundle passes; 1 in a farm */
  gsize scratch_at; /* offset of the chain's scratch in the output buffer */
  /* The stretch of the output buffer with the outputs that are staged. */
  gsize staged_from, staged_to;
  guint64 record_capacity;
  guint64 n_copied; /* records whose copy to the host is enqueued or done */
  /* How often the kernels were enqueued: 2 after too many records. */
  guint n_runs;
  /* Whether there are inputs (times_in) or results (times_out) to copy. Only
     then are the events that time the copies recorded, as each costs a
     microsecond. */
  gboolean times_in, times_out;
  /* of the copies to the device and to the host: the kit's, or for large copies
     those of the device, where bundles take turns */
  gpointer in_stream, out_stream;
} HassCudaSlot;

/* A staged copy passes through the two halves of a pinned buffer in pieces of
   at most this many bytes. Larger pieces fill pinned memory, smaller ones are
   copied at less than the rate of the link. A guess. */
#define HASS_CUDA_PIECE_BYTES ((gsize)2 << 20)

/* An operation in flight.
   @kit: its stream and events; NULL: it waits for a stream.
   @at: staged: bytes, rows packed, whose piece has begun.
   @pieces: [half] the bytes that a half of the buffer holds.
   @n_begun, @n_landed: pieces. */
typedef struct
{
  guint64 ticket;
  HassGpuKit *kit;
  gint64 begun_ns;
  gboolean computes, staged;
  HassDataCopy copy;
  gsize at;
  struct
  {
    gsize begin, end;
  } pieces[2];
  guint n_begun, n_landed;
} HassCudaOp;

/* The state of a device while it is open for a dataflow.
   @pool: kit whose stream orders allocations; its event `copied` follows the
   latest one.
   @memory: address -> its bytes.
   @bytes: sum of them.
   @running: HassCudaOp, the oldest first. @next: index of the one that wait()
     looks at next.
   @waiting: [to_host] HassCudaOp without a stream.
   @n_copying: [to_host] of the running ones.
   @why: why the operation @broken failed when it no longer had to wait; NULL:
     none did.
   @shared: bit for each GPU that copies may come from. */
typedef struct
{
  HassGpuKit *pool;
  GHashTable *memory;
  gsize bytes;
  GPtrArray *running;
  guint next;
  GQueue waiting[2];
  guint n_copying[2];
  guint64 broken;
  GError *why;
  guint64 shared;
  gboolean counted; /* in the GPU's n_bundles, as operations are in flight */
  gboolean lost;
} HassCudaData;

/* The stages of a bundle, by which `stage_end_ns` is indexed. */
typedef enum
{
  HASS_CUDA_COPY_IN,
  HASS_CUDA_KERNELS,
  HASS_CUDA_COPY_OUT,
  HASS_CUDA_N_STAGES
} HassCudaStage;

struct HassCudaDevice
{
  HassDevice device;
  HassGpu *gpu;
  /* The farm served now; NULL outside open and close. */
  const HassDeviceFarm *farm;
  guint64 budget;
  HassCudaSlot slots[HASS_CUDA_SLOTS];
  guint queue[HASS_CUDA_SLOTS]; /* slots in flight, oldest first */
  guint n_queued;
  /* How many of the oldest bundles in `queue` have failed. */
  guint n_failing;
  HassGpuBuffer *constants; /* [farm->n_constants] */
  gpointer *constant_data;  /* [farm->n_constants] */
  /* Highest number of records an element that was seen. */
  double record_rate;
  /* When the last bundle was seen to be done, and what it had taken, since its
     submission or the end of the one before, in ns, and its blocks; 0: none
     yet. */
  gint64 done_ns, expected_ns;
  gint64 oldest_ns; /* since when queue[0] is there, submitted */
  gboolean awaited; /* it ended while the thread waited for it */
  gint64 epoch_ns;  /* when the epoch event was, by the latest such bundle */
  gsize expected_blocks;
  int slack_ns; /* of the proxy thread's timers, before */
  /* The epoch event of slot 0's kit (time 0 of the farm) is recorded. */
  gboolean has_epoch;
  /* When each stage last ended, in ns since the epoch. */
  double stage_end_ns[HASS_CUDA_N_STAGES];
  gboolean pins_refused; /* the driver did not pin pages of this farm */
  gboolean lost;
  HassTransfers transfers;
  HassCudaData *data; /* NULL: not open for a dataflow */
};

/* fault.c: what was enqueued */
gboolean hass_cuda_has_ended (HassCudaDevice *d, int code, const char *what,
                              GError **error);
gboolean hass_cuda_passed (HassCudaDevice *d, gpointer event, const char *what,
                           GError **error);
gboolean hass_cuda_past_deadline (HassCudaDevice *d, gint64 since_ns);
void hass_cuda_note_hung (HassCudaDevice *d, const char *what, GError **error);

/* room.c */
gboolean hass_cuda_reserve (HassCudaDevice *d, const HassCudaSlot *filling,
                            HassGpuBuffer *buffer, gsize bytes, GError **error);
void hass_cuda_note_peak (HassCudaDevice *d);

/* submit.c */
gboolean hass_cuda_submit (HassDevice *device, guint index,
                           const HassBlock *blocks, gsize n, GError **error);
gboolean hass_cuda_compute (HassCudaDevice *d, HassCudaSlot *slot,
                            GError **error);
void hass_cuda_leave (HassCudaDevice *d, HassCudaSlot *slot);

/* wait.c */

/* Looks whether what is waited for has ended, or has failed. */
typedef gboolean (*HassCudaLook) (HassCudaDevice *d, gpointer data);

gboolean hass_cuda_poll (HassCudaDevice *d, HassCudaLook look, gpointer data,
                         gint64 end_ns, gint64 most_pause_ns, gint64 until_ns);
guint hass_cuda_find_done (HassCudaDevice *d, gint64 timeout_ns,
                           GError **error);
gboolean hass_cuda_await_until (HassCudaDevice *d, gpointer event,
                                gint64 until_ns, const char *what,
                                GError **error);
gboolean hass_cuda_await (HassCudaDevice *d, gpointer event, gint64 since_ns,
                          const char *what, GError **error);
gboolean hass_cuda_drain_until (HassCudaDevice *d, gpointer stream,
                                gint64 until_ns);
gboolean hass_cuda_drain_stream (HassCudaDevice *d, gpointer stream,
                                 gint64 since_ns);
gboolean hass_cuda_drain (HassCudaDevice *d, HassCudaSlot *slot);

/* done.c */
gboolean hass_cuda_wait (HassDevice *device, gint64 timeout_ns,
                         HassBundleDone *done, GError **error);

/* gather.c: copies of scattered blocks, those of inputs through a pinned
   staging buffer */
int hass_cuda_copy_each (const HassLayout *layout, HassBlockPlaceFunc place,
                         HassBlockBytesFunc bytes_of, guint8 *on_device,
                         HassCudaDirection direction, gpointer stream);
gboolean hass_cuda_copy_in (HassCudaDevice *d, HassCudaSlot *slot, gsize to,
                            gconstpointer from, gsize bytes, GError **error);
gboolean hass_cuda_send_tables (HassCudaDevice *d, HassCudaSlot *slot,
                                const HassCudaGroup *group, GError **error);
gboolean hass_cuda_send_staged (HassCudaDevice *d, HassCudaSlot *slot,
                                HassCudaGroup *group, gsize first, gsize end,
                                GError **error);

/* in.c: copies of inputs from the host to the device */
gboolean hass_cuda_place (HassCudaDevice *d, HassCudaSlot *slot,
                          GError **error);
gboolean hass_cuda_send (HassCudaDevice *d, HassCudaSlot *slot, GError **error);
void hass_cuda_sent (HassCudaDevice *d, HassCudaSlot *slot);

/* constants.c */
gboolean hass_cuda_send_constants (HassCudaDevice *d, GError **error);
void hass_cuda_free_constants (HassCudaDevice *d);

/* out.c: copies of results from the device to the host */
gboolean hass_cuda_clears (const HassCudaDevice *d);
gboolean hass_cuda_brings_results (const HassCudaDevice *d,
                                   const HassCudaSlot *slot);
gboolean hass_cuda_clear_results (HassCudaDevice *d, HassCudaSlot *slot,
                                  GError **error);
gboolean hass_cuda_fetch (HassCudaDevice *d, HassCudaSlot *slot,
                          GError **error);
gboolean hass_cuda_fetch_records (HassCudaDevice *d, HassCudaSlot *slot,
                                  guint64 first, guint64 n, GError **error);
guint64 hass_cuda_n_records (const HassCudaDevice *d, const HassCudaSlot *slot);
gboolean hass_cuda_deliver (HassCudaDevice *d, HassCudaSlot *slot,
                            GError **error);
gboolean hass_cuda_reserve_records (HassCudaDevice *d, HassCudaSlot *slot,
                                    GError **error);
gboolean hass_cuda_reserve_results (HassCudaDevice *d, HassCudaSlot *slot,
                                    GError **error);
gsize hass_cuda_record_blocks_bytes (guint64 capacity);
gconstpointer hass_cuda_accumulator (const HassCudaDevice *d,
                                     const HassCudaSlot *slot);

/* data.c: the memory of a dataflow */
extern const HassDeviceDataOps hass_cuda_data_ops;
gboolean hass_cuda_open_data (HassCudaDevice *d, GError **error);
void hass_cuda_close_data (HassCudaDevice *d);

/* data_copy.c: copies of data */
gboolean hass_cuda_begin_copy (HassCudaDevice *d, HassCudaOp *op,
                               GError **error);
gboolean hass_cuda_go_on (HassCudaDevice *d, HassCudaOp *op, GError **error);

/* data_op.c: operations of a dataflow */
gboolean hass_cuda_is_there (HassCudaDevice *d, GError **error);
gboolean hass_cuda_copy (HassDevice *device, guint64 ticket,
                         const HassDataCopy *copy, GError **error);
gboolean hass_cuda_compute_data (HassDevice *device, guint64 ticket,
                                 HassEnqueueFunc enqueue, gpointer data,
                                 GError **error);
gboolean hass_cuda_wait_data (HassDevice *device, gint64 timeout_ns,
                              HassDataDone *done, GError **error);

#endif
