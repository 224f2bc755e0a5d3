/* SPDX-License-Identifier: MIT */
/* test_nested_limits.c: a worker that emits more loads or tasks than there may
   be, or than there is memory for, stops its farm, with the numbers.
   Thread safety: one thread, beside the engine's. */
#include <string.h>

#include "engine/core/job-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/device/failing_memory.h"

typedef struct
{
  gboolean full; /* the worker has emitted 2^31; else memory is insufficient */
  gboolean emitted;
} Attempt;

static gboolean
compute_nothing (const HassTask *task, HassWorker *worker, gpointer data,
                 GError **error)
{
  (void)task, (void)worker, (void)data, (void)error;
  return TRUE;
}

/* Emits a load or, if @load is NULL, a task, as if the pull had emitted 2^31,
   or with the next allocation of memory failing. */
static gboolean
emit (HassWorker *worker, Attempt *attempt, const HassLoad *load)
{
  HassTask task = { .cpu = compute_nothing };
  guint n = worker->n_nested, room = worker->nested_room;
  if (attempt->full)
    worker->n_nested = worker->nested_room = (guint)1 << 31;
  else
    failing_memory_at (1);
  attempt->emitted = load ? hass_worker_emit (worker, load)
                          : hass_worker_emit_task (worker, &task);
  failing_memory_at (0);
  worker->n_nested = n;
  worker->nested_room = room;
  return TRUE;
}

static gboolean
emit_load (const HassBlock *block, HassWorker *worker, gpointer data,
           GError **error)
{
  (void)error;
  return emit (worker, data, block->load);
}

static gboolean
emit_task (const HassTask *task, HassWorker *worker, gpointer data,
           GError **error)
{
  (void)task, (void)error;
  return emit (worker, data, NULL);
}

/* Runs a farm of one load, or task, that emits another. */
static gboolean
run (Attempt *attempt, gboolean tasks, GError **error)
{
  HassLoad load = { .size = 1 };
  HassTask task = { .cpu = emit_task };
  HassDataFarm d = HASS_DATA_FARM_INIT;
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  d.name = f.name = "limits";
  d.user_data = f.user_data = attempt;
  d.run.n_cores = f.run.n_cores = 1;
  d.cpu_worker = emit_load;
  d.loads = &load;
  f.tasks = &task;
  d.n_loads = f.n_tasks = 1;
  return tasks ? hass_function_farm (&f, NULL, error)
               : hass_data_farm_combine (&d, NULL, error);
}

static void
expect (gboolean full, HassError code, const char *text)
{
  for (guint tasks = 0; tasks < 2; tasks++)
    {
      g_autoptr (GError) error = NULL;
      Attempt attempt = { .full = full, .emitted = TRUE };
      CU_ASSERT_FALSE (run (&attempt, tasks, &error));
      CU_ASSERT_FALSE (attempt.emitted);
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, (gint)code));
      CU_ASSERT_PTR_NOT_NULL (strstr (error ? error->message : "", text));
    }
}

static void
too_many (void)
{
  expect (TRUE, HASS_ERROR_OVERFLOW,
          "'limits': worker 0 has emitted 2147483648 loads from one pull");
}

static void
no_memory (void)
{
  g_autofree char *text = g_strdup_printf (
      "'limits': worker 0 has emitted 0 loads from one pull or bundle, and "
      "memory is insufficient for 64, %zu bytes",
      64 * sizeof (HassLoad));
  expect (FALSE, HASS_ERROR_NO_MEMORY, text);
}

HASS_TEST_SUITE (nested_limits,
                 { "a worker that has emitted 2^31 loads may emit no more",
                   too_many },
                 { "a worker's farm stops if memory for what it emits is "
                   "insufficient",
                   no_memory })
