/* SPDX-License-Identifier: MIT */
/* copy_crew.c: see copy_crew.h.

   DESIGN. A job is published in one word: a generation, its number of pieces
   and the index of the next one. A thread takes a piece by raising the index
   with compare-and-swap; a helper that is late finds another generation and
   takes nothing. The caller takes pieces too and waits until all are done, so
   that a job is never replaced while a helper works on a piece.

   Waking a thread takes the waking thread 10 us, and a common lock would let
   the helpers in one after another. So each helper sleeps on a semaphore of its
   own, the caller wakes two helpers, and each of these wakes two more.

   Thread safety: see copy_crew.h. */
#include "copy_crew.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "device/cpu/cpu_pool.h"
#include "pool/clock.h"
#include "pool/fence.h"
#include "device/cpu/urgent.h"

#define MOST_HELPERS 7
/* Number of helpers that one thread wakes; each of them wakes as many again,
   so that the waking, some microseconds each, runs in parallel. */
#define WAKES 2
#define SPIN_NS 100000

typedef struct
{
  void (*piece) (guint i, gpointer data);
  gpointer data;
} Job;

typedef void (*Between) (gpointer data);

typedef struct
{
  sem_t wake;
  /* The helper sleeps or is about to. The thread that clears the flag posts
     `wake`, unless this is the helper itself. */
  _Atomic gboolean asleep;
} Helper;

/* Held by the thread that uses the crew. */
static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER;
static Helper helpers[MOST_HELPERS];
static guint n_helpers;     /* guarded by `owner` */
static gboolean started;    /* guarded by `owner` */
static _Atomic gint wanted; /* about how many helpers are still to be woken */
/* The job that helpers work on. The owner writes it before it sets `next`. A
   helper reads it only after it has taken a piece of this generation (job),
   for which the owner waits. */
static Job job;
/* Generation of the job, number of its pieces, next piece to be taken. */
static _Atomic guint64 next;
static _Atomic guint n_done;

#define BITS 20
#define MASK ((1u << BITS) - 1)

static gboolean
is_open (guint64 word)
{
  return (word & MASK) < (word >> BITS & MASK);
}

/* Takes and computes pieces of the published job until none is left, and calls
   @between, if not NULL, after each. Returns: whether there was a piece. */
static gboolean
help (Between between)
{
  gboolean any = FALSE;
  /* Acquire pairs with the release with which the owner publishes the job: the
     helper sees the job's fields. */
  guint64 word = atomic_load_explicit (&next, memory_order_acquire);
  while (is_open (word))
    {
      if (!atomic_compare_exchange_weak_explicit (&next, &word, word + 1,
                                                  memory_order_acquire,
                                                  memory_order_acquire))
        continue;
      job.piece (word & MASK, job.data);
      any = TRUE;
      /* Release pairs with the owner's acquire: the owner sees the bytes that
         this piece has copied. */
      atomic_fetch_add_explicit (&n_done, 1, memory_order_release);
      if (between)
        between (job.data);
      word = atomic_load_explicit (&next, memory_order_acquire);
    }
  return any;
}

/* Wakes at most WAKES sleeping helpers, as long as more are wanted. */
static void
wake_some (void)
{
  guint n = 0;
  for (guint i = 0; i < MOST_HELPERS && n < WAKES; i++)
    {
      gboolean asleep = TRUE;
      if (atomic_load_explicit (&wanted, memory_order_relaxed) <= 0)
        return;
      if (!atomic_load_explicit (&helpers[i].asleep, memory_order_seq_cst)
          || !atomic_compare_exchange_strong_explicit (
              &helpers[i].asleep, &asleep, FALSE, memory_order_seq_cst,
              memory_order_relaxed))
        continue;
      atomic_fetch_sub_explicit (&wanted, 1, memory_order_relaxed);
      sem_post (&helpers[i].wake);
      n++;
    }
}

