/* SPDX-License-Identifier: MIT */
/* stand_in_data-private.h: the parts of a stand-in device for dataflows.

   DESIGN. An operation lies in `queued`, is taken out and executed without the
   lock, and lies in `done` until wait() reports it; one that hangs stays in
   `hung`. Memory knows how many operations in flight use it, of any device.

   Thread safety: one lock for all devices, since they copy from each other. */
#ifndef STAND_IN_DATA_PRIVATE_H
#define STAND_IN_DATA_PRIVATE_H

#include "stand_in_data.h"

#include <pthread.h>

#define SPOILT 0xdb /* fills memory that is undefined */

extern pthread_mutex_t stand_in_data_lock;

typedef struct
{
  guint8 *data;
  gsize bytes;
  guint uses;    /* operations in flight */
  guint running; /* of these, being executed */
  gboolean gone; /* freed with its device; the struct stays until uses is 0 */
} Memory;

typedef struct
{
  StandInCallKernel kernel;
  HassCall call;
} Launch;

typedef struct DataStandIn DataStandIn;

struct _HassGpuStream
{
  DataStandIn *device;
  GPtrArray *launches; /* Launch */
  GPtrArray *uses;     /* Memory */
};

typedef struct
{
  guint64 ticket;
  guint number; /* among all operations, from 1 */
  gboolean computes, failed;
  HassDataCopy copy;
  HassGpuStream stream;
  gint64 begun_ns;
  double ns;
} Op;

struct DataStandIn
{
  HassDevice device;
  HassDeviceOps ops;
  StandInDataPlan plan;
  const HassDeviceFarm *farm;
  GThread **threads;
  pthread_cond_t changed;
  /* guarded by stand_in_data_lock */
  GRand *rand;
  GPtrArray *memory;               /* Memory */
  GPtrArray *queued, *done, *hung; /* Op */
  guint running, n_calls, n_tries, computing;
  gboolean closing;
  StandInDataCounts counts;
};

/* stand_in_data.c */
gint64 sid_now_ns (void);
gboolean sid_is_nth (guint n, guint at, guint every);
gboolean sid_fail (GError **error, gint code, const char *what);
void sid_wrong_locked (DataStandIn *s, const char *what);

/* stand_in_memory.c */
gsize sid_capacity (HassDevice *device);
gboolean sid_serves_locked (DataStandIn *s, GError **error);
gboolean sid_alloc (HassDevice *device, gsize bytes, gpointer *memory,
                    GError **error);
void sid_free (HassDevice *device, gpointer memory);
gboolean sid_use_locked (HassGpuStream *stream, DataStandIn *s,
                         gconstpointer at, gsize bytes);
void sid_unuse_locked (HassGpuStream *stream);
void sid_lose_locked (DataStandIn *s);

/* stand_in_ops.c */
gboolean sid_copy (HassDevice *device, guint64 ticket, const HassDataCopy *copy,
                   GError **error);
gboolean sid_compute (HassDevice *device, guint64 ticket,
                      HassEnqueueFunc enqueue, gpointer data, GError **error);
void sid_op_free_locked (Op *op);
void sid_execute_locked (DataStandIn *s);

#endif
