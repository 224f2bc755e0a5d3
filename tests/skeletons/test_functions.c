/* SPDX-License-Identifier: MIT */
/* test_functions.c: functions of a function farm that are told apart: what a
   strategy sees of them.
   Thread safety: one thread. */
#include <string.h>

#include "hass/hass.h"
#include "hass/strategy.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N_TASKS 90
#define N_FUNCTIONS 3
#define CORES_FUNCTION 1 /* of the least rank */
#define H200 HASS_TOP "/doc/platforms/h200.platform"

/* -- A strategy that writes down what it is told ------------------------- */

static const double ranks[HASS_MOST_FUNCTIONS] = { 5, 1, 3 };

static struct
{
  guint n_functions; /* as the farm says */
  guint in_round;    /* as the last round says */
  gboolean in_order;
  /* by device, as completions say */
  guint64 units[2][HASS_MOST_FUNCTIONS];
} seen;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  memset (&seen, 0, sizeof seen);
  seen.n_functions = env->n_functions;
  return &seen;
}

static void
begin_round (gpointer self, HassRound *round)
{
  (void)self;
  seen.in_order = TRUE;
  seen.in_round = hass_round_functions (round);
  hass_round_order_by_function (round, ranks);
  for (guint64 i = hass_round_front (round) + 1; i < hass_round_back (round);
       i++)
    seen.in_order &= ranks[hass_round_function (round, i - 1)]
                     <= ranks[hass_round_function (round, i)];
}

/* No grant has units of two functions; cores compute one of them alone. */
static HassAnswer
grant (gpointer self, HassRound *round, guint device, gboolean force,
       HassGrant *grant)
{
  (void)self;
  grant->source = device == 0 ? HASS_FROM_FRONT : HASS_FROM_BACK;
  grant->units = 1;
  guint front = hass_round_function (round, hass_round_front (round));
  return device == 0 && front != CORES_FUNCTION && !force ? HASS_WAIT
                                                          : HASS_TAKE;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  (void)self, (void)round;
  seen.units[done->device][done->function] += done->units;
}

static void
destroy (gpointer self)
{
  (void)self;
}

static const HassStrategyOps ops
    = { .struct_size = sizeof ops,
        .name = "writes-functions",
        .summary = "takes units and writes down of which function they were",
        .farms = HASS_FARM_ANY,
        .create = create,
        .begin_round = begin_round,
        .grant = grant,
        .observe = observe,
        .destroy = destroy };

/* -- Farms -------------------------------------------------------------- */

static gboolean
cpu_task (const HassTask *task, HassWorker *worker, gpointer data,
          GError **error)
{
  (void)task, (void)worker, (void)data, (void)error;
  return TRUE;
}

static gboolean
other_task (const HassTask *task, HassWorker *worker, gpointer data,
            GError **error)
{
  return cpu_task (task, worker, data, error);
}

static void
kernel (const HassBundle *bundle, gpointer data)
{
  (void)bundle, (void)data;
}

STAND_IN_WORKER (gpu, kernel)

static gboolean
emit_tasks (HassEmitter *emitter, gpointer tasks, GError **error)
{
  (void)error;
  for (guint i = 0; i < N_TASKS; i++)
    if (!hass_emitter_emit_task (emitter, (const HassTask *)tasks + i))
      return FALSE;
  return TRUE;
}

enum
{
  LIVE = 1,   /* beside a device; else in virtual time */
  EMITTED = 2 /* by a generator; else known at the beginning */
};

/* Runs tasks of these functions in turn. */
static void
run (const HassTask *functions, guint n_functions, guint how)
{
  gboolean live = how & LIVE, emitted = how & EMITTED;
  StandInPlan plan = { .depth = 2 };
  HassTask tasks[N_TASKS];
  HassDevice *device = live ? stand_in_new (&plan) : NULL;
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  hass_strategy_register (&ops, NULL); /* or it is there already */
  for (guint i = 0; i < N_TASKS; i++)
    {
      tasks[i] = functions[i % n_functions];
      if (tasks[i].parallelism == 0)
        tasks[i].parallelism = 1000;
      tasks[i].expected_time = 1;
    }
  f.tasks = emitted ? NULL : tasks;
  f.n_tasks = emitted ? 0 : N_TASKS;
  f.generate = emitted ? emit_tasks : NULL;
  f.user_data = tasks;
  f.run.strategy = ops.name;
  f.run.platform = live ? "" : H200;
  f.run.n_cores = 2;
  f.run.devices = device ? &device : NULL;
  f.run.n_devices = live;
  watchdog (20, "functions");
  CU_ASSERT_TRUE (hass_function_farm (&f, NULL, NULL));
  watchdog (0, NULL);
  if (device)
    stand_in_free (device);
}

