/* SPDX-License-Identifier: MIT */
/* fake_memory.c: memory of the stand-in for the CUDA runtime: on devices,
   pinned, registered.
   Thread safety: see fake_cudart.h. */
#include "fake-private.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096
#define DEVICE_ALIGNMENT 256
#define GARBAGE 0xD5
#define GARBAGE_BYTES 65536

gpointer
fake_real (gconstpointer device_pointer)
{
  return (gpointer)((guintptr)device_pointer & ~FAKE_DEVICE_BIT);
}

/* -- Ranges ------------------------------------------------------------- */

static Range *
find_locked (RangeKind kind, guintptr begin)
{
  for (guint i = 0; i < fake.ranges->len; i++)
    {
      Range *r = &g_array_index (fake.ranges, Range, i);
      if (r->kind == kind && r->begin == begin)
        return r;
    }
  return NULL;
}

static void
add_locked (RangeKind kind, int device, gpointer memory, gsize bytes)
{
  Range r
      = { kind, device, (guintptr)memory, (guintptr)memory + bytes, NULL, 0 };
  g_array_append_val (fake.ranges, r);
}

static void
remove_locked (Range *r)
{
  g_array_remove_index_fast (
      fake.ranges, (guint)(r - &g_array_index (fake.ranges, Range, 0)));
}

const Range *
fake_device_range (gconstpointer memory, gsize bytes)
{
  guintptr begin = (guintptr)memory;
  for (guint i = 0; i < fake.ranges->len; i++)
    {
      const Range *r = &g_array_index (fake.ranges, Range, i);
      if (r->kind == RANGE_DEVICE && r->begin <= begin && begin <= r->end
          && bytes <= r->end - begin)
        return r;
    }
  return NULL;
}

int
fake_pinned (gconstpointer memory, gsize bytes)
{
  guintptr begin = (guintptr)memory, end = begin + bytes;
  for (guint i = 0; i < fake.ranges->len; i++)
    {
      const Range *r = &g_array_index (fake.ranges, Range, i);
      if (r->kind != RANGE_DEVICE && r->begin < end && begin < r->end)
        return r->begin <= begin && end <= r->end ? 1 : -1;
    }
  return 0;
}

/* -- On a device -------------------------------------------------------- */

int
fake_memory_info (gsize *free_bytes, gsize *total_bytes)
{
  int device = fake_current_device ();
  int code = fake_enter (FAKE_MEMORY_INFO, NULL);
  if (!code)
    {
      *total_bytes = fake.plan.memory_bytes;
      *free_bytes = fake.plan.memory_bytes - fake.plan.foreign_bytes
                    - fake.counts.live_bytes[device]
                    - fake.counts.pool_bytes[device];
    }
  return fake_leave (code);
}

int
fake_take_memory (int device, gpointer *memory, gsize bytes,
                  const Stream *stream)
{
  gsize *live = &fake.counts.live_bytes[device];
  gsize *most = &fake.counts.most_bytes[device];
  gpointer real;
  if (bytes == 0)
    return FAKE_OK;
  if (fake.plan.fail_above_bytes > 0 && bytes > fake.plan.fail_above_bytes)
    {
      fake.counts.faults++;
      return FAKE_NO_MEMORY;
    }
  if (bytes > fake.plan.memory_bytes - fake.plan.foreign_bytes - *live
      || posix_memalign (&real, DEVICE_ALIGNMENT, bytes) != 0)
    return FAKE_NO_MEMORY;
  memset (real, GARBAGE, MIN (bytes, GARBAGE_BYTES));
  *live += bytes;
  *most = MAX (*most, *live);
  gsize *kept = &fake.counts.pool_bytes[device];
  *kept -= MIN (*kept, stream ? bytes : 0);
  *kept = MIN (*kept, fake.plan.memory_bytes - fake.plan.foreign_bytes - *live);
  *memory = (gpointer)((guintptr)real | FAKE_DEVICE_BIT);
  add_locked (RANGE_DEVICE, device, *memory, bytes);
  Range *r = find_locked (RANGE_DEVICE, (guintptr)*memory);
  r->stream = stream;
  r->serial = ++fake.serial;
  return FAKE_OK;
}

