/* SPDX-License-Identifier: MIT */
/* tasks.h: functions for the threads of a CPU pool, which sleep for the next
   one before they go back to oneTBB.

   DESIGN. oneTBB owns the threads of a pool. To fetch one of them through an
   arena costs the giver several us, and the thread searches oneTBB's queues for
   longer than that before and after it runs the function. In a farm whose work
   comes in small portions a core leaves and returns thousands of times a
   second. So a fetched thread (hass_tasks_serve) stays for a while: after each
   function it sleeps for the next one, which wakes it with one system call.

   1. Giving. hass_tasks_give() hands the function to the thread on the list of
      sleepers that came last, whose cache is warm. If none sleeps, the function
      waits in a queue, and the giver fetches a thread if not enough of them are
      on their way. A thread that has run its function takes the next one from
      the queue before it sleeps. Always at least as many threads are on their
      way as functions wait, so each function is run, once.
   2. Sleeping. A sleeper is a struct on the sleeping thread's stack with the
      function that it is given and a state: LISTED until it sleeps, ASLEEP,
      GIVEN. Who takes it off the list, under the lock, then owns it and must
      set GIVEN, outside the lock; only if it was ASLEEP does that take a system
      call. The thread may return as soon as it sees GIVEN, and the sleeper is
      gone then. A thread that has run a function looks for the state for
      SPIN_NS before it sleeps, as long as no other thread has come after it.
   3. Leaving. A thread that nothing wakes for @sleep_ns takes itself off the
      list and goes back to oneTBB. If it is not on the list any more, it has
      been given a function and waits for GIVEN.
   4. Offers. The helpers of a loop (loop.c) are offered rather than given: a
      thread takes an offer if no function waits, and the loop may withdraw it
      until then. A thread that helps looks with hass_tasks_wanted() whether a
      function waits, and then leaves its loop for it.

   A program that limits oneTBB to fewer threads than its pools have together
   may wait up to @sleep_ns for a thread that sleeps in another pool.

   A child of fork() has none of the sleepers and none of the offers, and
   fetches threads of its own.

   Thread safety: any thread; hass_tasks_free() when no other thread gives. */
#ifndef HASS_TASKS_H
#define HASS_TASKS_H

#include <glib.h>

G_BEGIN_DECLS

/* How long a thread of a pool sleeps for the next function, in ns. A guess:
   shorter, and threads are fetched again between the portions of a slow
   producer, where fetching costs less than 1/1000 of the time in any case;
   longer, and other users of oneTBB in the process wait for the threads. */
#define HASS_TASKS_SLEEP_NS G_GINT64_CONSTANT (100000000)

typedef struct HassTasks HassTasks;
typedef void (*HassTaskRun) (gpointer data);

HassTasks *hass_tasks_new (gint64 sleep_ns);
void hass_tasks_free (HassTasks *tasks);
gboolean hass_tasks_give (HassTasks *tasks, HassTaskRun run, gpointer data);
gboolean hass_tasks_offer (HassTasks *tasks, HassTaskRun run, gpointer data);
gboolean hass_tasks_withdraw (HassTasks *tasks, gconstpointer data);
gboolean hass_tasks_wanted (const HassTasks *tasks);
void hass_tasks_serve (gpointer tasks);
guint hass_tasks_sleeping (HassTasks *tasks);

G_END_DECLS

#endif
