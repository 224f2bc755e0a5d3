/* SPDX-License-Identifier: MIT */
/* cudart-private.h: the part of the CUDA runtime that hass calls, as a table,
   so that tests can put a stand-in that fails in its place and so that the
   library builds where there is no CUDA.

   Each function returns the runtime's own error code, 0 for success, and
   means what the runtime's function of that name means; classify says what
   a code is to us, start_ns what to expect of a process's first set_device.
   Streams and events are the runtime's, opaque.

   Thread safety: the table is constant; hass_cudart_use by tests alone,
   before any other call. */
#ifndef HASS_CUDART_PRIVATE_H
#define HASS_CUDART_PRIVATE_H

#include <glib.h>

typedef enum
{
  HASS_CUDA_OK,
  HASS_CUDA_NOT_READY, /* of event_query */
  HASS_CUDA_NO_MEMORY, /* on host or device; nothing is broken */
  HASS_CUDA_LOCAL,     /* this call failed, the next may succeed */
  HASS_CUDA_STICKY     /* nothing will succeed in this process any more */
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
  guint compute_major; /* of its compute capability; 0: not known */
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
  int (*stream_wait) (gpointer stream, gpointer event);
  int (*event_new) (gpointer *event);
  int (*event_free) (gpointer event);
  int (*event_record) (gpointer event, gpointer stream);
  int (*event_query) (gpointer event);
  int (*event_wait) (gpointer event); /* sleeps */
  int (*event_elapsed) (float *ms, gpointer begin, gpointer end);
  int (*copy) (gpointer to, gconstpointer from, gsize bytes,
               HassCudaDirection direction, gpointer stream);
  int (*copy_rows) (gpointer to, gsize to_pitch, gconstpointer from,
                    gsize from_pitch, gsize row_bytes, gsize rows,
                    HassCudaDirection direction, gpointer stream);
  int (*clear) (gpointer memory, gsize bytes, gpointer stream);
  int (*last_error) (void); /* and forgets it */
  const char *(*text) (int code);
  HassCudaKind (*classify) (int code);
  int version;     /* of the runtime */
  gint64 start_ns; /* about what a device's first start takes; 0: nothing */
} HassCudart;

/* The runtime, or NULL where the library was built without CUDA. */
const HassCudart *hass_cudart (void);

/* For tests: another table, or NULL for the built-in one again. */
void hass_cudart_use (const HassCudart *cudart);

#endif
