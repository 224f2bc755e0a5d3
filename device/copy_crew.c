/* SPDX-License-Identifier: MIT */
/* copy_crew.c: see copy_crew-private.h.

   DESIGN. A job is published in one word: a generation, how many pieces it
   has and which is next. Who raises the last by compare-and-swap has that
   piece; a helper that comes late sees a word of another generation and
   takes nothing. The caller takes pieces too and waits until as many are
   done as there were, so a job is never replaced while somebody has a piece.

   Thread safety: see copy_crew-private.h. */
#include "copy_crew-private.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "cpu_pool.h"
#include "urgent-private.h"

#define MOST_HELPERS 7
#define SPIN_NS 100000

typedef struct
{
  void (*piece) (guint i, gpointer data);
  gpointer data;
} Job;

static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER; /* has the crew */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER; /* with lock */
static guint n_sleeping;                               /* lock */
static guint n_helpers;                                /* owner */
static gboolean started;                               /* owner */
/* Written by the owner before `next` is raised, read by helpers after they
   have taken a piece of that generation, which keeps the owner waiting. */
static Job job;
static _Atomic guint64 next; /* generation, pieces, next piece */
static _Atomic guint n_done;

#define BITS 20
#define MASK ((1u << BITS) - 1)

static gint64
now_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

static gboolean
is_open (guint64 word)
{
  return (word & MASK) < (word >> BITS & MASK);
}

/* Does pieces of whatever job is published; TRUE when there was one. */
static gboolean
help (void)
{
  gboolean any = FALSE;
  /* Acquire pairs with the release in run: the job is seen. */
  guint64 word = atomic_load_explicit (&next, memory_order_acquire);
  while (is_open (word))
    {
      if (!atomic_compare_exchange_weak_explicit (&next, &word, word + 1,
                                                  memory_order_acquire,
                                                  memory_order_acquire))
        continue;
      job.piece (word & MASK, job.data);
      any = TRUE;
      /* Release pairs with the owner's acquire: what was copied is seen. */
      atomic_fetch_add_explicit (&n_done, 1, memory_order_release);
      word = atomic_load_explicit (&next, memory_order_acquire);
    }
  return any;
}

static void *
helper (void *unused)
{
  (void)unused;
  hass_thread_urgent ();
  hass_cpu_pool_unbind ();
  for (;;)
    {
      gint64 since = now_ns ();
      while (now_ns () - since < SPIN_NS)
        {
          if (help ())
            since = now_ns ();
#if defined(__x86_64__) || defined(__i386__)
          for (int i = 0; i < 32; i++)
            __builtin_ia32_pause ();
#endif
        }
      pthread_mutex_lock (&lock);
      n_sleeping++;
      while (!is_open (atomic_load_explicit (&next, memory_order_acquire)))
        pthread_cond_wait (&came, &lock);
      n_sleeping--;
      pthread_mutex_unlock (&lock);
    }
  return NULL;
}

/* Half of the cores, at most: they help for short, and a proxy waits. */
static void
start (void)
{
  started = TRUE;
  guint wanted = MIN (hass_cpu_pool_available () / 2, MOST_HELPERS);
  for (guint i = 0; i < wanted; i++)
    {
      pthread_t thread;
      if (pthread_create (&thread, NULL, helper, NULL) != 0)
        return;
      pthread_detach (thread);
      n_helpers++;
    }
}

static void
publish (guint n, void (*piece) (guint i, gpointer data), gpointer data)
{
  guint64 generation
      = (atomic_load_explicit (&next, memory_order_relaxed) >> (2 * BITS)) + 1;
  job = (Job){ piece, data };
  atomic_store_explicit (&n_done, 0, memory_order_relaxed);
  atomic_store_explicit (&next, generation << (2 * BITS) | (guint64)n << BITS,
                         memory_order_release);
  pthread_mutex_lock (&lock);
  if (n_sleeping > 0)
    pthread_cond_broadcast (&came);
  pthread_mutex_unlock (&lock);
}

/* Helpers that find nothing to do look out for more, and hold their cores as
   long as the caller. */
gint64
hass_copy_crew_run (guint n, void (*piece) (guint i, gpointer data),
                    gpointer data)
{
  gboolean mine = n > 1 && n <= MASK && pthread_mutex_trylock (&owner) == 0;
  gint64 begin_ns = now_ns ();
  guint n_cores = 1;
  if (mine && !started)
    start ();
  if (!mine || n_helpers == 0)
    {
      for (guint i = 0; i < n; i++)
        piece (i, data);
    }
  else
    {
      n_cores += n_helpers;
      publish (n, piece, data);
      help ();
      while (atomic_load_explicit (&n_done, memory_order_acquire) < n)
        ;
    }
  gint64 spent_ns = n_cores * (now_ns () - begin_ns);
  if (mine)
    pthread_mutex_unlock (&owner);
  return spent_ns;
}
