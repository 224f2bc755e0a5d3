/* SPDX-License-Identifier: MIT */
/* test_open.c: tasks that workers emit in a live farm do not wait for a round's
   end, and run by priority.
   Thread safety: one thread; the tasks' counters are atomic. */
#include <stdatomic.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N_ORDERED 50

typedef struct
{
  _Atomic gboolean emitted_ran;
  _Atomic guint n_run, n_released;
  gint64 last, n_late;
} Course;

static gboolean
note_ran (const HassTask *task, HassWorker *worker, gpointer data,
          GError **error)
{
  Course *c = data;
  (void)task, (void)worker, (void)error;
  atomic_store (&c->emitted_ran, TRUE);
  return TRUE;
}

/* Ends when a task has run that only another task of its round emits. */
static gboolean
wait_for_emitted (const HassTask *task, HassWorker *worker, gpointer data,
                  GError **error)
{
  Course *c = data;
  (void)task, (void)error;
  while (!atomic_load (&c->emitted_ran) && !hass_worker_stopping (worker))
    g_usleep (100);
  return TRUE;
}

static gboolean
emit_note (const HassTask *task, HassWorker *worker, gpointer data,
           GError **error)
{
  HassTask next = { .cpu = note_ran };
  (void)task, (void)data, (void)error;
  return hass_worker_emit_task (worker, &next);
}

static void
not_by_rounds (void)
{
  Course c = { 0 };
  /* Beside a device rounds do not overlap. */
  StandInPlan plan = { .depth = 2 };
  HassDevice *device = stand_in_new (&plan);
  HassTask tasks[] = { { .cpu = wait_for_emitted }, { .cpu = emit_note } };
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  f.user_data = &c;
  f.tasks = tasks;
  f.n_tasks = G_N_ELEMENTS (tasks);
  f.run.n_cores = 2;
  f.run.n_gpus = -1;
  f.run.devices = &device;
  f.run.n_devices = 1;
  f.run.deadline_ms = 120000; /* reached only where this hangs */
  CU_ASSERT_TRUE (hass_function_farm (&f, NULL, NULL));
  stand_in_free (device);
  CU_ASSERT_TRUE (atomic_load (&c.emitted_ran));
}

/* A task of some microseconds, which notes whether a less urgent one was before
   it; every fifth one fails. */
static gboolean
in_turn (const HassTask *task, HassWorker *worker, gpointer data,
         GError **error)
{
  Course *c = data;
  (void)worker;
  c->n_late += task->priority > c->last;
  c->last = task->priority;
  atomic_fetch_add (&c->n_run, 1);
  g_usleep (20);
  if (task->priority % 5 != 0)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "as it should");
  return FALSE;
}

static gboolean
emit_shuffled (const HassTask *task, HassWorker *worker, gpointer data,
               GError **error)
{
  (void)task, (void)data, (void)error;
  g_usleep (2000);
  for (guint i = 0; i < N_ORDERED; i++)
    {
      HassTask next = { .cpu = in_turn, .priority = 1 + i * 7 % N_ORDERED };
      if (!hass_worker_emit_task (worker, &next))
        return FALSE;
    }
  return TRUE;
}

static void
count_released (const HassTask *task, gboolean committed, gpointer data)
{
  Course *c = data;
  (void)committed;
  atomic_fetch_add (&c->n_released, task->cpu == in_turn);
}

static void
by_priority (void)
{
  Course c = { .last = G_MAXINT64 };
  HassTask first = { .cpu = emit_shuffled };
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  HassReport *r = NULL;
  GError *error = NULL;
  f.user_data = &c;
  f.tasks = &first;
  f.n_tasks = 1;
  f.release = count_released;
  f.run.n_cores = 1;
  f.run.n_gpus = -1;
  f.run.on_error = HASS_ON_ERROR_CONTINUE;
  hass_function_farm (&f, &r, &error);
  CU_ASSERT_EQUAL (atomic_load (&c.n_run), N_ORDERED);
  CU_ASSERT_EQUAL (atomic_load (&c.n_released), N_ORDERED);
  CU_ASSERT_EQUAL (c.n_late, 0);
  CU_ASSERT_EQUAL (r->n_unfinished, N_ORDERED / 5);
  CU_ASSERT_EQUAL (r->loads, N_ORDERED + 1);
  hass_report_free (r);
  g_clear_error (&error);
}

HASS_TEST_SUITE (live_open,
                 { "an emitted task runs before its emitter's round ends",
                   not_by_rounds },
                 { "emitted tasks run by priority, and failed ones are listed",
                   by_priority })
