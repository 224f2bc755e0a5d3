/* SPDX-License-Identifier: MIT */
/* ahead.c: see ahead.h.

   DESIGN. One byte of a deflate stream may stand for 1032. So bytes of the file
   are inflated part by part, and no further when MOST_PARTS parts wait to be
   written. The stage that adds bytes inflates what was added, by whichever of
   its calls, while there is room, and waits for nothing. The stage that writes
   inflates only where it has no part to write; then room is left by necessity,
   since all parts that wait follow in the file. So neither stage needs the
   other to run, and both overlap where there are two cores.

   Thread safety: see ahead.h. */
#include "ahead.h"

/* Parts that may wait to be written: 16 MiB. A guess: more, and memory is used
   in vain; fewer, and a reader that pauses makes the inflating stage pause. */
#define MOST_PARTS 64

typedef struct
{
  gsize bytes;
  guint8 data[INFLATER_PART];
} Part;

/* The bytes of one ahead_add().
   @in, @n: those not inflated yet.
   @members, @members_bytes: as there; @members becomes NULL if they are to be
   inflated as a stream.
   @parts: of #Part, inflated and not written.
   @done: all is in @parts, or was, or is at @members. */
typedef struct
{
  const guint8 *in;
  gsize n;
  const guint8 *members;
  gsize members_bytes;
  GQueue parts;
  gboolean done;
} Stretch;

/* Under @lock, but for @inflater and the first stretch of @todo except its
   parts and @done, which belong to the thread that has set @busy.
   @todo, @unwritten: of #Stretch; those that are not inflated, or not written,
   to their end, in the order of the file. @free: of #Part.
   @n_parts: that wait to be written, or are being made or written.
   @ended: see ahead_ended(). */
struct _Ahead
{
  Inflater *inflater;
  GMutex lock;
  GCond idle;
  gboolean busy, ended;
  GQueue todo, unwritten, free;
  guint n_parts;
};

Ahead *
ahead_new (Inflater *inflater)
{
  Ahead *a = g_new0 (Ahead, 1);
  a->inflater = inflater;
  g_mutex_init (&a->lock);
  g_cond_init (&a->idle);
  return a;
}

static void
free_stretch (gpointer stretch)
{
  g_queue_clear_full (&((Stretch *)stretch)->parts, g_free);
  g_free (stretch);
}

void
ahead_free (Ahead *a)
{
  g_queue_clear (&a->todo);
  g_queue_clear_full (&a->unwritten, free_stretch);
  g_queue_clear_full (&a->free, g_free);
  g_mutex_clear (&a->lock);
  g_cond_clear (&a->idle);
  g_free (a);
}

/* -- Inflating ---------------------------------------------------------- */

static guint8 *
get_part (gpointer part)
{
  return ((Part *)part)->data;
}

static void
put_part (guint8 *at, gsize bytes, gpointer part)
{
  (void)at;
  ((Part *)part)->bytes = bytes;
}

/* Inflates to @part, which then may still be empty. Returns: TRUE if all of the
   stretch is inflated. */
static gboolean
inflate_part (Ahead *a, Stretch *s, Part *part)
{
  InflaterSink sink = { get_part, put_part, part };
  if (s->members && inflater_between_members (a->inflater))
    {
      inflater_skip (a->inflater, s->in, s->n, s->members);
      return TRUE;
    }
  s->members = NULL;
  return !inflater_feed (a->inflater, &s->in, &s->n, &sink);
}

/* Inflates one part of the first stretch of @todo. Gives the lock up while it
   does. */
static void
advance_locked (Ahead *a)
{
  Stretch *s = g_queue_peek_head (&a->todo);
  Part *part = g_queue_pop_head (&a->free);
  a->busy = TRUE;
  a->n_parts++;
  g_mutex_unlock (&a->lock);
  if (!part)
    part = g_new (Part, 1);
  part->bytes = 0;
  gboolean done = inflate_part (a, s, part);
  gboolean ended = inflater_ended (a->inflater);
  g_mutex_lock (&a->lock);
  a->ended = ended;
  s->done = done;
  if (done)
    g_queue_pop_head (&a->todo);
  if (part->bytes > 0)
    g_queue_push_tail (&s->parts, part);
  else
    {
      g_queue_push_head (&a->free, part);
      a->n_parts--;
    }
  a->busy = FALSE;
  g_cond_broadcast (&a->idle);
}

void
ahead_add (Ahead *a, const guint8 *in, gsize n, const guint8 *members,
           gsize members_bytes)
{
  Stretch *s = g_new0 (Stretch, 1);
  *s = (Stretch){ .in = in,
                  .n = n,
                  .members = members,
                  .members_bytes = members_bytes,
                  .parts = G_QUEUE_INIT };
  g_mutex_lock (&a->lock);
  g_queue_push_tail (&a->todo, s);
  g_queue_push_tail (&a->unwritten, s);
  while (!a->busy && a->n_parts < MOST_PARTS && !g_queue_is_empty (&a->todo))
    advance_locked (a);
  g_mutex_unlock (&a->lock);
}

gboolean
ahead_ended (Ahead *a)
{
  g_mutex_lock (&a->lock);
  gboolean ended = a->ended;
  g_mutex_unlock (&a->lock);
  return ended;
}

/* -- Writing ------------------------------------------------------------ */

/* Returns: the next part of the first stretch that is not written; NULL: there
   is none. */
static Part *
next_part_locked (Ahead *a, Stretch *s)
{
  while (g_queue_is_empty (&s->parts) && !s->done)
    if (a->busy)
      g_cond_wait (&a->idle, &a->lock);
    else
      advance_locked (a);
  return g_queue_pop_head (&s->parts);
}

gboolean
ahead_write (Ahead *a, Job *job, GError **error)
{
  gboolean ok = TRUE;
  Part *part;
  g_mutex_lock (&a->lock);
  Stretch *s = g_queue_peek_head (&a->unwritten);
  while (ok && (part = next_part_locked (a, s)))
    {
      g_mutex_unlock (&a->lock);
      ok = job_write (job, part->data, part->bytes, error);
      g_mutex_lock (&a->lock);
      g_queue_push_head (&a->free, part);
      a->n_parts--;
    }
  if (ok)
    g_queue_pop_head (&a->unwritten);
  g_mutex_unlock (&a->lock);
  if (!ok)
    return FALSE; /* the pipeline stops */
  ok = !s->members || job_write (job, s->members, s->members_bytes, error);
  free_stretch (s);
  return ok;
}
