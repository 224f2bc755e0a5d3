/* SPDX-License-Identifier: MIT */
/* test_tasks.c: threads that sleep for the next function. A crew of threads
   stands for oneTBB: for each thread that is asked for one of them serves, and
   then belongs to the crew again.
   Thread safety: one thread; what the crew shares is atomic. */
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/cpu/tasks.h"
#include "hass_test.h"
#include "tests/crowd.h"
#include "tests/engine/trial.h"

#define MOST_CREW 8
/* A sleep that does not end by itself while a test runs. */
#define LONG_NS G_GINT64_CONSTANT (3600000000000)

typedef struct
{
  HassTasks *tasks;
  sem_t wanted;
  guint n;
  GThread *threads[MOST_CREW];
  _Atomic guint n_serving, n_visits; /* threads that serve; that have served */
  _Atomic gboolean ends;
} Crew;

static gpointer
crew_member (gpointer data)
{
  Crew *crew = data;
  for (;;)
    {
      while (sem_wait (&crew->wanted) != 0)
        ;
      if (atomic_load (&crew->ends))
        return NULL;
      atomic_fetch_add (&crew->n_serving, 1);
      hass_tasks_serve (crew->tasks);
      atomic_fetch_add (&crew->n_visits, 1);
      atomic_fetch_sub (&crew->n_serving, 1);
    }
}

static void
crew_begin (Crew *crew, guint n, gint64 sleep_ns)
{
  *crew = (Crew){ .tasks = hass_tasks_new (sleep_ns), .n = n };
  sem_init (&crew->wanted, 0, 0);
  for (guint i = 0; i < n; i++)
    crew->threads[i] = g_thread_new ("crew", crew_member, crew);
  watchdog (300, "functions given to a crew of threads");
}

/* Frees the tasks while the crew may sleep there, then ends the crew. */
static void
crew_end (Crew *crew)
{
  hass_tasks_free (crew->tasks);
  atomic_store (&crew->ends, TRUE);
  for (guint i = 0; i < crew->n; i++)
    sem_post (&crew->wanted);
  for (guint i = 0; i < crew->n; i++)
    g_thread_join (crew->threads[i]);
  sem_destroy (&crew->wanted);
  watchdog (0, NULL);
}

/* Returns: whether a thread was asked for. */
static gboolean
crew_give (Crew *crew, HassTaskRun run, gpointer data)
{
  gboolean fetch = hass_tasks_give (crew->tasks, run, data);
  if (fetch)
    sem_post (&crew->wanted);
  return fetch;
}

/* A function that notes its thread, and ends when it may. */
typedef struct
{
  _Atomic guint n_run;
  _Atomic gboolean held;
  pthread_t by;
} Note;

static void
note (gpointer data)
{
  Note *n = data;
  n->by = pthread_self ();
  atomic_fetch_add (&n->n_run, 1);
  while (atomic_load (&n->held))
    g_usleep (50);
}

/* Waits until the function has begun. */
static void
await_run (Note *n)
{
  while (atomic_load (&n->n_run) == 0)
    g_usleep (50);
}

static void
await_sleeping (HassTasks *tasks, guint n)
{
  while (hass_tasks_sleeping (tasks) != n)
    g_usleep (50);
}

static void
await_none_serving (Crew *crew, guint n_visits)
{
  while (atomic_load (&crew->n_visits) < n_visits
         || atomic_load (&crew->n_serving) > 0)
    g_usleep (50);
}

/* -- One step at a time ------------------------------------------------- */

static void
to_a_sleeper (void)
{
  Crew crew;
  Note notes[20] = { 0 };
  crew_begin (&crew, 2, LONG_NS);
  for (guint i = 0; i < G_N_ELEMENTS (notes); i++)
    {
      CU_ASSERT_EQUAL (crew_give (&crew, note, &notes[i]), i == 0);
      await_run (&notes[i]);
      /* Some are given while the thread spins, some while it sleeps. */
      await_sleeping (crew.tasks, 1);
      if (i % 2)
        g_usleep (1000);
      CU_ASSERT_TRUE (pthread_equal (notes[i].by, notes[0].by));
    }
  CU_ASSERT_EQUAL (atomic_load (&crew.n_visits), 0);
  crew_end (&crew);
}

