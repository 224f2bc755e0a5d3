/* SPDX-License-Identifier: MIT */
/* test_loop.c: loops on the cores of a pool: who helps, who leaves, who waits.
   Thread safety: one thread; what the pool's threads share is atomic. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "device/cpu/cpu_pool.h"
#include "hass_test.h"
#include "tests/crowd.h"
#include "tests/engine/trial.h"

/* Waits until a count has come that far. */
static void
await (_Atomic guint *count, guint n)
{
  while (atomic_load (count) < n)
    sched_yield ();
}

static void
count (gpointer data)
{
  atomic_fetch_add ((_Atomic guint *)data, 1);
}

/* -- Two cores ---------------------------------------------------------- */

typedef struct
{
  HassCpuPool *pool;
  pthread_t caller;                      /* of the loop */
  _Atomic guint n_caller, n_helper;      /* pieces begun there */
  _Atomic guint n_ended, n_run, n_early; /* see below */
} Duo;

static gboolean
is_caller (Duo *duo)
{
  gboolean is = pthread_equal (pthread_self (), duo->caller);
  atomic_fetch_add (is ? &duo->n_caller : &duo->n_helper, 1);
  return is;
}

/* Runs a loop of many pieces on two cores. */
static Duo
run_duo (void (*body) (gsize first, gsize n, gpointer data))
{
  Duo duo = { .pool = hass_cpu_pool_get (2, NULL), .caller = pthread_self () };
  watchdog (60, "a loop on two cores");
  hass_cpu_pool_parallel_for (duo.pool, 100, 1, body, &duo);
  watchdog (0, NULL);
  return duo;
}

/* A function is given while each core computes a piece. The caller's lasts
   until the function has run. */
static void
give_meanwhile (gsize first, gsize n, gpointer data)
{
  Duo *duo = data;
  (void)first, (void)n;
  if (is_caller (duo))
    await (&duo->n_run, 1);
  else if (atomic_load (&duo->n_helper) > 1)
    atomic_fetch_add (&duo->n_early, atomic_load (&duo->n_run) == 0);
  else
    {
      await (&duo->n_caller, 1);
      hass_cpu_pool_enqueue (duo->pool, count, (gpointer)&duo->n_run);
    }
}

static void
lets_go (void)
{
  for (guint i = 0; i < 20; i++)
    {
      Duo duo = run_duo (give_meanwhile);
      CU_ASSERT_EQUAL (duo.n_run, 1);
      CU_ASSERT_EQUAL (duo.n_early, 0);
      CU_ASSERT_EQUAL (duo.n_caller + duo.n_helper, 100);
    }
}

/* The helper's piece ends long after the caller has begun all others. */
static void
end_late (gsize first, gsize n, gpointer data)
{
  Duo *duo = data;
  (void)first, (void)n;
  if (is_caller (duo))
    await (&duo->n_helper, 1);
  else
    {
      await (&duo->n_caller, 99);
      g_usleep (2000);
      atomic_fetch_add (&duo->n_ended, 1);
    }
}

static void
waits (void)
{
  for (guint i = 0; i < 20; i++)
    {
      Duo duo = run_duo (end_late);
      CU_ASSERT_EQUAL (duo.n_helper, 1);
      CU_ASSERT_EQUAL (duo.n_ended, 1);
    }
}

static void
hold (gpointer data)
{
  Duo *duo = data;
  atomic_fetch_add (&duo->n_run, 1);
  await (&duo->n_ended, 1);
}

static void
count_piece (gsize first, gsize n, gpointer data)
{
  (void)first, (void)n;
  is_caller (data);
}

/* The pool's only thread runs a function meanwhile. */
static void
alone (void)
{
  Duo duo = { .pool = hass_cpu_pool_get (2, NULL), .caller = pthread_self () };
  watchdog (60, "loops whose helpers do not come");
  hass_cpu_pool_enqueue (duo.pool, hold, &duo);
  await (&duo.n_run, 1);
  for (guint i = 0; i < 20; i++)
    hass_cpu_pool_parallel_for (duo.pool, 100, 1, count_piece, &duo);
  CU_ASSERT_EQUAL (duo.n_caller, 2000);
  /* The loops have had one offer at a time wait, for which a thread has been
     asked for, and have withdrawn it. */
  HassTasks *tasks = hass_cpu_pool_tasks (duo.pool);
  CU_ASSERT_FALSE (hass_tasks_offer (tasks, count, &duo));
  CU_ASSERT_TRUE (hass_tasks_withdraw (tasks, &duo));
  atomic_fetch_add (&duo.n_ended, 1);
  hass_cpu_pool_enqueue (duo.pool, count, (gpointer)&duo.n_run);
  await (&duo.n_run, 2);
  CU_ASSERT_EQUAL (duo.n_helper, 0);
  watchdog (0, NULL);
}

/* -- All cores ---------------------------------------------------------- */

#define CORES 4

/* Each piece lasts until all cores are in one. */
static void
meet (gsize first, gsize n, gpointer data)
{
  (void)first, (void)n;
  count (data);
  await (data, CORES);
}

