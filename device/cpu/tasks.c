/* SPDX-License-Identifier: MIT */
/* tasks.c: see tasks.h, whose numbers the sections bear.
   Thread safety: see tasks.h. Lock order: `all.lock`, then that of a
   HassTasks. */
#include "tasks.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pool/clock.h"
#include "pool/fence.h"

/* How long a thread that has run a function looks for the next one before it
   sleeps. About the time that the kernel takes to put a thread to sleep and to
   wake it, so that a wait costs at most twice what the better choice would. */
#define SPIN_NS 10000

typedef struct
{
  HassTaskRun run; /* NULL: go back to oneTBB */
  gpointer data;
} Task;

enum
{
  LISTED, /* the thread does not sleep yet */
  ASLEEP, /* who sets GIVEN must wake the thread */
  GIVEN   /* `task` is set */
};

typedef struct Sleeper Sleeper;
struct Sleeper
{
  Sleeper *next; /* while on the list, under the lock */
  Task task;     /* written before GIVEN by who took the sleeper off the list */
  _Atomic guint32 state; /* the futex */
};

struct HassTasks
{
  HassTasks *next; /* of all; under `all.lock` */
  pthread_mutex_t lock;
  /* What follows is written under the lock. */
  gint64 sleep_ns;
  _Atomic (Sleeper *) sleepers; /* the last that came is first */
  GArray *waiting;              /* Task, those from `first` on */
  guint first;
  _Atomic guint n_waiting; /* of `waiting` */
  GArray *offers;          /* Task */
  guint n_coming;          /* threads asked for that have not come */
  guint n_inside;          /* threads in hass_tasks_serve() */
  pthread_cond_t left;     /* n_coming or n_inside has become 0 */
};

/* -- Making, forking ---------------------------------------------------- */

static struct
{
  pthread_mutex_t lock;
  HassTasks *first; /* under `lock` */
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void
before_fork (void)
{
  pthread_mutex_lock (&all.lock);
  for (HassTasks *t = all.first; t; t = t->next)
    pthread_mutex_lock (&t->lock);
}

static void
after_fork (void)
{
  for (HassTasks *t = all.first; t; t = t->next)
    pthread_mutex_unlock (&t->lock);
  pthread_mutex_unlock (&all.lock);
}

/* The child has the calling thread alone, which may be inside: counts of
   threads do not fall below 0. The loops whose helpers are offered are those of
   the parent. */
static void
in_child (void)
{
  for (HassTasks *t = all.first; t; t = t->next)
    {
      atomic_store_explicit (&t->sleepers, NULL, memory_order_relaxed);
      t->n_coming = t->n_inside = 0;
      g_array_set_size (t->offers, 0);
    }
  after_fork ();
}

static void
watch_forks (void)
{
  pthread_atfork (before_fork, after_fork, in_child);
}

/* @sleep_ns: how long a thread sleeps for the next function; 0: it goes back at
   once. */
HassTasks *
hass_tasks_new (gint64 sleep_ns)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once (&once, watch_forks);
  HassTasks *tasks = g_new0 (HassTasks, 1);
  hass_short_lock_init (&tasks->lock);
  pthread_cond_init (&tasks->left, NULL);
  tasks->sleep_ns = sleep_ns;
  tasks->waiting = g_array_new (FALSE, FALSE, sizeof (Task));
  tasks->offers = g_array_new (FALSE, FALSE, sizeof (Task));
  pthread_mutex_lock (&all.lock);
  tasks->next = all.first;
  all.first = tasks;
  pthread_mutex_unlock (&all.lock);
  return tasks;
}

/* -- 1. Giving ---------------------------------------------------------- */

/* Takes the function that has waited longest. */
static Task
pop_locked (HassTasks *tasks)
{
  Task task = g_array_index (tasks->waiting, Task, tasks->first++);
  if (2 * tasks->first >= tasks->waiting->len)
    {
      g_array_remove_range (tasks->waiting, 0, tasks->first);
      tasks->first = 0;
    }
  atomic_fetch_sub_explicit (&tasks->n_waiting, 1, memory_order_relaxed);
  return task;
}

/* Gives a sleeper that is off the list its function, and wakes it. The thread
   may return from its sleep between the exchange and the system call, which
   then wakes nothing, or a thread that waits for another reason at the same
   address: as every waiter on a futex, that one looks and waits on. */