static void
none_asleep (void)
{
  Note first = { 0 }, second = { 0 };
  HassTasks *tasks = hass_tasks_new (0);
  CU_ASSERT_TRUE (hass_tasks_give (tasks, note, &first));
  CU_ASSERT_TRUE (hass_tasks_give (tasks, note, &second));
  CU_ASSERT_EQUAL (first.n_run + second.n_run, 0);
  hass_tasks_serve (tasks);
  CU_ASSERT_EQUAL (first.n_run, 1);
  CU_ASSERT_EQUAL (second.n_run, 1);
  hass_tasks_serve (tasks); /* came for nothing */
  CU_ASSERT_TRUE (hass_tasks_give (tasks, note, &first));
  hass_tasks_serve (tasks);
  CU_ASSERT_EQUAL (first.n_run, 2);
  hass_tasks_free (tasks);
}

static void
last_first (void)
{
  Crew crew;
  Note a = { .held = TRUE }, b = { .held = TRUE }, c = { .held = TRUE },
       d = { 0 };
  crew_begin (&crew, 2, LONG_NS);
  CU_ASSERT_TRUE (crew_give (&crew, note, &a));
  await_run (&a);
  CU_ASSERT_TRUE (crew_give (&crew, note, &b));
  await_run (&b);
  atomic_store (&a.held, FALSE);
  await_sleeping (crew.tasks, 1);
  atomic_store (&b.held, FALSE);
  await_sleeping (crew.tasks, 2);
  CU_ASSERT_FALSE (crew_give (&crew, note, &c));
  await_run (&c);
  CU_ASSERT_FALSE (crew_give (&crew, note, &d));
  await_run (&d);
  CU_ASSERT_TRUE (pthread_equal (c.by, b.by));
  CU_ASSERT_TRUE (pthread_equal (d.by, a.by));
  atomic_store (&c.held, FALSE);
  crew_end (&crew);
}

static void
goes_back (void)
{
  Crew crew;
  Note a = { 0 }, b = { 0 };
  crew_begin (&crew, 1, 1000000);
  CU_ASSERT_TRUE (crew_give (&crew, note, &a));
  await_none_serving (&crew, 1);
  CU_ASSERT_EQUAL (hass_tasks_sleeping (crew.tasks), 0);
  CU_ASSERT_TRUE (crew_give (&crew, note, &b));
  await_none_serving (&crew, 2);
  CU_ASSERT_EQUAL (a.n_run + b.n_run, 2);
  crew_end (&crew);
}

static void
takes_what_waits (void)
{
  Crew crew;
  Note a = { .held = TRUE }, b = { 0 }, c = { 0 };
  crew_begin (&crew, 2, LONG_NS);
  CU_ASSERT_TRUE (crew_give (&crew, note, &a));
  await_run (&a);
  /* The thread that is asked for comes late. */
  CU_ASSERT_TRUE (hass_tasks_give (crew.tasks, note, &b));
  atomic_store (&a.held, FALSE);
  await_run (&b);
  await_sleeping (crew.tasks, 1);
  CU_ASSERT_TRUE (pthread_equal (b.by, a.by));
  sem_post (&crew.wanted);
  await_sleeping (crew.tasks, 2);
  CU_ASSERT_FALSE (crew_give (&crew, note, &c));
  await_run (&c);
  CU_ASSERT_EQUAL (b.n_run, 1);
  crew_end (&crew);
}

static void
freed (void)
{
  for (guint i = 0; i < CROWD_SCALE (200); i++)
    {
      Crew crew;
      Note notes[MOST_CREW] = { 0 };
      crew_begin (&crew, MOST_CREW, LONG_NS);
      for (guint j = 0; j < MOST_CREW; j++)
        notes[j].held = TRUE;
      for (guint j = 0; j < MOST_CREW; j++)
        crew_give (&crew, note, &notes[j]);
      for (guint j = 0; j < MOST_CREW; j++)
        {
          await_run (&notes[j]);
          atomic_store (&notes[j].held, FALSE);
        }
      if (i % 2)
        await_sleeping (crew.tasks, MOST_CREW);
      crew_end (&crew);
      for (guint j = 0; j < MOST_CREW; j++)
        CU_ASSERT_EQUAL (notes[j].n_run, 1);
    }
}

