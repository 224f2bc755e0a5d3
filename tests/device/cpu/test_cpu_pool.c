/* SPDX-License-Identifier: MIT */
/* test_cpu_pool.c: how many cores there are, and work on them.
   Thread safety: one thread. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/cpu/cpu_pool.h"
#include "hass/error.h"
#include "hass_test.h"
#include "program.h"
#include "tests/engine/trial.h"

static guint
in_mask (void)
{
  cpu_set_t set;
  return sched_getaffinity (0, sizeof set, &set) == 0 ? CPU_COUNT (&set) : 1;
}

static void
within_mask (void)
{
  CU_ASSERT_TRUE (hass_cpu_pool_available () >= 1);
  CU_ASSERT_TRUE (hass_cpu_pool_available () <= in_mask ());
}

/* In a process of its own, because the number is read once. */
static void
smaller_mask (void)
{
  int status = -1;
  if (in_mask () < 2)
    {
      hass_test_skip ("there is one core only");
      return;
    }
  pid_t child = fork ();
  if (child == 0)
    {
      cpu_set_t set, one;
      sched_getaffinity (0, sizeof set, &set);
      CPU_ZERO (&one);
      for (int c = 0; c < CPU_SETSIZE && CPU_COUNT (&one) == 0; c++)
        if (CPU_ISSET (c, &set))
          CPU_SET (c, &one);
      sched_setaffinity (0, sizeof one, &one);
      if (!freopen ("/dev/null", "w", stdout))
        _exit (9);
      execl (program_self (), "hass-tests", "--here", "--suite", "cpu_mask",
             NULL);
      _exit (9);
    }
  CU_ASSERT_EQUAL (waitpid (child, &status, 0), child);
  CU_ASSERT_EQUAL (status, 0);
}

/* On each core in turn: all others are taken. */
static void
move_to_a_free_core (void)
{
  cpu_set_t own, taken, after;
  CU_ASSERT_EQUAL (sched_getaffinity (0, sizeof own, &own), 0);
  for (int c = 0; c < CPU_SETSIZE; c++)
    if (CPU_ISSET (c, &own))
      {
        taken = own;
        CPU_CLR (c, &taken);
        CU_ASSERT_EQUAL (hass_cpu_pool_move (&taken, 3 * c), c);
        CU_ASSERT_EQUAL (sched_getaffinity (0, sizeof after, &after), 0);
        CU_ASSERT_TRUE (CPU_EQUAL (&own, &after));
      }
  CU_ASSERT_EQUAL (hass_cpu_pool_move (&own, 0), -1);
}

static void
out_of_range (void)
{
  static const guint wrong[] = { 0, 4097 };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      GError *error = NULL;
      CU_ASSERT_PTR_NULL (hass_cpu_pool_get (wrong[i], &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      g_clear_error (&error);
    }
}

static void
kept (void)
{
  HassCpuPool *pool = hass_cpu_pool_get (3, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (pool);
  CU_ASSERT_PTR_EQUAL (pool, hass_cpu_pool_get (3, NULL));
  CU_ASSERT_PTR_NOT_EQUAL (pool, hass_cpu_pool_get (2, NULL));
  CU_ASSERT_EQUAL (hass_cpu_pool_cores (pool), 3);
}

static void
set_flag (gpointer data)
{
  atomic_store ((_Atomic int *)data, 1);
}

static void
enqueued (void)
{
  static _Atomic int flags[50];
  HassCpuPool *pool = hass_cpu_pool_get (2, NULL);
  watchdog (20, "enqueued functions");
  for (guint i = 0; i < G_N_ELEMENTS (flags); i++)
    hass_cpu_pool_enqueue (pool, set_flag, (gpointer)&flags[i]);
  for (guint i = 0; i < G_N_ELEMENTS (flags); i++)
    while (!flags[i])
      usleep (100);
  watchdog (0, NULL);
  CU_PASS ("all ran");
}

typedef struct
{
  _Atomic guint8 seen[10000];
  _Atomic gsize smallest;
} Loop;

static void
body (gsize first, gsize n, gpointer data)
{
  Loop *l = data;
  for (gsize i = first; i < first + n; i++)
    l->seen[i]++;
  if (n < l->smallest)
    l->smallest = n;
}

static void
loops (void)
{
  for (guint cores = 1; cores < 4; cores++)
    {
      g_autofree Loop *l = g_new0 (Loop, 1);
      guint wrong = 0;
      l->smallest = G_MAXSIZE;
      hass_cpu_pool_parallel_for (hass_cpu_pool_get (cores, NULL), 10000, 64,
                                  body, l);
      for (guint i = 0; i < 10000; i++)
        wrong += l->seen[i] != 1;
      CU_ASSERT_EQUAL (wrong, 0);
      CU_ASSERT_TRUE (l->smallest >= 64);
      hass_cpu_pool_parallel_for (hass_cpu_pool_get (cores, NULL), 0, 0, body,
                                  l);
    }
}

/* Threads inherit what their maker is bound to. */
static gpointer
unbind (gpointer before)
{
  cpu_set_t one, after;
  CPU_ZERO (&one);
  for (int c = 0; CPU_COUNT (&one) == 0 && c < CPU_SETSIZE; c++)
    if (CPU_ISSET (c, (cpu_set_t *)before))
      CPU_SET (c, &one);
  CU_ASSERT_EQUAL (sched_setaffinity (0, sizeof one, &one), 0);
  hass_cpu_pool_unbind ();
  sched_getaffinity (0, sizeof after, &after);
  CU_ASSERT_TRUE (CPU_EQUAL (&after, (cpu_set_t *)before));
  return NULL;
}

static void
unbound (void)
{
  cpu_set_t before;
  hass_cpu_pool_available ();
  CU_ASSERT_EQUAL (sched_getaffinity (0, sizeof before, &before), 0);
  g_thread_join (g_thread_new ("unbind", unbind, &before));
}

HASS_TEST_SUITE (
    cpu_pool,
    { "an affinity mask set before leaves fewer cores", smaller_mask },
    { "a bound thread gets back what the process may use", unbound },
    { "a thread moves to a core that is not taken", move_to_a_free_core },
    { "numbers of cores out of range are refused", out_of_range },
    { "a pool is made once for each number of cores", kept },
    { "what is enqueued runs", enqueued },
    { "a parallel loop runs each iteration once", loops })

HASS_TEST_SUITE (cpu_mask,
                 { "no more cores are available than the affinity mask has",
                   within_mask })
