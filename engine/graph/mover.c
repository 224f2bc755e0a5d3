/* SPDX-License-Identifier: MIT */
/* mover.c: a thread that moves data home, so that the proxy does not: a device
   would idle while some MiB are moved.

   DESIGN. The proxy hands flights over by one queue and gets them back by
   another. The thread is made for the first datum of hass_mover_least bytes;
   smaller ones, and all if no thread can be made, are moved by the proxy.

   Thread safety: the proxy thread of the device, but for the mover's own. */
#include "device-private.h"

#include <string.h>

#include "device/copy_crew.h"

/* Bytes from which on another thread moves a datum: about what is moved in the
   time that waking a thread takes. A variable for tests. */
gsize hass_mover_least = (gsize)128 << 10;
/* Bytes that one core moves at a time, and from which on others help. */
#define PART_BYTES ((gsize)256 << 10)

struct HassMover
{
  HassJob *job;
  GThread *thread;
  GAsyncQueue *todo;  /* HassFlight, or the mover itself: the end */
  GAsyncQueue *moved; /* HassFlight */
};

/* -- Moving ------------------------------------------------------------- */

typedef struct
{
  const HassDataView *view;
  const guint8 *from; /* packed */
} Move;

/* Moves part @i of the packed bytes. */
static void
move_part (guint i, gpointer data)
{
  const Move *m = data;
  const HassDataView *v = m->view;
  gsize end = MIN ((i + 1) * PART_BYTES, v->rows * v->row_bytes);
  for (gsize at = i * PART_BYTES; at < end;)
    {
      gsize row = at / v->row_bytes, column = at % v->row_bytes;
      gsize n = MIN (v->row_bytes - column, end - at);
      memcpy ((guint8 *)v->data + row * v->pitch + column, m->from + at, n);
      at += n;
    }
}

static void
move (const HassFlight *f)
{
  Move m = { &f->places->data->view, f->aside };
  guint n = (guint)((f->bytes + PART_BYTES - 1) / PART_BYTES);
  if (n > 1)
    hass_copy_crew_run (n, move_part, &m);
  else
    move_part (0, &m);
}

static gpointer
run (gpointer data)
{
  HassMover *mover = data;
  for (gpointer f; (f = g_async_queue_pop (mover->todo)) != mover;)
    {
      move (f);
      g_async_queue_push (mover->moved, f);
      mover->job->engine->changed (mover->job);
    }
  return NULL;
}

/* -- The proxy's side --------------------------------------------------- */

HassMover *
hass_mover_new (HassJob *job)
{
  HassMover *mover = g_new0 (HassMover, 1);
  mover->job = job;
  mover->todo = g_async_queue_new ();
  mover->moved = g_async_queue_new ();
  return mover;
}

/* Has the data of a flight moved from aside to their home. hass_mover_moved()
   returns the flight. */
void
hass_mover_move (HassMover *mover, HassFlight *f)
{
  if (f->bytes >= hass_mover_least && !mover->thread)
    mover->thread = g_thread_try_new ("hass-mover", run, mover, NULL);
  if (f->bytes >= hass_mover_least && mover->thread)
    {
      g_async_queue_push (mover->todo, f);
      return;
    }
  move (f);
  g_async_queue_push (mover->moved, f);
}

/* Returns (transfer full): a flight whose data are home, or NULL. */
HassFlight *
hass_mover_moved (HassMover *mover)
{
  return g_async_queue_try_pop (mover->moved);
}

/* Waits until all data are home. */
void
hass_mover_finish (HassMover *mover)
{
  if (!mover->thread)
    return;
  g_async_queue_push (mover->todo, mover);
  g_thread_join (mover->thread);
  mover->thread = NULL;
}

/* After hass_mover_finish(), and when hass_mover_moved() returned all. */
void
hass_mover_free (HassMover *mover)
{
  g_async_queue_unref (mover->todo);
  g_async_queue_unref (mover->moved);
  g_free (mover);
}
