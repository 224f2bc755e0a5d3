/* SPDX-License-Identifier: MIT */
/* test_proxy_threads.c: proxies run on threads that have served their GPU
   before.
   Thread safety: one thread, beside those that are tested. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/live/live-private.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

/* No proxy has them. */
enum
{
  THIS = 1000,
  OTHER
};

typedef struct
{
  pthread_t self;
  _Atomic gboolean *go; /* NULL: does not wait */
} Visit;

static void
visit (gpointer data)
{
  Visit *v = data;
  while (v->go && !atomic_load (v->go))
    g_usleep (100);
  v->self = pthread_self ();
}

/* The thread that it was on. */
static pthread_t
run (guint gpu)
{
  Visit v = { 0 };
  int failure = 0;
  HassProxyThread *t = hass_proxy_thread_run (gpu, visit, &v, &failure);
  CU_ASSERT_PTR_NOT_NULL_FATAL (t);
  hass_proxy_thread_wait (t);
  return v.self;
}

static void
used_again (void)
{
  pthread_t first = run (THIS), other = run (OTHER);
  CU_ASSERT_FALSE (pthread_equal (first, pthread_self ()));
  CU_ASSERT_FALSE (pthread_equal (first, other));
  for (guint i = 0; i < 3; i++)
    {
      CU_ASSERT_TRUE (pthread_equal (run (THIS), first));
      CU_ASSERT_TRUE (pthread_equal (run (OTHER), other));
    }
}

static void
busy_ones_are_not (void)
{
  _Atomic gboolean go = FALSE;
  Visit a = { .go = &go };
  int failure = 0;
  pthread_t first = run (THIS);
  HassProxyThread *t = hass_proxy_thread_run (THIS, visit, &a, &failure);
  CU_ASSERT_PTR_NOT_NULL_FATAL (t);
  CU_ASSERT_FALSE (pthread_equal (run (THIS), first));
  atomic_store (&go, TRUE);
  hass_proxy_thread_wait (t);
  CU_ASSERT_TRUE (pthread_equal (a.self, first));
}

static void
a_child_makes_its_own (void)
{
#ifdef __SANITIZE_THREAD__
  hass_test_skip ("ThreadSanitizer allows no threads in a child");
#else
  run (THIS);
  int status = -1;
  pid_t child = fork ();
  if (child == 0)
    {
      alarm (600); /* only if it hangs */
      run (THIS);
      _exit (0);
    }
  CU_ASSERT_EQUAL (waitpid (child, &status, 0), child);
  CU_ASSERT_EQUAL (status, 0);
#endif
}

HASS_TEST_SUITE (proxy_threads,
                 { "the next one of a GPU gets the same thread", used_again },
                 { "unless it is busy", busy_ones_are_not },
                 { "after fork() there are none", a_child_makes_its_own })
