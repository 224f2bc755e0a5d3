/* SPDX-License-Identifier: MIT */
/* cuda-private.h: a GPU as a device of one farm, and the bundles on it.
   Thread safety: the device's proxy thread. */
#ifndef HASS_CUDA_PRIVATE_H
#define HASS_CUDA_PRIVATE_H

#include "gpus-private.h"
#include "device/kinds.h"
#include "device/layout.h"
#include "device/pinned.h"
#include "pool/clock.h"

#define HASS_CUDA_SLOTS 4

/* Smaller stretches are staged, without a try of the other way. */
#define HASS_CUDA_CHOICE_BYTES ((gsize)1 << 20)

typedef struct HassCudaDevice HassCudaDevice;

/* Blocks of one bundle that have the same GPU worker: all of them but in a
   function farm. */
typedef struct
{
  HassLayout layout;
  HassGpuWorkerFunc worker;
  gsize in_at;  /* of its tables, in the slot's input buffer */
  gsize out_at; /* of its outputs, in the slot's output buffer */
  HassBundle bundle;
  gboolean direct_out; /* results were copied straight */
} HassCudaGroup;

typedef struct
{
  gboolean busy;
  gboolean counted; /* among the GPU's bundles */
  HassGpuKit *kit;
  GArray *groups;      /* HassCudaGroup */
  GArray *sorted;      /* HassBlock: by worker, where there are several */
  GArray *rectangles;  /* HassRectangle, of the groups' layouts */
  gpointer registered; /* pages pinned for this bundle, or NULL */
  gsize registered_bytes;
  gint64 submit_ns, register_ns;
  gint64 host_ns;   /* of cores, on copying and pinning */
  gint64 worker_ns; /* in the GPU worker */
  gsize out_bytes;  /* of the output buffer in use */
  guint64 record_capacity;
  guint64 n_copied; /* records on their way or there */
  guint n_runs;     /* of the kernels */
  /* Events are recorded before inputs and after kernels: only where there
     is something to copy, as each costs a microsecond. */
  gboolean times_in, times_out;
} HassCudaSlot;

/* What a way of bringing pageable bytes to a device costs. */
typedef struct
{
  double ns_per_byte; /* 0: not tried */
  gboolean refused;
} HassCudaWay;

struct HassCudaDevice
{
  HassDevice device;
  HassGpu *gpu;
  const HassDeviceFarm *farm; /* between open and close */
  guint64 budget;
  HassCudaSlot slots[HASS_CUDA_SLOTS];
  guint queue[HASS_CUDA_SLOTS]; /* slots in flight, oldest first */
  guint n_queued;
  guint n_failing;          /* of these, the oldest, that have failed */
  HassGpuBuffer *constants; /* [farm->n_constants] */
  gpointer *constant_data;  /* [farm->n_constants] */
  double record_rate;       /* per element, as seen */
  double expected_ns;       /* a bundle takes on the GPU */
  gboolean has_epoch;       /* that of the first slot's kit is recorded */
  double computed_ns;       /* since then, until the last kernels were done */
  HassCudaWay staged, pinned;
  guint n_pageable; /* bundles that had the choice */
  gboolean lost;
  HassTransfers transfers;
};

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
guint hass_cuda_find_done (HassCudaDevice *d, gint64 timeout_ns,
                           GError **error);
gboolean hass_cuda_await (HassCudaDevice *d, gpointer event, gint64 since_ns,
                          const char *what, GError **error);
gboolean hass_cuda_past_deadline (HassCudaDevice *d, const HassCudaSlot *slot);

/* drain.c */
gboolean hass_cuda_drain (HassCudaDevice *d, HassCudaSlot *slot);

/* done.c */
gboolean hass_cuda_wait (HassDevice *device, gint64 timeout_ns,
                         HassBundleDone *done, GError **error);

/* gather.c: through staging */
gboolean hass_cuda_copy_in (HassCudaDevice *d, HassCudaSlot *slot, gsize to,
                            gconstpointer from, gsize bytes, GError **error);
gboolean hass_cuda_send_staged (HassCudaDevice *d, HassCudaSlot *slot,
                                HassCudaGroup *group, gsize first, gsize end,
                                GError **error);

/* in.c: from the host to the device */
gboolean hass_cuda_send (HassCudaDevice *d, HassCudaSlot *slot, GError **error);
void hass_cuda_sent (HassCudaDevice *d, HassCudaSlot *slot);

/* constants.c */
gboolean hass_cuda_send_constants (HassCudaDevice *d, GError **error);
void hass_cuda_free_constants (HassCudaDevice *d);

/* out.c: and back */
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

#endif
