/* SPDX-License-Identifier: MIT */
/* event.h: a place to sleep until something has changed.

   DESIGN. An event count. A sleeper reads the epoch, looks once more for
   what it waits for, and sleeps only while the epoch stays; a notifier
   moves the epoch and takes the lock only if somebody sleeps.

   Thread safety: any thread. */
#ifndef HASS_EVENT_H
#define HASS_EVENT_H

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct
{
  _Atomic guint64 epoch;
  _Atomic guint sleepers;
  pthread_mutex_t lock;
  pthread_cond_t changed;
} HassEvent;

void hass_event_init (HassEvent *event);
void hass_event_clear (HassEvent *event);
guint64 hass_event_prepare (HassEvent *event);
void hass_event_cancel (HassEvent *event);
void hass_event_wait (HassEvent *event, guint64 epoch, gint64 timeout_ns);
void hass_event_notify (HassEvent *event);

#endif
