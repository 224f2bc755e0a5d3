/* SPDX-License-Identifier: MIT */
/* fence.h: an asymmetric fence, free for its frequent side, the pause of a
   spinning core, and locks for which one spins.

   DESIGN. A generator publishes a load and then checks whether a core sleeps; a
   core announces that it sleeps and then checks for loads. Both need a full
   fence between the two steps, or each could miss the other. Publishing happens
   millions of times a second and going to sleep rarely, so the core's fence is
   membarrier(2), which fences every thread of the process, and the generator's
   is a compiler fence. Without membarrier, hass_fence_is_light() is FALSE, and
   the generator's store, the core's count and both checks must be sequentially
   consistent. Membarrier meets each thread at some point of its program: a
   generator that has already checked has published before, so the core sees the
   load; one that has not will see that the core sleeps (tests/model/weak.pml,
   1).

   Thread safety: any thread. */
#ifndef HASS_FENCE_H
#define HASS_FENCE_H

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>

gboolean hass_fence_is_light (void);
void hass_fence_heavy (void);

/* Pauses the core for some tens of ns in a loop that waits, so that its
   sibling thread can use the pipeline and other cores the memory bandwidth.
   Without a pause, a core that looks for work would take the generator's cache
   line in every iteration. On aarch64 an instruction barrier is used, which
   empties the pipeline: `yield` does nothing on most cores. */
static inline void
hass_pause (void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause ();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#else
  __asm__ volatile("" ::: "memory");
#endif
}

/* Makes a lock for a few dozen instructions: a thread spins for it before it
   sleeps, since a sleep costs more than the wait. */
static inline void
hass_short_lock_init (pthread_mutex_t *lock)
{
  pthread_mutexattr_t attr;
  pthread_mutexattr_init (&attr);
  pthread_mutexattr_settype (&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
  pthread_mutex_init (lock, &attr);
  pthread_mutexattr_destroy (&attr);
}

/* A lock for threads that need it and threads that could use it. Under the
   decision lock of a farm a device's proxy gets its next grant, while cores
   that have run out of work look there whether there is any. A mutex goes to
   whoever comes first when it is free: a thread that slept for it takes tens of
   us to wake up, in which many looks of 30 cores pass, so the proxy would sleep
   again, with its device idle. Here a thread that tries gets nothing while
   another one waits. */
typedef struct
{
  pthread_mutex_t mutex;
  _Atomic guint waiting; /* threads in hass_lock_take() */
} HassLock;

static inline void
hass_lock_init (HassLock *lock)
{
  hass_short_lock_init (&lock->mutex);
  atomic_init (&lock->waiting, 0);
}

static inline void
hass_lock_clear (HassLock *lock)
{
  pthread_mutex_destroy (&lock->mutex);
}

static inline void
hass_lock_take (HassLock *lock)
{
  if (pthread_mutex_trylock (&lock->mutex) == 0)
    return;
  /* Relaxed: a thread that does not see it yet takes the lock once more. */
  atomic_fetch_add_explicit (&lock->waiting, 1, memory_order_relaxed);
  pthread_mutex_lock (&lock->mutex);
  atomic_fetch_sub_explicit (&lock->waiting, 1, memory_order_relaxed);
}

/* Returns: whether the caller has the lock now. */
static inline gboolean
hass_lock_try (HassLock *lock)
{
  return atomic_load_explicit (&lock->waiting, memory_order_relaxed) == 0
         && pthread_mutex_trylock (&lock->mutex) == 0;
}

static inline void
hass_lock_give (HassLock *lock)
{
  pthread_mutex_unlock (&lock->mutex);
}

#endif