/* Puts a helper to sleep until it is woken for a job. The accesses are
   sequentially consistent, as in publish: either the helper sees the new job,
   or the publishing thread sees that the helper sleeps. */
static void
sleep_until_woken (Helper *self)
{
  gboolean asleep = TRUE;
  atomic_store_explicit (&self->asleep, TRUE, memory_order_seq_cst);
  if (is_open (atomic_load_explicit (&next, memory_order_seq_cst))
      && atomic_compare_exchange_strong_explicit (&self->asleep, &asleep, FALSE,
                                                  memory_order_seq_cst,
                                                  memory_order_relaxed))
    return;
  while (sem_wait (&self->wake) != 0)
    ; /* interrupted by a signal: waits again */
  wake_some ();
}

static void *
helper (void *self)
{
  hass_thread_urgent ();
  hass_cpu_pool_unbind ();
  for (;;)
    {
      gint64 since = hass_clock_ns ();
      while (hass_clock_ns () - since < SPIN_NS)
        {
          if (help (NULL))
            since = hass_clock_ns ();
          for (int i = 0; i < 32; i++)
            hass_pause ();
        }
      sleep_until_woken (self);
    }
  return NULL;
}

/* Makes the helpers: at most half as many as there are cores, as they help
   only for a short time while a proxy (the thread that drives a GPU) waits for
   them. */
static void
start (void)
{
  started = TRUE;
  guint n = MIN (hass_cpu_pool_available () / 2, MOST_HELPERS);
  for (guint i = 0; i < n; i++)
    {
      pthread_t thread;
      sem_init (&helpers[i].wake, 0, 0);
      if (pthread_create (&thread, NULL, helper, &helpers[i]) != 0)
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
  atomic_store_explicit (&wanted, (gint)MIN (n - 1, n_helpers),
                         memory_order_relaxed);
  atomic_store_explicit (&next, generation << (2 * BITS) | (guint64)n << BITS,
                         memory_order_seq_cst);
  wake_some ();
}

/* Tries to take the crew for a job of @n pieces. Returns: FALSE if another
   thread uses the crew, there is no helper, or @n does not fit; the caller
   then computes the pieces itself. */
static gboolean
take_crew (guint n)
{
  if (n <= 1 || n > MASK || pthread_mutex_trylock (&owner) != 0)
    return FALSE;
  if (!started)
    start ();
  if (n_helpers > 0)
    return TRUE;
  pthread_mutex_unlock (&owner);
  return FALSE;
}

void
hass_copy_crew_expect (guint n)
{
  if (!take_crew (n))
    return;
  atomic_store_explicit (&wanted, (gint)MIN (n - 1, n_helpers),
                         memory_order_relaxed);
  wake_some ();
  pthread_mutex_unlock (&owner);
}

/* Calls piece(0) to piece(n - 1) on the caller and the crew, and @between on
   the caller after each of its pieces. Returns: the core time in ns. Helpers
   that find no piece spin and hold their cores as long as the caller does, so
   their time counts too. */
gint64
hass_copy_crew_run_between (guint n, void (*piece) (guint i, gpointer data),
                            void (*between) (gpointer data), gpointer data)
{
  gint64 begin_ns = hass_clock_ns ();
  if (!take_crew (n))
    {
      for (guint i = 0; i < n; i++)
        {
          piece (i, data);
          if (between)
            between (data);
        }
      return hass_clock_ns () - begin_ns;
    }
  guint n_cores = 1 + n_helpers;
  publish (n, piece, data);
  help (between);
  while (atomic_load_explicit (&n_done, memory_order_acquire) < n)
    if (between)
      between (data);
  atomic_store_explicit (&wanted, 0, memory_order_relaxed);
  pthread_mutex_unlock (&owner);
  return n_cores * (hass_clock_ns () - begin_ns);
}

gint64
hass_copy_crew_run (guint n, void (*piece) (guint i, gpointer data),
                    gpointer data)
{
  return hass_copy_crew_run_between (n, piece, NULL, data);
}
