/* SPDX-License-Identifier: MIT */
/* fake_stream.c: streams and events of the stand-in for the CUDA runtime.

   DESIGN. A call puts an operation into its stream's queue, and the stream's
   thread executes it (fake_work.c). Streams, events and what they refer to
   live until the stand-in is removed, so that handles that were freed are
   recognised.

   Thread safety: see fake_cudart.h. */
#include "fake-private.h"

static gpointer
find (GPtrArray *in, gconstpointer handle)
{
  for (guint i = 0; handle && i < in->len; i++)
    if (in->pdata[i] == handle)
      return in->pdata[i];
  return NULL;
}

Stream *
fake_stream (gconstpointer handle)
{
  return find (fake.streams, handle);
}

Event *
fake_event (gconstpointer handle)
{
  return find (fake.events, handle);
}

/* -- Queues ------------------------------------------------------------- */

void
fake_put (Stream *s, Op *op)
{
  op->serial = ++fake.serial;
  g_queue_push_tail (&s->ops, op);
  pthread_cond_broadcast (&fake.changed);
}

static gboolean
busy_locked (int device)
{
  for (guint i = 0; i < fake.streams->len; i++)
    {
      const Stream *s = fake.streams->pdata[i];
      if ((device < 0 || s->device == device)
          && (s->running || s->ops.length > 0))
        return TRUE;
    }
  return FALSE;
}

void
fake_wait_idle (int device)
{
  if (busy_locked (device))
    fake.counts.waits_in_release++;
  while (busy_locked (device))
    pthread_cond_wait (&fake.changed, &fake.lock);
}

/* Returns: TRUE if an operation that is not finished @is there, on a device
   that works if it has to. */
static gboolean
any_op (gboolean (*is) (const Op *op, guintptr begin, guintptr end),
        gboolean works, guintptr begin, guintptr end)
{
  for (guint i = 0; i < fake.streams->len; i++)
    {
      const Stream *s = fake.streams->pdata[i];
      if (works && fake_dead (s->device))
        continue;
      if (s->running && is (s->running, begin, end))
        return TRUE;
      for (GList *l = s->ops.head; l; l = l->next)
        if (is (l->data, begin, end))
          return TRUE;
    }
  return FALSE;
}

static gboolean
copies_there (const Op *op, guintptr begin, guintptr end)
{
  return op->host < end && begin < op->host_end;
}

gboolean
fake_in_use (guintptr begin, guintptr end)
{
  return any_op (copies_there, FALSE, begin, end);
}

static gboolean
writes_there (const Op *op, guintptr begin, guintptr end)
{
  return copies_there (op, begin, end) && op->direction == HASS_CUDA_TO_HOST;
}

gboolean
fake_will_write (gconstpointer memory, gsize bytes)
{
  guintptr begin = (guintptr)memory;
  pthread_mutex_lock (&fake.lock);
  gboolean writes = any_op (writes_there, TRUE, begin, begin + bytes);
  pthread_mutex_unlock (&fake.lock);
  return writes;
}

static gboolean
computes_there (const Op *op, guintptr begin, guintptr end)
{
  const HassBundle *b = &op->bundle;
  gconstpointer at[] = { op->to, op->from, b->input, b->output };
  for (guint i = 0; i < G_N_ELEMENTS (at); i++)
    if (((guintptr)at[i] | FAKE_DEVICE_BIT) >= begin
        && ((guintptr)at[i] | FAKE_DEVICE_BIT) < end)
      return TRUE;
  return FALSE;
}

gboolean
fake_computes_there (guintptr begin, guintptr end)
{
  return any_op (computes_there, FALSE, begin, end);
}

/* Hanging kernels are let go and nothing more is executed. */
void
fake_streams_end (void)
{
  pthread_mutex_lock (&fake.lock);
  while (busy_locked (-1) && !fake.hanging)
    pthread_cond_wait (&fake.changed, &fake.lock);
  fake.ending = TRUE;
  pthread_cond_broadcast (&fake.changed);
  pthread_mutex_unlock (&fake.lock);
  for (guint i = 0; i < fake.streams->len; i++)
    pthread_join (((Stream *)fake.streams->pdata[i])->thread, NULL);
}

gboolean
fake_hanging (void)
{
  pthread_mutex_lock (&fake.lock);
  gboolean hanging = fake.hanging;
  pthread_mutex_unlock (&fake.lock);
  return hanging;
}

void
fake_end_hang (void)
{
  pthread_mutex_lock (&fake.lock);
  fake.hanging = FALSE;
  pthread_cond_broadcast (&fake.changed);
  pthread_mutex_unlock (&fake.lock);
}

void
fake_let_copies (guint n)
{
  pthread_mutex_lock (&fake.lock);
  fake.let += n;
  pthread_cond_broadcast (&fake.changed);
  pthread_mutex_unlock (&fake.lock);
}

/* -- Streams and events ------------------------------------------------- */

int
fake_check_stream (const Stream *s)
{
  return s && !s->freed ? FAKE_OK
                        : fake_wrong (FAKE_INVALID_HANDLE, "%s stream",
                                      s ? "a freed" : "the default or no");
}

static int
check_event (const Event *e)
{
  return e && !e->freed ? FAKE_OK
                        : fake_wrong (FAKE_INVALID_HANDLE, "%s event",
                                      e ? "a freed" : "no");
}

