/* SPDX-License-Identifier: MIT */
/* proxy_threads.c: the threads that proxies run on, kept from farm to farm.

   DESIGN. What a thread costs is a large part of a small farm: on an H200's
   host 35 us to make one, 70 until it runs, another 130 in its first calls of
   CUDA, and 30 to join it, of 400 us for a farm of one bundle. So a thread
   whose proxy has ended waits for the next one with the same place among a
   farm's GPUs, which mostly is the same GPU, to whose context it has bound
   itself. There are as many as proxies ever ran at a time, and they stay for
   the life of the process, as oneTBB's do, with all signals left to others but
   those of what they do themselves. A child of fork() has none of them and
   makes its own.

   Thread safety: any thread. */
#include "live-private.h"

#include <signal.h>

#include "device/cpu/urgent.h"

struct HassProxyThread
{
  HassProxyThread *next; /* idle; under the list's lock */
  guint gpu;
  pthread_mutex_t lock; /* the rest */
  pthread_cond_t changed;
  void (*func) (gpointer data); /* NULL: it has returned */
  gpointer data;
};

static struct
{
  pthread_mutex_t lock;
  HassProxyThread *idle; /* lock */
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
      /* Another device may have had it, with cores near to that. */
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

/* It inherits the mask of who makes it. */
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

/* One that has nothing to do. NULL: what pthread_create() said. */
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

/* Runs func (data) on a thread that has served a GPU with this number before,
   or on a new one. NULL, with what pthread_create() returned: there is none. */
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

/* Waits until its function has returned; then it may be given another. */
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
