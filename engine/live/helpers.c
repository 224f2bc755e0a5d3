/* SPDX-License-Identifier: MIT */
/* helpers.c: the object that a task of the CPU pool holds, so that a task that
   starts after its farm has ended finds out. The objects are few and are used
   again; they live as long as the process, because a task of the pool may start
   at any time.
   Thread safety: any thread. */
#include "live-private.h"

/* Returns: a HassHelpers for the job, with one reference, which is the job's;
   one that no job uses any more, or a new one. */
HassHelpers *
hass_helpers_new (HassJob *job)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static HassHelpers *all; /* all that were ever made; under @lock */
  pthread_mutex_lock (&lock);
  HassHelpers *helpers = all;
  /* Acquire pairs with the release in hass_helpers_unref() that dropped the
     last reference. */
  while (helpers
         && atomic_load_explicit (&helpers->refs, memory_order_acquire) > 0)
    helpers = helpers->next;
  if (!helpers)
    {
      helpers = g_new0 (HassHelpers, 1);
      pthread_mutex_init (&helpers->lock, NULL);
      pthread_cond_init (&helpers->empty, NULL);
      helpers->next = all;
      all = helpers;
    }
  atomic_store_explicit (&helpers->refs, 1, memory_order_relaxed);
  pthread_mutex_unlock (&lock);
  pthread_mutex_lock (&helpers->lock);
  helpers->job = job;
  pthread_mutex_unlock (&helpers->lock);
  return helpers;
}

/* Lets the calling core work for the job. Returns: the job, which then waits
   for hass_helpers_leave(); NULL if it has ended. */
HassJob *
hass_helpers_enter (HassHelpers *helpers)
{
  pthread_mutex_lock (&helpers->lock);
  HassJob *job = helpers->job;
  if (job)
    helpers->n_inside++;
  pthread_mutex_unlock (&helpers->lock);
  return job;
}

void
hass_helpers_leave (HassHelpers *helpers)
{
  pthread_mutex_lock (&helpers->lock);
  if (--helpers->n_inside == 0)
    pthread_cond_broadcast (&helpers->empty);
  pthread_mutex_unlock (&helpers->lock);
}

/* Ends the job for its helpers (cores other than the calling thread): lets no
   more in and waits until all have left. */
void
hass_helpers_close (HassHelpers *helpers)
{
  pthread_mutex_lock (&helpers->lock);
  helpers->job = NULL;
  while (helpers->n_inside > 0)
    pthread_cond_wait (&helpers->empty, &helpers->lock);
  pthread_mutex_unlock (&helpers->lock);
}

void
hass_helpers_unref (HassHelpers *helpers)
{
  atomic_fetch_sub_explicit (&helpers->refs, 1, memory_order_acq_rel);
}
