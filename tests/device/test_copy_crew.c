/* SPDX-License-Identifier: MIT */
/* test_copy_crew.c: threads that help a proxy to copy.
   Thread safety: as each test says. */
#include <pthread.h>
#include <stdatomic.h>

#include "device/copy_crew.h"
#include "device/cpu/cpu_pool.h"
#include "hass_test.h"

#define PIECES 300
#define ASLEEP_US 2000 /* after so long without a job they sleep */

typedef struct
{
  guint calls[PIECES]; /* plain: who has a piece has it alone */
  guint wrong;
  guint n;
} Work;

static void
piece (guint i, gpointer data)
{
  Work *w = data;
  if (i >= w->n)
    w->wrong++;
  else
    w->calls[i]++;
}

/* After run, with nothing but its promise, all of it is seen. */
static gboolean
each_once (guint n, guint times)
{
  Work w = { .n = n };
  for (guint t = 0; t < times; t++)
    hass_copy_crew_run (n, piece, &w);
  gboolean ok = w.wrong == 0;
  for (guint i = 0; i < n; i++)
    ok &= w.calls[i] == times;
  return ok;
}

static void
once (void)
{
  for (guint n = 0; n <= PIECES; n += n < 10 ? 1 : 29)
    CU_ASSERT_TRUE (each_once (n, 20));
}

static void
after_sleep (void)
{
  for (guint i = 0; i < 20; i++)
    {
      g_usleep (ASLEEP_US);
      CU_ASSERT_TRUE (each_once (PIECES, 1));
      g_usleep (ASLEEP_US);
      hass_copy_crew_expect (2 + i);
      CU_ASSERT_TRUE (each_once (PIECES, 1));
    }
}

static void
for_nothing (void)
{
  for (guint i = 0; i < 50; i++)
    {
      hass_copy_crew_expect (i);
      g_usleep (i % 5 * 100);
    }
  CU_ASSERT_TRUE (each_once (PIECES, 3));
}

static gpointer
many (gpointer unused)
{
  gboolean ok = TRUE;
  (void)unused;
  for (guint i = 0; i < 200; i++)
    {
      hass_copy_crew_expect (PIECES);
      ok &= each_once (2 + i, 2);
    }
  return GINT_TO_POINTER (ok);
}

static void
several_callers (void)
{
  pthread_t thread[3];
  for (guint i = 0; i < G_N_ELEMENTS (thread); i++)
    CU_ASSERT_EQUAL_FATAL (pthread_create (&thread[i], NULL, many, NULL), 0);
  for (guint i = 0; i < G_N_ELEMENTS (thread); i++)
    {
      gpointer ok;
      pthread_join (thread[i], &ok);
      CU_ASSERT_TRUE (GPOINTER_TO_INT (ok));
    }
}

static atomic_uint n_others;
static pthread_t caller;

/* Others are slower. */
static void
late_piece (guint i, gpointer data)
{
  if (!pthread_equal (pthread_self (), caller))
    g_usleep (300);
  piece (i, data);
}

static void
last_is_waited_for (void)
{
  caller = pthread_self ();
  for (guint i = 0; i < 100; i++)
    {
      Work w = { .n = 8 };
      gboolean ok = TRUE;
      hass_copy_crew_run (w.n, late_piece, &w);
      for (guint k = 0; k < w.n; k++)
        ok &= w.calls[k] == 1;
      CU_ASSERT_TRUE (ok);
    }
}

/* The caller's first piece ends only when another thread has had one. */
static void
wait_for_other (guint i, gpointer data)
{
  gint64 until = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  (void)i;
  (void)data;
  if (!pthread_equal (pthread_self (), caller))
    atomic_fetch_add (&n_others, 1);
  while (atomic_load (&n_others) == 0 && g_get_monotonic_time () < until)
    sched_yield ();
}

static guint n_between;
static gboolean strange; /* between() on another thread */

static void
between (gpointer data)
{
  (void)data;
  n_between++;
  strange |= !pthread_equal (pthread_self (), caller);
}

static void
caller_between (void)
{
  caller = pthread_self ();
  n_between = 0;
  strange = FALSE;
  for (guint i = 0; i < 50; i++)
    {
      Work w = { .n = 8 };
      hass_copy_crew_run_between (w.n, late_piece, between, &w);
    }
  CU_ASSERT_TRUE (n_between > 0);
  CU_ASSERT_FALSE (strange);
  Work one = { .n = 1 };
  n_between = 0;
  hass_copy_crew_run_between (1, piece, between, &one);
  CU_ASSERT_EQUAL (one.calls[0], 1);
  CU_ASSERT_EQUAL (n_between, 1);
}

static void
sleepers_come (void)
{
  if (hass_cpu_pool_available () < 2)
    {
      hass_test_skip ("one core has no helpers");
      return;
    }
  caller = pthread_self ();
  gboolean came = TRUE;
  for (guint i = 0; i < 20 && came; i++)
    {
      atomic_store (&n_others, 0);
      g_usleep (ASLEEP_US);
      if (i % 2 == 0)
        hass_copy_crew_expect (8);
      hass_copy_crew_run (8, wait_for_other, NULL);
      came = atomic_load (&n_others) > 0;
      CU_ASSERT_TRUE (came);
    }
}

HASS_TEST_SUITE (copy_crew, { "each piece is done once", once },
                 { "helpers that slept do pieces too", after_sleep },
                 { "a job that was expected may not come", for_nothing },
                 { "several callers each get theirs done", several_callers },
                 { "the last piece is waited for", last_is_waited_for },
                 { "the caller, and it alone, is asked between pieces",
                   caller_between },
                 { "a helper that sleeps is woken for a job", sleepers_come })
