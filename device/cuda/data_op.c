/* SPDX-License-Identifier: MIT */
/* data_op.c: operations of a dataflow on a GPU, from their begin to their
   end.

   DESIGN. Each operation in flight has a kit: a stream and events. Computations
   overlap; of the copies in one direction a few have a kit and the others wait
   for one, since a link carries one after another. wait() looks at all
   operations, with pauses. An operation that fails is drained: its stream must
   be empty before its memory is used again. A stream that cannot be drained, an
   operation past its deadline and a GPU that is no longer usable make the
   device lost.

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

#include "hass/error.h"
#include "pool/callback_error.h"

/* Copies in one direction that have a stream: two keep a link busy, the others
   bridge the time between two looks of wait(). A guess. */
#define MOST_COPYING 4
/* Longest pause between looks in ns. A longer one lets the GPU idle between a
   task and its successor; a shorter one takes more of a core. A guess. */
#define MOST_POLL_NS 50000
/* Time in ns that copies get to end when the device is lost. A guess. */
#define LAST_NS 1000000000

/* -- Beginning ------------------------------------------------------------- */

/* Returns: FALSE with an error if the device is lost; the next wait() says so,
   too. */
gboolean
hass_cuda_is_there (HassCudaDevice *d, GError **error)
{
  if (!d->data->lost)
    return hass_gpu_usable (d->gpu, error);
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "%s is lost",
               d->gpu->name);
  return FALSE;
}

/* Makes the kit's stream wait for the latest allocation, since memory of the
   pool exists from there on, unless it has waited for that already. */
static gboolean
follow_allocations (HassCudaDevice *d, HassGpuKit *kit, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  HassGpuKit *pool = d->data->pool;
  int code = 0;
  if (kit->followed == pool && kit->n_followed == pool->n_allocs)
    return TRUE;
  if (pool->n_recorded < pool->n_allocs)
    code = cuda->event_record (pool->copied, pool->stream);
  if (code == 0)
    {
      pool->n_recorded = pool->n_allocs;
      code = cuda->stream_wait (kit->stream, pool->copied);
    }
  if (code == 0)
    {
      kit->followed = pool;
      kit->n_followed = pool->n_allocs;
    }
  return hass_gpu_check (d->gpu, code, "wait for memory", error);
}

static gboolean
enqueue_kernels (HassCudaDevice *d, const HassCudaOp *op,
                 HassEnqueueFunc enqueue, gpointer data, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  GError *inner = NULL;
  gboolean ok = enqueue ((HassGpuStream *)op->kit->stream, data, &inner);
  /* Finds the error of a kernel launch that the function did not check. */
  int code = cuda->last_error ();
  if (code != 0)
    hass_gpu_check (d->gpu, code, "launch", inner ? NULL : &inner);
  if (hass_callback_ok (ok, &inner, HASS_ERROR_WORKER))
    return hass_gpu_check (d->gpu,
                           cuda->event_record (op->kit->done, op->kit->stream),
                           "record an event", error);
  g_propagate_error (error, inner);
  return FALSE;
}

/* Waits until the operation's stream is empty, and takes its kit from it.
   Otherwise the device is lost and the operation keeps the kit. */
static gboolean
leave_kit (HassCudaDevice *d, HassCudaOp *op)
{
  if (!hass_gpu_usable (d->gpu, NULL)
      || !hass_cuda_drain_stream (d, op->kit->stream, op->begun_ns))
    {
      d->data->lost = TRUE;
      return FALSE;
    }
  hass_gpu_kit_return (d->gpu, g_steal_pointer (&op->kit));
  return TRUE;
}

/* Takes over the operation and begins it; with @enqueue it is a computation.
   FALSE: it has not begun, and what it has enqueued has ended unless the device
   is lost. */
static gboolean
start (HassCudaDevice *d, HassCudaOp *op, HassEnqueueFunc enqueue,
       gpointer data, GError **error)
{
  HassCudaData *s = d->data;
  op->kit = hass_gpu_kit_take (d->gpu, error);
  if (!op->kit)
    {
      g_free (op);
      return FALSE;
    }
  op->begun_ns = hass_clock_ns ();
  if (!s->counted)
    hass_gpu_bundle_begins (d->gpu);
  s->counted = TRUE;
  if (follow_allocations (d, op->kit, error)
      && (enqueue ? enqueue_kernels (d, op, enqueue, data, error)
                  : hass_cuda_begin_copy (d, op, error)))
    {
      s->n_copying[op->copy.to_host] += !op->computes;
      g_ptr_array_add (s->running, op);
      return TRUE;
    }
  if (leave_kit (d, op))
    g_free (op);
  else
    g_ptr_array_add (s->running, op); /* close abandons the kit */
  return FALSE;
}

/* Begins copies that waited for a kit. One that fails is reported by the next
   wait(). */
static void
start_waiting (HassCudaDevice *d)
{
  HassCudaData *s = d->data;
  for (guint to_host = 0; to_host < 2; to_host++)
    while (!s->why && !s->lost && s->n_copying[to_host] < MOST_COPYING
           && !g_queue_is_empty (&s->waiting[to_host]))
      {
        HassCudaOp *op = g_queue_pop_head (&s->waiting[to_host]);
        s->broken = op->ticket;
        start (d, op, NULL, NULL, &s->why);
      }
}

