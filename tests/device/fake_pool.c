/* SPDX-License-Identifier: MIT */
/* fake_pool.c: the memory pools of the devices of the stand-in for the CUDA
   runtime, and copies between devices.

   DESIGN. What a pool keeps serves allocations from the pool, and others where
   the device has no other memory. Memory is taken at once and given back at
   once, though a stream orders both: its queue must be empty, and an operation
   on memory that is given back is wrong. An operation of another stream must
   follow an event behind the allocation. Either device's copy engine may carry
   a copy between two, so both must have access.

   Thread safety: see fake_cudart.h. */
#include "fake-private.h"

static int
check_device (int device)
{
  return device >= 0 && device < (int)fake.n_devices
             ? FAKE_OK
             : fake_wrong (FAKE_INVALID_DEVICE, "there is no device %d",
                           device);
}

int
fake_pool_keep (int device)
{
  int code = fake_enter (FAKE_POOL_KEEP, NULL);
  return fake_leave (code ? code : check_device (device));
}

int
fake_pool_spare (int device, gsize *bytes)
{
  int code = fake_enter (FAKE_POOL_SPARE, NULL);
  if (!code)
    code = check_device (device);
  if (!code)
    *bytes = fake.counts.pool_bytes[device];
  return fake_leave (code);
}

int
fake_pool_share (int device, int by)
{
  int code = fake_enter (FAKE_POOL_SHARE, NULL);
  if (!code)
    code = check_device (device);
  if (!code)
    code = check_device (by);
  if (!code)
    fake.shared[device][by] = TRUE;
  return fake_leave (code);
}

static int
check_pool_stream (const Stream *s)
{
  int code = fake_check_stream (s);
  while (!code && s->running && !fake_dead (s->device))
    pthread_cond_wait (&fake.changed, &fake.lock);
  return code;
}

int
fake_allocate_async (gpointer *memory, gsize bytes, gpointer stream)
{
  int code = fake_enter (FAKE_ALLOCATE_ASYNC, stream);
  Stream *s = fake_stream (stream);
  if (!code)
    code = check_pool_stream (s);
  if (!code)
    {
      *memory = NULL;
      code = fake_take_memory (s->device, memory, bytes, s);
    }
  return fake_leave (code);
}

int
fake_release_async (gpointer memory, gpointer stream)
{
  int code = fake_enter (FAKE_RELEASE_ASYNC, stream);
  const Stream *s = fake_stream (stream);
  const Range *r = fake_device_range (memory, 1);
  if (!r || (guintptr)memory != r->begin)
    code
        = fake_wrong (FAKE_INVALID_VALUE,
                      "release_async of %p, which is no device memory", memory);
  else if (fake_check_stream (s) == FAKE_OK)
    {
      if (fake_computes_there (r->begin, r->end))
        fake_wrong (code, "release_async of %p while it is used", memory);
      fake.counts.pool_bytes[r->device] += r->end - r->begin;
      fake_free_memory (memory);
    }
  return fake_leave (code);
}

int
fake_check_order (const Stream *s, const Range *r)
{
  if (!r->stream || r->stream == s
      || (s->after == r->stream && s->after_serial >= r->serial))
    return FAKE_OK;
  return fake_wrong (FAKE_INVALID_VALUE,
                     "a stream does not follow the allocation that it uses");
}

static int
check_end (const Stream *s, gconstpointer memory, int device, gsize bytes)
{
  const Range *r = fake_device_range (memory, bytes);
  if (!r || r->device != device)
    return fake_wrong (FAKE_INVALID_VALUE,
                       "%zu bytes at %p are not on device %d", bytes, memory,
                       device);
  return device == s->device ? fake_check_order (s, r) : FAKE_OK;
}

int
fake_copy_peer (gpointer to, int to_device, gconstpointer from, int from_device,
                gsize bytes, gpointer stream)
{
  int code = fake_enter (FAKE_COPY_PEER, stream);
  Stream *s = fake_stream (stream);
  if (!code)
    code = fake_check_stream (s);
  if (!code)
    code = check_end (s, to, to_device, bytes);
  if (!code)
    code = check_end (s, from, from_device, bytes);
  if (!code && from_device != to_device
      && !(fake.shared[from_device][to_device]
           && fake.shared[to_device][from_device]))
    code = fake_wrong (FAKE_INVALID_VALUE,
                       "a copy between devices %d and %d, of which one may not "
                       "access the other's pool",
                       from_device, to_device);
  if (!code && bytes > 0)
    {
      Op *op = g_new0 (Op, 1);
      *op = (Op){ .kind = OP_COPY,
                  .direction = HASS_CUDA_TO_DEVICE,
                  .to = fake_real (to),
                  .from = fake_real (from),
                  .to_pitch = bytes,
                  .from_pitch = bytes,
                  .row_bytes = bytes,
                  .rows = 1 };
      fake.counts.bytes_to_peer += bytes;
      fake_put (s, op);
    }
  return fake_leave (code);
}
