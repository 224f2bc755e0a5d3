/* SPDX-License-Identifier: MIT */
/* fake-private.h: what the files of the stand-in for the CUDA runtime share.
   Thread safety: all of it under fake.lock. */
#ifndef FAKE_PRIVATE_H
#define FAKE_PRIVATE_H

#include <pthread.h>

#include "fake_cudart.h"

/* Set in device pointers, so that no host code can follow one. */
#define FAKE_DEVICE_BIT ((guintptr)1 << 62)

/* Mean size of blocks from which they are copied in batches. */
#define FAKE_BATCH_BYTES 32768

typedef enum
{
  RANGE_DEVICE,
  RANGE_HOST,      /* of allocate_host */
  RANGE_REGISTERED /* of register_host */
} RangeKind;

typedef struct
{
  RangeKind kind;
  int device; /* of DEVICE */
  guintptr begin, end;
  gconstpointer stream; /* that orders the allocation; NULL: of no pool */
  guint64 serial;       /* of the allocation */
} Range;

/* A copy that failed: operations up to this serial number are skipped by
   the streams it has reached; all, until a call has reported it. */
typedef struct
{
  int code;
  guint64 until;
} Incident;

/* One recording of an event. */
typedef struct
{
  gboolean done;
  gint64 time_ns;
  Incident *incident;
} Mark;

typedef struct
{
  int device;
  gboolean freed;
  Mark *mark;           /* NULL: never recorded */
  gconstpointer stream; /* recorded last in this one, */
  guint64 serial;       /* behind this operation */
} Event;

typedef enum
{
  OP_COPY,
  OP_CLEAR,
  OP_RECORD,
  OP_WAIT,
  OP_KERNEL,
  OP_DELAY,
  OP_ASSERT
} OpKind;

typedef struct
{
  OpKind kind;
  guint64 serial;
  HassCudaDirection direction;
  guint8 *to;
  const guint8 *from; /* both real */
  gsize to_pitch, from_pitch, row_bytes, rows;
  guint8 *snapshot;        /* of pageable memory */
  guintptr host, host_end; /* pinned memory that is copied; 0: none */
  gboolean *finished;      /* for who waits for a pageable copy */
  Mark *mark;
  FakeKernel kernel;
  HassBundle bundle;
  gpointer *constants; /* bundle.constants */
  gpointer user_data;
  guint us;
} Op;

typedef struct
{
  int device;
  gboolean freed;
  pthread_t thread;
  GQueue ops;
  Op *running;
  Incident *incident;
  /* enqueued operations follow that one of @after */
  gconstpointer after;
  guint64 after_serial;
} Stream;

typedef struct
{
  pthread_mutex_t lock;
  pthread_cond_t changed;
  FakePlan plan;
  FakeCounts counts;
  guint n_devices;
  guint seen[FAKE_N_CALLS], n_seen, kernels_seen, copies_seen; /* by plan */
  guint generation;                                            /* of install */
  guint copying; /* streams that read or write without the lock */
  guint64 let;   /* how many more copies may go on */
  int sticky;
  gboolean gone; /* the device of the plan */
  gboolean ending, hanging, may_open;
  gboolean opening[FAKE_DEVICES], open[FAKE_DEVICES];
  gboolean shared[FAKE_DEVICES][FAKE_DEVICES]; /* pools; by the second */
  guint64 serial;                              /* of the last operation */
  GArray *ranges;                              /* Range */
  GPtrArray *streams, *events, *marks, *incidents;
} Fake;

extern Fake fake;

/* Locks and counts the call; the code it must fail with, or FAKE_OK. The
   device is the handle's, if there is one, else the thread's. */
int fake_enter (FakeCall call, gconstpointer handle);

/* Notes the thread's last error and unlocks. */
int fake_leave (int code);

int fake_wrong (int code, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* The code by which all on this device fails, or FAKE_OK. */
int fake_dead (int device);

/* The same, for a caller: nothing is copied any more when it is told. */
int fake_told_dead (int device);

/* From now on nothing is begun and every call fails by this code. */
void fake_fail_sticky (int code);

/* Puts an operation, allocated with g_new0, into a stream. */
void fake_put (Stream *stream, Op *op);
void fake_free_op (Op *op);

/* A stream's thread: executes its operations until it is freed. */
gpointer fake_work (gpointer stream);

/* FAKE_OK for what is in use; else a wrong. */
int fake_check_stream (const Stream *stream);

Stream *fake_stream (gconstpointer handle);
Event *fake_event (gconstpointer handle);

/* The device's memory that holds all of these bytes, else NULL. */
const Range *fake_device_range (gconstpointer memory, gsize bytes);
gpointer fake_real (gconstpointer device_pointer);

/* Allocates memory of the device, of a pool if there is a stream. */
int fake_take_memory (int device, gpointer *memory, gsize bytes,
                      const Stream *stream);
/* Frees it; FAKE_INVALID_VALUE: there is none. */
int fake_free_memory (gpointer memory);

/* Whether what is now put into the stream may use the memory. */
int fake_check_order (const Stream *stream, const Range *range);

/* Whether an operation that is not finished uses this device memory. */
gboolean fake_computes_there (guintptr begin, guintptr end);

/* Whether host memory is pinned; -1: only a part of it. */
int fake_pinned (gconstpointer memory, gsize bytes);

/* Whether an operation that is not finished copies to or from there. */
gboolean fake_in_use (guintptr begin, guintptr end);

/* Waits until the device, or with -1 each, has nothing to do. */
void fake_wait_idle (int device);

void fake_streams_end (void);

int fake_memory_info (gsize *free_bytes, gsize *total_bytes);
int fake_allocate (gpointer *memory, gsize bytes);
int fake_release (gpointer memory);
int fake_allocate_host (gpointer *memory, gsize bytes);
int fake_release_host (gpointer memory);
int fake_register_host (gpointer memory, gsize bytes);
int fake_unregister_host (gpointer memory);
int fake_stream_new (gpointer *stream);
int fake_stream_free (gpointer stream);
int fake_stream_query (gpointer stream);
int fake_stream_wait (gpointer stream, gpointer event);
int fake_event_new (gpointer *event);
int fake_event_free (gpointer event);
int fake_event_record (gpointer event, gpointer stream);
int fake_event_query (gpointer event);
int fake_event_wait (gpointer event);
int fake_event_elapsed (float *ms, gpointer begin, gpointer end);
int fake_copy (gpointer to, gconstpointer from, gsize bytes,
               HassCudaDirection direction, gpointer stream);
int fake_copy_batch (gpointer *to, gpointer *from, gsize *bytes, gsize n,
                     HassCudaDirection direction, gpointer stream);
int fake_copy_rows (gpointer to, gsize to_pitch, gconstpointer from,
                    gsize from_pitch, gsize row_bytes, gsize rows,
                    HassCudaDirection direction, gpointer stream);
int fake_clear (gpointer memory, gsize bytes, gpointer stream);
int fake_pool_keep (int device);
int fake_pool_spare (int device, gsize *bytes);
int fake_pool_share (int device, int by);
int fake_allocate_async (gpointer *memory, gsize bytes, gpointer stream);
int fake_release_async (gpointer memory, gpointer stream);
int fake_copy_peer (gpointer to, int to_device, gconstpointer from,
                    int from_device, gsize bytes, gpointer stream);

#endif
