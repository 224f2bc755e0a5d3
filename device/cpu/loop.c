/* SPDX-License-Identifier: MIT */
/* loop.c: loops on the cores of a pool.

   DESIGN. A loop is cut into pieces, which threads pull from one counter. The
   thread that runs the loop offers one helper to the pool's threads and pulls
   pieces. A helper that comes while pieces remain offers two more, as long as
   there are cores for them, so that a long loop soon has all idle threads and a
   short one wakes one or two.

   1. Leaving. A function that is given to the pool, such as a core of a farm,
      may find all threads in loops. A helper looks for one between pieces and
      then leaves the loop, for which one helper more is offered than there are
      idle cores: a thread that has nothing else to do comes back.
   2. Ending. The caller pulls pieces until none is left. Then it waits
      for the helpers inside, which are in their last pieces; helpers that come
      later find none. It computes nothing else while it waits: a piece of
      another loop could last for longer, or need a lock that the caller
      holds.
   3. Memory. A loop belongs to its caller and the helpers that have been
      offered, since the caller does not wait for one that has not come. What
      the body uses is valid until the caller returns, and only the threads
      inside call the body.

   Thread safety: any thread. */
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu_pool.h"
#include "pool/clock.h"
#include "pool/fence.h"
#include "tasks.h"

/* Number of pieces that a nested loop is cut into, for each core of the pool.
   With more, a core that comes late or a long piece delays the loop less, but
   pulling a piece costs some 10 ns. A guess. */
#define PIECES_PER_CORE 64

/* How long the caller looks for the helpers' end before it sleeps: see
   tasks.c. */
#define SPIN_NS 10000

/* Added to the number of helpers inside while the caller waits for them. */
#define ENDING 0x80000000u

typedef struct
{
  HassCpuPool *pool;
  void (*body) (gsize first, gsize count, gpointer data);
  gpointer data;
  guint n_cores; /* of the pool */
  gsize n_pieces;
  gsize each, longer; /* the first @longer pieces have one more than @each */
  _Atomic gsize next; /* piece */
  /* Number of helpers that may pull pieces, and ENDING; the futex. */
  _Atomic guint32 inside;
  _Atomic guint refs; /* the caller's and those of helpers */
} Loop;

static void
unref (Loop *loop)
{
  /* Each thread's accesses are before its release, the last acquires all. */
  if (atomic_fetch_sub_explicit (&loop->refs, 1, memory_order_acq_rel) == 1)
    g_free (loop);
}

static void
leave (Loop *loop)
{
  /* Release publishes the pieces to the acquiring load in end(). */
  if (atomic_fetch_sub_explicit (&loop->inside, 1, memory_order_release)
      == ENDING + 1)
    syscall (SYS_futex, &loop->inside, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* 2. Waits for the helpers inside, when no piece is left. */
static void
end (Loop *loop)
{
  gint64 until = 0, now = 0;
  guint32 n;
  /* Relaxed: a helper that sees it wakes this thread, one that does not has
     changed what this thread's futex call compares. */
  atomic_fetch_or_explicit (&loop->inside, ENDING, memory_order_relaxed);
  /* Acquire pairs with the releases in leave(). */
  while ((n = atomic_load_explicit (&loop->inside, memory_order_acquire))
         != ENDING)
    {
      now = hass_clock_ns ();
      until = until > 0 ? until : now + SPIN_NS;
      if (now < until)
        hass_pause ();
      else
        syscall (SYS_futex, &loop->inside, FUTEX_WAIT_PRIVATE, n, NULL, NULL,
                 0);
    }
}

/* Computes the next piece. Returns: FALSE if none was left. */
static gboolean
pull (Loop *loop)
{
  /* A helper is inside before it pulls. Release and acquire have the caller,
     once it finds no piece, see each helper inside that has pulled one. */
  gsize i = atomic_fetch_add_explicit (&loop->next, 1, memory_order_acq_rel);
  if (i >= loop->n_pieces)
    return FALSE;
  loop->body (i * loop->each + MIN (i, loop->longer),
              loop->each + (i < loop->longer), loop->data);
  return TRUE;
}

static void help (gpointer data);

/* Offers up to @n helpers. Those that are offered or have come and the caller
   are at most one more than the cores; threads that offer at the same time may
   pass this by one each. */
static void
offer (Loop *loop, guint n)
{
  for (; n > 0
         && atomic_load_explicit (&loop->refs, memory_order_relaxed)
                <= loop->n_cores;
       n--)
    {
      atomic_fetch_add_explicit (&loop->refs, 1, memory_order_relaxed);
      hass_cpu_pool_offer (loop->pool, help, loop);
    }
}

/* What a thread of the pool does for a loop. */
static void
help (gpointer data)
{
  Loop *loop = data;
  /* Relaxed: a late look only pulls and offers in vain. */
  if (atomic_load_explicit (&loop->next, memory_order_relaxed) < loop->n_pieces)
    {
      atomic_fetch_add_explicit (&loop->inside, 1, memory_order_relaxed);
      offer (loop, 2);
      while (!hass_tasks_wanted (hass_cpu_pool_tasks (loop->pool))
             && pull (loop))
        ;
      leave (loop);
    }
  unref (loop);
}

/* Runs @body over [0, n) in pieces of at least @grain, on this thread and idle
   cores of the pool; returns when all pieces are done. */
void
hass_cpu_pool_parallel_for (HassCpuPool *pool, gsize n, gsize grain,
                            void (*body) (gsize first, gsize count,
                                          gpointer data),
                            gpointer data)
{
  guint n_cores = hass_cpu_pool_cores (pool);
  gsize n_pieces = MIN (n / MAX (grain, 1), PIECES_PER_CORE * n_cores);
  if (n_pieces <= 1 || n_cores <= 1)
    {
      if (n > 0)
        body (0, n, data);
      return;
    }
  Loop *loop = g_new (Loop, 1);
  *loop = (Loop){ .pool = pool,
                  .body = body,
                  .data = data,
                  .n_cores = n_cores,
                  .n_pieces = n_pieces,
                  .each = n / n_pieces,
                  .longer = n % n_pieces,
                  .refs = 1 };
  offer (loop, 1);
  while (pull (loop))
    ;
  end (loop);
  while (hass_tasks_withdraw (hass_cpu_pool_tasks (pool), loop))
    unref (loop);
  unref (loop);
}