int
fake_free_memory (gpointer memory)
{
  Range *r = find_locked (RANGE_DEVICE, (guintptr)memory);
  if (!r)
    return FAKE_INVALID_VALUE;
  fake.counts.live_bytes[r->device] -= r->end - r->begin;
  remove_locked (r);
  free (fake_real (memory));
  return FAKE_OK;
}

int
fake_allocate (gpointer *memory, gsize bytes)
{
  int device = fake_current_device ();
  int code = fake_enter (FAKE_ALLOCATE, NULL);
  if (!code)
    {
      *memory = NULL;
      code = fake_take_memory (device, memory, bytes, NULL);
    }
  return fake_leave (code);
}

/* As CUDA does, waits for the device first. */
int
fake_release (gpointer memory)
{
  int code = fake_enter (FAKE_RELEASE, NULL);
  Range *r = find_locked (RANGE_DEVICE, (guintptr)memory);
  if (r)
    {
      fake_wait_idle (r->device);
      fake_free_memory (memory);
    }
  else if (memory)
    code = fake_wrong (FAKE_INVALID_VALUE,
                       "release of %p, which is no device memory", memory);
  return fake_leave (code);
}

/* -- On the host -------------------------------------------------------- */

int
fake_allocate_host (gpointer *memory, gsize bytes)
{
  gpointer real = NULL;
  pthread_mutex_lock (&fake.lock);
  guint us = fake.plan.allocate_us;
  pthread_mutex_unlock (&fake.lock);
  g_usleep (us);
  int code = fake_enter (FAKE_ALLOCATE_HOST, NULL);
  if (!code && bytes > 0 && posix_memalign (&real, PAGE_BYTES, bytes) != 0)
    code = FAKE_NO_MEMORY;
  if (!code && real)
    {
      memset (real, GARBAGE, MIN (bytes, GARBAGE_BYTES));
      add_locked (RANGE_HOST, -1, real, bytes);
    }
  if (!code)
    *memory = real;
  return fake_leave (code);
}

int
fake_release_host (gpointer memory)
{
  int code = fake_enter (FAKE_RELEASE_HOST, NULL);
  if (find_locked (RANGE_HOST, (guintptr)memory))
    {
      fake_wait_idle (-1);
      remove_locked (find_locked (RANGE_HOST, (guintptr)memory));
      free (memory);
    }
  else if (memory)
    code = fake_wrong (FAKE_INVALID_VALUE,
                       "release_host of %p, which is not of allocate_host",
                       memory);
  return fake_leave (code);
}

/* Pages, not bytes, are pinned: a page twice is an error. */
static gboolean
pages_taken (guintptr begin, guintptr end)
{
  begin &= ~(guintptr)(PAGE_BYTES - 1);
  end = (end + PAGE_BYTES - 1) & ~(guintptr)(PAGE_BYTES - 1);
  for (guint i = 0; i < fake.ranges->len; i++)
    {
      const Range *r = &g_array_index (fake.ranges, Range, i);
      guintptr first = r->begin & ~(guintptr)(PAGE_BYTES - 1);
      guintptr last = (r->end + PAGE_BYTES - 1) & ~(guintptr)(PAGE_BYTES - 1);
      if (r->kind != RANGE_DEVICE && first < end && begin < last)
        return TRUE;
    }
  return FALSE;
}

int
fake_register_host (gpointer memory, gsize bytes)
{
  int code = fake_enter (FAKE_REGISTER, NULL);
  guintptr begin = (guintptr)memory;
  if (!code && (!memory || bytes == 0))
    code = fake_wrong (FAKE_INVALID_VALUE, "register_host of %zu bytes at %p",
                       bytes, memory);
  if (!code && pages_taken (begin, begin + bytes))
    code = FAKE_REGISTERED;
  if (!code)
    add_locked (RANGE_REGISTERED, -1, memory, bytes);
  return fake_leave (code);
}

int
fake_unregister_host (gpointer memory)
{
  int code = fake_enter (FAKE_UNREGISTER, NULL);
  Range *r = find_locked (RANGE_REGISTERED, (guintptr)memory);
  if (!r)
    code
        = fake_wrong (FAKE_NOT_REGISTERED,
                      "unregister_host of %p, which is not registered", memory);
  else
    {
      if (fake_in_use (r->begin, r->end))
        fake_wrong (code, "unregister_host of %p while it is copied", memory);
      remove_locked (r);
    }
  return fake_leave (code);
}