static void
all_come (void)
{
  watchdog (60, "loops on all cores of a pool");
  for (guint i = 0; i < 50; i++)
    {
      _Atomic guint n = 0;
      hass_cpu_pool_parallel_for (hass_cpu_pool_get (CORES, NULL), CORES, 1,
                                  meet, (gpointer)&n);
      CU_ASSERT_EQUAL (n, CORES);
    }
  watchdog (0, NULL);
}

/* A helper comes to a loop of a pool whose other two threads are held, and is
   given a function that holds it, too. */
static void
be_held (gsize first, gsize n, gpointer data)
{
  Duo *duo = data;
  (void)first, (void)n;
  if (is_caller (duo))
    await (&duo->n_run, CORES - 1);
  else
    hass_cpu_pool_enqueue (duo->pool, hold, duo);
}

static void
helpers_double (void)
{
  static Duo duo; /* the held threads look at it for longer than this lasts */
  duo.pool = hass_cpu_pool_get (CORES, NULL);
  duo.caller = pthread_self ();
  watchdog (60, "a loop with one helper");
  for (guint i = 0; i < CORES - 2; i++)
    hass_cpu_pool_enqueue (duo.pool, hold, &duo);
  await (&duo.n_run, CORES - 2);
  hass_cpu_pool_parallel_for (duo.pool, 100, 1, be_held, &duo);
  CU_ASSERT_TRUE (duo.n_helper > 0);
  /* Threads have been asked for, which do not come, for two offers of the
     helper and the function that it was given, and neither offer waits. */
  HassTasks *tasks = hass_cpu_pool_tasks (duo.pool);
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_FALSE (hass_tasks_offer (tasks, count, &duo));
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_TRUE (hass_tasks_withdraw (tasks, &duo));
  atomic_fetch_add (&duo.n_ended, 1);
  watchdog (0, NULL);
}

/* -- Crowds ------------------------------------------------------------- */

#define MOST_LOOPED 300

typedef struct
{
  HassCpuPool *pool;
  guint n_rounds;
  _Atomic guint n_given, n_run, n_wrong;
} Storm;

typedef struct
{
  Storm *storm;
  guint depth, busy; /* turns of an iteration */
  _Atomic guint8 n_run[MOST_LOOPED];
} Gust;

static void blow (gsize first, gsize n, gpointer data);

/* Runs a loop, then looks that each iteration has been run once. */
static void
gust (Storm *s, guint depth, guint n, guint busy)
{
  Gust g = { .storm = s, .depth = depth, .busy = busy };
  hass_cpu_pool_parallel_for (s->pool, n, 1, blow, &g);
  for (guint i = 0; i < MOST_LOOPED; i++)
    atomic_fetch_add (&s->n_wrong, atomic_load (&g.n_run[i]) != (i < n));
}

static void
blow (gsize first, gsize n, gpointer data)
{
  Gust *g = data;
  for (gsize i = first; i < first + n; i++)
    {
      for (guint j = g->busy; j > 0; j--)
        __asm__ volatile("");
      if (g->depth > 0 && i % 16 == 0)
        gust (g->storm, g->depth - 1, 2 + (guint)i % 20, g->busy);
      atomic_fetch_add (&g->n_run[i], 1);
    }
}

static void
call (guint index, gpointer data)
{
  Storm *s = data;
  guint32 rand = 3 + index;
  for (guint i = 0; i < s->n_rounds; i++)
    {
      guint n = 2 + crowd_random (&rand) % (i % 8 ? 8 : MOST_LOOPED - 2);
      if (crowd_random (&rand) % 4 == 0)
        {
          atomic_fetch_add (&s->n_given, 1);
          hass_cpu_pool_enqueue (s->pool, count, (gpointer)&s->n_run);
        }
      gust (s, crowd_random (&rand) % 3, n, crowd_random (&rand) % 512);
      if (crowd_random (&rand) % 64 == 0)
        g_usleep (crowd_random (&rand) % 200);
    }
}

static void
many (void)
{
  static const guint callers[] = { 1, 2, 4 };
  for (guint cores = 2; cores <= 4; cores++)
    for (guint i = 0; i < G_N_ELEMENTS (callers); i++)
      {
        Storm s = { .pool = hass_cpu_pool_get (cores, NULL),
                    .n_rounds = CROWD_SCALE (3000) };
        watchdog (300, "loops of several threads");
        crowd_run (callers[i], call, &s);
        await (&s.n_run, s.n_given);
        watchdog (0, NULL);
        CU_ASSERT_EQUAL (s.n_wrong, 0);
        CU_ASSERT_EQUAL (s.n_run, s.n_given);
      }
}

HASS_TEST_SUITE (
    loop,
    { "a helper lets a function that waits run before the next piece",
      lets_go },
    { "a loop ends when its helpers' pieces have ended", waits },
    { "a loop whose helpers do not come is run by its caller", alone },
    { "all cores of a pool come to a loop", all_come },
    { "a helper offers two more, which the end withdraws", helpers_double },
    { "loops of several threads, nested, run each iteration once", many })
