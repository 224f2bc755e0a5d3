/* SPDX-License-Identifier: MIT */
/* helpers.c: the handle by which tasks of the CPU pool learn that their job has
   ended before they start. Handles are few and reused; they stay for the life
   of the process, as the pool's tasks may. Thread safety: any thread. */
#include "live-private.h"

/* Returns: a handle with one reference, the job's. */
HassHelpers *
hass_helpers_new (HassJob *job)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static HassHelpers *all; /* lock */
  pthread_mutex_lock (&lock);
  HassHelpers *crew = all;
  /* Acquire pairs with the release of the last reference. */
  while (crew && atomic_load_explicit (&crew->refs, memory_order_acquire) > 0)
    crew = crew->next;
  if (!crew)
    {
      crew = g_new0 (HassHelpers, 1);
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
hass_helpers_enter (HassHelpers *crew)
{
  pthread_mutex_lock (&crew->lock);
  HassJob *job = crew->job;
  if (job)
    crew->n_inside++;
  pthread_mutex_unlock (&crew->lock);
  return job;
}

void
hass_helpers_leave (HassHelpers *crew)
{
  pthread_mutex_lock (&crew->lock);
  if (--crew->n_inside == 0)
    pthread_cond_broadcast (&crew->empty);
  pthread_mutex_unlock (&crew->lock);
}

/* Lets nobody in any more and waits for those inside. */
void
hass_helpers_close (HassHelpers *crew)
{
  pthread_mutex_lock (&crew->lock);
  crew->job = NULL;
  while (crew->n_inside > 0)
    pthread_cond_wait (&crew->empty, &crew->lock);
  pthread_mutex_unlock (&crew->lock);
}

void
hass_helpers_unref (HassHelpers *crew)
{
  atomic_fetch_sub_explicit (&crew->refs, 1, memory_order_acq_rel);
}