static void
forked (void)
{
  Crew crew;
  Note a = { 0 }, b = { 0 };
  int status = -1;
  crew_begin (&crew, 1, LONG_NS);
  CU_ASSERT_TRUE (crew_give (&crew, note, &a));
  await_run (&a);
  await_sleeping (crew.tasks, 1);
  pid_t child = fork ();
  if (child == 0)
    _exit (hass_tasks_sleeping (crew.tasks) == 0
                   && hass_tasks_give (crew.tasks, note, &b)
               ? 0
               : 1);
  CU_ASSERT_EQUAL (waitpid (child, &status, 0), child);
  CU_ASSERT_EQUAL (status, 0);
  CU_ASSERT_FALSE (crew_give (&crew, note, &b));
  await_run (&b);
  crew_end (&crew);
}

/* -- Offers ------------------------------------------------------------- */

static void
after_functions (void)
{
  Crew crew;
  Note a = { .held = TRUE }, b = { 0 }, c = { .held = TRUE }, d = { 0 };
  crew_begin (&crew, 1, LONG_NS);
  crew_give (&crew, note, &a);
  await_run (&a);
  CU_ASSERT_FALSE (hass_tasks_wanted (crew.tasks));
  /* The thread that is asked for does not come. */
  CU_ASSERT_TRUE (hass_tasks_offer (crew.tasks, note, &b));
  CU_ASSERT_FALSE (hass_tasks_wanted (crew.tasks));
  CU_ASSERT_TRUE (hass_tasks_give (crew.tasks, note, &c));
  CU_ASSERT_TRUE (hass_tasks_wanted (crew.tasks));
  atomic_store (&a.held, FALSE);
  await_run (&c);
  CU_ASSERT_FALSE (hass_tasks_wanted (crew.tasks));
  CU_ASSERT_EQUAL (b.n_run, 0);
  atomic_store (&c.held, FALSE);
  await_run (&b);
  await_sleeping (crew.tasks, 1);
  CU_ASSERT_FALSE (hass_tasks_offer (crew.tasks, note, &d));
  await_run (&d);
  for (guint i = 0; i < 2; i++)
    sem_post (&crew.wanted);
  crew_end (&crew);
}

static void
withdrawn (void)
{
  Note notes[3] = { 0 };
  HassTasks *tasks = hass_tasks_new (0);
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_TRUE (hass_tasks_offer (tasks, note, &notes[i]));
  CU_ASSERT_TRUE (hass_tasks_withdraw (tasks, &notes[1]));
  CU_ASSERT_FALSE (hass_tasks_withdraw (tasks, &notes[1]));
  for (guint i = 0; i < 3; i++)
    hass_tasks_serve (tasks);
  CU_ASSERT_FALSE (hass_tasks_withdraw (tasks, &notes[0]));
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_EQUAL (notes[i].n_run, i != 1);
  hass_tasks_free (tasks);
}

static void
not_in_a_child (void)
{
  Note a = { 0 };
  int status = -1;
  HassTasks *tasks = hass_tasks_new (0);
  CU_ASSERT_TRUE (hass_tasks_offer (tasks, note, &a));
  pid_t child = fork ();
  if (child == 0)
    _exit (hass_tasks_withdraw (tasks, &a));
  CU_ASSERT_EQUAL (waitpid (child, &status, 0), child);
  CU_ASSERT_EQUAL (status, 0);
  CU_ASSERT_TRUE (hass_tasks_withdraw (tasks, &a));
  hass_tasks_serve (tasks);
  CU_ASSERT_EQUAL (a.n_run, 0);
  hass_tasks_free (tasks);
}

/* -- Crowds ------------------------------------------------------------- */

typedef struct
{
  Crew crew;
  guint n_each, n_givers; /* the other threads of the crowd offer */
  _Atomic guint8 *n_run;  /* [n_givers * n_each] */
  _Atomic guint n_offered, n_withdrawn, n_taken;
  _Atomic guint n_givers_left, n_fetched;
} Storm;

typedef struct
{
  Storm *storm;
  guint index;
} Drop;

static void
fall (gpointer data)
{
  g_autofree Drop *drop = data;
  atomic_fetch_add (&drop->storm->n_run[drop->index], 1);
}

/* What is offered is freed by the thread that takes it, or withdraws it. */
static void
take (gpointer data)
{
  g_autofree Drop *drop = data;
  atomic_fetch_add (&drop->storm->n_taken, 1);
}

