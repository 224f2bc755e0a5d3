/* SPDX-License-Identifier: MIT */
/* crew.c: what tasks of the CPU pool hold on to, so that those that start
   when their job is over find that out. Crews are few and used again; they
   stay for the life of the process, as the pool's tasks may.
   Thread safety: any thread. */
#include "live-private.h"

/* A crew with one reference, the job's. */
HassCrew *
hass_crew_new (HassJob *job)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static HassCrew *all; /* lock */
  pthread_mutex_lock (&lock);
  HassCrew *crew = all;
  /* Acquire pairs with the release of the last reference. */
  while (crew && atomic_load_explicit (&crew->refs, memory_order_acquire) > 0)
    crew = crew->next;
  if (!crew)
    {
      crew = g_new0 (HassCrew, 1);
      pthread_mutex_init (&crew->lock, NULL);
      pthread_cond_init (&crew->empty, NULL);
      crew->next = all;
      all = crew;
    }
  atomic_store_explicit (&crew->refs, 1, memory_order_relaxed);
  pthread_mutex_unlock (&lock);
  pthread_mutex_lock (&crew->lock);
  crew->job = job;
  pthread_mutex_unlock (&crew->lock);
  return crew;
}

/* Enters the job if it still runs; NULL: it is over. */
HassJob *
hass_crew_enter (HassCrew *crew)
{
  pthread_mutex_lock (&crew->lock);
  HassJob *job = crew->job;
  if (job)
    crew->n_inside++;
  pthread_mutex_unlock (&crew->lock);
  return job;
}

void
hass_crew_leave (HassCrew *crew)
{
  pthread_mutex_lock (&crew->lock);
  if (--crew->n_inside == 0)
    pthread_cond_broadcast (&crew->empty);
  pthread_mutex_unlock (&crew->lock);
}

/* Lets nobody in any more and waits for those inside. */
void
hass_crew_close (HassCrew *crew)
{
  pthread_mutex_lock (&crew->lock);
  crew->job = NULL;
  while (crew->n_inside > 0)
    pthread_cond_wait (&crew->empty, &crew->lock);
  pthread_mutex_unlock (&crew->lock);
}

void
hass_crew_unref (HassCrew *crew)
{
  atomic_fetch_sub_explicit (&crew->refs, 1, memory_order_acq_rel);
}
