/* SPDX-License-Identifier: MIT */
/* test_nested.c: tasks that workers of a live farm emit while other cores steal
   them: each is computed and released once, and none is lost or forgotten.
   Thread safety: one thread; what the tasks share is atomic. */
#include <gio/gio.h>
#include <stdatomic.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "tests/crowd.h"
#include "tests/engine/trial.h"

#define N_CHILDREN 3
#define N_TASKS CROWD_SCALE (200000)
#define FARMS CROWD_SCALE (40)

/* Tasks are numbered as a heap: task i emits those from N_CHILDREN * i + 1 on.
   A chain has one child each. */
typedef struct
{
  guint n_children, n_tasks;
  guint fail_every;          /* one in so many tasks fails; 0: none */
  guint urgent_from;         /* tasks from this one on have priorities */
  guint stop_at;             /* the farm is cancelled by this task; 0: never */
  GCancellable *cancellable; /* for stop_at */
  _Atomic guint8 *n_run, *n_released; /* [n_tasks] */
  _Atomic guint begun, turns, n_emitted;
} Course;

static guint
number_of (const HassTask *task)
{
  return GPOINTER_TO_UINT (task->data);
}

static gboolean
emit_children (const HassTask *task, HassWorker *worker, gpointer data,
               GError **error)
{
  Course *c = data;
  guint number = number_of (task);
  atomic_fetch_add (&c->n_run[number], 1);
  if (number % 97 == 0) /* others steal meanwhile */
    g_usleep (20);
  if (c->stop_at > 0 && number == c->stop_at)
    g_cancellable_cancel (c->cancellable);
  for (guint i = 1; i <= c->n_children; i++)
    {
      guint64 child = (guint64)c->n_children * number + i;
      if (child >= c->n_tasks)
        break;
      HassTask next = { .cpu = emit_children,
                        .data = GUINT_TO_POINTER ((guint)child),
                        .priority = child >= c->urgent_from ? child % 5 : 0 };
      if (!hass_worker_emit_task (worker, &next))
        return hass_worker_stopping (worker);
      atomic_fetch_add (&c->n_emitted, 1);
    }
  if (c->fail_every == 0 || (number + 1) % c->fail_every != 0)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "as it should");
  return FALSE;
}

static void
note_released (const HassTask *task, gboolean committed, gpointer data)
{
  Course *c = data;
  (void)committed;
  atomic_fetch_add (&c->n_released[number_of (task)], 1);
}

/* Runs the tasks. Returns: the number of those whose counts are wrong: each was
   run at most once, then released once, and all were run if @all; and whether
   tasks were emitted and not released, unless some failed, whose tasks are
   dropped. */
static guint
run (Course *c, guint n_cores, gboolean all, HassReport **report)
{
  HassTask root = { .cpu = emit_children };
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  guint wrong = 0, n_released = 0;
  c->n_run = g_malloc0 (c->n_tasks);
  c->n_released = g_malloc0 (c->n_tasks);
  f.user_data = c;
  f.tasks = &root;
  f.n_tasks = 1;
  f.release = note_released;
  f.run.n_cores = n_cores;
  f.run.n_gpus = -1;
  f.run.on_error = HASS_ON_ERROR_CONTINUE;
  f.run.cancellable = c->cancellable;
  watchdog (300, "tasks that emit tasks");
  hass_function_farm (&f, report, NULL);
  watchdog (0, NULL);
  for (guint i = 0; i < c->n_tasks; i++)
    {
      guint ran = atomic_load (&c->n_run[i]);
      guint released = atomic_load (&c->n_released[i]);
      wrong += ran > 1 || released > 1 || (all && ran == 0) || ran > released;
      n_released += released;
    }
  if (c->fail_every == 0)
    wrong += n_released != 1 + atomic_load (&c->n_emitted);
  g_free ((gpointer)c->n_run);
  g_free ((gpointer)c->n_released);
  return wrong;
}

static void
once_each (void)
{
  const guint cores[] = { 1, 2, 3, 8 };
  for (guint k = 0; k < 2; k++)
    for (guint i = 0; i < G_N_ELEMENTS (cores); i++)
      {
        Course c = { .n_children = k == 0 ? N_CHILDREN : 300,
                     .n_tasks = N_TASKS,
                     .urgent_from = G_MAXUINT };
        HassReport *r = NULL;
        CU_ASSERT_EQUAL (run (&c, cores[i], TRUE, &r), 0);
        CU_ASSERT_EQUAL (r->loads, N_TASKS);
        CU_ASSERT_EQUAL (r->n_unfinished, 0);
        hass_report_free (r);
      }
}

/* Priorities come into use, or units fail, while the deques are full. */
static void
changing (void)
{
  for (guint i = 0; i < FARMS; i++)
    {
      Course c = { .n_children = N_CHILDREN,
                   .n_tasks = 5000,
                   .urgent_from = i % 2 ? 100 * i : G_MAXUINT };
      HassReport *r = NULL;
      CU_ASSERT_EQUAL (run (&c, 1 + i % 8, TRUE, &r), 0);
      CU_ASSERT_EQUAL (r->loads, 5000);
      hass_report_free (r);
      c.fail_every = 7;
      /* What a failed task has emitted is dropped. */
      CU_ASSERT_EQUAL (run (&c, 1 + i % 8, FALSE, NULL), 0);
    }
}

