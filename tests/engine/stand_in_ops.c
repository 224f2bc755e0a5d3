/* SPDX-License-Identifier: MIT */
/* stand_in_ops.c: operations of a stand-in device for dataflows.
   Thread safety: see stand_in_data.h. */
#include "stand_in_data-private.h"

#include <string.h>

#include "hass/error.h"

static void
stream_clear (HassGpuStream *stream)
{
  g_clear_pointer (&stream->launches, g_ptr_array_unref);
  g_clear_pointer (&stream->uses, g_ptr_array_unref);
}

static void
launch_free (gpointer data)
{
  Launch *l = data;
  g_free ((gpointer)l->call.views);
  g_free ((gpointer)l->call.arguments);
  g_free (l);
}

static void
stream_init (HassGpuStream *stream, DataStandIn *s)
{
  *stream = (HassGpuStream){
    .device = s,
    .launches = g_ptr_array_new_with_free_func (launch_free),
    .uses = g_ptr_array_new (),
  };
}

void
stand_in_data_launch (HassGpuStream *stream, StandInCallKernel kernel,
                      const HassCall *call, gsize argument_bytes)
{
  Launch *l = g_new0 (Launch, 1);
  l->kernel = kernel;
  l->call = *call;
  l->call.views = g_memdup2 (call->views, call->n_views * sizeof *call->views);
  l->call.arguments = g_memdup2 (call->arguments, argument_bytes);
  g_ptr_array_add (stream->launches, l);
  pthread_mutex_lock (&stand_in_data_lock);
  for (guint i = 0; i < call->n_views; i++)
    {
      const HassDataView *v = &call->views[i];
      if (v->rows > 1 && v->pitch != v->row_bytes)
        sid_wrong_locked (stream->device,
                          "a view with rows that are not adjacent");
      if (v->data)
        sid_use_locked (stream, stream->device, v->data,
                        v->row_bytes * v->rows);
    }
  pthread_mutex_unlock (&stand_in_data_lock);
}

void
sid_op_free_locked (Op *op)
{
  sid_unuse_locked (&op->stream);
  op->stream.device->computing -= op->computes;
  stream_clear (&op->stream);
  g_free (op);
}

/* Whether the ticket is not in flight yet. */
static gboolean
is_new_locked (DataStandIn *s, guint64 ticket)
{
  GPtrArray *all[] = { s->queued, s->done, s->hung };
  for (guint a = 0; a < G_N_ELEMENTS (all); a++)
    for (guint i = 0; i < all[a]->len; i++)
      if (((Op *)all[a]->pdata[i])->ticket == ticket)
        return FALSE;
  return TRUE;
}

/* Takes over @op. FALSE: it does not begin, as it is refused or the device was
   lost while the kernels were enqueued. */
static gboolean
begin_locked (DataStandIn *s, Op *op, GError **error)
{
  if (s->counts.lost
      || sid_is_nth (++s->n_tries, s->plan.refuse_at, s->plan.refuse_every))
    {
      sid_op_free_locked (op);
      return sid_fail (error, HASS_ERROR_DEVICE,
                       s->counts.lost ? "the stand-in is lost"
                                      : "the stand-in refuses");
    }
  if (!is_new_locked (s, op->ticket))
    sid_wrong_locked (s, "a ticket that is in flight");
  op->number = ++s->counts.begun;
  op->begun_ns = sid_now_ns ();
  gboolean hangs = sid_is_nth (op->number, s->plan.hang_at, 0);
  g_ptr_array_add (hangs ? s->hung : s->queued, op);
  s->counts.most_in_flight
      = MAX (s->counts.most_in_flight, s->counts.begun - s->counts.ended);
  s->counts.most_computing = MAX (s->counts.most_computing, s->computing);
  pthread_cond_broadcast (&s->changed);
  return TRUE;
}

static void
check_locked (DataStandIn *s, const HassDataCopy *c)
{
  if (c->row_bytes == 0 || c->rows == 0)
    sid_wrong_locked (s, "a copy of nothing");
  if (!c->host == !c->peer)
    sid_wrong_locked (s, "a copy between both, or neither, host and peer");
  if (c->host && c->rows > 1 && c->host_pitch < c->row_bytes)
    sid_wrong_locked (s, "a copy whose host rows overlap");
  if (c->peer
      && (c->to_host || c->peer == &s->device
          || g_strcmp0 (c->peer->ops->kind, s->ops.kind) != 0))
    sid_wrong_locked (s, "a copy from no peer");
}

