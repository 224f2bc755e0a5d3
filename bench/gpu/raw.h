/* SPDX-License-Identifier: MIT */
/* raw.h: what the machine itself does: links, launches, host memory; for the
   tables that put a program beside it.
   Thread safety: one thread. */
#ifndef GPU_BENCH_RAW_H
#define GPU_BENCH_RAW_H

#include "gpu_bench.h"

G_BEGIN_DECLS

typedef enum
{
  RAW_TO_DEVICE = 1,
  RAW_TO_HOST = 2,
  RAW_BOTH = 3
} RawDirection;

typedef struct RawLink RawLink;

/* Device buffers and streams for plain copies of up to @piece bytes, on the
   first @n_gpus devices at once. @host [@host_bytes] is pinned, at least two
   pieces a GPU; copies to the host overwrite the last piece of each GPU's
   share, and only those. */
RawLink *raw_link_new (guint n_gpus, guint8 *host, gsize host_bytes,
                       gsize piece);
/* GB/s over all devices of @n_pieces copies each way and device, from the
   first to the last. */
double raw_link_gbps (RawLink *link, RawDirection direction, guint n_pieces);
void raw_link_free (RawLink *link);

/* GB/s of @n_threads that read @bytes [@n], each its own stretch; they stay
   bound, each to a core. */
double raw_read_gbps (Crew *crew, guint n_threads, const guint8 *bytes,
                      gsize n);

typedef enum
{
  RAW_SPIN,        /* cudaStreamSynchronize */
  RAW_EVENT_SLEEP, /* cudaEventSynchronize, cudaEventBlockingSync */
  RAW_EVENT_POLL   /* cudaEventQuery until it is done */
} RawWait;

/* Median ns of a launch of an empty kernel and the wait for its end, on
   device 0. */
double raw_launch_wait_ns (RawWait wait, guint n);

G_END_DECLS

#endif
