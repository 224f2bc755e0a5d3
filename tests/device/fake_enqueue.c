/* SPDX-License-Identifier: MIT */
/* fake_enqueue.c: copies and kernels that callers of the stand-in for the
   CUDA runtime put into streams, and what kernels call.
   Thread safety: see fake_cudart.h. */
#include "fake-private.h"

#include <string.h>

#define LINE_BYTES 256

/* -- Copies ------------------------------------------------------------- */

static int
check_device_memory (const Stream *s, gconstpointer memory, gsize bytes)
{
  const Range *r = fake_device_range (memory, bytes);
  return r && r->device == s->device
             ? fake_check_order (s, r)
             : fake_wrong (FAKE_INVALID_VALUE,
                           "%zu bytes at %p are not on device %d", bytes,
                           memory, s->device);
}

/* Takes a copy of what is not pinned, as CUDA does. */
static void
take_snapshot (Op *op)
{
  op->snapshot = g_malloc (op->row_bytes * op->rows);
  for (gsize r = 0; r < op->rows; r++)
    memcpy (op->snapshot + r * op->row_bytes, op->from + r * op->from_pitch,
            op->row_bytes);
  op->from = op->snapshot;
  op->from_pitch = op->row_bytes;
}

static int
put_copy_locked (Stream *s, Op *op)
{
  gboolean to_device = op->direction == HASS_CUDA_TO_DEVICE;
  gsize to_bytes = (op->rows - 1) * op->to_pitch + op->row_bytes;
  gsize from_bytes = (op->rows - 1) * op->from_pitch + op->row_bytes;
  gconstpointer host = to_device ? op->from : op->to;
  gsize host_bytes = to_device ? from_bytes : to_bytes;
  int code = to_device ? check_device_memory (s, op->to, to_bytes)
                       : check_device_memory (s, op->from, from_bytes);
  int pinned = fake_pinned (host, host_bytes);
  if (!code && (op->to_pitch < op->row_bytes || op->from_pitch < op->row_bytes))
    code = fake_wrong (FAKE_INVALID_VALUE, "a pitch below the row's %zu bytes",
                       op->row_bytes);
  if (!code && (!host || (guintptr)host & FAKE_DEVICE_BIT))
    code = fake_wrong (FAKE_INVALID_VALUE, "%p is no host memory", host);
  if (!code && pinned < 0)
    code = fake_wrong (FAKE_INVALID_VALUE,
                       "only a part of the %zu bytes at %p is pinned",
                       host_bytes, host);
  if (code)
    {
      fake_free_op (op);
      return code;
    }
  gboolean finished = TRUE;
  op->to = fake_real (op->to);
  op->from = fake_real (op->from);
  if (pinned > 0)
    {
      op->host = (guintptr)host;
      op->host_end = op->host + host_bytes;
      if (to_device && ((op->host | op->host_end) & (LINE_BYTES - 1)))
        fake.counts.ragged_copies++;
    }
  else
    {
      fake.counts.pageable_copies++;
      if (to_device)
        take_snapshot (op);
      else
        {
          finished = FALSE;
          op->finished = &finished;
        }
    }
  fake_put (s, op);
  while (!finished)
    pthread_cond_wait (&fake.changed, &fake.lock);
  return code;
}

int
fake_copy_rows (gpointer to, gsize to_pitch, gconstpointer from,
                gsize from_pitch, gsize row_bytes, gsize rows,
                HassCudaDirection direction, gpointer stream)
{
  int code = fake_enter (FAKE_COPY_ROWS, stream);
  Stream *s = fake_stream (stream);
  if (!code)
    code = fake_check_stream (s);
  if (!code && row_bytes > 0 && rows > 0)
    {
      Op *op = g_new0 (Op, 1);
      *op = (Op){ .kind = OP_COPY,
                  .direction = direction,
                  .to = to,
                  .from = from,
                  .to_pitch = to_pitch,
                  .from_pitch = from_pitch,
                  .row_bytes = row_bytes,
                  .rows = rows };
      code = put_copy_locked (s, op);
    }
  return fake_leave (code);
}

/* Enqueues the copy of a stretch of bytes. */
static int
put_stretch_locked (Stream *s, gpointer to, gconstpointer from, gsize bytes,
                    HassCudaDirection direction)
{
  Op *op = g_new0 (Op, 1);
  *op = (Op){ .kind = OP_COPY,
              .direction = direction,
              .to = to,
              .from = from,
              .to_pitch = bytes,
              .from_pitch = bytes,
              .row_bytes = bytes,
              .rows = 1 };
  return put_copy_locked (s, op);
}

