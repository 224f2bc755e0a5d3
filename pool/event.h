/* SPDX-License-Identifier: MIT */
/* event.h: an event count, with which threads sleep until another thread makes
   a change.

   DESIGN. A sleeper reads the epoch, checks once more for the change, and
   sleeps only while the epoch is unchanged. A notifier raises the epoch, and
   takes the lock only if there are sleepers.

   Why no wake-up is lost, by the memory model of C11: the counts and the epoch
   are accessed with seq_cst, so these accesses have one order.
   1. A notifier makes its change, raises the epoch (a release), and reads a
      count of sleepers. A sleeper counts itself, reads the epoch (an acquire),
      and checks for the change.
   2. If the count that the notifier has read lacks the sleeper, the notifier
      read it before the sleeper counted itself. Then the epoch was raised
      before the sleeper read it, so the sleeper acquires the change and sees
      it.
   3. Otherwise the notifier broadcasts under the lock. A sleeper that does not
      yet wait for the condition variable finds the epoch raised when it gets
      the lock, as the notifier raised it before it took the lock.

   Where the change is itself a seq_cst store or addition, which sleepers check
   for with seq_cst loads, it is in that one order, and the epoch need not be
   raised for threads that do not sleep: see hass_event_notify_sleepers().

   With a weaker memory order in step 1, notifier and sleeper may both miss the
   other; tests/model/weak.pml has each case, event.pml the other properties.

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
void hass_event_look (HassEvent *event);
void hass_event_notify (HassEvent *event);
void hass_event_notify_sleepers (HassEvent *event);

#endif
