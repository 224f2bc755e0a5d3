/* SPDX-License-Identifier: MIT */
/* memory.c: pinned host memory, and which addresses are pinned.

   DESIGN. A sorted array holds the ranges that the library has pinned, so that
   a device finds with one binary search whether a block can be copied directly.
   Where the driver cannot pin more memory, hass_memory_alloc() returns ordinary
   memory, from which copies are slower.

   Thread safety: any thread; one lock over the ranges. */
#include "hass/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/gpus-private.h"
#include "hass/error.h"

#define PAGE_BYTES 4096

typedef struct
{
  guintptr begin, end;
  gboolean allocated; /* by hass_memory_alloc(), else registered */
  gboolean pinned;
} Range;

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static GArray *ranges; /* Range, ascending; lock */

/* Index of the first range that ends behind the address. */
static guint
first_behind (guintptr address)
{
  guint lo = 0, hi = ranges ? ranges->len : 0;
  while (lo < hi)
    {
      guint middle = lo + (hi - lo) / 2;
      if (g_array_index (ranges, Range, middle).end <= address)
        lo = middle + 1;
      else
        hi = middle;
    }
  return lo;
}

/* Whether all of the bytes are pinned, by one range. */
gboolean
hass_memory_is_pinned (gconstpointer memory, gsize bytes)
{
  guintptr begin = (guintptr)memory;
  gboolean pinned = FALSE;
  pthread_rwlock_rdlock (&lock);
  guint i = first_behind (begin);
  if (ranges && i < ranges->len)
    {
      const Range *r = &g_array_index (ranges, Range, i);
      pinned = r->pinned && r->begin <= begin && bytes <= r->end - begin;
    }
  pthread_rwlock_unlock (&lock);
  return pinned;
}

static void
add_locked (guintptr begin, gsize bytes, gboolean allocated, gboolean pinned)
{
  Range range = { begin, begin + bytes, allocated, pinned };
  if (!ranges)
    ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  g_array_insert_val (ranges, first_behind (begin), range);
}

/* Takes the range that begins here out of the list. */
static gboolean
remove_range (gconstpointer memory, gboolean allocated, Range *found)
{
  guintptr begin = (guintptr)memory;
  pthread_rwlock_wrlock (&lock);
  guint i = first_behind (begin);
  gboolean ok = ranges && i < ranges->len;
  if (ok)
    {
      *found = g_array_index (ranges, Range, i);
      ok = found->begin == begin && found->allocated == allocated;
    }
  if (ok)
    g_array_remove_index (ranges, i);
  pthread_rwlock_unlock (&lock);
  return ok;
}

gpointer
hass_memory_alloc (gsize bytes, GError **error)
{
  gpointer memory = NULL;
  const HassCudart *cuda = hass_cudart ();
  gsize wanted = MAX (bytes, 1);
  HassGpuBuffer spare = { NULL, 0 };
  gboolean pinned = hass_gpus_count () > 0 && !hass_gpus_hang ()
                    && (hass_gpus_take_host_spare (wanted, &spare)
                        || cuda->allocate_host (&memory, wanted) == 0);
  if (spare.data)
    memory = spare.data;
  else if (pinned)
    hass_gpus_note_context ();
  else
    {
      if (cuda)
        cuda->last_error ();
      if (posix_memalign (&memory, PAGE_BYTES, wanted) != 0)
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                       "no host memory for %zu bytes", bytes);
          return NULL;
        }
    }
  pthread_rwlock_wrlock (&lock);
  add_locked ((guintptr)memory, wanted, TRUE, pinned);
  pthread_rwlock_unlock (&lock);
  return memory;
}

void
hass_memory_free (gpointer memory)
{
  Range range;
  if (!memory)
    return;
  g_return_if_fail (remove_range (memory, TRUE, &range));
  HassGpuBuffer buffer = { memory, range.end - range.begin };
  if (range.pinned)
    hass_gpus_release_host (&buffer);
  else
    free (memory);
}

static void
describe_refusal (gpointer memory, gsize bytes, int code, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  gboolean full = cuda->classify (code) == HASS_CUDA_NO_MEMORY;
  g_set_error (error, HASS_ERROR,
               full ? HASS_ERROR_NO_MEMORY : HASS_ERROR_DEVICE,
               "%zu bytes at %p cannot be registered: %s", bytes, memory,
               cuda->text (code));
  cuda->last_error ();
}

gboolean
hass_memory_register (gpointer memory, gsize bytes, GError **error)
{
  guintptr begin = (guintptr)memory;
  const HassCudart *cuda = hass_cudart ();
  if (!memory || bytes == 0 || bytes > UINTPTR_MAX - begin)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "%zu bytes at %p cannot be registered", bytes, memory);
      return FALSE;
    }
  gboolean present = hass_gpus_count () > 0 && !hass_gpus_hang ();
  pthread_rwlock_wrlock (&lock);
  guint i = first_behind (begin);
  gboolean overlaps = ranges && i < ranges->len
                      && g_array_index (ranges, Range, i).begin < begin + bytes;
  if (overlaps)
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                 "a part of the %zu bytes at %p is registered already", bytes,
                 memory);
  int code = present && !overlaps ? cuda->register_host (memory, bytes) : 0;
  if (!overlaps && code == 0)
    add_locked (begin, bytes, FALSE, present);
  pthread_rwlock_unlock (&lock);
  if (present && !overlaps && code == 0)
    hass_gpus_note_context ();
  if (code != 0)
    describe_refusal (memory, bytes, code, error);
  return !overlaps && code == 0;
}

void
hass_memory_unregister (gpointer memory)
{
  Range range;
  if (!memory || !remove_range (memory, FALSE, &range))
    return;
  if (range.pinned && !hass_gpus_hang ()
      && hass_cudart ()->unregister_host (memory) != 0)
    hass_cudart ()->last_error ();
}

gpointer
hass_alloc (gsize bytes, GError **error)
{
  return hass_memory_alloc (bytes, error);
}

void
hass_free (gpointer memory)
{
  hass_memory_free (memory);
}

gboolean
hass_register (gpointer memory, gsize bytes, GError **error)
{
  return hass_memory_register (memory, bytes, error);
}

void
hass_unregister (gpointer memory)
{
  hass_memory_unregister (memory);
}
