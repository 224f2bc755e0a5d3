/* SPDX-License-Identifier: MIT */
/* proxy_threads.c: the threads that proxies run on, kept from farm to farm.

   DESIGN. What a thread costs is a large part of a small farm: on an H200's
   host 35 us to make one, 70 until it runs, another 130 in its first calls of
   CUDA, and 30 to join it, of 400 us for a farm of one bundle. So a thread
   whose proxy has ended waits for the next one of the same GPU, to whose
   context it has bound itself. There are as many as proxies ever ran at a time,
   and they stay for the life of the process, as oneTBB's do. A child of fork()
   has none of them and makes its own.

   Thread safety: any thread. */
#include "live-private.h"

#include <unistd.h>

#include "device/urgent-private.h"

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
  pid_t owner;           /* lock; whose they are */
} threads = { .lock = PTHREAD_MUTEX_INITIALIZER };

static gpointer
serve (gpointer data)
{
  HassProxyThread *t = data;
  hass_cpu_pool_unbind ();
  hass_thread_urgent ();
  pthread_mutex_lock (&t->lock);
  for (;;)
    {
      while (!t->func)
        pthread_cond_wait (&t->changed, &t->lock);
      pthread_mutex_unlock (&t->lock);
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
  if (threads.owner != getpid ())
    {
      threads.idle = NULL;
      threads.owner = getpid ();
    }
  HassProxyThread **at = &threads.idle, *found;
  while (*at && (*at)->gpu != gpu)
    at = &(*at)->next;
  found = *at;
  if (found)
    *at = found->next;
  pthread_mutex_unlock (&threads.lock);
  return found;
}

/* One that is made, with nothing to do. NULL: errno-like @failure. */
static HassProxyThread *
make (guint gpu, int *failure)
{
  pthread_t thread;
  pthread_attr_t attr;
  HassProxyThread *t = g_new0 (HassProxyThread, 1);
  t->gpu = gpu;
  pthread_mutex_init (&t->lock, NULL);
  pthread_cond_init (&t->changed, NULL);
  pthread_attr_init (&attr);
  pthread_attr_setdetachstate (&attr, PTHREAD_CREATE_DETACHED);
  *failure = pthread_create (&thread, &attr, serve, t);
  pthread_attr_destroy (&attr);
  if (*failure == 0)
    return t;
  pthread_mutex_destroy (&t->lock);
  pthread_cond_destroy (&t->changed);
  g_free (t);
  return NULL;
}

/* Runs func (data) on a thread that has served this GPU before, or on a new
   one. NULL, with what pthread_create() returned: there is none. */
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