/* Three functions: a CPU function may have two GPU functions. */
static void
told_apart (void)
{
  const HassTask functions[]
      = { { .cpu = cpu_task, .gpu = gpu },
          { .cpu = other_task, .gpu = gpu },
          { .cpu = cpu_task, .gpu = gpu, .gpu_function = 1 } };
  for (guint how = 0; how <= (LIVE | EMITTED); how++)
    {
      run (functions, N_FUNCTIONS, how);
      CU_ASSERT_EQUAL (seen.n_functions,
                       how & EMITTED ? HASS_MOST_FUNCTIONS : N_FUNCTIONS);
      CU_ASSERT_EQUAL (seen.in_round, N_FUNCTIONS);
      CU_ASSERT_TRUE (seen.in_order);
      for (guint k = 0; k < N_FUNCTIONS; k++)
        CU_ASSERT_EQUAL (seen.units[0][k] + seen.units[1][k],
                         N_TASKS / N_FUNCTIONS);
      if (!(how & LIVE)) /* else the device may be sooner */
        CU_ASSERT_TRUE (seen.units[0][CORES_FUNCTION] > 0);
      CU_ASSERT_EQUAL (seen.units[1][0], N_TASKS / N_FUNCTIONS);
    }
}

/* What takes a GPU another time is another function. */
static void
simple (void)
{
  const HassTask functions[]
      = { { .cpu = cpu_task, .gpu = gpu },
          { .cpu = cpu_task, .gpu = gpu, .parallelism = 1 } };
  for (guint how = 0; how <= (LIVE | EMITTED); how++)
    {
      run (functions, 2, how);
      CU_ASSERT_EQUAL (seen.in_round, 2);
      for (guint k = 0; k < 2; k++)
        CU_ASSERT_EQUAL (seen.units[0][k] + seen.units[1][k], N_TASKS / 2);
    }
}

/* Of a generator nobody knows beforehand how many functions its tasks call. */
static void
one (void)
{
  const HassTask function = { .cpu = cpu_task, .gpu = gpu };
  for (guint how = 0; how <= (LIVE | EMITTED); how++)
    {
      run (&function, 1, how);
      CU_ASSERT_EQUAL (seen.in_round, how & EMITTED ? 1 : 0);
      CU_ASSERT_EQUAL (seen.units[0][0] + seen.units[1][0], N_TASKS);
    }
}

static void
too_many (void)
{
  HassTask functions[HASS_MOST_FUNCTIONS + 1];
  for (guint k = 0; k <= HASS_MOST_FUNCTIONS; k++)
    functions[k] = (HassTask){ .cpu = cpu_task, .gpu = gpu, .gpu_function = k };
  for (guint how = 0; how <= (LIVE | EMITTED); how++)
    {
      guint last = HASS_MOST_FUNCTIONS - 1, each = N_TASKS / (last + 2);
      run (functions, HASS_MOST_FUNCTIONS + 1, how);
      CU_ASSERT_EQUAL (seen.n_functions, HASS_MOST_FUNCTIONS);
      CU_ASSERT_EQUAL (seen.units[0][0] + seen.units[1][0], each);
      CU_ASSERT_EQUAL (seen.units[0][last] + seen.units[1][last], 2 * each);
    }
}

HASS_TEST_SUITE (functions,
                 { "a strategy sees which function a task calls", told_apart },
                 { "a simple task calls another function", simple },
                 { "one function of a generator is one", one },
                 { "the last stands for those that are too many", too_many })
