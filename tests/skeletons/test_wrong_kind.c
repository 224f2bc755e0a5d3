/* SPDX-License-Identifier: MIT */
/* test_wrong_kind.c: loads emitted where the farm takes tasks and the other
   way round; emitters and workers used after their farm or on other threads.
   Thread safety: one thread. */
#include <stdatomic.h>
#include <string.h>

#include "guarded.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

typedef struct
{
  const char *how;
  HassEmitter *emitter;
  HassWorker *worker;
  gboolean accepted;
  _Atomic guint n_computed;
} Wrong;

static gboolean
no_task (const HassTask *task, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)task, (void)worker, (void)error;
  ((Wrong *)data)->n_computed++;
  return TRUE;
}

static gboolean
no_work (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)block, (void)worker, (void)error;
  ((Wrong *)data)->n_computed++;
  return TRUE;
}

static gboolean
emit_as (const char *how, HassEmitter *emitter)
{
  static const HassLoad load = { .size = 1 };
  static const HassTask task = { .cpu = no_task };
  if (!strcmp (how, "hass_emitter_emit"))
    return hass_emitter_emit (emitter, &load);
  if (!strcmp (how, "hass_emitter_emit_array"))
    return hass_emitter_emit_array (emitter, &load, 1);
  return hass_emitter_emit_task (emitter, &task);
}

static gboolean
nest_as (const char *how, HassWorker *worker)
{
  static const HassLoad load = { .size = 1 };
  static const HassTask task = { .cpu = no_task };
  return !strcmp (how, "hass_worker_emit")
             ? hass_worker_emit (worker, &load)
             : hass_worker_emit_task (worker, &task);
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  Wrong *w = data;
  (void)error;
  w->accepted = emit_as (w->how, emitter);
  return TRUE;
}

static gboolean
nest_in_task (const HassTask *task, HassWorker *worker, gpointer data,
              GError **error)
{
  Wrong *w = data;
  (void)task, (void)error;
  w->accepted = nest_as (w->how, worker);
  return TRUE;
}

static gboolean
nest_in_load (const HassBlock *block, HassWorker *worker, gpointer data,
              GError **error)
{
  Wrong *w = data;
  (void)block, (void)error;
  w->accepted = nest_as (w->how, worker);
  return TRUE;
}

static gboolean
is_misuse (gboolean ok, GError *error, const char *farm, const char *text)
{
  gboolean right = !ok && g_error_matches (error, HASS_ERROR, HASS_ERROR_MISUSE)
                   && strstr (error->message, farm)
                   && strstr (error->message, text);
  if (!right)
    g_printerr ("\n    '%s' was due, got: %s", text,
                error ? error->message : "success");
  g_clear_error (&error);
  return right;
}

static gboolean
run_tasks (Wrong *w, gboolean nested)
{
  HassTask task = { .cpu = nest_in_task };
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  GError *error = NULL;
  f.name = "tasks";
  f.tasks = &task;
  f.n_tasks = nested ? 1 : 0;
  f.generate = nested ? NULL : generate;
  f.user_data = w;
  f.run.n_cores = 1;
  watchdog (20, w->how);
  gboolean ok = hass_function_farm (&f, NULL, &error);
  watchdog (0, NULL);
  return is_misuse (ok, error, "farm 'tasks'", w->how);
}

static gboolean
run_loads (Wrong *w, gboolean nested)
{
  HassLoad load = { .size = 1 };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  GError *error = NULL;
  f.name = "loads";
  f.loads = &load;
  f.n_loads = nested ? 1 : 0;
  f.generate = nested ? NULL : generate;
  f.cpu_worker = nested ? nest_in_load : no_work;
  f.user_data = w;
  f.run.n_cores = 1;
  gboolean ok = guarded (hass_data_farm_combine, &f, NULL, &error);
  return is_misuse (ok, error, "farm 'loads'", w->how);
}

static void
loads_among_tasks (void)
{
  static const char *const how[]
      = { "hass_emitter_emit", "hass_emitter_emit_array", "hass_worker_emit" };
  for (guint i = 0; i < G_N_ELEMENTS (how); i++)
    {
      Wrong w = { .how = how[i], .accepted = TRUE };
      CU_ASSERT_TRUE (run_tasks (&w, i == 2));
      CU_ASSERT_FALSE (w.accepted);
    }
}

static void
tasks_among_loads (void)
{
  static const char *const how[]
      = { "hass_emitter_emit_task", "hass_worker_emit_task" };
  for (guint i = 0; i < G_N_ELEMENTS (how); i++)
    {
      Wrong w = { .how = how[i], .accepted = TRUE };
      CU_ASSERT_TRUE (run_loads (&w, i == 1));
      CU_ASSERT_FALSE (w.accepted);
      CU_ASSERT_EQUAL (w.n_computed, 0);
    }
}

/* -- Another thread, another farm, no farm ------------------------------ */

