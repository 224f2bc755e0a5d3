/* SPDX-License-Identifier: MIT */
/* event.c: the event count.
   Thread safety: see event.h. */
#include "event.h"

#include <time.h>

void
hass_event_init (HassEvent *event)
{
  pthread_condattr_t attr;
  atomic_init (&event->epoch, 0);
  atomic_init (&event->sleepers, 0);
  pthread_mutex_init (&event->lock, NULL);
  pthread_condattr_init (&attr);
  pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
  pthread_cond_init (&event->changed, &attr);
  pthread_condattr_destroy (&attr);
}

void
hass_event_clear (HassEvent *event)
{
  pthread_mutex_destroy (&event->lock);
  pthread_cond_destroy (&event->changed);
}

/* Announces that the calling thread is about to sleep and returns the event's
   epoch. The caller then checks its condition once more and either waits with
   this epoch or cancels. Both accesses pair with those of hass_event_notify():
   see event.h, step 1. */
guint64
hass_event_prepare (HassEvent *event)
{
  atomic_fetch_add_explicit (&event->sleepers, 1, memory_order_seq_cst);
  return atomic_load_explicit (&event->epoch, memory_order_seq_cst);
}

void
hass_event_cancel (HassEvent *event)
{
  /* Relaxed: a notifier that still sees this sleeper only takes the lock
     needlessly. */
  atomic_fetch_sub_explicit (&event->sleepers, 1, memory_order_relaxed);
}

/* Orders the caller's announcement before its next check. A thread calls it
   after it has counted itself, with seq_cst, in a counter that notifiers read
   after hass_event_notify(): either the thread then sees the change that it
   checks for, or the notifier sees the thread in the counter. */
void
hass_event_look (HassEvent *event)
{
  atomic_load_explicit (&event->epoch, memory_order_seq_cst);
}

/* Sleeps until the event is notified after the hass_event_prepare() that
   returned @epoch, at most @timeout_ns (negative: unlimited). */
void
hass_event_wait (HassEvent *event, guint64 epoch, gint64 timeout_ns)
{
  struct timespec until;
  if (timeout_ns >= 0)
    {
      clock_gettime (CLOCK_MONOTONIC, &until);
      gint64 ns = until.tv_nsec + timeout_ns;
      until.tv_sec += ns / 1000000000;
      until.tv_nsec = ns % 1000000000;
    }
  pthread_mutex_lock (&event->lock);
  int rc = 0;
  /* Relaxed: a notifier that saw this sleeper takes the lock after it has
     raised the epoch, so the load under the lock sees the new epoch. */
  while (rc == 0
         && atomic_load_explicit (&event->epoch, memory_order_relaxed) == epoch)
    rc = timeout_ns < 0
             ? pthread_cond_wait (&event->changed, &event->lock)
             : pthread_cond_timedwait (&event->changed, &event->lock, &until);
  pthread_mutex_unlock (&event->lock);
  hass_event_cancel (event);
}

/* Wakes all threads that sleep on the event, after the caller has made the
   change that they wait for. Takes no lock if no thread sleeps. */
void
hass_event_notify (HassEvent *event)
{
  /* The release publishes the caller's change to sleepers that read the epoch
     afterwards; the load of `sleepers` must not move before this addition: see
     event.h, step 1. */
  atomic_fetch_add_explicit (&event->epoch, 1, memory_order_seq_cst);
  if (atomic_load_explicit (&event->sleepers, memory_order_seq_cst) == 0)
    return;
  pthread_mutex_lock (&event->lock);
  pthread_cond_broadcast (&event->changed);
  pthread_mutex_unlock (&event->lock);
}

/* As hass_event_notify(), after a change that is a seq_cst store, or such an
   addition, for which sleepers check with seq_cst loads. Writes nothing that
   other threads read unless a thread sleeps: if this load misses a sleeper,
   that thread counts itself later, and its check sees the change. */
void
hass_event_notify_sleepers (HassEvent *event)
{
  if (atomic_load_explicit (&event->sleepers, memory_order_seq_cst) > 0)
    hass_event_notify (event);
}