static void
hand (Sleeper *sleeper, Task task)
{
  _Atomic guint32 *state = &sleeper->state;
  sleeper->task = task;
  /* Release publishes the task to the acquiring load of the thread that
     sleeps, which may also give up the stack that the sleeper lies on. */
  if (atomic_exchange_explicit (state, GIVEN, memory_order_release) == ASLEEP)
    syscall (SYS_futex, state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Hands the task to a sleeper, or puts it last in @queue. Returns: TRUE if the
   caller must fetch a thread. */
static gboolean
give (HassTasks *tasks, Task task, GArray *queue)
{
  gboolean fetch = FALSE;
  pthread_mutex_lock (&tasks->lock);
  Sleeper *sleeper
      = atomic_load_explicit (&tasks->sleepers, memory_order_relaxed);
  if (sleeper)
    atomic_store_explicit (&tasks->sleepers, sleeper->next,
                           memory_order_relaxed);
  else
    {
      g_array_append_val (queue, task);
      if (queue == tasks->waiting)
        atomic_fetch_add_explicit (&tasks->n_waiting, 1, memory_order_relaxed);
      guint n = atomic_load_explicit (&tasks->n_waiting, memory_order_relaxed);
      fetch = n + tasks->offers->len > tasks->n_coming;
      tasks->n_coming += fetch;
    }
  pthread_mutex_unlock (&tasks->lock);
  if (sleeper)
    hand (sleeper, task);
  return fetch;
}

/* Has run (data) run by a thread soon. Returns: TRUE if the caller must fetch a
   thread that calls hass_tasks_serve (). */
gboolean
hass_tasks_give (HassTasks *tasks, HassTaskRun run, gpointer data)
{
  return give (tasks, (Task){ run, data }, tasks->waiting);
}

/* -- 2. Sleeping -------------------------------------------------------- */

static gboolean
is_given (Sleeper *sleeper)
{
  /* Acquire pairs with the release in hand(). */
  return atomic_load_explicit (&sleeper->state, memory_order_acquire) == GIVEN;
}

/* Looks for the state for SPIN_NS, as long as no thread has come later.
   Returns: whether a task was given. */
static gboolean
spin (HassTasks *tasks, Sleeper *sleeper)
{
  gint64 until = hass_clock_ns () + SPIN_NS;
  do
    {
      if (is_given (sleeper))
        return TRUE;
      hass_pause ();
    }
  /* Relaxed: a late look only spins for longer. */
  while (atomic_load_explicit (&tasks->sleepers, memory_order_relaxed)
             == sleeper
         && hass_clock_ns () < until);
  return is_given (sleeper);
}

/* Sleeps until the task is given or the time @until_ns has come; 0: never.
   Returns: whether it is given. */
static gboolean
wait_for (Sleeper *sleeper, gint64 until_ns)
{
  struct timespec until
      = { .tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000 };
  guint32 listed = LISTED;
  atomic_compare_exchange_strong_explicit (&sleeper->state, &listed, ASLEEP,
                                           memory_order_relaxed,
                                           memory_order_relaxed);
  while (!is_given (sleeper))
    if (syscall (SYS_futex, &sleeper->state, FUTEX_WAIT_BITSET_PRIVATE, ASLEEP,
                 until_ns > 0 ? &until : NULL, NULL, FUTEX_BITSET_MATCH_ANY)
            != 0
        && errno == ETIMEDOUT)
      return is_given (sleeper);
  return TRUE;
}

/* -- 3. Leaving --------------------------------------------------------- */

/* Takes the calling thread's sleeper off the list. Returns: FALSE if another
   thread has done so, which gives it a task. */
static gboolean
leave (HassTasks *tasks, Sleeper *sleeper)
{
  pthread_mutex_lock (&tasks->lock);
  Sleeper *at = atomic_load_explicit (&tasks->sleepers, memory_order_relaxed);
  gboolean found = at == sleeper;
  if (found)
    atomic_store_explicit (&tasks->sleepers, sleeper->next,
                           memory_order_relaxed);
  for (; at && !found; at = at->next)
    if (at->next == sleeper)
      {
        at->next = sleeper->next;
        found = TRUE;
      }
  pthread_mutex_unlock (&tasks->lock);
  return found;
}

/* Sleeps up to @sleep_ns for the next task, with the sleeper on the list.
   @fruitful: the thread has run one before. */
static Task
sleep_for_task (HassTasks *tasks, Sleeper *sleeper, gint64 sleep_ns,
                gboolean fruitful)
{
  gint64 until_ns = hass_clock_ns () + sleep_ns;
  if ((fruitful && spin (tasks, sleeper)) || wait_for (sleeper, until_ns))
    return sleeper->task;
  if (leave (tasks, sleeper))
    return (Task){ NULL, NULL };
  wait_for (sleeper, 0);
  return sleeper->task;
}

static void
count_out_locked (HassTasks *tasks, guint *n)
{
  *n -= *n > 0;
  if (tasks->n_coming == 0 && tasks->n_inside == 0)
    pthread_cond_broadcast (&tasks->left);
}

/* Returns: the calling thread's next task; one without a function if the thread
   goes back to oneTBB. @fruitful: it has run one before; else it has just
   come. */
static Task
next_task (HassTasks *tasks, gboolean fruitful)
{
  Task task = { NULL, NULL };
  Sleeper sleeper = { .state = LISTED };
  gint64 sleep_ns = 0;
  pthread_mutex_lock (&tasks->lock);
  if (!fruitful)
    {
      tasks->n_inside++;
      count_out_locked (tasks, &tasks->n_coming);
    }
  if (hass_tasks_wanted (tasks))
    task = pop_locked (tasks);
  else if (tasks->offers->len > 0)
    {
      task = g_array_index (tasks->offers, Task, 0);
      g_array_remove_index (tasks->offers, 0);
    }
  else if ((sleep_ns = tasks->sleep_ns) > 0)
    {
      sleeper.next
          = atomic_load_explicit (&tasks->sleepers, memory_order_relaxed);
      atomic_store_explicit (&tasks->sleepers, &sleeper, memory_order_relaxed);
    }
  pthread_mutex_unlock (&tasks->lock);
  return sleep_ns > 0 ? sleep_for_task (tasks, &sleeper, sleep_ns, fruitful)
                      : task;
}

/* What a thread that was fetched for @data, the HassTasks, does: runs functions
   until none is given for a while. */
void
hass_tasks_serve (gpointer data)
{
  HassTasks *tasks = data;
  for (Task task = next_task (tasks, FALSE); task.run;
       task = next_task (tasks, TRUE))
    task.run (task.data);
  pthread_mutex_lock (&tasks->lock);
  count_out_locked (tasks, &tasks->n_inside);
  pthread_mutex_unlock (&tasks->lock);
}

/* -- 4. Offers ---------------------------------------------------------- */

/* Has run (data) run by a thread for which no given function waits. Returns:
   as hass_tasks_give(). */
gboolean
hass_tasks_offer (HassTasks *tasks, HassTaskRun run, gpointer data)
{
  return give (tasks, (Task){ run, data }, tasks->offers);
}

/* Takes back an offer with this @data that waits. Returns: FALSE if there is
   none: a thread runs it or has run it. */
gboolean
hass_tasks_withdraw (HassTasks *tasks, gconstpointer data)
{
  gboolean found = FALSE;
  pthread_mutex_lock (&tasks->lock);
  for (guint i = 0; i < tasks->offers->len && !found; i++)
    if ((found = g_array_index (tasks->offers, Task, i).data == data))
      g_array_remove_index (tasks->offers, i);
  pthread_mutex_unlock (&tasks->lock);
  return found;
}

/* Returns: whether a given function waits for a thread. */
gboolean
hass_tasks_wanted (const HassTasks *tasks)
{
  /* Relaxed: a late look only lets the function wait for longer. */
  return atomic_load_explicit (&tasks->n_waiting, memory_order_relaxed) > 0;
}

/* -- Counting, freeing -------------------------------------------------- */

/* Returns: the number of threads that sleep, or are about to. */
guint
hass_tasks_sleeping (HassTasks *tasks)
{
  guint n = 0;
  pthread_mutex_lock (&tasks->lock);
  for (Sleeper *at
       = atomic_load_explicit (&tasks->sleepers, memory_order_relaxed);
       at; at = at->next)
    n++;
  pthread_mutex_unlock (&tasks->lock);
  return n;
}

/* Sends all sleepers back and waits until all threads have left, those too
   that are on their way, which first run what waits. */
void
hass_tasks_free (HassTasks *tasks)
{
  pthread_mutex_lock (&tasks->lock);
  tasks->sleep_ns = 0;
  Sleeper *at = atomic_load_explicit (&tasks->sleepers, memory_order_relaxed);
  atomic_store_explicit (&tasks->sleepers, NULL, memory_order_relaxed);
  while (at)
    {
      Sleeper *next = at->next; /* read before its thread may go */
      hand (at, (Task){ NULL, NULL });
      at = next;
    }
  while (tasks->n_coming > 0 || tasks->n_inside > 0)
    pthread_cond_wait (&tasks->left, &tasks->lock);
  pthread_mutex_unlock (&tasks->lock);
  pthread_mutex_lock (&all.lock);
  HassTasks **link = &all.first;
  while (*link != tasks)
    link = &(*link)->next;
  *link = tasks->next;
  pthread_mutex_unlock (&all.lock);
  pthread_mutex_destroy (&tasks->lock);
  pthread_cond_destroy (&tasks->left);
  g_array_unref (tasks->waiting);
  g_array_unref (tasks->offers);
  g_free (tasks);
}
