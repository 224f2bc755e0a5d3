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

/* Announces a sleeper. Afterwards the caller checks its condition once more,
   then either waits with the returned epoch or cancels. Both pair with the
   accesses in notify: see event.h, 1. */
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

/* For a thread that has counted itself, with seq_cst, in a counter that
   notifiers check after notify: either it sees the change that it checks for
   next, or the notifier sees the count. */
void
hass_event_look (HassEvent *event)
{
  atomic_load_explicit (&event->epoch, memory_order_seq_cst);
}

/* Sleeps until notified after prepare, at most @timeout_ns (< 0: unlimited). */
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
  /* Relaxed: the lock orders it behind a notifier that saw this sleeper. */
  while (rc == 0
         && atomic_load_explicit (&event->epoch, memory_order_relaxed) == epoch)
    rc = timeout_ns < 0
             ? pthread_cond_wait (&event->changed, &event->lock)
             : pthread_cond_timedwait (&event->changed, &event->lock, &until);
  pthread_mutex_unlock (&event->lock);
  hass_event_cancel (event);
}

/* Wakes all sleepers; cheap if there are none. */
void
hass_event_notify (HassEvent *event)
{
  /* The release publishes the caller's change to sleepers that read the epoch
     afterwards; the load of sleepers must not overtake it: see event.h, 1. */
  atomic_fetch_add_explicit (&event->epoch, 1, memory_order_seq_cst);
  if (atomic_load_explicit (&event->sleepers, memory_order_seq_cst) == 0)
    return;
  pthread_mutex_lock (&event->lock);
  pthread_cond_broadcast (&event->changed);
  pthread_mutex_unlock (&event->lock);
}
