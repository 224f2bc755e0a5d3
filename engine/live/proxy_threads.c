/* SPDX-License-Identifier: MIT */
/* proxy_threads.c: the threads that proxies run on, kept from farm to farm.

   DESIGN. Making a thread for each farm would be a large part of a small farm's
   time: on the host of an H200 it takes 35 us to make a thread, 70 us until it
   runs, 130 us in its first calls of CUDA and 30 us to join it, of 400 us for a
   farm of one bundle. So a thread whose proxy has ended waits for the next
   proxy with the same position among a farm's GPUs. Mostly that is the same
   GPU, to whose context the thread is already bound. The number of threads is
   the largest number of proxies that ever ran at a time. They live as long as
   the process and block all signals except those that their own actions raise.
   A child of fork() has none of these threads and makes its own.

   Thread safety: any thread. */
#include "live-private.h"

#include <signal.h>

#include "device/cpu/urgent.h"

struct HassProxyThread
{
  HassProxyThread *next; /* next idle thread; under the lock of @threads */
  guint gpu;
  pthread_mutex_t lock; /* for the fields below */
  pthread_cond_t changed;
  void (*func) (gpointer data); /* NULL: it has returned, the thread is idle */
  gpointer data;
};

static struct
{
  pthread_mutex_t lock;
  HassProxyThread *idle; /* threads without a proxy; under @lock */
} threads = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void
before_fork (void)
{
  pthread_mutex_lock (&threads.lock);
}

static void
after_fork (void)
{
  pthread_mutex_unlock (&threads.lock);
}

static void
in_child (void)
{
  threads.idle = NULL;
  pthread_mutex_unlock (&threads.lock);
}

static void
watch_forks (void)
{
  pthread_atfork (before_fork, after_fork, in_child);
}

static gpointer
serve (gpointer data)
{
  HassProxyThread *t = data;
  hass_thread_urgent ();
  pthread_mutex_lock (&t->lock);
  for (;;)
    {
      while (!t->func)
        pthread_cond_wait (&t->changed, &t->lock);
      pthread_mutex_unlock (&t->lock);
      /* The thread's last proxy may have bound it to cores near another device.
       */
      hass_cpu_pool_unbind ();
      t->func (t->data);
      pthread_mutex_lock (&t->lock);
      t->func = NULL;
      pthread_cond_broadcast (&t->changed);
    }
  return NULL;
}

static HassProxyThread *
take_idle (guint gpu)
{
  pthread_mutex_lock (&threads.lock);
  HassProxyThread **at = &threads.idle, *found;
  while (*at && (*at)->gpu != gpu)
    at = &(*at)->next;
  found = *at;
  if (found)
    *at = found->next;
  pthread_mutex_unlock (&threads.lock);
  return found;
}

/* Starts the thread, detached and with all signals blocked but those of @own: a
   new thread inherits the signal mask of its maker. Returns: 0, or the error of
   pthread_create(). */
static int
start (HassProxyThread *t)
{
  static const int own[]
      = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV, SIGTRAP };
  pthread_t thread;
  pthread_attr_t attr;
  sigset_t others, before;
  sigfillset (&others);
  for (guint i = 0; i < G_N_ELEMENTS (own); i++)
    sigdelset (&others, own[i]);
  pthread_attr_init (&attr);
  pthread_attr_setdetachstate (&attr, PTHREAD_CREATE_DETACHED);
  pthread_sigmask (SIG_BLOCK, &others, &before);
  int failure = pthread_create (&thread, &attr, serve, t);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  pthread_attr_destroy (&attr);
  return failure;
}

/* Returns: a new thread that has no function to run yet; NULL with @failure,
   the error of pthread_create(). */
static HassProxyThread *
make (guint gpu, int *failure)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once (&once, watch_forks);
  HassProxyThread *t = g_new0 (HassProxyThread, 1);
  t->gpu = gpu;
  pthread_mutex_init (&t->lock, NULL);
  pthread_cond_init (&t->changed, NULL);
  *failure = start (t);
  if (*failure == 0)
    return t;
  pthread_mutex_destroy (&t->lock);
  pthread_cond_destroy (&t->changed);
  g_free (t);
  return NULL;
}

/* Runs @func (@data) on an idle thread that last served the GPU with this
   number, or on a new thread. Returns: the thread; NULL with @failure, the
   error of pthread_create(). */
HassProxyThread *
hass_proxy_thread_run (guint gpu, void (*func) (gpointer data), gpointer data,
                       int *failure)
{
  HassProxyThread *t = take_idle (gpu);
  if (!t && !(t = make (gpu, failure)))
    return NULL;
  pthread_mutex_lock (&t->lock);
  t->data = data;
  t->func = func;
  pthread_cond_broadcast (&t->changed);
  pthread_mutex_unlock (&t->lock);
  return t;
}

/* Waits until the thread's function has returned, and keeps the thread for
   another farm. */
void
hass_proxy_thread_wait (HassProxyThread *t)
{
  pthread_mutex_lock (&t->lock);
  while (t->func)
    pthread_cond_wait (&t->changed, &t->lock);
  pthread_mutex_unlock (&t->lock);
  pthread_mutex_lock (&threads.lock);
  t->next = threads.idle;
  threads.idle = t;
  pthread_mutex_unlock (&threads.lock);
}