static void
offer_drops (Storm *s, guint32 *rand)
{
  while (atomic_load (&s->n_givers_left) > 0)
    {
      Drop *drop = g_new (Drop, 1);
      *drop = (Drop){ s, 0 };
      atomic_fetch_add (&s->n_offered, 1);
      if (hass_tasks_offer (s->crew.tasks, take, drop))
        sem_post (&s->crew.wanted);
      g_usleep (crowd_random (rand) % 100);
      if (hass_tasks_withdraw (s->crew.tasks, drop))
        {
          g_free (drop);
          atomic_fetch_add (&s->n_withdrawn, 1);
        }
    }
}

static void
blow (guint index, gpointer data)
{
  Storm *s = data;
  guint32 rand = 5 + index;
  if (index >= s->n_givers)
    offer_drops (s, &rand);
  else
    {
      for (guint i = 0; i < s->n_each; i++)
        {
          Drop *drop = g_new (Drop, 1);
          *drop = (Drop){ s, index * s->n_each + i };
          if (crew_give (&s->crew, fall, drop))
            atomic_fetch_add (&s->n_fetched, 1);
          for (guint j = crowd_random (&rand) % 4096; j > 0; j--)
            __asm__ volatile("");
          if (crowd_random (&rand) % 64 == 0)
            g_usleep (crowd_random (&rand) % 200);
        }
      atomic_fetch_sub (&s->n_givers_left, 1);
    }
}

/* Gives @n functions on each of @n_givers threads, while @n_offerers offer
   and withdraw. Each must run once, and all threads of the crew go back. */
static void
storm (guint n_crew, guint n_givers, guint n_offerers, guint n, gint64 sleep_ns)
{
  Storm s = { .n_each = CROWD_SCALE (n),
              .n_givers = n_givers,
              .n_givers_left = n_givers };
  guint n_drops = s.n_givers * s.n_each, wrong = 0;
  s.n_run = g_malloc0 (n_drops);
  crew_begin (&s.crew, n_crew, sleep_ns);
  crowd_run (n_givers + n_offerers, blow, &s);
  crew_end (&s.crew);
  for (guint i = 0; i < n_drops; i++)
    wrong += atomic_load (&s.n_run[i]) != 1;
  CU_ASSERT_EQUAL (wrong, 0);
  CU_ASSERT_EQUAL (s.n_offered, s.n_withdrawn + s.n_taken);
  CU_ASSERT_EQUAL (atomic_load (&s.crew.n_serving), 0);
  /* Else no thread has slept, and it proved nothing. */
  CU_ASSERT_TRUE (atomic_load (&s.n_fetched) < n_drops);
  g_free ((gpointer)s.n_run);
}

static void
many (void)
{
  storm (1, 1, 0, 50000, LONG_NS);
  storm (1, 4, 0, 20000, LONG_NS);
  storm (4, 4, 0, 20000, LONG_NS);
  storm (8, 2, 0, 40000, LONG_NS);
}

/* The times of giving and of leaving are about the same. */
static void
leaving (void)
{
  static const gint64 sleeps[] = { 1000, 20000, 60000, 150000 };
  for (guint i = 0; i < G_N_ELEMENTS (sleeps); i++)
    {
      storm (1, 1, 0, 20000, sleeps[i]);
      storm (4, 2, 0, 20000, sleeps[i]);
      storm (8, 4, 0, 10000, sleeps[i]);
    }
}

static void
offering (void)
{
  storm (4, 2, 1, 20000, LONG_NS);
  storm (4, 2, 2, 20000, 50000);
}

HASS_TEST_SUITE (
    tasks, { "a function is given to the thread that sleeps", to_a_sleeper },
    { "where no thread sleeps one is asked for, and runs what waits",
      none_asleep },
    { "the thread that came last is woken first", last_first },
    { "a thread that is given nothing for its time goes back", goes_back },
    { "a thread takes what waits before it sleeps", takes_what_waits },
    { "sleepers leave when the tasks are freed", freed },
    { "a child of fork() has no sleepers, and the parent keeps its own",
      forked },
    { "a thread takes an offer when no function waits", after_functions },
    { "a withdrawn offer is not run", withdrawn },
    { "a child of fork() has no offers", not_in_a_child },
    { "each of many functions runs once", many },
    { "each runs once while threads leave", leaving },
    { "each runs once, as does each offer not withdrawn", offering })
