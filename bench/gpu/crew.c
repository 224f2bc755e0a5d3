/* SPDX-License-Identifier: MIT */
/* crew.c: threads that wait for the next thing to do.

   Thread safety: one thread calls; the crew's own touch what the lock
   guards. */
#include "gpu_bench.h"

#include <pthread.h>
#include <sched.h>

struct Crew
{
  pthread_mutex_t lock;
  pthread_cond_t begin, end;
  pthread_t *threads;
  guint size;
  /* under lock */
  guint n_started, n_wanted, n_working;
  guint64 turn;
  CrewFunc func; /* NULL: leave */
  gpointer arg;
};

static gpointer
member (gpointer data)
{
  Crew *crew = data;
  guint64 seen = 0;
  pthread_mutex_lock (&crew->lock);
  guint index = crew->n_started++;
  for (;;)
    {
      while (crew->turn == seen)
        pthread_cond_wait (&crew->begin, &crew->lock);
      seen = crew->turn;
      CrewFunc func = crew->func;
      gpointer arg = crew->arg;
      if (!func)
        break;
      if (index >= crew->n_wanted)
        continue;
      pthread_mutex_unlock (&crew->lock);
      func (index, arg);
      pthread_mutex_lock (&crew->lock);
      if (--crew->n_working == 0)
        pthread_cond_signal (&crew->end);
    }
  pthread_mutex_unlock (&crew->lock);
  return NULL;
}

Crew *
crew_new (guint size)
{
  Crew *crew = g_new0 (Crew, 1);
  crew->size = size;
  crew->threads = g_new (pthread_t, size);
  pthread_mutex_init (&crew->lock, NULL);
  pthread_cond_init (&crew->begin, NULL);
  pthread_cond_init (&crew->end, NULL);
  for (guint i = 0; i < size; i++)
    if (pthread_create (&crew->threads[i], NULL, member, crew) != 0)
      g_error ("no thread %u of %u", i + 1, size);
  return crew;
}

guint
crew_size (const Crew *crew)
{
  return crew->size;
}

static void
start (Crew *crew, guint n, CrewFunc func, gpointer arg)
{
  pthread_mutex_lock (&crew->lock);
  crew->func = func;
  crew->arg = arg;
  crew->n_wanted = crew->n_working = n;
  crew->turn++;
  pthread_cond_broadcast (&crew->begin);
  pthread_mutex_unlock (&crew->lock);
}

void
crew_run (Crew *crew, guint n, CrewFunc func, gpointer arg)
{
  g_return_if_fail (n > 0 && n <= crew->size && func != NULL);
  start (crew, n, func, arg);
  pthread_mutex_lock (&crew->lock);
  while (crew->n_working > 0)
    pthread_cond_wait (&crew->end, &crew->lock);
  pthread_mutex_unlock (&crew->lock);
}

void
crew_free (Crew *crew)
{
  start (crew, 0, NULL, NULL);
  for (guint i = 0; i < crew->size; i++)
    pthread_join (crew->threads[i], NULL);
  pthread_mutex_destroy (&crew->lock);
  pthread_cond_destroy (&crew->begin);
  pthread_cond_destroy (&crew->end);
  g_free (crew->threads);
  g_free (crew);
}

static cpu_set_t all_cores;

/* What the process was given at its start: a bound thread's own set is one
   core. */
__attribute__ ((constructor)) static void
read_cores (void)
{
  sched_getaffinity (0, sizeof all_cores, &all_cores);
}

void
crew_bind (gint nth)
{
  static __thread gint bound_to = -1;
  cpu_set_t one;
  if (nth < 0)
    nth = -1;
  if (nth == bound_to)
    return;
  bound_to = nth;
  if (nth < 0)
    {
      sched_setaffinity (0, sizeof all_cores, &all_cores);
      return;
    }
  gint left = nth % CPU_COUNT (&all_cores);
  CPU_ZERO (&one);
  for (int c = 0; c < CPU_SETSIZE; c++)
    if (CPU_ISSET (c, &all_cores) && left-- == 0)
      {
        CPU_SET (c, &one);
        sched_setaffinity (0, sizeof one, &one);
        return;
      }
}