gboolean
sid_copy (HassDevice *device, guint64 ticket, const HassDataCopy *copy,
          GError **error)
{
  DataStandIn *s = (DataStandIn *)device;
  gboolean ok = FALSE;
  pthread_mutex_lock (&stand_in_data_lock);
  if (sid_serves_locked (s, error))
    {
      Op *op = g_new0 (Op, 1);
      *op = (Op){ .ticket = ticket, .copy = *copy };
      stream_init (&op->stream, s);
      check_locked (s, copy);
      gsize bytes = copy->row_bytes * copy->rows;
      sid_use_locked (&op->stream, s, copy->memory, bytes);
      if (copy->peer)
        op->failed = !sid_use_locked (&op->stream, (DataStandIn *)copy->peer,
                                      copy->peer_memory, bytes);
      ok = begin_locked (s, op, error);
    }
  pthread_mutex_unlock (&stand_in_data_lock);
  return ok;
}

gboolean
sid_compute (HassDevice *device, guint64 ticket, HassEnqueueFunc enqueue,
             gpointer data, GError **error)
{
  DataStandIn *s = (DataStandIn *)device;
  pthread_mutex_lock (&stand_in_data_lock);
  gboolean ok = sid_serves_locked (s, error);
  Op *op = g_new0 (Op, 1);
  *op = (Op){ .ticket = ticket, .computes = TRUE };
  stream_init (&op->stream, s);
  s->computing++;
  pthread_mutex_unlock (&stand_in_data_lock);
  ok = ok && enqueue (&op->stream, data, error);
  pthread_mutex_lock (&stand_in_data_lock);
  if (ok)
    ok = begin_locked (s, op, error);
  else
    sid_op_free_locked (op);
  pthread_mutex_unlock (&stand_in_data_lock);
  return ok;
}

/* -- Executing ----------------------------------------------------------- */

/* A copy that fails leaves what it should have written undefined. */
static void
do_copy (const Op *op)
{
  const HassDataCopy *c = &op->copy;
  for (gsize row = 0; row < c->rows; row++)
    {
      guint8 *own = (guint8 *)c->memory + row * c->row_bytes;
      guint8 *host = c->host ? (guint8 *)c->host + row * c->host_pitch : NULL;
      const guint8 *from
          = host ? host : (guint8 *)c->peer_memory + row * c->row_bytes;
      if (op->failed)
        memset (c->to_host ? host : own, SPOILT, c->row_bytes);
      else
        memcpy (c->to_host ? host : own, c->to_host ? own : from, c->row_bytes);
    }
}

static void
note_bytes_locked (DataStandIn *s, const Op *op)
{
  StandInDataCounts *n = &s->counts;
  gsize bytes = op->copy.row_bytes * op->copy.rows;
  if (op->computes)
    n->computed++;
  else if (op->copy.peer)
    n->copies_peer++, n->bytes_peer += bytes;
  else if (op->copy.to_host)
    n->copies_out++, n->bytes_out += bytes;
  else
    n->copies_in++, n->bytes_in += bytes;
}

/* Executes an operation drawn from the queue, which is not empty. */
void
sid_execute_locked (DataStandIn *s)
{
  guint at = (guint)g_rand_int_range (s->rand, 0, (gint32)s->queued->len);
  Op *op = g_ptr_array_steal_index_fast (s->queued, at);
  if (sid_is_nth (op->number, s->plan.lose_at, 0))
    {
      g_ptr_array_add (s->queued, op);
      sid_lose_locked (s);
      return;
    }
  GPtrArray *uses = op->stream.uses;
  gboolean peer_gone = op->failed;
  for (guint i = 0; i < uses->len; i++)
    {
      Memory *m = uses->pdata[i];
      peer_gone |= m->gone;
      m->running++;
    }
  op->failed = peer_gone
               || sid_is_nth (op->number, s->plan.fail_at, s->plan.fail_every);
  gboolean acts = !op->failed || g_rand_boolean (s->rand);
  s->running++;
  pthread_mutex_unlock (&stand_in_data_lock);
  gint64 begin = sid_now_ns ();
  if (!op->computes)
    do_copy (op);
  for (guint i = 0; i < op->stream.launches->len && acts; i++)
    {
      Launch *l = op->stream.launches->pdata[i];
      l->kernel (&l->call);
    }
  op->ns = sid_now_ns () - begin
           + 1e3 * (op->computes ? s->plan.kernel_us : s->plan.copy_us);
  pthread_mutex_lock (&stand_in_data_lock);
  s->running--;
  for (guint i = 0; i < uses->len; i++)
    ((Memory *)uses->pdata[i])->running--;
  if (!op->failed)
    note_bytes_locked (s, op);
  g_ptr_array_add (s->done, op);
  pthread_cond_broadcast (&s->changed);
  if (op->copy.peer)
    pthread_cond_broadcast (&((DataStandIn *)op->copy.peer)->changed);
}