int
fake_stream_new (gpointer *stream)
{
  int device = fake_current_device ();
  int code = fake_enter (FAKE_STREAM_NEW, NULL);
  if (!code)
    {
      Stream *s = g_new0 (Stream, 1);
      s->device = device;
      g_queue_init (&s->ops);
      g_ptr_array_add (fake.streams, s);
      if (pthread_create (&s->thread, NULL, fake_work, s) != 0)
        g_error ("no thread for a stream");
      *stream = s;
    }
  return fake_leave (code);
}

/* What is enqueued is still executed. */
int
fake_stream_free (gpointer stream)
{
  int code = fake_enter (FAKE_STREAM_FREE, stream);
  Stream *s = fake_stream (stream);
  int checked = fake_check_stream (s);
  if (!checked)
    {
      s->freed = TRUE;
      pthread_cond_broadcast (&fake.changed);
    }
  return fake_leave (code ? code : checked);
}

/* An error of what was in the stream is told once. */
int
fake_stream_query (gpointer stream)
{
  int code = fake_enter (FAKE_STREAM_QUERY, stream);
  Stream *s = fake_stream (stream);
  if (!code)
    code = fake_check_stream (s);
  if (!code)
    code = fake_told_dead (s->device);
  if (!code && (s->running || s->ops.length > 0))
    code = FAKE_NOT_READY;
  else if (!code && s->incident && s->incident->until == G_MAXUINT64)
    {
      s->incident->until = fake.serial;
      code = s->incident->code;
    }
  return fake_leave (code);
}

int
fake_stream_wait (gpointer stream, gpointer event)
{
  int code = fake_enter (FAKE_STREAM_WAIT, stream);
  Stream *s = fake_stream (stream);
  Event *e = fake_event (event);
  if (!code)
    code = fake_check_stream (s);
  if (!code)
    code = check_event (e);
  if (!code && e->mark)
    {
      Op *op = g_new0 (Op, 1);
      op->kind = OP_WAIT;
      op->mark = e->mark;
      fake_put (s, op);
      s->after = e->stream;
      s->after_serial = e->serial;
    }
  return fake_leave (code);
}

int
fake_event_new (gpointer *event)
{
  int device = fake_current_device ();
  int code = fake_enter (FAKE_EVENT_NEW, NULL);
  if (!code)
    {
      Event *e = g_new0 (Event, 1);
      e->device = device;
      g_ptr_array_add (fake.events, e);
      *event = e;
    }
  return fake_leave (code);
}

int
fake_event_free (gpointer event)
{
  int code = fake_enter (FAKE_EVENT_FREE, event);
  Event *e = fake_event (event);
  int checked = check_event (e);
  if (!checked)
    e->freed = TRUE;
  return fake_leave (code ? code : checked);
}

int
fake_event_record (gpointer event, gpointer stream)
{
  int code = fake_enter (FAKE_EVENT_RECORD, stream);
  Stream *s = fake_stream (stream);
  Event *e = fake_event (event);
  if (!code)
    code = fake_check_stream (s);
  if (!code)
    code = check_event (e);
  if (!code && s->device != e->device)
    code = fake_wrong (FAKE_INVALID_HANDLE,
                       "an event of device %d recorded in a stream of %d",
                       e->device, s->device);
  if (!code)
    {
      Op *op = g_new0 (Op, 1);
      op->kind = OP_RECORD;
      e->mark = op->mark = g_new0 (Mark, 1);
      g_ptr_array_add (fake.marks, e->mark);
      fake_put (s, op);
      e->stream = s;
      e->serial = op->serial;
    }
  return fake_leave (code);
}

/* The error of what was before the event; now it is known. */
static int
outcome_locked (const Event *e)
{
  int dead = fake_told_dead (e->device);
  Incident *incident = e->mark ? e->mark->incident : NULL;
  if (dead || !incident)
    return dead;
  incident->until = MIN (incident->until, fake.serial);
  return incident->code;
}

int
fake_event_query (gpointer event)
{
  int code = fake_enter (FAKE_EVENT_QUERY, event);
  Event *e = fake_event (event);
  if (!code)
    code = check_event (e);
  if (!code)
    code = e->mark && !e->mark->done ? FAKE_NOT_READY : outcome_locked (e);
  return fake_leave (code);
}

int
fake_event_wait (gpointer event)
{
  int code = fake_enter (FAKE_EVENT_WAIT, event);
  Event *e = fake_event (event);
  if (!code)
    code = check_event (e);
  if (!code)
    {
      Mark *mark = e->mark;
      while (mark && !mark->done && !fake_dead (e->device))
        pthread_cond_wait (&fake.changed, &fake.lock);
      code = outcome_locked (e);
    }
  return fake_leave (code);
}

int
fake_event_elapsed (float *ms, gpointer begin, gpointer end)
{
  int code = fake_enter (FAKE_EVENT_ELAPSED, begin);
  Event *a = fake_event (begin), *b = fake_event (end);
  if (!code)
    code = check_event (a);
  if (!code)
    code = check_event (b);
  if (!code && (!a->mark || !b->mark || a->device != b->device))
    code = fake_wrong (FAKE_INVALID_HANDLE,
                       "elapsed of events never recorded, or of two devices");
  if (!code && (!a->mark->done || !b->mark->done))
    code = FAKE_NOT_READY;
  if (!code)
    *ms = (float)((double)(b->mark->time_ns - a->mark->time_ns) / 1e6);
  return fake_leave (code);
}
