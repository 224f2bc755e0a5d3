/* SPDX-License-Identifier: MIT */
/* jitter.c: a library for LD_PRELOAD that pauses threads at random before they
   take a mutex, after they release it, and after they post a semaphore. There
   one thread overtakes another, so that races between these points show more
   often (`make stress JITTER=1`).
   Thread safety: each thread draws its own pauses. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <time.h>

/* A pause is at one of so many points, and shorter than so many ns. Guesses:
   longer than what a thread does between two points, so that others overtake
   it; with more and longer pauses suites take longer. */
#define ONE_IN 48
#define LONGEST_NS 400000

/* By address of the stack and time, since a thread that began with a constant
   would pause at the same points in each run. */
static uint32_t
draw (void)
{
  static __thread uint32_t state;
  if (state == 0)
    {
      struct timespec now;
      clock_gettime (CLOCK_MONOTONIC, &now);
      state = (uint32_t)(uintptr_t)&now ^ (uint32_t)now.tv_nsec;
    }
  state = state * 1664525 + 1013904223;
  return state >> 8;
}

static void
pause_at_random (void)
{
  if (draw () % ONE_IN == 0)
    nanosleep (&(struct timespec){ 0, draw () % LONGEST_NS }, NULL);
}

typedef int (*MutexFunc) (pthread_mutex_t *mutex);

int
pthread_mutex_lock (pthread_mutex_t *mutex)
{
  static MutexFunc real;
  if (!real)
    real = (MutexFunc)dlsym (RTLD_NEXT, "pthread_mutex_lock");
  pause_at_random ();
  return real (mutex);
}

int
pthread_mutex_unlock (pthread_mutex_t *mutex)
{
  static MutexFunc real;
  if (!real)
    real = (MutexFunc)dlsym (RTLD_NEXT, "pthread_mutex_unlock");
  int status = real (mutex);
  pause_at_random ();
  return status;
}

int
sem_post (sem_t *semaphore)
{
  static int (*real) (sem_t * semaphore);
  if (!real)
    real = (int (*) (sem_t *))dlsym (RTLD_NEXT, "sem_post");
  int status = real (semaphore);
  pause_at_random ();
  return status;
}
