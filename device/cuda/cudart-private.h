/* SPDX-License-Identifier: MIT */
/* cudart-private.h: the part of the CUDA runtime that hass calls, as a table
   of functions. Tests can replace the table by one that fails, and the library
   builds without CUDA.

   Each function returns the runtime's own error code, 0 for success, and does
   what the runtime's function of that name does. `classify` returns what a
   code means for hass; `start_ns` is the expected time of a process's first
   set_device. Streams and events are the runtime's, opaque.

   Thread safety: the table is constant; hass_cudart_use by tests alone, before
   any other call. */
#ifndef HASS_CUDART_PRIVATE_H
#define HASS_CUDART_PRIVATE_H

#include <glib.h>

typedef enum
{
  HASS_CUDA_OK,
  /* event_query: the event has not completed yet; stream_query: the stream has
     work. */
  HASS_CUDA_NOT_READY,
  /* Memory of host or device is insufficient; the next call may succeed. */
  HASS_CUDA_NO_MEMORY,
  HASS_CUDA_LOCAL, /* the call failed; the next one may succeed */
  /* The context is broken: all later calls of the process fail. */
  HASS_CUDA_STICKY
} HassCudaKind;

typedef enum
{
  HASS_CUDA_TO_DEVICE,
  HASS_CUDA_TO_HOST
} HassCudaDirection;

typedef struct
{
  char name[256];
  char pci[32]; /* "0000:3b:00.0" */
  guint multiprocessors;
  guint threads_per_multiprocessor;
  guint64 memory_bytes;
  guint compute_major; /* major number of the compute capability; 0: unknown */
} HassCudaProperties;

typedef struct
{
  int (*device_count) (int *n);
  int (*properties) (int device, HassCudaProperties *properties);
  int (*set_device) (int device);
  int (*memory_info) (gsize *free_bytes, gsize *total_bytes);
  int (*allocate) (gpointer *memory, gsize bytes);
  int (*release) (gpointer memory);
  int (*allocate_host) (gpointer *memory, gsize bytes);
  int (*release_host) (gpointer memory);
  int (*register_host) (gpointer memory, gsize bytes);
  int (*unregister_host) (gpointer memory);
  int (*stream_new) (gpointer *stream);
  int (*stream_free) (gpointer stream);
  int (*stream_query) (gpointer stream);
  int (*stream_wait) (gpointer stream, gpointer event);
  int (*event_new) (gpointer *event);
  int (*event_free) (gpointer event);
  int (*event_record) (gpointer event, gpointer stream);
  int (*event_query) (gpointer event);
  /* The calling thread sleeps until the event has completed. */
  int (*event_wait) (gpointer event);
  int (*event_elapsed) (float *ms, gpointer begin, gpointer end);
  int (*copy) (gpointer to, gconstpointer from, gsize bytes,
               HassCudaDirection direction, gpointer stream);
  /* @n of them, none of 0 bytes, in any order among one another. */
  int (*copy_batch) (gpointer *to, gpointer *from, gsize *bytes, gsize n,
                     HassCudaDirection direction, gpointer stream);
  int (*copy_rows) (gpointer to, gsize to_pitch, gconstpointer from,
                    gsize from_pitch, gsize row_bytes, gsize rows,
                    HassCudaDirection direction, gpointer stream);
  int (*clear) (gpointer memory, gsize bytes, gpointer stream);
  /* The device's default memory pool keeps all that is freed into it, */
  int (*pool_keep) (int device);
  /* keeps so many bytes that are not allocated, which allocate() takes from it
     where the device has no other memory, */
  int (*pool_spare) (int device, gsize *bytes);
  /* and is accessed by device @by without the host, if the machine can. */
  int (*pool_share) (int device, int by);
  /* From the pool of the stream's device. */
  int (*allocate_async) (gpointer *memory, gsize bytes, gpointer stream);
  int (*release_async) (gpointer memory, gpointer stream);
  int (*copy_peer) (gpointer to, int to_device, gconstpointer from,
                    int from_device, gsize bytes, gpointer stream);
  int (*last_error) (void); /* returns the thread's last error and clears it */
  const char *(*text) (int code);
  HassCudaKind (*classify) (int code);
  int version; /* version of the runtime, as CUDART_VERSION */
  /* Bytes on average from which copies of copy_batch() keep a link busy. */
  gsize batch_bytes;
  /* Expected time in ns of the first start of a device, before one was
     measured; 0: none. */
  gint64 start_ns;
} HassCudart;

/* Returns: the functions of the CUDA runtime; NULL if the library was built
   without CUDA. */
const HassCudart *hass_cudart (void);

/* For tests: makes hass_cudart() return @cudart instead of the built-in table;
   with NULL the built-in one again. */
void hass_cudart_use (const HassCudart *cudart);

#endif