int
fake_copy (gpointer to, gconstpointer from, gsize bytes,
           HassCudaDirection direction, gpointer stream)
{
  int code = fake_enter (FAKE_COPY, stream);
  Stream *s = fake_stream (stream);
  if (!code)
    code = fake_check_stream (s);
  if (!code && bytes > 0)
    code = put_stretch_locked (s, to, from, bytes, direction);
  return fake_leave (code);
}

int
fake_copy_batch (gpointer *to, gpointer *from, gsize *bytes, gsize n,
                 HassCudaDirection direction, gpointer stream)
{
  int code = fake_enter (FAKE_COPY_BATCH, stream);
  Stream *s = fake_stream (stream);
  if (!code)
    code = fake_check_stream (s);
  for (gsize i = 0; i < n && !code; i++)
    if (bytes[i] > 0)
      code = put_stretch_locked (s, to[i], from[i], bytes[i], direction);
    else
      code = fake_wrong (FAKE_INVALID_VALUE, "copy %zu of a batch has 0 bytes",
                         i);
  return fake_leave (code);
}

int
fake_clear (gpointer memory, gsize bytes, gpointer stream)
{
  int code = fake_enter (FAKE_CLEAR, stream);
  Stream *s = fake_stream (stream);
  if (!code)
    code = fake_check_stream (s);
  if (!code)
    code = check_device_memory (s, memory, bytes);
  if (!code && bytes > 0)
    {
      Op *op = g_new0 (Op, 1);
      op->kind = OP_CLEAR;
      op->to = fake_real (memory);
      op->row_bytes = bytes;
      fake_put (s, op);
    }
  return fake_leave (code);
}

/* -- Launching ------------------------------------------------------------ */

static void
launch (HassGpuStream *stream, Op *op)
{
  int device = fake_current_device ();
  int code = fake_enter (FAKE_LAUNCH, stream);
  Stream *s = fake_stream (stream);
  if (!code)
    code = fake_check_stream (s);
  if (!code && s->device != device)
    code = fake_wrong (FAKE_INVALID_HANDLE,
                       "a kernel in a stream of device %d, present is %d",
                       s->device, device);
  const Range *r = fake_device_range (op->bundle.output, 1);
  if (!code && op->bundle.output && r)
    code = fake_check_order (s, r);
  if (!code)
    fake_put (s, op);
  else
    fake_free_op (op);
  fake_leave (code);
}

void
fake_launch (HassGpuStream *stream, FakeKernel kernel, const HassBundle *bundle,
             gpointer user_data)
{
  Op *op = g_new0 (Op, 1);
  op->kind = OP_KERNEL;
  op->kernel = kernel;
  op->bundle = *bundle;
  op->constants = g_new0 (gpointer, bundle->n_constants + 1);
  for (guint i = 0; i < bundle->n_constants; i++)
    op->constants[i] = bundle->constants[i];
  op->bundle.constants = op->constants;
  op->bundle.blocks = NULL;
  op->user_data = user_data;
  launch (stream, op);
}

void
fake_launch_delay (HassGpuStream *stream, guint us)
{
  Op *op = g_new0 (Op, 1);
  op->kind = OP_DELAY;
  op->us = us;
  launch (stream, op);
}

void
fake_launch_assert (HassGpuStream *stream)
{
  Op *op = g_new0 (Op, 1);
  op->kind = OP_ASSERT;
  launch (stream, op);
}

/* -- For kernels -------------------------------------------------------- */

void
fake_append (const HassBundle *b, guint32 block, gconstpointer record)
{
  guint64 at = __atomic_fetch_add (b->n_records, 1, __ATOMIC_RELAXED);
  if (at >= b->record_capacity)
    return;
  b->record_blocks[at] = block;
  memcpy ((guint8 *)b->records + at * b->record_bytes, record, b->record_bytes);
}

const guint8 *
fake_input (const HassBundle *b, gsize i)
{
  if (!b->offsets)
    return b->input + b->input_start;
  return b->input + b->offsets[i] + (b->halos ? b->halos[i] : 0);
}

gsize
fake_input_bytes (const HassBundle *b, gsize i)
{
  if (!b->offsets)
    return b->input_bytes - b->input_start;
  return b->offsets[i + 1] - b->offsets[i] - (b->halos ? b->halos[i] : 0);
}

guint8 *
fake_output (const HassBundle *b, gsize i)
{
  return b->output + (b->output_offsets ? b->output_offsets[i] : 0);
}

guint64
fake_elements (const HassBundle *b, gsize i)
{
  return b->elements ? b->elements[i + 1] - b->elements[i] : b->n_elements;
}
