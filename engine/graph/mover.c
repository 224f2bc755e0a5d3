/* SPDX-License-Identifier: MIT */
/* mover.c: a thread that moves data home, so that the proxy does not: a device
   would idle while some MiB are moved.

   DESIGN. The proxy hands flights over by one queue and gets them back by
   another, both under one lock. The thread is made for the first datum of
   hass_mover_least bytes; smaller ones, and all if no thread can be made or in
   virtual time, are moved by the proxy. A dry run moves nothing.

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
  pthread_t thread;
  gboolean runs;        /* there is a thread */
  pthread_mutex_t lock; /* the next three fields */
  GQueue todo, moved;   /* HassFlight */
  gboolean ends;        /* no more will come */
  pthread_cond_t came;
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
move (const HassJob *job, const HassFlight *f)
{
  Move m = { &f->places->data->view, f->aside };
  guint n = (guint)((f->bytes + PART_BYTES - 1) / PART_BYTES);
  if (job->dry)
    return;
  if (n > 1 && job->engine->real_time)
    hass_copy_crew_run (n, move_part, &m);
  else
    for (guint i = 0; i < n; i++)
      move_part (i, &m);
}

static gpointer
run (gpointer data)
{
  HassMover *mover = data;
  pthread_mutex_lock (&mover->lock);
  while (!mover->ends || !g_queue_is_empty (&mover->todo))
    {
      HassFlight *f = g_queue_pop_head (&mover->todo);
      if (!f)
        {
          pthread_cond_wait (&mover->came, &mover->lock);
          continue;
        }
      pthread_mutex_unlock (&mover->lock);
      move (mover->job, f);
      pthread_mutex_lock (&mover->lock);
      g_queue_push_tail (&mover->moved, f);
      pthread_mutex_unlock (&mover->lock);
      mover->job->engine->changed (mover->job);
      pthread_mutex_lock (&mover->lock);
    }
  pthread_mutex_unlock (&mover->lock);
  return NULL;
}

/* -- The proxy's side --------------------------------------------------- */

HassMover *
hass_mover_new (HassJob *job)
{
  HassMover *mover = g_new0 (HassMover, 1);
  mover->job = job;
  g_queue_init (&mover->todo);
  g_queue_init (&mover->moved);
  pthread_mutex_init (&mover->lock, NULL);
  pthread_cond_init (&mover->came, NULL);
  return mover;
}

/* Has the data of a flight moved from aside to their home. hass_mover_moved()
   returns the flight. */
void
hass_mover_move (HassMover *mover, HassFlight *f)
{
  gboolean later
      = f->bytes >= hass_mover_least && mover->job->engine->real_time;
  if (later && !mover->runs)
    mover->runs = pthread_create (&mover->thread, NULL, run, mover) == 0;
  later &= mover->runs;
  if (!later)
    move (mover->job, f);
  pthread_mutex_lock (&mover->lock);
  g_queue_push_tail (later ? &mover->todo : &mover->moved, f);
  pthread_cond_signal (&mover->came);
  pthread_mutex_unlock (&mover->lock);
}

/* Returns (transfer full): a flight whose data are home, or NULL. */
HassFlight *
hass_mover_moved (HassMover *mover)
{
  pthread_mutex_lock (&mover->lock);
  HassFlight *f = g_queue_pop_head (&mover->moved);
  pthread_mutex_unlock (&mover->lock);
  return f;
}

/* Waits until all data are home. */
void
hass_mover_finish (HassMover *mover)
{
  if (!mover->runs)
    return;
  pthread_mutex_lock (&mover->lock);
  mover->ends = TRUE;
  pthread_cond_signal (&mover->came);
  pthread_mutex_unlock (&mover->lock);
  pthread_join (mover->thread, NULL);
  mover->runs = mover->ends = FALSE;
}

/* After hass_mover_finish(), and when hass_mover_moved() returned all. */
void
hass_mover_free (HassMover *mover)
{
  pthread_mutex_destroy (&mover->lock);
  pthread_cond_destroy (&mover->came);
  g_free (mover);
}