gboolean
hass_cuda_copy (HassDevice *device, guint64 ticket, const HassDataCopy *copy,
                GError **error)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  HassCudaData *s = d->data;
  if (!hass_cuda_is_there (d, error))
    return FALSE;
  HassCudaOp *op = g_new0 (HassCudaOp, 1);
  *op = (HassCudaOp){ .ticket = ticket, .copy = *copy };
  if (s->n_copying[copy->to_host] < MOST_COPYING)
    return start (d, op, NULL, NULL, error);
  g_queue_push_tail (&s->waiting[copy->to_host], op);
  return TRUE;
}

gboolean
hass_cuda_compute_data (HassDevice *device, guint64 ticket,
                        HassEnqueueFunc enqueue, gpointer data, GError **error)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  if (!hass_cuda_is_there (d, error))
    return FALSE;
  HassCudaOp *op = g_new0 (HassCudaOp, 1);
  *op = (HassCudaOp){ .ticket = ticket, .computes = TRUE };
  return start (d, op, enqueue, data, error);
}

/* -- Ends ------------------------------------------------------------------ */

/* The operation has left the GPU. */
static void
leave (HassCudaDevice *d, guint at)
{
  HassCudaData *s = d->data;
  HassCudaOp *op = g_ptr_array_steal_index (s->running, at);
  s->n_copying[op->copy.to_host] -= !op->computes;
  g_free (op);
  start_waiting (d);
  if (s->running->len == 0 && s->counted)
    {
      hass_gpu_bundle_ends (d->gpu);
      s->counted = FALSE;
    }
}

/* Copies that are not staged end before the loss is reported, as nothing may be
   read or written in host memory, or at a peer, later. Those of a GPU that
   hangs may not end: waits for at most LAST_NS. */
static void
end_copies (HassCudaDevice *d)
{
  gint64 until = hass_clock_ns () + LAST_NS;
  for (guint i = 0; i < d->data->running->len; i++)
    {
      HassCudaOp *op = d->data->running->pdata[i];
      if (op->kit && !op->computes && !op->staged)
        hass_cuda_drain_until (d, op->kit->stream, until);
    }
}

/* Sets @error to why the device is lost. Returns: FALSE. */
static gboolean
lose (HassCudaDevice *d, GError *why, GError **error)
{
  gboolean first = !d->lost;
  d->lost = d->data->lost = TRUE;
  if (first)
    end_copies (d);
  if (!why && hass_gpu_usable (d->gpu, &why))
    why = g_error_new (HASS_ERROR, HASS_ERROR_DEVICE, "%s is lost",
                       d->gpu->name);
  g_propagate_error (error, why);
  return FALSE;
}

/* The operation has failed for the reason @why. Returns: as wait(). */
static gboolean
report_failed (HassCudaDevice *d, guint at, HassDataDone *done, GError *why,
               GError **error)
{
  HassCudaOp *op = d->data->running->pdata[at];
  *done = (HassDataDone){ .ticket = op->ticket, .failed = TRUE };
  if (!leave_kit (d, op))
    return lose (d, why, error);
  leave (d, at);
  g_propagate_error (error, why);
  return TRUE;
}

static gboolean
report_broken (HassCudaDevice *d, HassDataDone *done, GError **error)
{
  HassCudaData *s = d->data;
  *done = (HassDataDone){ .ticket = s->broken, .failed = TRUE };
  g_propagate_error (error, g_steal_pointer (&s->why));
  start_waiting (d);
  return TRUE;
}

/* Looks at all operations, from where the last look has ended. Returns: the
   index of one that has ended, or has failed with @error; else their number. */
static guint
look (HassCudaDevice *d, GError **error)
{
  HassCudaData *s = d->data;
  GPtrArray *running = s->running;
  GError *inner = NULL;
  for (guint k = 0; k < running->len; k++, s->next++)
    {
      if (s->next >= running->len)
        s->next = 0;
      HassCudaOp *op = running->pdata[s->next];
      if (op->staged ? hass_cuda_go_on (d, op, &inner)
                     : hass_cuda_passed (d, op->kit->done,
                                         "wait for an operation", &inner))
        return s->next;
      if (!inner && hass_cuda_past_deadline (d, op->begun_ns))
        hass_cuda_note_hung (d, "an operation", &inner);
      if (inner)
        {
          g_propagate_error (error, inner);
          return s->next;
        }
    }
  return running->len;
}

typedef struct
{
  guint at; /* index of the running operation that has ended */
  GError *error;
} Ended;

static gboolean
look_for_end (HassCudaDevice *d, gpointer data)
{
  HassCudaData *s = d->data;
  Ended *ended = data;
  if (s->lost || !hass_gpu_usable (d->gpu, NULL) || s->why
      || s->running->len == 0)
    return TRUE;
  ended->at = look (d, &ended->error);
  return ended->error || ended->at < s->running->len;
}

gboolean
hass_cuda_wait_data (HassDevice *device, gint64 timeout_ns, HassDataDone *done,
                     GError **error)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  HassCudaData *s = d->data;
  Ended ended = { 0 };
  if (!hass_cuda_poll (d, look_for_end, &ended, 0, MOST_POLL_NS,
                       hass_clock_ns () + timeout_ns))
    return FALSE;
  if (ended.error)
    return report_failed (d, ended.at, done, ended.error, error);
  if (s->lost || !hass_gpu_usable (d->gpu, NULL))
    return lose (d, NULL, error);
  if (s->why)
    return report_broken (d, done, error);
  if (s->running->len == 0)
    return FALSE;
  HassCudaOp *op = s->running->pdata[ended.at];
  *done = (HassDataDone){ .ticket = op->ticket };
  hass_gpu_kit_return (d->gpu, g_steal_pointer (&op->kit));
  leave (d, ended.at);
  return TRUE;
}