static gpointer
result_in_thread (gpointer data)
{
  Wrong *w = data;
  w->accepted = hass_worker_result (w->worker, "", 1);
  return NULL;
}

static gboolean
lend_worker (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  Wrong *w = data;
  (void)block, (void)error;
  w->worker = worker;
  g_thread_join (g_thread_new ("thief", result_in_thread, w));
  return TRUE;
}

static gboolean
keep_both (HassEmitter *emitter, gpointer data, GError **error)
{
  static const HassLoad load = { .size = 1 };
  (void)error;
  ((Wrong *)data)->emitter = emitter;
  return hass_emitter_emit (emitter, &load);
}

static gboolean
keep_worker (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  (void)block, (void)error;
  ((Wrong *)data)->worker = worker;
  return TRUE;
}

static gboolean
collect (const HassResult *result, gpointer data, GError **error)
{
  (void)result, (void)data, (void)error;
  return TRUE;
}

static void
foreign_thread (void)
{
  Wrong w = { .accepted = TRUE };
  HassLoad load = { .size = 1 };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "lender";
  f.loads = &load;
  f.n_loads = 1;
  f.cpu_worker = lend_worker;
  f.collect = collect;
  f.user_data = &w;
  CU_ASSERT_TRUE (fails_with (hass_data_farm_combine, &f, HASS_ERROR_MISUSE,
                              "another thread than its own"));
  CU_ASSERT_FALSE (w.accepted);
}

/* Runs a farm and keeps what it gave to its callbacks. */
static void
run_and_keep (Wrong *w)
{
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "gone";
  f.generate = keep_both;
  f.cpu_worker = keep_worker;
  f.user_data = w;
  CU_ASSERT_TRUE (guarded (hass_data_farm_combine, &f, NULL, NULL));
}

/* Everything that takes an emitter or a worker. */
static guint
use_the_dead (Wrong *w)
{
  guint n_wrong = 0;
  n_wrong += emit_as ("hass_emitter_emit", w->emitter);
  n_wrong += emit_as ("hass_emitter_emit_array", w->emitter);
  n_wrong += emit_as ("hass_emitter_emit_task", w->emitter);
  n_wrong += hass_emitter_buffer (w->emitter, 64) != NULL;
  n_wrong += !hass_emitter_stopping (w->emitter);
  n_wrong += nest_as ("hass_worker_emit", w->worker);
  n_wrong += nest_as ("hass_worker_emit_task", w->worker);
  n_wrong += hass_worker_result (w->worker, "", 1);
  n_wrong += hass_worker_accumulator (w->worker) != NULL;
  n_wrong += hass_worker_constant (w->worker, 0) != NULL;
  n_wrong += hass_worker_count (w->worker) != 0;
  n_wrong += !hass_worker_stopping (w->worker);
  return n_wrong;
}

#define N_USES 12

static void
count_warning (const char *domain, GLogLevelFlags level, const char *message,
               gpointer data)
{
  (void)domain, (void)level;
  if (strstr (message, "of a farm that has ended"))
    ++*(guint *)data;
}

static void
after_the_farm (void)
{
  Wrong w = { 0 };
  guint n_warnings = 0;
  run_and_keep (&w);
  guint handler = g_log_set_handler ("hass", G_LOG_LEVEL_WARNING, count_warning,
                                     &n_warnings);
  CU_ASSERT_EQUAL (use_the_dead (&w), 0);
  g_log_remove_handler ("hass", handler);
  CU_ASSERT_EQUAL (n_warnings, N_USES);
}

static gboolean
use_in_worker (const HassBlock *block, HassWorker *worker, gpointer data,
               GError **error)
{
  Wrong *w = data;
  (void)block, (void)worker, (void)error;
  w->n_computed += use_the_dead (w);
  return TRUE;
}

/* As the memory serves the next farm that is small enough, the dead farm is
   larger than the one that it is used in. */
static void
in_another_farm (void)
{
  Wrong old = { 0 };
  HassLoad load = { .size = 1 };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  run_and_keep (&old);
  f.name = "later";
  f.loads = &load;
  f.n_loads = 1;
  f.cpu_worker = use_in_worker;
  f.user_data = &old;
  f.run.n_cores = 200; /* more than any farm before */
  CU_ASSERT_TRUE (fails_with (hass_data_farm_combine, &f, HASS_ERROR_MISUSE,
                              "farm 'later': its cpu_worker called"));
  CU_ASSERT_EQUAL (old.n_computed, 0);
}

HASS_TEST_SUITE (wrong_kind,
                 { "a function farm refuses loads, and names function and farm",
                   loads_among_tasks },
                 { "a data farm refuses tasks", tasks_among_loads },
                 { "a worker gives no results on another thread",
                   foreign_thread },
                 { "emitters and workers of a farm that has ended do nothing",
                   after_the_farm },
                 { "used in a callback of another farm they stop that",
                   in_another_farm })