static void
cancelled (void)
{
  for (guint i = 0; i < FARMS; i++)
    {
      Course c = { .n_children = N_CHILDREN,
                   .n_tasks = 5000,
                   .urgent_from = G_MAXUINT,
                   .stop_at = 1 + 120 * i };
      c.cancellable = g_cancellable_new ();
      CU_ASSERT_EQUAL (run (&c, 1 + i % 8, FALSE, NULL), 0);
      g_object_unref (c.cancellable);
    }
}

/* Waits until both tasks of its kind have begun. */
static gboolean
meet (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  Course *c = data;
  (void)task, (void)error;
  atomic_fetch_add (&c->begun, 1);
  while (atomic_load (&c->begun) < 2 && !hass_worker_stopping (worker))
    g_usleep (100);
  return TRUE;
}

static gboolean
emit_two (const HassTask *task, HassWorker *worker, gpointer data,
          GError **error)
{
  HassTask next = { .cpu = meet };
  (void)task, (void)data, (void)error;
  g_usleep (2000);
  return hass_worker_emit_task (worker, &next)
         && hass_worker_emit_task (worker, &next);
}

/* Emits itself until the task that was emitted before has run. It takes so long
   that a core pulls one at a time. */
static gboolean
insist (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  Course *c = data;
  (void)error;
  g_usleep (20);
  atomic_fetch_add (&c->turns, 1);
  return atomic_load (&c->begun) > 0 || hass_worker_emit_task (worker, task);
}

static gboolean
begin (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  Course *c = data;
  (void)task, (void)worker, (void)error;
  atomic_fetch_add (&c->begun, 1);
  return TRUE;
}

static gboolean
emit_begin_first (const HassTask *task, HassWorker *worker, gpointer data,
                  GError **error)
{
  HassTask first = { .cpu = begin }, next = { .cpu = insist };
  (void)task, (void)data, (void)error;
  g_usleep (2000);
  return hass_worker_emit_task (worker, &first)
         && hass_worker_emit_task (worker, &next);
}

static void
run_root (Course *c, guint n_cores, HassTask root)
{
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  f.user_data = c;
  f.tasks = &root;
  f.n_tasks = 1;
  f.run.n_cores = n_cores;
  f.run.n_gpus = -1;
  watchdog (20, "tasks that wait for each other");
  CU_ASSERT_TRUE (hass_function_farm (&f, NULL, NULL));
  watchdog (0, NULL);
}

static void
stolen_meanwhile (void)
{
  Course c = { 0 };
  run_root (&c, 2, (HassTask){ .cpu = emit_two });
  CU_ASSERT_EQUAL (atomic_load (&c.begun), 2);
}

static void
old_ones_have_a_turn (void)
{
  Course c = { 0 };
  run_root (&c, 1, (HassTask){ .cpu = emit_begin_first });
  CU_ASSERT_TRUE (atomic_load (&c.turns) < 1000);
}

/* -- Releases ----------------------------------------------------------- */

#define BURSTS CROWD_SCALE (1000)
#define BURST 48
#define DEPTH 12u

static gboolean
emit_shorter (const HassTask *task, HassWorker *worker, gpointer data,
              GError **error)
{
  guint depth = number_of (task);
  HassTask next = { .cpu = emit_shorter, .data = GUINT_TO_POINTER (depth - 1) };
  (void)data;
  (void)error;
  return depth == 0 || hass_worker_emit_task (worker, &next);
}

static void
count_released (const HassTask *task, gboolean committed, gpointer data)
{
  Course *c = data;
  (void)task;
  (void)committed;
  atomic_fetch_add (&c->turns, 1);
}

/* Emits bursts that the pool does not hold, so that the calling thread computes
   some; then waits until every task of the burst is released. */
static gboolean
emit_and_wait (HassEmitter *emitter, gpointer data, GError **error)
{
  Course *c = data;
  (void)error;
  for (guint b = 1; b <= BURSTS; b++)
    {
      for (guint i = 0; i < BURST; i++)
        hass_emitter_emit_task (
            emitter, &(HassTask){ .cpu = emit_shorter,
                                  .data = GUINT_TO_POINTER (DEPTH) });
      while (atomic_load (&c->turns) < b * BURST * (DEPTH + 1))
        sched_yield ();
    }
  return TRUE;
}

static void
released_meanwhile (void)
{
  Course c = { 0 };
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  f.user_data = &c;
  f.generate = emit_and_wait;
  f.release = count_released;
  f.pool_tasks = 8;
  f.run.n_cores = 2;
  f.run.n_gpus = -1;
  watchdog (100, "a generator that waits for releases");
  CU_ASSERT_TRUE (hass_function_farm (&f, NULL, NULL));
  watchdog (0, NULL);
}

HASS_TEST_SUITE (
    live_nested, { "tasks that others emit are computed once each", once_each },
    { "so they are when priorities come into use or tasks fail", changing },
    { "a farm that is cancelled releases each task once", cancelled },
    { "what a core has emitted is stolen while it computes", stolen_meanwhile },
    { "a task that emits itself again keeps no older one from its turn",
      old_ones_have_a_turn },
    { "tasks are released while the generator waits for that",
      released_meanwhile })
